//! Arithmetic on `[f32; 16]`, sixteen samples at once, which compiles to vector instructions.
//!
//! The code consists of plain arrays and loops of fixed length, inlined into a caller that enables the instruction set.
//! All products and sums are fused (`mul_add`), so that a machine without vector instructions computes the same bits,
//! but more slowly. Exponential and logarithm are polynomials, because the functions of the standard library would be
//! called once for each lane.

/// Number of samples that are processed at once.
pub(crate) const LANES: usize = 16;

/// Vector with one number for each of the samples.
pub(crate) type Lanes = [f32; LANES];

/// Returns the same number in every lane.
#[inline(always)]
pub(crate) fn all(value: f32) -> Lanes {
    [value; LANES]
}

#[inline(always)]
pub(crate) fn map(a: &Lanes, f: impl Fn(f32) -> f32) -> Lanes {
    let mut result = [0.0; LANES];
    for i in 0..LANES {
        result[i] = f(a[i]);
    }
    result
}

#[inline(always)]
pub(crate) fn zip(a: &Lanes, b: &Lanes, f: impl Fn(f32, f32) -> f32) -> Lanes {
    let mut result = [0.0; LANES];
    for i in 0..LANES {
        result[i] = f(a[i], b[i]);
    }
    result
}

/// Adds a product in every lane: `sum ← a·b + sum`.
#[inline(always)]
pub(crate) fn add_product(sum: &mut Lanes, a: &Lanes, b: &Lanes) {
    for i in 0..LANES {
        sum[i] = a[i].mul_add(b[i], sum[i]);
    }
}

/// Adds a multiple in every lane: `sum ← a·scalar + sum`.
#[inline(always)]
pub(crate) fn add_scaled(sum: &mut Lanes, a: &Lanes, scalar: f32) {
    for i in 0..LANES {
        sum[i] = a[i].mul_add(scalar, sum[i]);
    }
}

/// Adds in every lane: `sum ← sum + a`.
#[inline(always)]
pub(crate) fn add(sum: &mut Lanes, a: &Lanes) {
    for i in 0..LANES {
        sum[i] += a[i];
    }
}

/// Returns the sum over the lanes, added pairwise.
#[inline(always)]
pub(crate) fn total(a: &Lanes) -> f32 {
    let mut a = *a;
    let mut half = LANES / 2;
    while half > 0 {
        for i in 0..half {
            a[i] += a[i + half];
        }
        half /= 2;
    }
    a[0]
}

/// Returns `e^x` with a relative error under 2e-7. The argument is clamped to between −87 and 87.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    let x = x.clamp(-87.0, 87.0);
    // 2^n·e^r with |r| ≤ ln 2 / 2. Adding 1.5·2^23 rounds to the nearest integer, which is then in the low bits. This
    // avoids a conversion, which would not be a vector instruction.
    const ROUND: f32 = 12_582_912.0;
    let rounded = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let n = rounded - ROUND;
    let r = n.mul_add(-0.693_359_4, x);
    let r = n.mul_add(2.121_944_4e-4, r);
    let mut p = 1.987_569_2e-4_f32;
    p = p.mul_add(r, 1.398_2e-3);
    p = p.mul_add(r, 8.333_452e-3);
    p = p.mul_add(r, 4.166_579_6e-2);
    p = p.mul_add(r, 0.166_666_66);
    p = p.mul_add(r, 0.5);
    let e = (r * r).mul_add(p, r) + 1.0;
    e * f32::from_bits((rounded.to_bits() << 23).wrapping_add(0x3f80_0000))
}

/// Returns `ln x` for normal positive `x`, with an absolute error under 1e-7 near 1 and a relative error under 2e-7.
#[inline(always)]
pub(crate) fn ln(x: f32) -> f32 {
    // x = 2^n·m with m in [√½, √2).
    let bits = x.to_bits().cast_signed();
    let n = (bits - 0x3f35_04f3) >> 23;
    let m = f32::from_bits((bits - (n << 23)).cast_unsigned()) - 1.0;
    let mut p = 7.037_683_6e-2_f32;
    p = p.mul_add(m, -0.115_146_11);
    p = p.mul_add(m, 0.116_769_99);
    p = p.mul_add(m, -0.124_201_41);
    p = p.mul_add(m, 0.142_493_23);
    p = p.mul_add(m, -0.166_680_58);
    p = p.mul_add(m, 0.200_007_15);
    p = p.mul_add(m, -0.249_999_94);
    p = p.mul_add(m, 0.333_333_3);
    let square = m * m;
    let n = n as f32;
    let tail = (m * square).mul_add(p, -2.121_944_4e-4 * n);
    let tail = square.mul_add(-0.5, tail);
    n.mul_add(0.693_359_4, m + tail)
}

/// Returns `softplus(x)` and its derivative, computed in passes over all lanes. A loop that returns pairs would not
/// become vector instructions.
#[inline(always)]
pub(crate) fn softplus(x: &Lanes) -> (Lanes, Lanes) {
    let small = map(x, |x| exp(-x.abs()));
    let value = zip(x, &small, |x, small| x.max(0.0) + ln(1.0 + small));
    let above = zip(x, &small, |x, small| if x >= 0.0 { 1.0 } else { small });
    let slope = zip(&above, &small, |above, small| above / (1.0 + small));
    (value, slope)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::single;

    #[test]
    fn elementary_functions() {
        for i in 0..20_000 {
            let x = -80.0 + 0.008 * i as f32;
            let exact = f64::from(x).exp();
            assert!((f64::from(exp(x)) / exact - 1.0).abs() < 3e-7, "exp {x}");
            let y = single(exact);
            let exact = f64::from(y).ln();
            assert!((f64::from(ln(y)) - exact).abs() < 2e-7 * exact.abs().max(1.0), "ln {y}");
            let x = 0.1 * x;
            let (value, slope) = softplus(&all(x));
            let (value, slope) = (value[0], slope[0]);
            let exact = f64::from(x).exp().ln_1p();
            assert!((f64::from(value) - exact).abs() < 3e-7 * exact.max(1.0), "softplus {x}");
            let exact = 1.0 / (1.0 + (-f64::from(x)).exp());
            assert!((f64::from(slope) - exact).abs() < 3e-7, "sigmoid {x}");
        }
        assert!(exp(f32::NEG_INFINITY) < 1e-37 && exp(1e30).is_finite());
    }

    #[test]
    fn total_is_the_sum() {
        let mut a = [0.0; LANES];
        for (i, value) in a.iter_mut().enumerate() {
            *value = i as f32;
        }
        assert!((total(&a) - 120.0).abs() < 1e-6);
    }
}
