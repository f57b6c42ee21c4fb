//! Origin of a record and names of its users.

use std::sync::Arc;

/// Names of users, stored in one text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ids {
    text: String,
    ends: Vec<usize>,
}

impl Ids {
    /// Adds a name.
    pub fn push(&mut self, id: &str) {
        self.text.push_str(id);
        self.ends.push(self.text.len());
    }

    /// Returns whether the users have no names.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the name of a user.
    pub fn get(&self, user: usize) -> Option<&str> {
        let end = *self.ends.get(user)?;
        let start = user.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.text.get(start..end)
    }

    /// Returns all names.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len()).filter_map(|user| self.get(user))
    }
}

/// Position of a record in its file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Place {
    /// File as the caller named it; empty if the record does not come from a file.
    pub file: Arc<str>,
    /// Index of the record in the file, from 0.
    pub index: usize,
    /// Line on which the record starts.
    pub line: u64,
    /// Text before the number of a user in messages: `line `, `user `, `cell 2, user `.
    pub(super) label: Arc<str>,
    /// Line of each user, if each has its own.
    pub(super) lines: Vec<u64>,
    /// Number of each user in the file, if it differs from its position.
    pub(super) numbers: Vec<u64>,
}

impl Place {
    /// Builds the position of users of a table from their rows, counted from 0.
    pub(super) fn of_table(rows: &[usize]) -> Self {
        let numbers = rows.iter().map(|&row| row as u64).collect();
        Self { file: "the table".into(), label: "row ".into(), numbers, ..Self::default() }
    }

    /// Returns the number of a user: the number of the row, or the position of the user, counted from 1.
    pub fn number(&self, user: usize) -> u64 {
        self.numbers.get(user).copied().unwrap_or(user as u64 + 1)
    }

    /// Returns the line of a user, or of the whole record if users have no lines.
    pub fn line_of(&self, user: usize) -> u64 {
        self.lines.get(user).copied().unwrap_or(self.line)
    }

    /// Returns the position of a user for messages: `line 3 (user "b")`, `cell 2, user 2 ("b")`.
    pub(crate) fn of_user(&self, user: usize, id: Option<&str>) -> String {
        let (label, at) = (&self.label, self.lines.get(user).copied());
        let at = at.unwrap_or_else(|| self.number(user));
        // Avoids repetition as in "user 2 (user "b")".
        let word = if label.contains("user") { "" } else { "user " };
        let id = id.map_or_else(String::new, |id| format!(" ({word}{})", quote(id)));
        format!("{label}{at}{id}")
    }

    /// Returns the position of the record that contains only the given users.
    #[must_use]
    pub(crate) fn part(&self, users: &[usize]) -> Self {
        let pick = |all: &[u64]| users.iter().filter_map(|&at| all.get(at).copied()).collect();
        let numbers = match self.numbers.is_empty() {
            true => users.iter().map(|&user| user as u64 + 1).collect(),
            false => pick(&self.numbers),
        };
        Self { lines: pick(&self.lines), numbers, ..self.clone() }
    }
}

/// Returns a name in quotes, at most 60 characters of it.
pub(super) fn quote(id: &str) -> String {
    crate::exchange::shorten(&format!("{id:?}"))
}
