//! Supervised training on the closed forms of (P5) and (P6) (paper, sections III-A and IV-A): small networks that
//! are trained at one K and run at any K.

use serde::{Deserialize, Serialize};

use crate::channel::sample_faded_gains;
use crate::config::System;
use crate::framework::supervised::{Example, Fit, Loss, Start, train};
use crate::framework::{Method, Session, TrainError, check_samples};
use crate::invalid::Invalid;
use crate::network::{Activation, Aggregator, BandwidthLaw, Gnn, Output, UNIT_HZ};
use crate::problems::closed_forms::common_law::common_unit_hz;
use crate::problems::closed_forms::{EqualBandwidth, QosPower};
use crate::problems::closed_forms::{
    equal_bandwidth_shares, solve_equal_bandwidth, solve_qos_power,
};

/// Problem whose closed form a network learns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ClosedForm {
    /// Powers of (P5).
    QosPower {
        /// Rate `s_0`, bit/s.
        rate_bps: f64,
        /// Bandwidth `B` of each user, Hz.
        bandwidth_hz: f64,
    },
    /// Powers and common bandwidth of (P6).
    EqualBandwidth {
        /// Rate `s_0`, bit/s.
        rate_bps: f64,
    },
}

impl ClosedForm {
    /// Returns the name of the problem.
    pub fn name(self) -> &'static str {
        match self {
            Self::QosPower { .. } => "qos-power",
            Self::EqualBandwidth { .. } => "equal-bandwidth",
        }
    }
}

/// Returns the name of an output layer in model files.
fn name_in_files(output: Output) -> String {
    let name = match output {
        Output::Elementwise(_) => "elementwise",
        Output::Softmax => "softmax",
        Output::SumNormalisation => "sum-normalisation",
        Output::Pretrained => "pretrained",
    };
    name.to_owned()
}

/// Settings of a training run. Equal settings, including the seed, give equal parameters, bit for bit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClosedFormSettings {
    /// Problem whose closed form the networks learn.
    pub problem: ClosedForm,
    /// Method: [`Method::PGnn`] learns the bandwidth of (P6) with a pre-trained outer function; [`Method::MGnn`]
    /// learns it without one, and also learns (P5).
    pub method: Method,
    /// Output of the power network: elementwise for (P5), a normalization for (P6).
    pub output: Output,
    /// Aggregation over the other users.
    pub aggregator: Aggregator,
    /// Numbers of users in the training samples.
    pub train_k: Vec<usize>,
    /// Number of samples of each size.
    pub samples: usize,
    /// Widths of the hidden layers of the power network.
    pub power_hidden: Vec<usize>,
    /// Widths of the hidden layers of the bandwidth network of (P6).
    pub bandwidth_hidden: Vec<usize>,
    /// Number of samples in a step.
    pub batch: usize,
    /// Number of steps for each network.
    pub steps: u64,
    /// Initial learning rate; it falls to 0 along a half cosine.
    pub rate: f64,
    /// Weight of `Σ V²` in the loss of the power network.
    ///
    /// At a single K the weights `V` on the other users' mean cannot be identified. A normalized output depends
    /// only on `U − V/K`, any other output only on `c + V·mean·(K − 1)/K`. Any `V` fits at that K; at another K,
    /// only `V = 0` does. The penalty selects it without loss of accuracy, since neither closed form depends on
    /// the other users.
    pub power_penalty: f64,
    /// Weight of `Σ V²` for the bandwidth network, which does depend on the other users.
    pub bandwidth_penalty: f64,
    /// Seed of samples, initialization and order.
    pub seed: u64,
}

impl ClosedFormSettings {
    /// Returns defaults for a problem: K = 10, 2000 samples, mean aggregator, softmax and, for (P6), a
    /// pre-trained outer function.
    pub fn new(problem: ClosedForm, seed: u64) -> Self {
        let (method, output) = match problem {
            ClosedForm::QosPower { .. } => {
                (Method::MGnn, Output::Elementwise(Activation::Identity))
            }
            ClosedForm::EqualBandwidth { .. } => (Method::PGnn, Output::Softmax),
        };
        Self {
            problem,
            method,
            output,
            aggregator: Aggregator::Mean,
            train_k: vec![10],
            samples: 2000,
            power_hidden: vec![4],
            bandwidth_hidden: vec![16, 16],
            batch: 20,
            steps: 6000,
            rate: 1e-2,
            power_penalty: 1.0,
            bandwidth_penalty: 1e-2,
            seed,
        }
    }

