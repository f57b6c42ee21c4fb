//! Switching links on in a given order, each only if the sum rate rises: the outer function of greedy
//! scheduling and of learned rankings.

use crate::channel::GainMatrix;

/// The state of an admission: which links are on, and what each receiver hears.
#[derive(Debug, Clone)]
pub(crate) struct Admission {
    /// 1 + interference of the links that are on.
    heard: Vec<f64>,
    shares: Vec<f64>,
    on: Vec<usize>,
}

impl Admission {
    pub(crate) fn new(size: usize) -> Self {
        Self { heard: vec![1.0; size], shares: vec![0.0; size], on: Vec::with_capacity(size) }
    }

    /// 1 for the links that are on, 0 for the others.
    pub(crate) fn shares(&self) -> &[f64] {
        &self.shares
    }

    /// Goes through links in an order and switches each on that raises the sum rate.
    pub(crate) fn admit(&mut self, gains: &GainMatrix, order: impl Iterator<Item = usize>) {
        for link in order {
            if self.shares[link] > 0.0 {
                continue;
            }
            // Ratio of the products of 1 + SINR, after to before: no logarithm is needed to compare.
            let mut ratio = 1.0 + gains.direct(link) / self.heard[link];
            for &other in &self.on {
                let (signal, heard) = (gains.direct(other), self.heard[other]);
                let then = heard + gains.row(other)[link];
                ratio *= (then + signal) * heard / ((heard + signal) * then);
            }
            if ratio > 1.0 {
                self.shares[link] = 1.0;
                self.on.push(link);
                for (receiver, heard) in self.heard.iter_mut().enumerate() {
                    if receiver != link {
                        *heard += gains.row(receiver)[link];
                    }
                }
            }
        }
    }
}
