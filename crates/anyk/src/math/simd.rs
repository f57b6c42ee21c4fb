//! Code compiled for the vector instructions that the machine has, chosen when it runs.
//!
//! Every kernel is written once, as plain Rust, and compiled twice by [`vectorised!`], for AVX2 and for any machine. Both
//! builds of a kernel give the same bits: the compiler neither reorders sums nor fuses products into
//! them on its own, and where a kernel says `mul_add` the product is fused on every machine (by a call
//! of the C library where there is no instruction for it). So [`Cpu`] changes how long an answer takes,
//! never the answer; `tests/cpu_paths.rs` holds every kernel to that.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

/// The environment variable that chooses the instructions: `scalar` or `avx2`.
const VARIABLE: &str = "ANYK_CPU";

/// Instructions that kernels are compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cpu {
    /// What every machine of the architecture has.
    Scalar,
    /// AVX2 and FMA: x86-64 since 2013.
    Avx2,
}

/// A word that names no [`Cpu`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown instructions {0:?}, expected scalar or avx2")]
pub struct UnknownCpu(String);

/// What kernels use: 0 before the first of them runs, then 1 + the place in [`Cpu::ALL`]. Holds only
/// what the machine has; `unsafe` code relies on that.
static IN_USE: AtomicU8 = AtomicU8::new(UNDECIDED);
const UNDECIDED: u8 = 0;

impl Cpu {
    /// All levels, the plainest first.
    pub const ALL: [Self; 2] = [Self::Scalar, Self::Avx2];

    /// The best that this machine has.
    pub fn best() -> Self {
        static BEST: OnceLock<Cpu> = OnceLock::new();
        *BEST.get_or_init(detect)
    }

    /// All that this machine has, the plainest first.
    pub fn available() -> Vec<Self> {
        Self::ALL.into_iter().filter(|&cpu| cpu <= Self::best()).collect()
    }

    /// What kernels use now: what [`Cpu::force`] asked for, else what the environment variable
    /// `ANYK_CPU` does, else the best.
    ///
    /// The variable is read once. A word that names more than the machine has, or nothing, gets the best
    /// that there is.
    #[inline]
    pub fn current() -> Self {
        match IN_USE.load(Ordering::Relaxed) {
            1 => Self::Scalar,
            2 => Self::Avx2,
            _ => Self::decide(),
        }
    }

    /// Makes kernels use these instructions, or the best that the machine has if it does not have them;
    /// `None` goes back to the environment's choice. Returns what is used from now on.
    ///
    /// For tests and measurements. It holds for the whole process, because kernels also run on the
    /// workers of thread pools, where a choice of the calling thread would not be seen. Threads that
    /// force different levels at the same time disturb each other's timing, not each other's results;
    /// tests that must run on one level take turns behind a lock.
    pub fn force(cpu: Option<Self>) -> Self {
        let cpu = cpu.map_or_else(Self::of_environment, |cpu| cpu.min(Self::best()));
        IN_USE.store(cpu.code(), Ordering::Relaxed);
        cpu
    }

    /// The name, as in `ANYK_CPU`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Avx2 => "avx2",
        }
    }

    fn code(self) -> u8 {
        1 + self as u8
    }

    /// The environment's choice, read once.
    fn of_environment() -> Self {
        static CHOICE: OnceLock<Cpu> = OnceLock::new();
        *CHOICE.get_or_init(|| {
            let word = std::env::var_os(VARIABLE);
            choose(word.as_deref().and_then(std::ffi::OsStr::to_str), Self::best())
        })
    }

    /// The first use of any kernel, unless something was forced before.
    #[cold]
    fn decide() -> Self {
        let cpu = Self::of_environment();
        // Whoever forces a level at this moment has the last word.
        let _ =
            IN_USE.compare_exchange(UNDECIDED, cpu.code(), Ordering::Relaxed, Ordering::Relaxed);
        cpu
    }
}

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Cpu {
    type Err = UnknownCpu;

    fn from_str(word: &str) -> Result<Self, UnknownCpu> {
        let named = Self::ALL.into_iter().find(|cpu| cpu.name() == word);
        named.ok_or_else(|| UnknownCpu(word.to_owned()))
    }
}

/// What a word of the environment means on a machine whose best is `best`.
fn choose(word: Option<&str>, best: Cpu) -> Cpu {
    word.and_then(|word| word.parse().ok()).map_or(best, |cpu: Cpu| cpu.min(best))
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Cpu {
    use std::arch::is_x86_feature_detected as has;
    if has!("avx2") && has!("fma") { Cpu::Avx2 } else { Cpu::Scalar }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Cpu {
    Cpu::Scalar
}

/// Defines a function that runs `$body` compiled for the instructions of [`Cpu::current`], at the cost
/// of an atomic load and a branch.
///
/// ```text
/// vectorised!(
///     /// What it does.
///     pub(crate) fn name[T: Real, const H: usize][T, H](a: &A, b: f32) -> f32 = body
/// );
/// ```
///
/// `$body` must be `#[inline(always)]`, and so must all that is hot in it: a function is compiled for the
/// instructions of the one that it is inlined into. Generic parameters come twice, as they are declared
/// and as they are named; they and the result may be left out.
macro_rules! vectorised {
    (
        $(#[$attribute:meta])*
        $visibility:vis fn $name:ident $([$($declared:tt)*][$($named:tt)*])?
            ($($arg:ident: $type:ty),* $(,)?) $(-> $result:ty)?
            = $body:ident
    ) => {
        $(#[$attribute])*
        $visibility fn $name$(<$($declared)*>)?($($arg: $type),*) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2$(<$($declared)*>)?($($arg: $type),*) $(-> $result)? {
                $body$(::<$($named)*>)?($($arg),*)
            }

            match $crate::math::Cpu::current() {
                #[cfg(target_arch = "x86_64")]
                $crate::math::Cpu::Avx2 => {
                    // SAFETY: what is in use was detected.
                    #[allow(unsafe_code)]
                    unsafe { avx2$(::<$($named)*>)?($($arg),*) }
                }
                _ => $body$(::<$($named)*>)?($($arg),*),
            }
        }
    };
}
pub(crate) use vectorised;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_falls_back_to_what_is_there() {
        use Cpu::{Avx2, Scalar};
        for best in Cpu::ALL {
            assert_eq!(choose(None, best), best);
            for unknown in ["", "sse2", "AVX2", " avx2", "avx512"] {
                assert_eq!(choose(Some(unknown), best), best, "{unknown:?}");
                let error = unknown.parse::<Cpu>().unwrap_err().to_string();
                assert!(error.contains(&format!("{unknown:?}")), "{error}");
            }
            assert_eq!(choose(Some("scalar"), best), Scalar);
        }
        assert_eq!(Cpu::ALL.map(|best| choose(Some("avx2"), best)), [Scalar, Avx2]);
        assert_eq!(Cpu::ALL.map(|cpu| cpu.name().parse()), Cpu::ALL.map(Ok));
        assert_eq!(Cpu::ALL, [Scalar, Avx2]);
    }
}
