//! Required bandwidth `b(u)` of a service class, from a table or computed exactly.

use std::collections::HashMap;
use std::sync::Arc;

use rayon::prelude::*;

use crate::qos::required_bandwidth::Response;
use crate::qos::{BandwidthTable, Qos, RequiredBandwidth, ServiceClass};
use crate::tolerance;

/// Required bandwidth `b(u)` of one class: from a table, or computed exactly if a table would not save time or is not
/// accurate enough.
#[derive(Debug, Clone)]
pub(crate) enum Curve {
    Table(Arc<BandwidthTable>),
    Exact(Arc<RequiredBandwidth>),
}

impl Curve {
    /// Returns the table, or its exact form if the error bound of the table is too large.
    pub(crate) fn new(table: Arc<BandwidthTable>) -> Self {
        if table.is_sound() {
            Self::Table(table)
        } else {
            Self::Exact(Arc::new(table.exact().clone()))
        }
    }

    pub(crate) fn exact(&self) -> &RequiredBandwidth {
        match self {
            Self::Table(table) => table.exact(),
            Self::Exact(exact) => exact,
        }
    }

    /// Returns a first guess of `ln price` for the excess `u/u_min − 1 = e^ln_excess`.
    pub(crate) fn price_near(&self, ln_excess: f64) -> f64 {
        match self {
            Self::Table(table) => table.price_near(ln_excess),
            // The price falls about as 1/u far from the fold, and as 1/√(u − u_min) near it.
            Self::Exact(exact) => {
                let fold = exact.fold();
                fold.ln_z - fold.ln_v - ln_excess.max(0.5 * ln_excess)
            }
        }
    }

    /// Returns `w = √ln(u/u_min)`, `ln z` and the elasticity `−d ln z/d ln v` at an excess `u/u_min − 1`.
    #[inline]
    pub(crate) fn point(&self, excess: f64) -> (f64, f64, f64) {
        match self {
            Self::Table(table) => table.point(excess),
            Self::Exact(exact) => exact.point(excess),
        }
    }

    /// Returns `ln z` at an excess `u/u_min − 1`.
    #[inline]
    pub(crate) fn ln_uses(&self, excess: f64) -> f64 {
        match self {
            Self::Table(table) => table.ln_uses(excess),
            Self::Exact(exact) => exact.point(excess).1,
        }
    }

    /// Returns `ln(u/u_min − 1)` at a price of power, and its derivative with respect to `ln price`. `near` holds the
    /// last response of the exact form, which is the first guess for the next one.
    #[inline]
    pub(crate) fn respond(&self, ln_price: f64, near: &mut Option<Response>) -> (f64, f64) {
        match self {
            Self::Table(table) => table.respond(ln_price),
            Self::Exact(exact) => {
                let response = exact.respond(ln_price, near.as_ref());
                *near = Some(response);
                (response.ln_excess, response.slope)
            }
        }
    }

    /// Returns the table's [`fall_at_double`](BandwidthTable::fall_at_double); `None` without a table.
    pub(crate) fn fall_at_double(&self) -> Option<f64> {
        match self {
            Self::Table(table) => Some(table.fall_at_double()),
            Self::Exact(_) => None,
        }
    }

    /// Returns bounds on the relative errors of the bandwidth and of its slope.
    pub(crate) fn error_bounds(&self) -> (f64, f64) {
        match self {
            Self::Table(table) => (table.error_bound(), table.slope_error_bound()),
            Self::Exact(_) => (tolerance::EXACT_BANDWIDTH, tolerance::EXACT_BANDWIDTH),
        }
    }
}

/// Number of classes in a problem above which classes with few users get no table.
const MANY_CLASSES: usize = 32;
/// Number of users from which a table saves time.
const TABLE_USERS: usize = 128;
/// Maximum number of tables in memory, 25 kB each. A further table replaces all of them.
const MAX_TABLES: usize = 4096;

/// Tables by service class. A class can have tables for several cells, because cells may alternate in a stream.
#[derive(Debug, Clone, Default)]
pub(crate) struct Curves {
    tables: HashMap<ServiceClass, Vec<Arc<BandwidthTable>>>,
    kept: usize,
}

impl Curves {
    /// Returns the table of a class, and builds it first if necessary.
    pub(crate) fn table(&mut self, qos: &Qos) -> Arc<BandwidthTable> {
        let mut known = self.tables.get(&qos.service()).into_iter().flatten();
        if let Some(table) = known.find(|table| table.exact().qos().same_cell(qos)) {
            return Arc::clone(table);
        }
        if self.kept == MAX_TABLES {
            *self = Self::default();
        }
        let table = Arc::new(BandwidthTable::new(qos.clone()));
        self.tables.entry(qos.service()).or_default().push(Arc::clone(&table));
        self.kept += 1;
        table
    }

    /// Calls `each` with the curve of every class of a problem, in order. `users` returns the number of users of a
    /// class.
    pub(crate) fn of_classes(
        &mut self,
        classes: &[Qos],
        users: impl Fn(usize) -> usize + Sync,
        mut each: impl FnMut(Curve),
    ) {
        // With thousands of classes (a hostile file, or one class per user), computing in parallel pays off.
        let exact: Vec<Option<RequiredBandwidth>> = if classes.len() <= MANY_CLASSES {
            Vec::new()
        } else {
            let small = |class| users(class) < TABLE_USERS;
            let classes = classes.par_iter().enumerate();
            classes
                .map(|(class, qos)| small(class).then(|| RequiredBandwidth::new(qos.clone())))
                .collect()
        };
        let mut exact = exact.into_iter();
        for qos in classes {
            each(match exact.next().flatten() {
                Some(exact) => Curve::Exact(Arc::new(exact)),
                None => Curve::new(self.table(qos)),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    #[test]
    fn tables_of_cells_that_take_turns_are_made_once() {
        let mut curves = Curves::default();
        let mut of_cell = |antennas: u32| {
            let mut config = Config::default();
            config.cell.antennas = antennas;
            let system = config.validate().unwrap();
            curves.table(&system.qos(system.service()).unwrap())
        };
        let first = [4, 8].map(&mut of_cell);
        let again = [4, 8].map(of_cell);
        assert!(first.iter().zip(&again).all(|(one, two)| Arc::ptr_eq(one, two)));
        assert!(!Arc::ptr_eq(&first[0], &first[1]));
    }
}
