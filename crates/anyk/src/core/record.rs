//! Records: named arrays of one instance.

use super::parameters::Claim;
use super::{ArrayView, Axis, Column, Ids, Need, Record, Size};
use crate::exchange::{CellPlace, InputError, shorten};
use crate::framework::{Error, OfCell, Options};
use crate::invalid::Invalid;

impl Record {
    /// Builds a record without values.
    pub fn new(columns: &'static [Column], size: Size) -> Self {
        let values = vec![Vec::new(); columns.len()];
        Self { columns, size, values, ..Self::default() }
    }

    /// Returns the record with the values of a column, whose number must fit its axes.
    pub fn with(mut self, name: &str, values: Vec<f64>) -> Result<Self, Invalid> {
        let at = self.position(name)?;
        let expected = self.columns[at].len(self.size);
        if values.len() != expected {
            let field = format!("the number of values of {name}");
            return Err(Invalid::value(field, values.len(), expected.to_string()));
        }
        self.set(at, values)?;
        Ok(self)
    }

    /// Returns the record with an option that applies only to it.
    #[must_use]
    pub fn with_parameter(mut self, option: &'static str, value: f64) -> Self {
        self.parameters.set(option, value.to_string());
        self
    }

    /// Returns the values of each column as given: empty for a column that is not given, and NaN for a user without a
    /// value. [`of_values`](Self::of_values) builds the record again from these values.
    pub fn values(&self) -> &[Vec<f64>] {
        &self.values
    }

    /// Builds a record from the values of each column and from the options that apply only to it.
    pub fn of_values(
        columns: &'static [Column],
        size: Size,
        values: Vec<Vec<f64>>,
        parameters: Options,
    ) -> Result<Self, Invalid> {
        if values.len() != columns.len() {
            let expected = columns.len().to_string();
            return Err(Invalid::value("the number of columns", values.len(), expected));
        }
        for (column, values) in columns.iter().zip(&values) {
            let expected = column.len(size);
            if !values.is_empty() && values.len() != expected {
                let field = format!("the number of values of {}", column.name);
                return Err(Invalid::value(field, values.len(), expected.to_string()));
            }
        }
        Ok(Self { values, parameters, ..Self::new(columns, size) })
    }

