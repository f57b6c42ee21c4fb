//! `b(u)` of a class, by its table or exactly: the one choice between the two.

use std::collections::HashMap;
use std::sync::Arc;

use rayon::prelude::*;

use crate::qos::required_bandwidth::Response;
use crate::qos::{BandwidthTable, Qos, RequiredBandwidth, ServiceClass};
use crate::tolerance;

/// `b(u)` of one class: tabulated, or exact where a table does not pay or cannot follow the class.
#[derive(Debug, Clone)]
pub(crate) enum Curve {
    Table(Arc<BandwidthTable>),
    Exact(Arc<RequiredBandwidth>),
}

impl Curve {
    /// The table, or the exact form behind it where the table's error bound is too large.
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

    /// A first guess of `ln price` where `u/u_min − 1` is `e^ln_excess`.
    pub(crate) fn price_near(&self, ln_excess: f64) -> f64 {
        match self {
            Self::Table(table) => table.price_near(ln_excess),
            // Far from the fold the price falls about as 1/u, close to it as 1/√(u − u_min).
            Self::Exact(exact) => {
                let fold = exact.fold();
                fold.ln_z - fold.ln_v - ln_excess.max(0.5 * ln_excess)
            }
        }
    }

    /// `w = √ln(u/u_min)`, `ln z` and the elasticity `−d ln z/d ln v` where `u/u_min − 1` is `excess`.
    #[inline]
    pub(crate) fn point(&self, excess: f64) -> (f64, f64, f64) {
        match self {
            Self::Table(table) => table.point(excess),
            Self::Exact(exact) => exact.point(excess),
        }
    }

    /// `ln z` where `u/u_min − 1` is `excess`.
    #[inline]
    pub(crate) fn ln_uses(&self, excess: f64) -> f64 {
        match self {
            Self::Table(table) => table.ln_uses(excess),
            Self::Exact(exact) => exact.point(excess).1,
        }
    }

    /// `ln(u/u_min − 1)` at a price of power and its derivative by `ln price`; `near` keeps the last response of
    /// the exact form as the next first guess.
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

    /// The table's [`fall_at_double`](BandwidthTable::fall_at_double); `None` without a table.
    pub(crate) fn fall_at_double(&self) -> Option<f64> {
        match self {
            Self::Table(table) => Some(table.fall_at_double()),
            Self::Exact(_) => None,
        }
    }

    /// Relative error bounds of the bandwidth and of its slope.
    pub(crate) fn error_bounds(&self) -> (f64, f64) {
        match self {
            Self::Table(table) => (table.error_bound(), table.slope_error_bound()),
            Self::Exact(_) => (tolerance::EXACT_BANDWIDTH, tolerance::EXACT_BANDWIDTH),
        }
    }
}

/// With more classes than this in one problem, those of few users get no table.
const MANY_CLASSES: usize = 32;
/// Users from which a table pays for itself.
const TABLE_USERS: usize = 128;
/// Tables kept, 25 kB each: a long-lived solver that meets ever new classes starts over here.
const MAX_TABLES: usize = 4096;

/// The tables of the classes that were met, of each in several cells: neighbours in a stream may take turns.
#[derive(Debug, Clone, Default)]
pub(crate) struct Curves {
    tables: HashMap<ServiceClass, Vec<Arc<BandwidthTable>>>,
    kept: usize,
}

impl Curves {
    /// The table of a class, built now unless it is there already.
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

    /// The curves of a problem's classes, of which each has so many users; calls `each` with one after the
    /// other.
    pub(crate) fn of_classes(
        &mut self,
        classes: &[Qos],
        users: impl Fn(usize) -> usize + Sync,
        mut each: impl FnMut(Curve),
    ) {
        // Thousands of classes (a hostile file, or one class for each user) are worth the cores.
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
