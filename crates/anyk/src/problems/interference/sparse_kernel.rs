//! Iterations on a sparse network: WMMSE, and prices.

use crate::problems::interference::SparseInterference;

/// Powers, and all that an iteration needs.
#[derive(Debug, Clone, Default)]
pub(crate) struct SparseKernel {
    /// Shares of `P_max`.
    power: Vec<f64>,
    /// `I_k`, noise counted.
    heard: Vec<f64>,
    /// `c_k = α_k g_kk p_k / (I_k T_k)`: what a unit of interference costs link k, in nats times its weight.
    harm: Vec<f64>,
}

impl SparseKernel {
    /// Sets the powers to start from, as shares of `P_max`.
    pub(crate) fn start(&mut self, shares: impl Iterator<Item = f64>) {
        self.power.clear();
        self.power.extend(shares);
        self.heard.resize(self.power.len(), 1.0);
        self.harm.resize(self.power.len(), 0.0);
    }

    /// The powers, as shares of `P_max`.
    pub(crate) fn shares(&self) -> &[f64] {
        &self.power
    }

    /// What each receiver hears, and what that costs it.
    fn listen(&mut self, problem: &SparseInterference) {
        let mean = self.power.iter().sum::<f64>() / self.power.len() as f64;
        let Self { power, heard, harm } = self;
        for (link, (heard, harm)) in heard.iter_mut().zip(harm).enumerate() {
            let range = problem.range(link);
            let gains = problem.hears[range.clone()].iter().zip(&problem.neighbours[range]);
            let near: f64 = gains.map(|(gain, &other)| gain * power[other as usize]).sum();
            *heard = 1.0 + near + mean * problem.far_hears[link];
            let signal = problem.direct[link] * power[link];
            // A weight of 1 changes no bit, here and below.
            *harm = problem.weights[link] * (signal / (*heard * (*heard + signal)));
        }
    }

    /// Replaces each power by a function of its link, its power, what it hears, its own harm and the
    /// price of its interference.
    fn answer(
        &mut self,
        problem: &SparseInterference,
        next: impl Fn(usize, f64, f64, f64, f64) -> f64,
    ) {
        let mean = self.harm.iter().sum::<f64>() / self.harm.len() as f64;
        let Self { power, heard, harm } = self;
        for (link, power) in power.iter_mut().enumerate() {
            let range = problem.range(link);
            let gains = problem.harms[range.clone()].iter().zip(&problem.neighbours[range]);
            let near: f64 = gains.map(|(gain, &other)| gain * harm[other as usize]).sum();
            let price = near + mean * problem.far_harms[link];
            *power = next(link, *power, heard[link], harm[link], price);
        }
    }

    /// One iteration of WMMSE.
    pub(crate) fn wmmse(&mut self, problem: &SparseInterference) {
        self.listen(problem);
        self.answer(problem, |link, power, heard, harm, price| {
            let direct = problem.direct[link];
            let charge = price + harm * direct;
            let wanted = problem.weights[link] * (direct * power.sqrt());
            let next = wanted / (heard * charge.max(f64::MIN_POSITIVE));
            next.min(1.0).powi(2)
        });
    }

    /// One step to the powers that fit the present prices: `P_k` such that the rate that a little more
    /// would add, `α_k g_kk/(I_k + g_kk P_k)`, is the price `π_k = Σ_{j≠k} g_jk c_j` of what it would take
    /// from the others. Where no step changes anything the KKT conditions hold.
    pub(crate) fn price(&mut self, problem: &SparseInterference) {
        self.listen(problem);
        self.answer(problem, |link, _, heard, _, price| {
            let direct = problem.direct[link];
            if direct > 0.0 {
                let worth = problem.weights[link] / price.max(f64::MIN_POSITIVE);
                (worth - heard / direct).clamp(0.0, 1.0)
            } else {
                0.0
            }
        });
    }
}