    /// Checks every value.
    pub fn validate(&self, system: &System) -> Result<(), Invalid> {
        let fail = |field: &'static str, value: String, expected: &'static str| {
            Err(Invalid::value(field, value, expected))
        };
        match self.problem {
            ClosedForm::QosPower { rate_bps, bandwidth_hz } => {
                QosPower::new(system, rate_bps, bandwidth_hz, [1.0])?;
                if self.method != Method::MGnn {
                    let expected =
                        "m-gnn: (P5) is size-invariant, so it does not need an outer function";
                    return fail("method", self.method.name().into(), expected);
                }
                if self.output != Output::Elementwise(Activation::Identity) {
                    let expected = "elementwise, with the identity as the activation: the powers of (P5) do not \
                                    share a budget";
                    return fail("output", name_in_files(self.output), expected);
                }
            }
            ClosedForm::EqualBandwidth { rate_bps } => {
                EqualBandwidth::new(system, rate_bps, [1.0])?;
                if self.method == Method::Fnn {
                    return fail("method", "fnn".into(), "p-gnn or m-gnn");
                }
                if !matches!(self.output, Output::Softmax | Output::SumNormalisation) {
                    let expected = "softmax or sum-normalisation";
                    return fail("output", name_in_files(self.output), expected);
                }
            }
        }
        check_samples(&self.train_k, self.samples)?;
        for hidden in [&self.power_hidden, &self.bandwidth_hidden] {
            if hidden.is_empty() || hidden.iter().any(|width| !(1..=1024).contains(width)) {
                return fail("hidden", format!("{hidden:?}"), "layers of 1 to 1024 features");
            }
        }
        if !(1..=100_000).contains(&self.batch) {
            return fail("batch", self.batch.to_string(), "a number from 1 to 100000");
        }
        if !(self.rate > 0.0 && self.rate.is_finite()) {
            return fail("rate", self.rate.to_string(), "a positive number");
        }
        for (field, penalty) in
            [("power_penalty", self.power_penalty), ("bandwidth_penalty", self.bandwidth_penalty)]
        {
            if !(0.0..=1e3).contains(&penalty) {
                return fail(field, penalty.to_string(), "a number from 0 to 1000");
            }
        }
        Ok(())
    }

    /// Returns the network for the powers.
    pub fn power_network(&self) -> Gnn {
        self.network(&self.power_hidden, self.output)
    }

    /// Returns the network for the bandwidth, whose outputs `B'_k B^v(g_k, K)` are averaged over the users. Without an
    /// outer function, `B^v` is a constant.
    pub fn bandwidth_network(&self) -> Gnn {
        self.network(&self.bandwidth_hidden, Output::Pretrained)
    }

    fn power_fit(&self) -> Fit {
        Fit {
            batch: self.batch,
            steps: self.steps,
            rate: self.rate,
            penalty: self.power_penalty,
            start: Start::Linear,
            seed: self.seed,
        }
    }

    fn bandwidth_fit(&self) -> Fit {
        Fit { penalty: self.bandwidth_penalty, start: Start::Bent, ..self.power_fit() }
    }

    fn network(&self, hidden: &[usize], output: Output) -> Gnn {
        let mut widths = vec![1];
        widths.extend(hidden);
        widths.push(1);
        Gnn::new(&widths, self.aggregator, Activation::LeakyRelu, output)
    }
}

/// Scaling that turns gains into features, and powers into numbers near 1; computed from the training set.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scaling {
    /// Mean of `ln g`.
    pub mean_ln_gain: f64,
    /// Standard deviation of `ln g`.
    pub deviation_ln_gain: f64,
    /// Power that corresponds to an output of 1, W; only for (P5).
    pub unit_w: f64,
}

impl Scaling {
    /// Returns the feature of a user: standardized `ln g`.
    pub(crate) fn x(&self, gain: f64) -> f64 {
        (gain.ln() - self.mean_ln_gain) / self.deviation_ln_gain
    }
}

/// Parameters of the networks of a problem.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainedNetworks {
    /// Scaling of the features.
    pub scaling: Scaling,
    /// Parameters of the power network.
    pub power: Vec<f64>,
    /// Parameters of the bandwidth network; only for (P6).
    pub bandwidth: Option<Vec<f64>>,
}

