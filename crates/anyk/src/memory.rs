//! How much memory may be used, and the one question that is asked before much of it is: files and sizes that
//! multiply can ask for more than any machine has.
//!
//! A budget does not keep accounts. Whoever is about to allocate what grows with a file or with a size says what it
//! needs at its largest moment, everything that it holds by then included.

use std::fmt;
use std::fs;
use std::path::Path;
use std::str::FromStr;
use std::sync::OnceLock;

use thiserror::Error;

/// The most memory that one piece of work may take, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemoryBudget(u64);

/// The budget where nothing is known about the machine.
const UNKNOWN_MACHINE: u64 = 4 << 30;
/// The smallest budget that can be named: less does not hold the program's own tables.
const LEAST: u64 = 1 << 20;
/// Part of the machine's memory that is the budget unless said otherwise.
const SHARE: u64 = 2;

static PROCESS: OnceLock<MemoryBudget> = OnceLock::new();

/// More than the budget.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{what} would take {} the memory budget of {budget}; --max-memory raises it",
    .bytes.map_or("more than".to_owned(), |bytes| format!("about {}, more than", Shown(bytes)))
)]
pub struct TooMuchMemory {
    /// What needs it.
    pub what: String,
    /// How much it needs, if that is known.
    pub bytes: Option<u64>,
    /// How much there is.
    pub budget: MemoryBudget,
}

/// What is wrong with the text of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("expected a size of at least 1MiB, such as 512MB or 4GiB")]
pub struct NotABudget;

impl MemoryBudget {
    /// Of so many bytes.
    pub const fn bytes(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The budget of this process: what [`Self::set_for_process`] was given, or half of what the machine, the
    /// control group and the limit on address space leave the process.
    pub fn current() -> Self {
        *PROCESS.get_or_init(|| Self(machine_bytes().map_or(UNKNOWN_MACHINE, |all| all / SHARE)))
    }

    /// Sets the budget of this process, once: `false` if it is set already, or has been asked for.
    pub fn set_for_process(self) -> bool {
        PROCESS.set(self).is_ok()
    }

    /// How many bytes it is.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// An error if something that needs so many bytes is more than the budget; no sum of sizes is too large to ask
    /// for. `what` ends up at the start of a sentence.
    pub fn allow(self, what: impl fmt::Display, bytes: u128) -> Result<(), TooMuchMemory> {
        if bytes <= u128::from(self.0) {
            return Ok(());
        }
        let bytes = Some(u64::try_from(bytes).unwrap_or(u64::MAX));
        Err(TooMuchMemory { what: what.to_string(), bytes, budget: self })
    }
}

/// Adds up what a reader holds, where only reading on says how much that will be.
#[derive(Debug)]
pub struct Tally {
    what: &'static str,
    held: u128,
    budget: MemoryBudget,
}

impl Tally {
    /// Of something that holds so many bytes already.
    pub fn new(what: &'static str, held: usize) -> Self {
        Self { what, held: held as u128, budget: MemoryBudget::current() }
    }

    /// Adds what is about to be allocated; an error from the first byte over the budget on.
    pub fn add(&mut self, bytes: usize) -> Result<(), TooMuchMemory> {
        self.held += bytes as u128;
        let Self { what, held, budget } = self;
        let over = |_| TooMuchMemory { what: (*what).to_owned(), bytes: None, budget: *budget };
        budget.allow("", *held).map_err(over)
    }
}

/// A product of sizes in bytes, which never overflows: what is too large stays too large.
pub fn product(factors: &[usize]) -> u128 {
    factors.iter().fold(1, |product: u128, &factor| product.saturating_mul(factor as u128))
}

impl FromStr for MemoryBudget {
    type Err = NotABudget;

    /// A number with a unit: `MB` is 10⁶ bytes, `MiB` and `M` are 2²⁰.
    fn from_str(text: &str) -> Result<Self, NotABudget> {
        let text = text.trim();
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let number: f64 = number.parse().map_err(|_| NotABudget)?;
        let unit = unit.trim().to_ascii_lowercase();
        let (letter, base) = match unit.strip_suffix("ib").or(unit.strip_suffix('b')) {
            Some(letter) if unit.ends_with("ib") => (letter, 1024_f64),
            Some(letter) => (letter, 1000.0),
            None => (&*unit, 1024.0),
        };
        let power = ["", "k", "m", "g", "t"].iter().position(|known| *known == letter);
        let power = power.and_then(|power| i32::try_from(power).ok()).ok_or(NotABudget)?;
        let bytes = number * base.powi(power);
        if !(LEAST as f64..u64::MAX as f64).contains(&bytes) {
            return Err(NotABudget);
        }
        // Positive, and below the largest by the line above.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        Ok(Self(bytes as u64))
    }
}

impl fmt::Display for MemoryBudget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Decimal where it was said so: 512MB is not called 488.3 MiB.
        if self.0.is_multiple_of(1_000_000) {
            scaled(formatter, self.0, 1000.0, ["bytes", "kB", "MB", "GB", "TB"])
        } else {
            Shown(self.0).fmt(formatter)
        }
    }
}

