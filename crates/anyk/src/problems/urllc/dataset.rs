//! Samples `(g, α)` for Algorithm 1 (paper, section V-B), laid out for the kernel.

use crate::config::System;
use crate::math::lanes::LANES;
use crate::math::realization_rng;
use crate::math::single;
use crate::network::{BandwidthLaw, scaled_gain};
use crate::problems::urllc::lagrangian::Batch;
use crate::qos::{BandwidthTable, Qos, TooWeak};

/// Outer function, which multiplies the outputs of the bandwidth network.
#[derive(Clone, Copy)]
pub(crate) enum Outer<'a> {
    /// Pre-trained `B^v`.
    Pretrained(&'a BandwidthLaw),
    /// Exact `b(αP_max/K)`, the target of the pre-training of `B^v`.
    Exact(&'a BandwidthTable),
    /// Constant for all users, Hz.
    Constant(f64),
}

impl<'a> Outer<'a> {
    /// Returns the bandwidth in Hz as a function of the gain, for cells of a size with a power budget in W.
    fn at_size(
        self,
        size: usize,
        max_power_w: f64,
    ) -> Box<dyn Fn(f64) -> Result<f64, TooWeak> + 'a> {
        match self {
            Self::Pretrained(law) => {
                let law = law.at_size(size);
                Box::new(move |gain| Ok(law.bandwidth_hz(gain)))
            }
            Self::Exact(table) => {
                let each_w = max_power_w / size as f64;
                Box::new(move |gain| Ok(table.at(gain * each_w)?.bandwidth_hz))
            }
            Self::Constant(hz) => Box::new(move |_| Ok(hz)),
        }
    }
}

/// Sample of a step, and the index of the first fading state that the step uses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pick {
    pub(crate) index: u32,
    pub(crate) first: u32,
}

/// Training samples of one size.
#[derive(Debug, Clone)]
pub(crate) struct TrainingSet {
    pub(crate) size: usize,
    pub(crate) samples: usize,
    pub(crate) draws: usize,
    x: Vec<f32>,
    energy: Vec<f32>,
    uses: Vec<f32>,
    fading: Vec<f32>,
}

impl TrainingSet {
    /// Draws `samples` cells of `size` users, each user with `draws` fading states. Computes `z⁰`
    /// from the outer function. Returns an error if no bandwidth serves a user.
    pub(crate) fn draw(
        system: &System,
        qos: &Qos,
        (size, samples, draws): (usize, usize, usize),
        outer: Outer<'_>,
        seed: u64,
    ) -> Result<Self, TooWeak> {
        // Exact capacities, since a growing list takes up to twice the memory.
        let list = |each: usize| Vec::with_capacity(size * samples * each);
        let (mut x, mut energy, mut uses, mut fading) = (list(1), list(1), list(1), list(draws));
        let outer = outer.at_size(size, system.max_power_w());
        let per_gain = system.max_power_w() * qos.ln_energy_scale().exp();
        let transmission_s = qos.ln_uses_scale().exp();
        for sample in 0..samples {
            let mut rng = realization_rng(seed, size, sample as u64);
            for _ in 0..size {
                let gain = system.path_loss().gain(system.road().sample_distance_m(&mut rng));
                x.push(single(scaled_gain(gain)));
                energy.push(single(gain * per_gain));
                uses.push(single(outer(gain)? * transmission_s));
            }
            for _ in 0..size * draws {
                fading.push(single(system.fading().sample(&mut rng)));
            }
        }
        Ok(Self { size, samples, draws, x, energy, uses, fading })
    }

    /// Returns the mean of `z⁰` over all users, which is the unit of the loss.
    pub(crate) fn mean_uses(&self) -> f64 {
        self.uses.iter().map(|&uses| f64::from(uses)).sum::<f64>() / self.uses.len() as f64
    }

    /// Returns the inputs `ln α + 30` of a sample's users.
    pub(crate) fn x(&self, pick: Pick) -> &[f32] {
        &self.x[pick.index as usize * self.size..(pick.index as usize + 1) * self.size]
    }

    /// Returns `v⁰` and `z⁰` of one user.
    pub(crate) fn energy_and_uses(&self, pick: Pick, user: usize) -> (f64, f64) {
        let index = pick.index as usize * self.size + user;
        (f64::from(self.energy[index]), f64::from(self.uses[index]))
    }

    /// Returns `draws` fading states of one user, starting at the picked one and wrapping around.
    pub(crate) fn fading(&self, pick: Pick, user: usize, draws: usize, states: &mut Vec<f64>) {
        let start = (pick.index as usize * self.size + user) * self.draws;
        let all = &self.fading[start..start + self.draws];
        states.clear();
        let picked = all.iter().cycle().skip(pick.first as usize).take(draws);
        states.extend(picked.map(|&state| f64::from(state)));
    }

    /// Copies samples into a batch. Each sample fills the batch's draws with its fading states, starting at its
    /// own `first` state and wrapping around.
    pub(crate) fn gather(&self, samples: &[Pick], batch: &mut Batch) {
        let (size, draws) = (self.size, batch.draws);
        for (position, &Pick { index, first }) in samples.iter().enumerate() {
            let (group, lane) = (position / LANES, position % LANES);
            let from = index as usize * size..(index as usize + 1) * size;
            let to = group * size..(group + 1) * size;
            for (batch, own) in [
                (&mut batch.x, &self.x),
                (&mut batch.energy, &self.energy),
                (&mut batch.uses, &self.uses),
            ] {
                for (row, &value) in batch[to.clone()].iter_mut().zip(&own[from.clone()]) {
                    row[lane] = value;
                }
            }
            let rows = batch.fading[to.start * draws..to.end * draws].chunks_exact_mut(draws);
            let stored = &self.fading[from.start * self.draws..from.end * self.draws];
            for (rows, stored) in rows.zip(stored.chunks_exact(self.draws)) {
                // From the picked state to the end, then from the start.
                let (before, after) = stored.split_at(first as usize);
                for (row, &value) in rows.iter_mut().zip(after.iter().chain(before)) {
                    row[lane] = value;
                }
            }
        }
    }
}
