//! The iteration of WMMSE on a dense network, vectorised.
//!
//! With amplitudes `v` (`v² = p`, shares of `P_max`), noise 1, interference `I_k = 1 + Σ_{j≠k} g_kj p_j`
//! and `T_k = I_k + g_kk p_k`, the three updates `u`, `w`, `v` of the algorithm collapse into
//!
//! ```text
//! c_k = w_k u_k² = g_kk p_k / (I_k T_k),     v_k ← min(1, (g_kk v_k / I_k) / Σ_j g_jk c_j)
//! ```
//!
//! so that one pass over the matrix is enough: as soon as the rows of four receivers have been summed
//! (`I`), the same rows, still in the first cache, are added to the column sums (`Σ_j g_jk c_j`).

/// Numbers side by side.
const LANES: usize = 8;
/// Receivers that share the loads of `p` and of the column sums.
const ROWS: usize = 4;

type Lanes = [f64; LANES];

/// Amplitudes, and all that an iteration needs.
#[derive(Debug, Clone, Default)]
pub(crate) struct DenseKernel {
    size: usize,
    /// Chunks of [`LANES`] columns in a row.
    chunks: usize,
    /// Gains without the diagonal, padded with zeros to whole chunks and whole groups of rows.
    matrix: Vec<Lanes>,
    direct: Vec<Lanes>,
    amplitude: Vec<Lanes>,
    power: Vec<Lanes>,
    /// `g_kk v_k / I_k`.
    wanted: Vec<Lanes>,
    /// `c_k g_kk`, then the column sums.
    charge: Vec<Lanes>,
}

impl DenseKernel {
    /// Takes over the gains of a network, row by row.
    pub(crate) fn load(&mut self, size: usize, gains: &[f64]) {
        self.size = size;
        // Groups of rows and chunks of columns end together.
        self.chunks = size.div_ceil(LANES);
        let rows = self.chunks * LANES;
        let zero = [0.0; LANES];
        self.matrix.clear();
        self.matrix.resize(rows * self.chunks, zero);
        for (row, line) in gains.chunks_exact(size).enumerate() {
            let padded = self.matrix[row * self.chunks..][..self.chunks].as_flattened_mut();
            padded[..size].copy_from_slice(line);
            padded[row] = 0.0;
        }
        for buffer in [
            &mut self.direct,
            &mut self.amplitude,
            &mut self.power,
            &mut self.wanted,
            &mut self.charge,
        ] {
            buffer.clear();
            buffer.resize(self.chunks, zero);
        }
        for (row, direct) in self.direct.as_flattened_mut()[..size].iter_mut().enumerate() {
            *direct = gains[row * size + row];
        }
    }

    /// Sets the powers to start from, as shares of `P_max`.
    pub(crate) fn start(&mut self, shares: impl Iterator<Item = f64>) {
        let amplitudes = self.amplitude.as_flattened_mut().iter_mut();
        for ((amplitude, power), share) in
            amplitudes.zip(self.power.as_flattened_mut()).zip(shares.take(self.size))
        {
            (*amplitude, *power) = (share.sqrt(), share);
        }
    }

    /// The powers, as shares of `P_max`.
    pub(crate) fn shares(&self) -> &[f64] {
        &self.power.as_flattened()[..self.size]
    }

    /// One iteration. With `measure`, the objective in nats *before* it; 0 otherwise.
    pub(crate) fn iterate(&mut self, measure: bool) -> f64 {
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx512f") {
                // SAFETY: the feature was just detected.
                #[allow(unsafe_code)]
                return unsafe { iterate_avx512(self, measure) };
            }
            if std::arch::is_x86_feature_detected!("avx2")
                && std::arch::is_x86_feature_detected!("fma")
            {
                // SAFETY: the features were just detected.
                #[allow(unsafe_code)]
                return unsafe { iterate_avx2(self, measure) };
            }
        }
        iterate_lanes(self, measure)
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx2,fma")]
fn iterate_avx512(kernel: &mut DenseKernel, measure: bool) -> f64 {
    iterate_lanes(kernel, measure)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn iterate_avx2(kernel: &mut DenseKernel, measure: bool) -> f64 {
    iterate_lanes(kernel, measure)
}

#[inline(always)]
fn iterate_lanes(kernel: &mut DenseKernel, measure: bool) -> f64 {
    let DenseKernel { chunks, matrix, direct, amplitude, power, wanted, charge, .. } = kernel;
    let chunks = *chunks;
    let mut objective = 0.0;
    charge.fill([0.0; LANES]);
    let (direct, amplitude) = (direct.as_flattened(), amplitude.as_flattened_mut());
    for (group, rows) in matrix.chunks_exact(ROWS * chunks).enumerate() {
        let (row0, rest) = rows.split_at(chunks);
        let (row1, rest) = rest.split_at(chunks);
        let (row2, row3) = rest.split_at(chunks);
        let zero = [0.0; LANES];
        let (mut sum0, mut sum1, mut sum2, mut sum3) = (zero, zero, zero, zero);
        for ((((p, a), b), c), d) in power.iter().zip(row0).zip(row1).zip(row2).zip(row3) {
            add_product(&mut sum0, a, p);
            add_product(&mut sum1, b, p);
            add_product(&mut sum2, c, p);
            add_product(&mut sum3, d, p);
        }
        let heard = [total(&sum0), total(&sum1), total(&sum2), total(&sum3)];
        let mut harm = [0.0; ROWS];
        for i in 0..ROWS {
            let link = group * ROWS + i;
            let heard = 1.0 + heard[i];
            let signal = direct[link] * power.as_flattened()[link];
            let both = heard + signal;
            let inverse = 1.0 / (heard * both);
            harm[i] = signal * inverse;
            wanted.as_flattened_mut()[link] = direct[link] * amplitude[link] * (both * inverse);
            if measure {
                objective += (signal / heard).ln_1p();
            }
        }
        // Number by number: in chunks, the compiler would gather instead of loading.
        let sums = charge.as_flattened_mut().iter_mut();
        let pair = row0.as_flattened().iter().zip(row1.as_flattened());
        let other = row2.as_flattened().iter().zip(row3.as_flattened());
        for ((sum, (a, b)), (c, d)) in sums.zip(pair).zip(other) {
            let first = a.mul_add(harm[0], b.mul_add(harm[1], *sum));
            *sum = c.mul_add(harm[2], d.mul_add(harm[3], first));
        }
        // The link's own term, which is not in the matrix.
        for (i, harm) in harm.iter().enumerate() {
            let link = group * ROWS + i;
            charge.as_flattened_mut()[link] += harm * direct[link];
        }
    }
    let powers = power.as_flattened_mut().iter_mut();
    let prices = wanted.as_flattened().iter().zip(charge.as_flattened());
    for ((amplitude, power), (wanted, charge)) in amplitude.iter_mut().zip(powers).zip(prices) {
        // A link that transmits nothing (or is padding) has 0/0: it stays off.
        let next = (wanted / charge.max(f64::MIN_POSITIVE)).min(1.0);
        *amplitude = next;
        *power = next * next;
    }
    objective
}

/// `sum ← a·b + sum`.
#[inline(always)]
fn add_product(sum: &mut Lanes, a: &Lanes, b: &Lanes) {
    for i in 0..LANES {
        sum[i] = a[i].mul_add(b[i], sum[i]);
    }
}

/// The sum over the lanes. Not inlined: seen together with the loop before it, the compiler spreads the
/// four sums over each other's registers, and the loop takes four times as long.
#[inline(never)]
fn total(lanes: &Lanes) -> f64 {
    ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5]))
        + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]))
}
