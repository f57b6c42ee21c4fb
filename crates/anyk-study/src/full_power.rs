//! Figures 2(a) and 2(b): how often WMMSE gives a link full power, by its direct gain and on average.

use serde::{Deserialize, Serialize};

use anyk::Invalid;
use anyk::channel::rayleigh_gains;
use anyk::math::Moments;
use anyk::math::in_blocks;
use anyk::problems::interference::Interference;
use anyk::problems::interference::Wmmse;
use anyk::tolerance::BINARY;

/// Half the width of a bin of the direct gain (paper: `δ = 0.1`).
const HALF_WIDTH: f64 = 0.1;
/// Number of bins. Their centers are 0.2, 0.4, …, so the bins touch but do not overlap. The 1.7 % of links beyond the
/// last bin and the 10 % before the first count only in the average.
const BINS: usize = 20;

/// Links whose direct gain is in one bin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GainBin {
    /// Number of links.
    pub links: u64,
    /// Number of links with `P_k ≥ (1 − 1e-3)·P_max`.
    pub full: u64,
}

impl GainBin {
    /// Returns the center of the bin with this index.
    pub fn gain(index: usize) -> f64 {
        2.0 * HALF_WIDTH * (index + 1) as f64
    }

    /// Returns `Pr{P_k = P_max}` in the bin; `None` if it has no links.
    pub fn probability(&self) -> Option<f64> {
        (self.links > 0).then(|| self.full as f64 / self.links as f64)
    }

    fn merge(self, other: Self) -> Self {
        Self { links: self.links + other.links, full: self.full + other.full }
    }
}

/// Powers that WMMSE gives to K links whose direct and interfering gains have the same distribution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FullPower {
    /// Number of links K.
    pub k: usize,
    /// Share of links at full power, over the realizations.
    pub full: Moments,
    /// Share of links whose power is 0 or `P_max`, within 1e-3 of `P_max`.
    pub binary: Moments,
    /// Links by direct gain; see [`GainBin::gain`].
    pub bins: Vec<GainBin>,
}

/// Runs WMMSE (100 iterations from full power) on `realizations` dense Rayleigh networks of `k` links with
/// `P_max = σ_0 = 1`. `progress` is called after each realization, from any thread.
pub fn full_power(
    k: usize,
    realizations: u64,
    seed: u64,
    progress: impl Fn() + Sync,
) -> Result<FullPower, Invalid> {
    let empty = || FullPower {
        k,
        full: Moments::default(),
        binary: Moments::default(),
        bins: vec![GainBin::default(); BINS],
    };
    let blocks = in_blocks(realizations, |_, indices| {
        let mut wmmse = Wmmse::default();
        let mut measured = empty();
        for index in indices {
            let problem = Interference::new(rayleigh_gains(seed, k, index), 1.0, 1.0)?;
            let (mut full, mut binary) = (0u32, 0u32);
            for (link, &share) in wmmse.shares(&problem).iter().enumerate() {
                let is_full = share >= 1.0 - BINARY;
                full += u32::from(is_full);
                binary += u32::from(is_full || share <= BINARY);
                if let Some(bin) = bin(&mut measured.bins, problem.normalised().direct(link)) {
                    bin.links += 1;
                    bin.full += u64::from(is_full);
                }
            }
            measured.full.push(f64::from(full) / k as f64);
            measured.binary.push(f64::from(binary) / k as f64);
            progress();
        }
        Ok(measured)
    });
    blocks.into_iter().try_fold(empty(), |whole, block| {
        let block = block?;
        let bins = whole.bins.into_iter().zip(block.bins).map(|(a, b)| a.merge(b)).collect();
        let (full, binary) = (whole.full.merge(block.full), whole.binary.merge(block.binary));
        Ok(FullPower { k, full, binary, bins })
    })
}

/// Returns the bin of a direct gain, if there is one.
fn bin(bins: &mut [GainBin], gain: f64) -> Option<&mut GainBin> {
    let position = (gain - HALF_WIDTH) / (2.0 * HALF_WIDTH);
    // The cast truncates, and saturates if the value is negative or too large.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let index = position.floor() as usize;
    if position >= 0.0 { bins.get_mut(index) } else { None }
}
