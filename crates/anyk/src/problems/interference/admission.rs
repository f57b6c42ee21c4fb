//! Switching links on and off in a given order, each only if the sum rate rises: the outer function of
//! greedy scheduling and of learned rankings.

use crate::problems::interference::SparseInterference;

/// Which links are on, and what each receiver hears.
#[derive(Debug, Clone, Default)]
pub(crate) struct Admission {
    /// 1 + interference of the links that are on.
    heard: Vec<f64>,
    shares: Vec<f64>,
    /// Share of the far links that is counted in `heard`.
    far: f64,
}

/// Rise of the product of 1 + SINR under which a switch is put down to rounding.
const RISE: f64 = 1.0 + 1e-12;
/// The same of the sum of weighted rates, in nats, in units of the largest weight that takes part.
const WEIGHTED_RISE: f64 = 1e-12;

impl Admission {
    /// 1 for the links that are on, 0 for the others.
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

    /// Lets the links that are not counted one by one be on as often as the others are.
    fn hear_far(&mut self, problem: &SparseInterference) {
        let far = self.shares.iter().sum::<f64>() / self.shares.len() as f64;
        for (heard, hears) in self.heard.iter_mut().zip(&problem.far_hears) {
            *heard = (*heard + (far - self.far) * hears).max(1.0);
        }
        self.far = far;
    }

    /// Goes through links in an order and switches each on that raises the sum rate.
    pub(crate) fn admit(&mut self, problem: &SparseInterference, order: &[u32]) {
        for &link in order {
            let link = link as usize;
            if self.shares[link] < 0.5 && self.raises(problem, link) {
                self.switch(problem, link);
            }
        }
    }

    /// Goes through links in an order and switches each, on or off, that raises the sum rate so; again,
    /// until none does or `most` times.
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

    /// Whether the objective rises when a link is switched.
    fn raises(&self, problem: &SparseInterference, link: usize) -> bool {
        if problem.weighted {
            let (rise, largest) = self.weighted_rise(problem, link);
            rise > WEIGHTED_RISE * largest
        } else {
            self.rise(problem, link) > RISE
        }
    }

    /// What a switch adds to the sum of weighted rates, in nats, and the largest weight in it.
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

    /// Product of 1 + SINR over all links, after a switch of one to before: comparing needs no logarithm.
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
            // Many strong links: keep both within the numbers.
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
            // What was added may leave a rounding error behind; the noise is always there.
            *heard = (*heard + sign * gain).max(1.0);
        }
    }
}
