//! Code compiled for the vector instructions that the machine has, chosen when it runs.

/// Defines `$dispatch`, which runs `$body` compiled for AVX-512, for AVX2 with FMA, or for any machine.
///
/// `$body` must be `#[inline(always)]`, and so must all that is hot in it: a function is compiled for the
/// instructions of the one that it is inlined into. Generic parameters come twice, as they are declared
/// and as they are named.
macro_rules! vectorised {
    (
        fn $dispatch:ident[$($declared:tt)*][$($named:tt)*]($($arg:ident: $type:ty),* $(,)?) -> $result:ty
            = $body:ident, $avx512:ident, $avx2:ident
    ) => {
        fn $dispatch<$($declared)*>($($arg: $type),*) -> $result {
            #[cfg(target_arch = "x86_64")]
            {
                if std::arch::is_x86_feature_detected!("avx512f") {
                    // SAFETY: the feature was just detected.
                    #[allow(unsafe_code)]
                    return unsafe { $avx512::<$($named)*>($($arg),*) };
                }
                if std::arch::is_x86_feature_detected!("avx2")
                    && std::arch::is_x86_feature_detected!("fma")
                {
                    // SAFETY: the features were just detected.
                    #[allow(unsafe_code)]
                    return unsafe { $avx2::<$($named)*>($($arg),*) };
                }
            }
            $body::<$($named)*>($($arg),*)
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx2,fma")]
        fn $avx512<$($declared)*>($($arg: $type),*) -> $result {
            $body::<$($named)*>($($arg),*)
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        fn $avx2<$($declared)*>($($arg: $type),*) -> $result {
            $body::<$($named)*>($($arg),*)
        }
    };
}
pub(crate) use vectorised;
