//! Admission of links in a given order: a link is switched only if the sum rate rises. Greedy scheduling and
//! learned rankings both use it.

use crate::problems::interference::SparseInterference;

/// Links that are on, and the interference at each receiver.
#[derive(Debug, Clone, Default)]
pub(crate) struct Admission {
    /// Noise (1) plus the interference of the links that are on, for each receiver.
    heard: Vec<f64>,
    shares: Vec<f64>,
    /// Share of links that are on, as included in `heard` for far links.
    far: f64,
}

/// Ratio of the products of 1 + SINR up to which a rise counts as rounding.
const RISE: f64 = 1.0 + 1e-12;
/// Rise of the weighted sum rate up to which it counts as rounding, in nats per largest weight involved.
const WEIGHTED_RISE: f64 = 1e-12;

impl Admission {
    /// Returns 1 for each link that is on and 0 for the others.
    pub(crate) fn shares(&self) -> &[f64] {
        &self.shares
    }

    /// Starts with all links off.
    pub(crate) fn start(&mut self, problem: &SparseInterference) {
        self.shares.clear();
        self.shares.resize(problem.size(), 0.0);
        self.heard.clear();
        self.heard.resize(problem.size(), 1.0);
        self.far = 0.0;
    }

    /// Updates the interference of far links, which are assumed to be on as often as the average link.
    fn hear_far(&mut self, problem: &SparseInterference) {
        let far = self.shares.iter().sum::<f64>() / self.shares.len() as f64;
        for (heard, hears) in self.heard.iter_mut().zip(&problem.far_hears) {
            *heard = (*heard + (far - self.far) * hears).max(1.0);
        }
        self.far = far;
    }

    /// Switches on, in the given order, every link that raises the sum rate.
    pub(crate) fn admit(&mut self, problem: &SparseInterference, order: &[u32]) {
        for &link in order {
            let link = link as usize;
            if self.shares[link] < 0.5 && self.raises(problem, link) {
                self.switch(problem, link);
            }
        }
    }

    /// Switches every link, in the given order, on or off if that raises the sum rate. Repeats this until no
    /// switch helps, at most `most` times.
    pub(crate) fn improve(&mut self, problem: &SparseInterference, order: &[u32], most: usize) {
        for _ in 0..most {
            self.hear_far(problem);
            let mut changed = false;
            for &link in order {
                let link = link as usize;
                if self.raises(problem, link) {
                    self.switch(problem, link);
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// Returns whether switching a link raises the objective.
    fn raises(&self, problem: &SparseInterference, link: usize) -> bool {
        if problem.weighted {
            let (rise, largest) = self.weighted_rise(problem, link);
            rise > WEIGHTED_RISE * largest
        } else {
            self.rise(problem, link) > RISE
        }
    }

    /// Returns the change of the weighted sum rate (nats) if the link is switched on or off, and the largest weight of
    /// the affected links.
    fn weighted_rise(&self, problem: &SparseInterference, link: usize) -> (f64, f64) {
        let on = self.shares[link] > 0.5;
        let own = problem.weights[link] * (problem.direct[link] / self.heard[link]).ln_1p();
        let mut rise = if on { -own } else { own };
        let mut largest = problem.weights[link];
        let range = problem.range(link);
        for (&gain, &other) in problem.harms[range.clone()].iter().zip(&problem.neighbours[range]) {
            let other = other as usize;
            if self.shares[other] < 0.5 {
                continue;
            }
            let (signal, heard) = (problem.direct[other], self.heard[other]);
            let then = if on { (heard - gain).max(1.0) } else { heard + gain };
            let ratio = (1.0 + signal / then) / (1.0 + signal / heard);
            rise += problem.weights[other] * ratio.ln();
            largest = largest.max(problem.weights[other]);
        }
        (rise, largest)
    }

    /// Returns the product of 1 + SINR over all links after a switch, divided by the product before it. Comparing this
    /// ratio with 1 needs no logarithm.
    fn rise(&self, problem: &SparseInterference, link: usize) -> f64 {
        let on = self.shares[link] > 0.5;
        let own = 1.0 + problem.direct[link] / self.heard[link];
        let (mut above, mut below) = if on { (1.0, own) } else { (own, 1.0) };
        let range = problem.range(link);
        for (&gain, &other) in problem.harms[range.clone()].iter().zip(&problem.neighbours[range]) {
            let other = other as usize;
            if self.shares[other] < 0.5 {
                continue;
            }
            let (signal, heard) = (problem.direct[other], self.heard[other]);
            let then = if on { (heard - gain).max(1.0) } else { heard + gain };
            above *= (then + signal) / then;
            below *= (heard + signal) / heard;
            // Many strong links: keep both products finite.
            if above > 1e150 || below > 1e150 {
                (above, below) = (above / below, 1.0);
            }
        }
        above / below
    }

    fn switch(&mut self, problem: &SparseInterference, link: usize) {
        let sign = if self.shares[link] > 0.5 { -1.0 } else { 1.0 };
        self.shares[link] = if sign > 0.0 { 1.0 } else { 0.0 };
        let range = problem.range(link);
        for (&gain, &other) in problem.harms[range.clone()].iter().zip(&problem.neighbours[range]) {
            let heard = &mut self.heard[other as usize];
            // Subtracting a gain that was added can leave a rounding error, but the noise is always at least 1.
            *heard = (*heard + sign * gain).max(1.0);
        }
    }
}
