//! Shapes of named arrays.

use std::borrow::Cow;

use super::{About, Axis, Column, Need, Size};
use crate::invalid::Invalid;

/// Numbers in a caller's memory; the last axis changes fastest.
#[derive(Debug, Clone, Copy)]
pub struct ArrayView<'a> {
    /// Lengths of the axes; empty for a single number.
    pub shape: &'a [usize],
    /// All numbers of the array.
    pub values: &'a [f64],
}

/// Array with a name.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedArray {
    /// Name with the unit.
    pub name: &'static str,
    /// Lengths of the axes.
    pub shape: Vec<usize>,
    /// All numbers of the array.
    pub values: Vec<f64>,
}

impl Size {
    /// Builds the size for a number of users, without a second axis.
    pub const fn users(users: usize) -> Self {
        Self { users, others: 0 }
    }

    fn of(self, axis: Axis) -> usize {
        match axis {
            Axis::Users => self.users,
            Axis::Others => self.others,
        }
    }
}

impl Column {
    /// Builds a column over some axes.
    pub const fn over(name: &'static str, axes: &'static [Axis]) -> Self {
        let (need, what, range) = (Need::Required, "a number", (f64::NEG_INFINITY, f64::INFINITY));
        Self { name, axes, complex: false, need, arrays_only: false, what, range }
    }

    /// Sets whether a record needs the column.
    #[must_use]
    pub const fn need(mut self, need: Need) -> Self {
        self.need = need;
        self
    }

    /// Sets the description of an entry for messages.
    #[must_use]
    pub const fn what(mut self, what: &'static str) -> Self {
        self.what = what;
        self
    }

    /// Sets the range of accepted numbers. AnyK rejects records and allocations with numbers outside the range.
    #[must_use]
    pub const fn within(mut self, low: f64, high: f64) -> Self {
        self.range = (low, high);
        self
    }

    /// Returns the error for the first value that is out of range. Ignores NaN.
    pub(super) fn out_of_range(&self, values: &[f64], size: Size) -> Option<Invalid> {
        let (low, high) = self.range;
        if low.is_infinite() && high.is_infinite() {
            return None;
        }
        let at = values.iter().position(|&value| value < low || value > high)?;
        let expected = match (low.is_finite(), high.is_finite()) {
            (true, true) => format!("{low:?} to {high:?}"),
            (true, false) => format!("{low:?} or more"),
            (false, _) => format!("at most {high:?}"),
        };
        Some(self.wrong((values, at), size, expected))
    }

    /// Builds the error for the value at index `at`.
    pub(super) fn wrong(
        &self,
        (values, at): (&[f64], usize),
        size: Size,
        expected: impl Into<Cow<'static, str>>,
    ) -> Invalid {
        let wrong = Invalid::number(self.name, values[at], expected);
        let user = at / (values.len() / size.users.max(1)).max(1);
        if self.axes.first() == Some(&Axis::Users) { wrong.of_user(user) } else { wrong }
    }

    /// Marks the column as one that callers can set with arrays, but that files cannot contain.
    #[must_use]
    pub const fn arrays_only(mut self) -> Self {
        self.arrays_only = true;
        self
    }

    /// Builds a column with one number for each user.
    pub const fn each(name: &'static str) -> Self {
        Self::over(name, &[Axis::Users])
    }

    /// Builds a column with one number for the whole instance.
    pub const fn common(name: &'static str) -> Self {
        Self::over(name, &[])
    }

    /// Makes the entries complex.
    #[must_use]
    pub const fn complex(mut self) -> Self {
        self.complex = true;
        self
    }

    /// Returns whether the column has one real number for each user.
    pub fn is_each(&self) -> bool {
        self.axes == [Axis::Users] && !self.complex
    }

    /// Returns whether the column has one real number for the whole instance.
    pub fn is_common(&self) -> bool {
        self.axes.is_empty() && !self.complex
    }

    /// Returns the lengths of the axes in an instance of this size.
    pub fn shape(&self, size: Size) -> Vec<usize> {
        let axes = self.axes.iter().map(|&axis| size.of(axis));
        axes.chain(self.complex.then_some(2)).collect()
    }

    /// Returns the number of values in an instance of this size.
    pub fn len(&self, size: Size) -> usize {
        let entries: usize = self.axes.iter().map(|&axis| size.of(axis)).product();
        if self.complex { 2 * entries } else { entries }
    }

    /// Returns the values of the given users, in the given order, along every axis of users.
    pub(crate) fn part(&self, values: &[f64], size: Size, users: &[usize]) -> Vec<f64> {
        let mut found = Vec::new();
        let width = if self.complex { 2 } else { 1 };
        if !values.is_empty() {
            select(values, self.axes, size, (users, width), &mut found);
        }
        found
    }
}

/// Adds the entries of some users to `found`, axis by axis.
fn select(
    values: &[f64],
    axes: &[Axis],
    size: Size,
    (users, width): (&[usize], usize),
    found: &mut Vec<f64>,
) {
    let Some((&axis, rest)) = axes.split_first() else {
        return found.extend_from_slice(values);
    };
    let step = rest.iter().map(|&axis| size.of(axis)).product::<usize>() * width;
    let row = |at: usize| values.get(at * step..(at + 1) * step).unwrap_or_default();
    match axis {
        Axis::Users => {
            users.iter().for_each(|&user| select(row(user), rest, size, (users, width), found));
        }
        Axis::Others => {
            (0..size.others).for_each(|at| select(row(at), rest, size, (users, width), found));
        }
    }
}

impl About {
    /// Returns the columns of users of which a file must contain at least one.
    pub(crate) fn needed(&self) -> impl Iterator<Item = &'static Column> {
        let is_needed = |column: &&Column| {
            matches!(column.need, Need::Required | Need::OneOf)
                && column.is_each()
                && !column.arrays_only
        };
        self.inputs.iter().filter(is_needed)
    }
}

impl NamedArray {
    /// Builds an array of one number.
    pub fn one(name: &'static str, value: f64) -> Self {
        Self { name, shape: Vec::new(), values: vec![value] }
    }

    /// Builds an array of one number for each user.
    pub fn each(name: &'static str, values: Vec<f64>) -> Self {
        Self { name, shape: vec![values.len()], values }
    }

    /// Returns a view of the array.
    pub fn view(&self) -> ArrayView<'_> {
        ArrayView { shape: &self.shape, values: &self.values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_every_axis_of_users() {
        let size = Size { users: 3, others: 2 };
        let gains = Column::over("gains", &[Axis::Users, Axis::Others]).complex();
        assert_eq!((gains.len(size), gains.shape(size)), (12, vec![3, 2, 2]));
        let values: Vec<f64> = (0..12).map(f64::from).collect();
        assert_eq!(gains.part(&values, size, &[2, 0]), [8.0, 9.0, 10.0, 11.0, 0.0, 1.0, 2.0, 3.0]);
        let square = Column::over("gains", &[Axis::Users, Axis::Users]);
        let values: Vec<f64> = (0..9).map(f64::from).collect();
        assert_eq!(square.part(&values, size, &[2, 1]), [8.0, 7.0, 5.0, 4.0]);
        assert_eq!(Column::common("band").part(&[5.0], size, &[1]), [5.0]);
    }
}