/// Trains the networks of a problem. `law` is the outer function of (P6), for P-GNN.
pub fn train_networks(
    system: &System,
    settings: &ClosedFormSettings,
    law: Option<&BandwidthLaw>,
    session: &mut Session<'_>,
) -> Result<TrainedNetworks, TrainError> {
    settings.validate(system)?;
    let cells: Vec<Vec<f64>> = settings
        .train_k
        .iter()
        .flat_map(|&size| (0..settings.samples as u64).map(move |index| (size, index)))
        .map(|(size, index)| {
            sample_faded_gains(&system.road(), &system.path_loss(), settings.seed, size, index)
        })
        .collect();
    let count = cells.iter().map(Vec::len).sum::<usize>() as f64;
    let mean_of = |f: &dyn Fn(f64) -> f64| {
        cells.iter().flatten().map(|&gain| f(gain.ln())).sum::<f64>() / count
    };
    let mean_ln_gain = mean_of(&|ln_gain| ln_gain);
    // The gains of one user, or of users at one point, have a deviation of 0.
    let variance = mean_of(&|ln_gain| (ln_gain - mean_ln_gain).powi(2)).max(1e-6);
    let mut scaling = Scaling { mean_ln_gain, deviation_ln_gain: variance.sqrt(), unit_w: 1.0 };
    let features = |gains: &[f64], scaling: &Scaling| -> Vec<f64> {
        gains.iter().map(|&gain| scaling.x(gain)).collect()
    };
    match settings.problem {
        ClosedForm::QosPower { rate_bps, bandwidth_hz } => {
            let typical = mean_ln_gain.exp().clamp(1e-59, 1.0);
            let problem = QosPower::new(system, rate_bps, bandwidth_hz, [typical])?;
            scaling.unit_w = solve_qos_power(&problem).first().copied().unwrap_or(1.0);
            let examples = cells
                .iter()
                .map(|gains| {
                    let problem =
                        QosPower::new(system, rate_bps, bandwidth_hz, gains.iter().copied())?;
                    let powers = solve_qos_power(&problem);
                    let labels = powers.iter().map(|power_w| (power_w / scaling.unit_w).ln());
                    let labels = labels.collect();
                    Ok(Example { x: features(gains, &scaling), outer: vec![], labels })
                })
                .collect::<Result<Vec<_>, TrainError>>()?;
            let network = settings.power_network();
            let power = train(
                session,
                "powers",
                &settings.power_fit(),
                (&network, Loss::Power),
                &examples,
            )?;
            Ok(TrainedNetworks { scaling, power, bandwidth: None })
        }
        ClosedForm::EqualBandwidth { rate_bps } => {
            let shares: Vec<Example> = cells
                .iter()
                .map(|gains| {
                    let labels =
                        equal_bandwidth_shares(gains).iter().map(|share| share.ln()).collect();
                    Example { x: features(gains, &scaling), outer: vec![], labels }
                })
                .collect();
            let network = settings.power_network();
            let power =
                train(session, "powers", &settings.power_fit(), (&network, Loss::Share), &shares)?;
            let mut examples = Vec::new();
            for gains in &cells {
                let problem = EqualBandwidth::new(system, rate_bps, gains.iter().copied())?;
                let bandwidth_hz = solve_equal_bandwidth(&problem).allocation.bandwidth_hz;
                // Infeasible cells have no label.
                if bandwidth_hz > 0.0 {
                    let labels = vec![(bandwidth_hz / common_unit_hz(rate_bps)).ln()];
                    let outer = outer_values(law, gains);
                    examples.push(Example { x: features(gains, &scaling), outer, labels });
                }
            }
            if examples.is_empty() {
                return Err(TrainError::Infeasible(format!(
                    "it serves none of them at {rate_bps} bit/s; choose a lower rate"
                )));
            }
            let network = settings.bandwidth_network();
            let bandwidth = train(
                session,
                "bandwidth",
                &settings.bandwidth_fit(),
                (&network, Loss::Bandwidth),
                &examples,
            )?;
            Ok(TrainedNetworks { scaling, power, bandwidth: Some(bandwidth) })
        }
    }
}

/// Returns the values `B^v(g_k, K)` for the users of a cell in the unit of bandwidths; 1 without an outer function.
fn outer_values(law: Option<&BandwidthLaw>, gains: &[f64]) -> Vec<f64> {
    match law {
        Some(law) => law.bandwidths_hz(gains, gains.len()).iter().map(|hz| hz / UNIT_HZ).collect(),
        None => vec![1.0; gains.len()],
    }
}
