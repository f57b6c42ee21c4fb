//! Where a record comes from, and what its users are called.

use std::sync::Arc;

/// Names of users, in one text.
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

    /// Whether the users have no names.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The name of a user.
    pub fn get(&self, user: usize) -> Option<&str> {
        let end = *self.ends.get(user)?;
        let start = user.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.text.get(start..end)
    }

    /// All names.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len()).filter_map(|user| self.get(user))
    }
}

/// Where a record comes from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Place {
    /// The file, as the caller named it; empty if the record comes from none.
    pub file: Arc<str>,
    /// Its position in the file, from 0.
    pub index: usize,
    /// The line where it starts.
    pub line: u64,
    /// What goes before the number of a user in messages: `line `, `user `, `cell 2, user `.
    pub(super) label: Arc<str>,
    /// The line of each user, if each has its own.
    pub(super) lines: Vec<u64>,
    /// The number of each user in the file, if that is not its position.
    pub(super) numbers: Vec<u64>,
}

impl Place {
    /// Users of a table, by their rows, counted from 0.
    pub(super) fn of_table(rows: &[usize]) -> Self {
        let numbers = rows.iter().map(|&row| row as u64).collect();
        Self { file: "the table".into(), label: "row ".into(), numbers, ..Self::default() }
    }

    /// The number of a user: that of the row, or its position from 1.
    pub fn number(&self, user: usize) -> u64 {
        self.numbers.get(user).copied().unwrap_or(user as u64 + 1)
    }

    /// The line that a user is on, or the whole record.
    pub fn line_of(&self, user: usize) -> u64 {
        self.lines.get(user).copied().unwrap_or(self.line)
    }

    /// The position of a user in words: `line 3 (user "b")`, `cell 2, user 2 ("b")`.
    pub(crate) fn of_user(&self, user: usize, id: Option<&str>) -> String {
        let (label, at) = (&self.label, self.lines.get(user).copied());
        let at = at.unwrap_or_else(|| self.number(user));
        // "user 2 (user "b")" would say it twice.
        let word = if label.contains("user") { "" } else { "user " };
        let id = id.map_or_else(String::new, |id| format!(" ({word}{})", quote(id)));
        format!("{label}{at}{id}")
    }

    /// The same with some of the users.
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

/// A name in quotes, at most 60 characters of it.
pub(super) fn quote(id: &str) -> String {
    crate::exchange::shorten(&format!("{id:?}"))
}
