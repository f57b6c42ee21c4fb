//! Kernels compiled for several instruction sets, selected at run time.
//!
//! Every kernel is written once, as plain Rust, and compiled twice by [`vectorised!`]: for AVX2 and for any machine.
//! Both builds compute the same bits. The compiler does not reorder sums or fuse products unless the code says so. If a
//! kernel uses `mul_add`, the product is fused on every machine; without an instruction for it, the C library is
//! called. [`Cpu`] therefore changes the speed but not the results, which `tests/cpu_paths.rs` checks for every kernel.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

/// Environment variable that selects the instruction set: `scalar` or `avx2`.
const VARIABLE: &str = "ANYK_CPU";

/// Instruction set that kernels are compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cpu {
    /// Baseline of the architecture.
    Scalar,
    /// AVX2 and FMA, available on x86-64 since 2013.
    Avx2,
}

/// Error for an unknown name of a [`Cpu`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown instruction set {0:?}, expected scalar or avx2")]
pub struct UnknownCpu(String);

/// Instruction set in use: 0 before the first kernel runs, then 1 + the index in [`Cpu::ALL`]. It never exceeds what
/// the machine supports; `unsafe` code relies on that.
static IN_USE: AtomicU8 = AtomicU8::new(UNDECIDED);
const UNDECIDED: u8 = 0;

impl Cpu {
    /// All instruction sets, from the most basic to the most advanced.
    pub const ALL: [Self; 2] = [Self::Scalar, Self::Avx2];

    /// Returns the best instruction set that this machine supports.
    pub fn best() -> Self {
        static BEST: OnceLock<Cpu> = OnceLock::new();
        *BEST.get_or_init(detect)
    }

    /// Returns all instruction sets that this machine supports, starting with the most basic.
    pub fn available() -> Vec<Self> {
        Self::ALL.into_iter().filter(|&cpu| cpu <= Self::best()).collect()
    }

    /// Returns the instruction set that kernels use now: the one set by [`Cpu::force`], else the one in the
    /// environment variable `ANYK_CPU`, else the best.
    ///
    /// The variable is read once. If its value is unknown, or the machine does not support the set, the best supported
    /// set is used.
    #[inline]
    pub fn current() -> Self {
        match IN_USE.load(Ordering::Relaxed) {
            1 => Self::Scalar,
            2 => Self::Avx2,
            _ => Self::decide(),
        }
    }

    /// Makes kernels use this instruction set, or the best supported one if the machine does not have it. `None`
    /// restores the choice of the environment. Returns the instruction set now in use.
    ///
    /// This function is meant for tests and measurements. It applies to the whole process, because kernels also run on
    /// the workers of thread pools, which would not see a setting of the calling thread. Threads that force different
    /// sets at the same time affect each other's speed but not each other's results. Tests that need a particular set
    /// must run one at a time, behind a lock.
    pub fn force(cpu: Option<Self>) -> Self {
        let cpu = cpu.map_or_else(Self::of_environment, |cpu| cpu.min(Self::best()));
        IN_USE.store(cpu.code(), Ordering::Relaxed);
        cpu
    }

    /// Returns the name, as in `ANYK_CPU`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Avx2 => "avx2",
        }
    }

    fn code(self) -> u8 {
        1 + self as u8
    }

    /// Returns the choice of the environment, which is read once.
    fn of_environment() -> Self {
        static CHOICE: OnceLock<Cpu> = OnceLock::new();
        *CHOICE.get_or_init(|| {
            let word = std::env::var_os(VARIABLE);
            choose(word.as_deref().and_then(std::ffi::OsStr::to_str), Self::best())
        })
    }

    /// Selects the instruction set when the first kernel runs, unless one was forced before.
    #[cold]
    fn decide() -> Self {
        let cpu = Self::of_environment();
        // A concurrent call of `force` takes precedence.
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

/// Returns the instruction set for a value of the variable on a machine whose best set is `best`.
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

/// Defines a function that runs `$body` compiled for the instruction set [`Cpu::current`], at the cost of an atomic
/// load and a branch.
///
/// ```text
/// vectorised!(
///     /// What it does.
///     pub(crate) fn name[T: Real, const H: usize][T, H](a: &A, b: f32) -> f32 = body
/// );
/// ```
///
/// `$body` must be `#[inline(always)]`, and so must all performance-critical code in it: a function is compiled for
/// the instruction set of the function that it is inlined into. Generic parameters are listed twice, first as
/// declared and then as named. They and the result may be omitted.
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
                    // SAFETY: the instruction set in use was detected on this machine.
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
