//! Iterations on a sparse network: WMMSE and price steps.

use crate::problems::interference::SparseInterference;

/// Powers and buffers of an iteration.
#[derive(Debug, Clone, Default)]
pub(crate) struct SparseKernel {
    /// Powers as shares of `P_max`.
    power: Vec<f64>,
    /// Noise plus interference, `I_k`.
    heard: Vec<f64>,
    /// Marginal cost of interference to link k, `c_k = α_k g_kk p_k / (I_k T_k)`, in nats times the link's
    /// weight.
    harm: Vec<f64>,
}

impl SparseKernel {
    /// Sets the starting powers, as shares of `P_max`.
    pub(crate) fn start(&mut self, shares: impl Iterator<Item = f64>) {
        self.power.clear();
        self.power.extend(shares);
        self.heard.resize(self.power.len(), 1.0);
        self.harm.resize(self.power.len(), 0.0);
    }

    /// Returns the powers as shares of `P_max`.
    pub(crate) fn shares(&self) -> &[f64] {
        &self.power
    }

    /// Computes interference and its marginal cost for every receiver.
    fn listen(&mut self, problem: &SparseInterference) {
        let mean = self.power.iter().sum::<f64>() / self.power.len() as f64;
        let Self { power, heard, harm } = self;
        for (link, (heard, harm)) in heard.iter_mut().zip(harm).enumerate() {
            let range = problem.range(link);
            let gains = problem.hears[range.clone()].iter().zip(&problem.neighbours[range]);
            let near: f64 = gains.map(|(gain, &other)| gain * power[other as usize]).sum();
            *heard = 1.0 + near + mean * problem.far_hears[link];
            let signal = problem.direct[link] * power[link];
            // Multiplication by a weight of 1 is exact, here and below.
            *harm = problem.weights[link] * (signal / (*heard * (*heard + signal)));
        }
    }

    /// Replaces each power by a function of its link, its power, its interference, its own marginal cost, and the
    /// price of the interference that it causes.
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

    /// Runs one iteration of WMMSE.
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

    /// Moves each power to the point that matches the present prices: the marginal rate `α_k g_kk/(I_k + g_kk
    /// P_k)` equals the price `π_k = Σ_{j≠k} g_jk c_j` of the other links' loss. At a fixed point of this step,
    /// the KKT conditions hold.
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