/// Bytes as a person says them.
struct Shown(u64);

impl fmt::Display for Shown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(formatter, self.0, 1024.0, ["bytes", "KiB", "MiB", "GiB", "TiB"])
    }
}

/// In the largest unit that leaves a number from 1 on.
fn scaled(
    formatter: &mut fmt::Formatter<'_>,
    bytes: u64,
    base: f64,
    units: [&str; 5],
) -> fmt::Result {
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= base && unit + 1 < units.len() {
        value /= base;
        unit += 1;
    }
    let digits = usize::from(value.fract() > 0.0);
    write!(formatter, "{value:.digits$} {}", units[unit])
}

/// What this process may use at most, as far as Linux says: the machine's memory, the limit of every control group
/// that it is in, and its limit on address space.
fn machine_bytes() -> Option<u64> {
    let file = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let physical = field(&file("/proc/meminfo"), "MemTotal:").map(|kib| kib.saturating_mul(1024));
    let address_space = field(&file("/proc/self/limits"), "Max address space");
    let groups = group_files(&file("/proc/self/cgroup"));
    let groups = groups.iter().filter_map(|path| file(path).trim().parse().ok());
    groups.chain(physical).chain(address_space).min()
}

/// The number that follows a name at the start of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// The files with the limits of the control groups that a process is in: of version 2 (`0::/a/b`) or 1
/// (`7:memory:/a/b`), from its own group up to the root.
fn group_files(groups: &str) -> Vec<String> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (folder, name) = if controllers.is_empty() {
            ("/sys/fs/cgroup", "memory.max")
        } else if controllers.split(',').any(|controller| controller == "memory") {
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
        } else {
            continue;
        };
        for group in Path::new(path).ancestors() {
            let group = group.to_string_lossy();
            files.push(format!("{folder}{}/{name}", group.trim_end_matches('/')));
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("1048576", 1 << 20),
            ("512MB", 512_000_000),
            ("512 mb", 512_000_000),
            ("4GiB", 4 << 30),
            ("4G", 4 << 30),
            ("1.5g", 3 << 29),
            ("2t", 2 << 40),
            ("2000kB", 2_000_000),
        ] {
            assert_eq!(text.parse(), Ok(MemoryBudget::bytes(bytes)), "{text}");
        }
        for text in
            ["", "0", "-1GB", "MB", "1", "1e9", "4GiBs", "4 G B", "4XB", "1..5G", "99999999TB"]
        {
            assert_eq!(text.parse::<MemoryBudget>(), Err(NotABudget), "{text}");
        }
    }

    #[test]
    fn an_error_names_what_how_much_and_the_flag() {
        let budget = MemoryBudget::bytes(512 << 20);
        assert_eq!(budget.allow("a cell", 512 << 20), Ok(()));
        let error = budget.allow("a cell", (3 << 30) + (1 << 29)).unwrap_err().to_string();
        assert_eq!(
            error,
            "a cell would take about 3.5 GiB, more than the memory budget of 512 MiB; --max-memory raises it"
        );
        let error = budget.allow("a cell", product(&[usize::MAX, usize::MAX, 8])).unwrap_err();
        assert_eq!(error.bytes, Some(u64::MAX));
        let mut tally = Tally { what: "a list", held: 0, budget };
        assert_eq!(tally.add(512 << 20), Ok(()));
        let error = tally.add(1).unwrap_err().to_string();
        assert_eq!(
            error,
            "a list would take more than the memory budget of 512 MiB; --max-memory raises it"
        );
        for (bytes, shown) in [(1000, "1000 bytes"), (512_000_000, "512 MB"), (3 << 29, "1.5 GiB")]
        {
            assert_eq!(MemoryBudget::bytes(bytes).to_string(), shown);
        }
    }

    #[test]
    fn limits_are_found_in_the_systems_files() {
        let limits = "Limit   Soft\nMax address space         4194304000   unlimited   bytes\n";
        assert_eq!(field(limits, "Max address space"), Some(4_194_304_000));
        assert_eq!(field("Max address space   unlimited   unlimited", "Max address space"), None);
        assert_eq!(field("MemTotal:       24000000 kB\n", "MemTotal:"), Some(24_000_000));
        assert_eq!(
            group_files("0::/a/b\n"),
            ["/a/b", "/a", ""].map(|group| format!("/sys/fs/cgroup{group}/memory.max"))
        );
        assert_eq!(
            group_files("7:cpu,memory:/a\n3:pids:/a\n"),
            ["/a", ""].map(|group| format!("/sys/fs/cgroup/memory{group}/memory.limit_in_bytes"))
        );
        if cfg!(target_os = "linux") {
            assert!(machine_bytes().is_some_and(|bytes| bytes > LEAST));
        }
        assert!(MemoryBudget::current().get() > 0);
        assert!(!MemoryBudget::bytes(5).set_for_process(), "once it has been asked for");
    }
}
