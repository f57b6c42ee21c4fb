//! Upper limits on sizes in files and flags, checked before memory is allocated. `docs/how-to/limits.md` lists them.

/// Maximum number of users of one instance, and of lines of one CSV file of users, allocations or samples.
pub const MOST_USERS: usize = 10_000_000;

/// Maximum number of cells of one CSV file. All cells are in memory together, because their rows may alternate.
pub const MOST_CSV_CELLS: usize = 1_000_000;

/// Maximum number of columns of CSV answers. Every row has all of them, so the output grows with users × columns.
pub const MOST_CSV_COLUMNS: usize = 2_000;

/// Maximum number of links of one network. Each link interferes with every other link, so memory grows with the
/// square of this number.
pub const MOST_LINKS: usize = 20_000;

/// Maximum number of values in one array: the gains of the largest network.
pub const MOST_NUMBERS: usize = MOST_LINKS * MOST_LINKS;

/// Maximum number of users that one command draws at each size, summed over all instances.
pub const MOST_DRAWN: usize = 100_000_000;

/// Maximum number of training samples for each number of users.
pub const MOST_TRAINING_SAMPLES: usize = 1_000_000;

/// Maximum size in bytes of one JSON document, and of any other file that is not a NumPy array.
pub const MOST_TEXT_BYTES: usize = 1 << 30;

/// Maximum size in bytes of a NumPy array: [`MOST_NUMBERS`] values of eight bytes, and a header.
pub const MOST_ARRAY_BYTES: usize = MOST_NUMBERS * 8 + (1 << 20);

/// Maximum size in bytes of the header of a model file; typical headers have a few thousand bytes.
pub const MOST_HEADER_BYTES: usize = 1 << 23;
