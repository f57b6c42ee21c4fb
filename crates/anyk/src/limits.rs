//! Upper limits on the sizes in files and flags, checked before memory is allocated. `docs/how-to/limits.md` lists them.

/// Users of one instance, and lines of one CSV file of users, allocations or samples.
pub const MOST_USERS: usize = 10_000_000;

/// Cells of one CSV file, which are in memory together because their rows may alternate.
pub const MOST_CSV_CELLS: usize = 1_000_000;

/// Columns of CSV answers. Every row has all of them, so the output grows with users × columns.
pub const MOST_CSV_COLUMNS: usize = 2_000;

/// Links of one network. Each link interferes with every other, so memory grows with the square.
pub const MOST_LINKS: usize = 20_000;

/// Numbers in one array: the gains of the largest network.
pub const MOST_NUMBERS: usize = MOST_LINKS * MOST_LINKS;

/// Users that one command draws in all, for each number of users.
pub const MOST_DRAWN: usize = 100_000_000;

/// Training samples of each number of users.
pub const MOST_TRAINING_SAMPLES: usize = 1_000_000;

/// Bytes of one JSON document, and of any other file that is not a NumPy array.
pub const MOST_TEXT_BYTES: usize = 1 << 30;

/// Bytes of a NumPy array: [`MOST_NUMBERS`] of eight bytes, and a header.
pub const MOST_ARRAY_BYTES: usize = MOST_NUMBERS * 8 + (1 << 20);

/// Bytes of the header of a model file; usual headers have a few thousand.
pub const MOST_HEADER_BYTES: usize = 1 << 23;
