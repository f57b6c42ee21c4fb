//! Best schedule, found by branch and bound over the links that are on.

use crate::core::Status;
use crate::invalid::Invalid;
use crate::problems::interference::Interference;
use crate::problems::interference::greedy::worth_alone;
use crate::problems::interference::{PowerSolution, greedy};

/// Largest number of links for which the search runs.
pub const MOST_LINKS: usize = 20;

/// Returns the schedule with the largest sum rate: the exact optimum of link scheduling, and the best binary
/// point of power control.
///
/// The search is depth-first over the links, strongest first. The bound of a node counts every link that is on or
/// undecided, but only with the interference of the links that are on: further links can only add interference.
pub fn binary_optimum(problem: &Interference) -> Result<PowerSolution, Invalid> {
    let links = problem.size();
    if links > MOST_LINKS {
        let expected = format!(
            "at most {MOST_LINKS} links for the exact optimum, which takes up to 2^K schedules"
        );
        return Err(Invalid::value("K", links, expected));
    }
    let incumbent = greedy(problem, 5);
    let gains = problem.normalised();
    let mut order: Vec<usize> = (0..links).collect();
    let alone = worth_alone(problem);
    order.sort_by(|&a, &b| alone[b].total_cmp(&alone[a]));
    let sorted = gains.reordered(&order);
    // Transposed, so that the interference of link j at all receivers is contiguous.
    let mut harm = [[0.0; MOST_LINKS]; MOST_LINKS];
    let mut direct = [0.0; MOST_LINKS];
    for (k, row) in (0..links).map(|k| (k, sorted.row(k))) {
        direct[k] = row[k];
        for j in (0..links).filter(|&j| j != k) {
            harm[j][k] = row[j];
        }
    }
    let weights = problem.weights().map(|weights| {
        let mut sorted = [0.0; MOST_LINKS];
        for (slot, &link) in sorted.iter_mut().zip(&order) {
            *slot = weights[link];
        }
        sorted
    });
    let mut search = Search { links, direct, weights, harm, best: f64::NEG_INFINITY, visited: 0 };
    // Slightly below the greedy schedule, so that rounding cannot hide all schedules that are equally good.
    search.best = incumbent.sum_rate_bits * std::f64::consts::LN_2 * (1.0 - 1e-12);
    let mut found = None;
    search.branch(0, 0, &[1.0; MOST_LINKS], &mut found);
    let shares = match found {
        None => incumbent.shares,
        Some(on) => {
            let mut shares = vec![0.0; links];
            for (place, &link) in order.iter().enumerate() {
                shares[link] = f64::from(u8::from(on >> place & 1 == 1));
            }
            shares
        }
    };
    let sum_rate_bits = problem.sum_rate_bits(&shares);
    let (status, iterations) = (Status::Optimal, search.visited);
    Ok(PowerSolution { status, sum_rate_bits, shares, iterations, trace_bits: Vec::new() })
}

struct Search {
    links: usize,
    direct: [f64; MOST_LINKS],
    /// `None` if all weights are 1.
    weights: Option<[f64; MOST_LINKS]>,
    harm: [[f64; MOST_LINKS]; MOST_LINKS],
    best: f64,
    visited: usize,
}

impl Search {
    /// Decides the links from index `depth` upwards, given which earlier links are on and the interference at
    /// each receiver.
    fn branch(
        &mut self,
        depth: usize,
        on: u32,
        heard: &[f64; MOST_LINKS],
        found: &mut Option<u32>,
    ) {
        self.visited += 1;
        // Multiplies 1 + SINR and takes one logarithm at the end. Since 20 factors of up to 1e100 would overflow,
        // it also takes a logarithm on the way.
        let rate = |range: std::ops::Range<usize>, counted: u32| -> f64 {
            if let Some(weights) = &self.weights {
                let counted = range.filter(|k| counted >> k & 1 == 1);
                return counted.map(|k| weights[k] * (self.direct[k] / heard[k]).ln_1p()).sum();
            }
            let mut product = 1.0f64;
            let mut sum = 0.0;
            for k in range {
                if counted >> k & 1 == 1 {
                    product *= 1.0 + self.direct[k] / heard[k];
                    if product > 1e150 {
                        sum += product.ln();
                        product = 1.0;
                    }
                }
            }
            sum + product.ln()
        };
        let settled = rate(0..depth, on);
        if depth == self.links {
            if settled > self.best {
                self.best = settled;
                *found = Some(on);
            }
            return;
        }
        if settled + rate(depth..self.links, u32::MAX) <= self.best {
            return;
        }
        let mut louder = *heard;
        for (slot, harm) in louder.iter_mut().zip(&self.harm[depth]) {
            *slot += harm;
        }
        self.branch(depth + 1, on | 1 << depth, &louder, found);
        self.branch(depth + 1, on, heard, found);
    }
}