    /// Builds a record from named arrays, whose shapes determine the size. A single number is repeated for each
    /// user.
    pub fn of_arrays(
        columns: &'static [Column],
        given: &[(&str, ArrayView<'_>)],
    ) -> Result<Self, Invalid> {
        let mut record = Self::new(columns, Size::default());
        // Single numbers come last, since the other arrays determine how often they are repeated.
        let is_one = |array: &ArrayView<'_>| array.values.len() == 1;
        let arrays = given.iter().filter(|(_, array)| !is_one(array));
        for (name, array) in arrays.chain(given.iter().filter(|(_, array)| is_one(array))) {
            let at = record.position(name)?;
            record.take(at, array)?;
        }
        Ok(record)
    }

    fn position(&self, name: &str) -> Result<usize, Invalid> {
        let found = self.columns.iter().position(|column| column.name == name);
        found.ok_or_else(|| {
            let known: Vec<&str> = self.columns.iter().map(|column| column.name).collect();
            let expected = format!("one of {}", known.join(", "));
            Invalid::value("the name of an array", name, expected)
        })
    }

    /// Stores an array, whose shape must fit the axes and the arrays that were stored before it.
    fn take(&mut self, at: usize, array: &ArrayView<'_>) -> Result<(), Invalid> {
        let column = self.columns[at];
        if array.shape.iter().product::<usize>() != array.values.len() {
            let found = format!("{} numbers of shape {:?}", array.values.len(), array.shape);
            return Err(Invalid::value(column.name, found, "as many numbers as the shape says"));
        }
        if let (true, [value]) = (column.is_each(), array.values) {
            let users = self.size.users.max(1);
            self.size.users = users;
            return self.set(at, vec![*value; users]);
        }
        let mut size = self.size;
        let mut fits = array.shape.len() == column.axes.len() + usize::from(column.complex);
        for (&axis, &found) in column.axes.iter().zip(array.shape) {
            let known = match axis {
                Axis::Users => &mut size.users,
                Axis::Others => &mut size.others,
            };
            fits &= found > 0 && (*known == 0 || *known == found);
            *known = found;
        }
        if !fits || column.shape(size) != array.shape {
            return Err(column.misfit(array.shape, self.size));
        }
        self.size = size;
        self.set(at, array.values.to_vec())
    }

    fn set(&mut self, at: usize, values: Vec<f64>) -> Result<(), Invalid> {
        let column = self.columns[at];
        if let Some(entry) = values.iter().position(|value| !value.is_finite()) {
            let wrong = Invalid::number(column.name, values[entry], "a finite number");
            return Err(if column.is_each() {
                wrong.of_user(entry)
            } else {
                Invalid { field: column.entry(entry, self.size).into(), ..wrong }
            });
        }
        self.values[at] = values;
        Ok(())
    }

    /// Adds a user with values in the order of the columns. Skips columns that do not have one number for each
    /// user.
    pub(super) fn push_user(&mut self, values: impl Iterator<Item = Option<f64>>) {
        let user = self.size.users;
        self.size.users += 1;
        for (column, value) in self.values.iter_mut().zip(values) {
            match value {
                Some(value) => {
                    column.resize(user, f64::NAN);
                    column.push(value);
                }
                None if column.is_empty() => {}
                None => column.push(f64::NAN),
            }
        }
    }

    /// Sets a column to this value for every user without one.
    fn fill(&mut self, at: usize, value: f64) {
        let column = &mut self.values[at];
        column.resize(self.size.users, f64::NAN);
        column.iter_mut().filter(|one| one.is_nan()).for_each(|one| *one = value);
    }

    /// Sets an option that applies only to this record.
    pub(super) fn set_parameter(&mut self, option: &str, value: &str) {
        self.parameters.set(option, value);
    }

    /// Adds an option whose value must be the value in effect.
    pub(super) fn claim(&mut self, claim: Claim) {
        self.claims.push(claim);
    }

    /// Returns the options whose values must be those in effect.
    pub(super) fn claims(&self) -> &[Claim] {
        &self.claims
    }

    /// Returns the options that apply only to this record.
    pub fn parameters(&self) -> &Options {
        &self.parameters
    }

    /// Returns the number of users and the length of the second axis.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Returns the values of a column, or `None` if the column is not given for every user.
    pub fn get(&self, name: &str) -> Option<&[f64]> {
        let at = self.columns.iter().position(|column| column.name == name)?;
        let values = self.values.get(at)?;
        let is_whole = values.len() == self.columns[at].len(self.size);
        (is_whole && !values.is_empty() && !values.iter().any(|value| value.is_nan()))
            .then_some(values)
    }

    /// Returns the value of a user in a column with one number for each user, or `None` if there is no value.
    pub fn at(&self, column: usize, user: usize) -> Option<f64> {
        self.values.get(column)?.get(user).copied().filter(|value| !value.is_nan())
    }

    /// Returns whether some user has a value in a column.
    pub fn has(&self, column: usize) -> bool {
        self.values.get(column).is_some_and(|values| !values.is_empty())
    }

    /// Returns the given columns with their values. Skips columns that only some users have.
    pub fn arrays(&self) -> impl Iterator<Item = (&'static Column, &[f64])> {
        let given = |column: &'static Column| Some((column, self.get(column.name)?));
        self.columns.iter().filter_map(given)
    }

    /// Returns the name of a user, or its number in the file if it has no name. Without a file, users are
    /// counted from 0.
    pub fn id(&self, user: usize) -> String {
        match self.ids.get(user) {
            Some(id) => id.to_owned(),
            None if self.place.file.is_empty() => user.to_string(),
            None => self.place.number(user).to_string(),
        }
    }

    /// Returns the record with only the given users, in the given order.
    #[must_use]
    pub fn part(&self, users: &[usize]) -> Self {
        let values = self.columns.iter().zip(&self.values);
        let mut ids = Ids::default();
        if !self.ids.is_empty() {
            users.iter().for_each(|&user| ids.push(self.ids.get(user).unwrap_or_default()));
        }
        let extra = |&user: &usize| self.user_extra.get(user).cloned().unwrap_or_default();
        let is_bare = self.user_extra.is_empty();
        Self {
            columns: self.columns,
            size: Size { users: users.len(), ..self.size },
            values: values.map(|(column, values)| column.part(values, self.size, users)).collect(),
            parameters: self.parameters.clone(),
            claims: Vec::new(),
            ids,
            extra: self.extra.clone(),
            user_extra: if is_bare { Vec::new() } else { users.iter().map(extra).collect() },
            place: self.place.part(users),
        }
    }

    /// Fills in defaults, and rejects a record without a required column.
    pub(super) fn complete(&mut self) -> Result<(), Invalid> {
        for at in 0..self.columns.len() {
            let column = self.columns[at];
            match column.need {
                Need::Default(value) if column.is_each() => self.fill(at, value),
                Need::Default(value) if self.values[at].is_empty() => {
                    self.values[at] = vec![value; column.len(self.size)];
                }
                Need::Required if self.get(column.name).is_none() => {
                    let missing = Invalid::missing(column.name, column.expected(self.size));
                    let user = (0..self.size.users).find(|&user| self.at(at, user).is_none());
                    return Err(match user.filter(|_| column.is_each()) {
                        Some(user) => missing.of_user(user),
                        None => missing,
                    });
                }
                _ => {}
            }
            if let Some(wrong) = column.out_of_range(&self.values[at], self.size) {
                return Err(wrong);
            }
        }
        let of_need = |at: &usize| self.columns[*at].need == Need::OneOf;
        let places: Vec<usize> = (0..self.columns.len()).filter(of_need).collect();
        if places.is_empty() {
            return Ok(());
        }
        // In most cases all users have the same column.
        let mut given = places.iter().filter(|&&at| self.has(at));
        if let (Some(&one), None) = (given.next(), given.next())
            && self.get(self.columns[one].name).is_some()
        {
            return Ok(());
        }
        let none = || {
            let is_of_file = |at: &&usize| !self.columns[**at].arrays_only;
            let names: Vec<&str> = places
                .iter()
                .filter(|at| is_of_file(at) || self.place.file.is_empty())
                .map(|&at| self.columns[at].name)
                .collect();
            format!("one of {}", names.join(", "))
        };
        if self.size.users == 0 {
            return Err(Invalid::missing(none(), "a number for each user"));
        }
        for user in 0..self.size.users {
            let mut given = places.iter().filter(|&&at| self.at(at, user).is_some());
            match (given.next(), given.next()) {
                (Some(_), None) => {}
                (Some(&one), Some(&two)) => {
                    let name = self.columns[one].name;
                    let value = self.at(one, user).unwrap_or_default();
                    let (other, more) = (self.columns[two].name, self.at(two, user));
                    let expected =
                        format!("only one of the two: {other} is {}", more.unwrap_or_default());
                    return Err(Invalid::number(name, value, expected).of_user(user));
                }
                _ => return Err(Invalid::missing(none(), "a number").of_user(user)),
            }
        }
        Ok(())
    }

    /// Adds the position of an error to it: file, cell and user.
    pub(crate) fn locate(&self, error: Error) -> Error {
        let place = &self.place;
        if !self.is_of_users() {
            let is_located = place.file.is_empty() || matches!(error, Error::Input(_));
            let position = format!("{}: instance {}", place.file, place.index);
            return if is_located { error } else { error.in_file(position) };
        }
        match error {
            Error::Invalid(wrong) if !place.file.is_empty() => {
                let position = match (wrong.user, self.extra.cell()) {
                    // The error may be caused by the record's options rather than by those of the command.
                    (None, Some(name)) if self.has_parameters() => {
                        format!("cell {}", shown_cell(&name))
                    }
                    (None, Some(_)) => return self.in_cell(Error::Invalid(wrong)),
                    (None, None) => String::new(),
                    (Some(user), _) => place.of_user(user, self.ids.get(user)),
                };
                let message = Invalid { user: None, ..wrong.clone() }.to_string();
                let error = InputError::at(&place.file, &position, message);
                match self.extra.get("cell") {
                    Some(name) => {
                        let line = place.line_of(wrong.user.unwrap_or(0));
                        error.in_cell(CellPlace { name: name.to_owned(), line }).into()
                    }
                    None => error.into(),
                }
            }
            Error::Invalid(_) | Error::Input(_) => error,
            _ if place.file.is_empty() => error,
            _ => self.in_cell(error),
        }
    }

    /// Returns whether the record contains an option of the problem.
    fn has_parameters(&self) -> bool {
        !self.claims.is_empty() || self.parameters.names().next().is_some()
    }

    fn in_cell(&self, error: Error) -> Error {
        let file = &self.place.file;
        let (Some(json), Some(name)) = (self.extra.get("cell"), self.extra.cell()) else {
            return error.in_file(&**file);
        };
        let cell = CellPlace { name: json.to_owned(), line: self.place.line_of(0) };
        let source = error.in_file(format!("{file}: cell {}", shown_cell(&name)));
        Error::OfCell(Box::new(OfCell { cell, source }))
    }
}

/// Returns the name of a cell for messages. The name is quoted, as for ids, if it contains special characters.
fn shown_cell(name: &str) -> String {
    let quoted = format!("{name:?}");
    shorten(if quoted.len() == name.len() + 2 { name } else { &quoted })
}

impl Column {
    /// Returns the shape of an array of the column as text, with letters for axes of unknown length.
    fn shape_text(&self, size: Size) -> String {
        let length = |axis: &Axis| match axis {
            Axis::Users if size.users > 0 => size.users.to_string(),
            Axis::Users => "K".to_owned(),
            Axis::Others if size.others > 0 => size.others.to_string(),
            Axis::Others => "N".to_owned(),
        };
        let mut axes: Vec<String> = self.axes.iter().map(length).collect();
        if self.complex {
            axes.push("2".to_owned());
        }
        format!("[{}]", axes.join(", "))
    }

    /// Returns the expected value for messages.
    fn expected(&self, size: Size) -> String {
        match self.is_each() || self.is_common() {
            true => self.what.to_owned(),
            false => format!("an array of shape {}", self.shape_text(size)),
        }
    }

    /// Returns the error for an array of another shape.
    fn misfit(&self, found: &[usize], size: Size) -> Invalid {
        let each = "one for each user, or one for all";
        match (self.is_each(), found) {
            (true, &[count]) => {
                let expected = match size.users {
                    0 => format!("at least 1: {each}"),
                    users => format!("{users}: {each}"),
                };
                Invalid::value(format!("the number of values of {}", self.name), count, expected)
            }
            (is_each, _) => {
                let expected = match is_each {
                    true => format!("{}: {each}", self.shape_text(size)),
                    false if self.is_common() => "one number".to_owned(),
                    false if found.contains(&0) => format!("{}, not empty", self.shape_text(size)),
                    false => self.shape_text(size),
                };
                let field = format!("the shape of {}", self.name);
                Invalid::value(field, format!("{found:?}"), expected)
            }
        }
    }

    /// Returns the name of one number of the column, such as `gains[0][1]`.
    fn entry(&self, mut at: usize, size: Size) -> String {
        let mut places = Vec::new();
        for length in self.shape(size).into_iter().rev() {
            places.push(format!("[{}]", at % length.max(1)));
            at /= length.max(1);
        }
        places.reverse();
        format!("{}{}", self.name, places.concat())
    }
}
