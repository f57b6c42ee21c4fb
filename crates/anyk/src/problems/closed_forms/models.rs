//! Policies of (P5) and (P6), optimal and learned, as the program sees them.

use std::sync::Arc;

use serde::Serialize;

use crate::channel::sample_faded_gains;
use crate::config::System;
use crate::framework::{
    Allocate, Answer, BuiltIn, CellAnswer, Counter, DrawInstance, Drawn, Error, LoadedModel, Model,
    ModelError, Observer, OptionSpec, Options, Outcome, Problem, Proof, Quantity, Responder, Show,
    Source, Status, Text, Trials, Verb, cell_counter, check_amounts, reference_options,
    refuse_own_class, responder,
};
use crate::invalid::Invalid;
use crate::problems::closed_forms::room::{EQUAL_BANDWIDTH, QOS_POWER, SAME_RATE, reading};
use crate::problems::closed_forms::{
    ClosedForm, ClosedFormAllocator, ClosedFormPolicy, ClosedFormResult, CommonAllocation,
    EqualBandwidth, QosPower, RateAssessment, RateServed, equal_bandwidth_shares,
    evaluate_closed_form, solve_equal_bandwidth, solve_qos_power,
};

impl Problem for QosPower {
    /// Powers, W.
    type Answer = Vec<f64>;
    type Verdict = RateAssessment;

    fn size(&self) -> usize {
        self.gains().len()
    }

    fn judge(&self, power_w: &Vec<f64>) -> Result<RateAssessment, Invalid> {
        self.assess(power_w)
    }

    fn check(&self, power_w: &Vec<f64>) -> Result<(), Invalid> {
        check_amounts("power", power_w, self.gains().len(), None)
    }

    fn reordered(&self, order: &[usize]) -> Self {
        self.subset(order)
    }
}

impl Problem for EqualBandwidth {
    type Answer = CommonAllocation;
    type Verdict = RateAssessment;

    fn size(&self) -> usize {
        self.gains().len()
    }

    fn judge(&self, allocation: &CommonAllocation) -> Result<RateAssessment, Invalid> {
        self.assess(allocation)
    }

    fn check(&self, allocation: &CommonAllocation) -> Result<(), Invalid> {
        check_amounts("power", &allocation.power_w, self.gains().len(), Some(self.max_power_w()))?;
        check_amounts("bandwidth", &[allocation.bandwidth_hz], 1, None)
    }

    fn reordered(&self, order: &[usize]) -> Self {
        self.subset(order)
    }
}

/// A closed form has no dual gap and no search.
const CLOSED: Proof = Proof { duality_gap: 0.0, price: 0.0, iterations: 0 };

/// The closed forms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Optimum;

/// Only the powers of (P6): its closed form has them in cells that cannot be served, too.
#[derive(Debug, Clone, Copy)]
struct OptimalShares;

impl Allocate<QosPower> for Optimum {
    fn allocate(&mut self, problem: &QosPower, power_w: &mut Vec<f64>) -> Outcome {
        *power_w = solve_qos_power(problem);
        Outcome::Optimal(CLOSED)
    }
}

impl Allocate<EqualBandwidth> for Optimum {
    fn allocate(&mut self, problem: &EqualBandwidth, answer: &mut CommonAllocation) -> Outcome {
        let solution = solve_equal_bandwidth(problem);
        *answer = solution.allocation;
        match solution.status {
            Status::Infeasible(why) => Outcome::Infeasible(why),
            _ => Outcome::Optimal(CLOSED),
        }
    }
}

impl Allocate<EqualBandwidth> for OptimalShares {
    fn allocate(&mut self, problem: &EqualBandwidth, answer: &mut CommonAllocation) -> Outcome {
        let shares = equal_bandwidth_shares(problem.gains());
        answer.power_w = shares.iter().map(|share| share * problem.max_power_w()).collect();
        Outcome::Heuristic
    }
}

impl Allocate<QosPower> for ClosedFormAllocator {
    fn allocate(&mut self, problem: &QosPower, power_w: &mut Vec<f64>) -> Outcome {
        *power_w = self.serve(problem.gains()).power_w;
        Outcome::Learned
    }
}

impl Allocate<EqualBandwidth> for ClosedFormAllocator {
    fn allocate(&mut self, problem: &EqualBandwidth, answer: &mut CommonAllocation) -> Outcome {
        *answer = self.serve(problem.gains());
        Outcome::Learned
    }
}

/// Rate of (P5) and (P6) in a diagnosis, bit/s: at this rate the budget serves nearly all cells of hundreds of
/// users.
const RATE_BPS: f64 = 1e5;
/// Bandwidth of each user of (P5) in a diagnosis, Hz.
const BANDWIDTH_HZ: f64 = 1e6;

fn ln_all(gains: &[f64]) -> Vec<f64> {
    gains.iter().map(|gain| gain.ln()).collect()
}

/// Random users with a state of Rayleigh fading each.
fn instances<P>(
    system: &System,
    state: impl Fn(&System, Vec<f64>) -> Result<P, Invalid> + Send + Sync + 'static,
) -> DrawInstance<P> {
    let system = system.clone();
    Box::new(move |seed, size, index| {
        let (road, path_loss) = (system.road(), system.path_loss());
        Ok(state(&system, sample_faded_gains(&road, &path_loss, seed, size, index))?)
    })
}

fn qos_power_source(
    system: &System,
    label: String,
    (rate_bps, bandwidth_hz): (f64, f64),
    allocator: impl Allocate<QosPower> + Clone + 'static,
) -> Arc<dyn Source> {
    Arc::new(Drawn {
        label,
        allocator,
        instance: instances(system, move |system, gains| {
            QosPower::new(system, rate_bps, bandwidth_hz, gains)
        }),
        inputs: |problem: &QosPower| ln_all(problem.gains()),
        outputs: |_, power_w| power_w.clone(),
    })
}

fn equal_bandwidth_source(
    system: &System,
    label: String,
    rate_bps: f64,
    allocator: impl Allocate<EqualBandwidth> + Clone + 'static,
    quantity: Quantity,
) -> Arc<dyn Source> {
    Arc::new(Drawn {
        label,
        allocator,
        instance: instances(system, move |system, gains| {
            EqualBandwidth::new(system, rate_bps, gains)
        }),
        inputs: |problem: &EqualBandwidth| ln_all(problem.gains()),
        outputs: match quantity {
            Quantity::Power => |_, answer: &CommonAllocation| answer.power_w.clone(),
            Quantity::Bandwidth => |problem: &EqualBandwidth, answer: &CommonAllocation| {
                vec![answer.bandwidth_hz; problem.gains().len()]
            },
        },
    })
}

pub(super) static QOS_POWER_POLICIES: [BuiltIn; 1] = [BuiltIn {
    name: "qos-power",
    label: "power (W) of (P5) over ln g",
    source: |system| {
        let label = QOS_POWER_POLICIES[0].label.to_owned();
        Ok(qos_power_source(system, label, (RATE_BPS, BANDWIDTH_HZ), Optimum))
    },
}];

pub(super) static EQUAL_BANDWIDTH_POLICIES: [BuiltIn; 2] = [
    BuiltIn {
        name: "equal-bandwidth-power",
        label: "power (W) of (P6) over ln g",
        source: |system| {
            let label = EQUAL_BANDWIDTH_POLICIES[0].label.to_owned();
            let quantity = Quantity::Power;
            Ok(equal_bandwidth_source(system, label, RATE_BPS, OptimalShares, quantity))
        },
    },
    BuiltIn {
        name: "equal-bandwidth-bandwidth",
        label: "bandwidth (Hz) of (P6) over ln g",
        source: |system| {
            let label = EQUAL_BANDWIDTH_POLICIES[1].label.to_owned();
            Ok(equal_bandwidth_source(system, label, RATE_BPS, Optimum, Quantity::Bandwidth))
        },
    },
];

#[derive(Serialize)]
struct Evaluation {
    problem: ClosedForm,
    samples: u64,
    seed: u64,
    sizes: Vec<ClosedFormResult>,
}

impl Show for Evaluation {
    fn show(&self) -> Text {
        let percent = |value: Option<f64>| value.map_or("–".into(), |v| format!("{v:.3}"));
        let mut text = Text::default();
        match self.problem {
            ClosedForm::QosPower { .. } => {
                let row = |row: &ClosedFormResult| {
                    vec![row.k.to_string(), percent(row.power_error_percent)]
                };
                text.table(&["K", "power off by (%)"], self.sizes.iter().map(row));
            }
            ClosedForm::EqualBandwidth { .. } => {
                let row = |row: &ClosedFormResult| {
                    vec![
                        row.k.to_string(),
                        percent(row.total_variation_percent),
                        row.bandwidth_gap_percent.map_or("–".into(), |gap| format!("{gap:+.3}")),
                        percent(row.bandwidth_error_percent),
                        row.infeasible.unwrap_or(0).to_string(),
                    ]
                };
                let header = [
                    "K",
                    "power, total variation (%)",
                    "bandwidth, mean gap (%)",
                    "off by (%)",
                    "infeasible",
                ];
                text.table(&header, self.sizes.iter().map(row));
            }
        }
        text
    }
}

impl LoadedModel for ClosedFormPolicy {
    fn problem(&self) -> &'static str {
        Model::problem(self)
    }

    fn describe(&self) -> String {
        format!("a model for {} ({})", Model::problem(self), self.method())
    }

    fn file_bytes(&self) -> Result<Vec<u8>, ModelError> {
        self.to_bytes()
    }

    fn options(&self, verb: Verb) -> Vec<OptionSpec> {
        if verb == Verb::Allocate { reference_options().to_vec() } else { Vec::new() }
    }

    fn home(&self) -> Options {
        let record = self.record();
        let (cell, rates) = match record.training.problem {
            ClosedForm::QosPower { rate_bps, bandwidth_hz } => {
                (QOS_POWER.cell(), vec![("rate-bps", rate_bps), ("bandwidth-hz", bandwidth_hz)])
            }
            ClosedForm::EqualBandwidth { rate_bps } => {
                (EQUAL_BANDWIDTH.cell(), vec![("rate-bps", rate_bps)])
            }
        };
        let mut options = cell.describe(&record.config);
        for (name, value) in rates {
            options.set(name, value.to_string());
        }
        options
    }

    fn validated_k(&self) -> Option<usize> {
        self.record().training.train_k.iter().copied().max()
    }

    fn evaluate(
        &self,
        _options: &Options,
        trials: &Trials,
        observer: &dyn Observer,
    ) -> Result<Box<dyn Answer>, Error> {
        let Trials { sizes, samples, seed } = trials;
        trials.check()?;
        observer.begin("cells", samples * sizes.len() as u64);
        let sizes = evaluate_closed_form(self, sizes, *samples, *seed, observer)?;
        observer.end();
        let problem = self.record().training.problem;
        Ok(Box::new(Evaluation { problem, samples: *samples, seed: *seed, sizes }))
    }

    fn allocate(&self, options: &Options) -> Result<Box<dyn Counter>, Error> {
        Ok(cell_counter(
            reading(self.record().training.problem, self.system().clone(), options)?,
            self.allocator(),
            |allocator, system, records| {
                refuse_own_class(records, system, SAME_RATE)?;
                let gains: Vec<f64> = records.iter().map(|record| record.gain).collect();
                let allocation = allocator.serve(&gains);
                Ok(CellAnswer::Served(match allocator.policy().record().training.problem {
                    ClosedForm::QosPower { rate_bps, bandwidth_hz } => {
                        let problem = QosPower::new(system, rate_bps, bandwidth_hz, gains)?;
                        problem.check(&allocation.power_w)?;
                        RateServed::learned_qos_power(&problem, allocation, records)?
                    }
                    ClosedForm::EqualBandwidth { rate_bps } => {
                        let problem = EqualBandwidth::new(system, rate_bps, gains)?;
                        problem.check(&allocation)?;
                        RateServed::learned_equal_bandwidth(&problem, &allocation, records)?
                    }
                }))
            },
        ))
    }

    fn responder(&self, _options: &Options) -> Result<Box<dyn Responder>, Error> {
        Ok(match self.record().training.problem {
            ClosedForm::QosPower { .. } => responder::<QosPower>(self.allocator()),
            ClosedForm::EqualBandwidth { .. } => responder::<EqualBandwidth>(self.allocator()),
        })
    }

    fn source(&self, quantity: Quantity) -> Result<Option<Arc<dyn Source>>, Error> {
        let (system, allocator) = (self.system(), self.allocator());
        let what = match quantity {
            Quantity::Power => "power",
            Quantity::Bandwidth => "bandwidth",
        };
        let label = format!("{what} of a model with a rate over ln g");
        Ok(match self.record().training.problem {
            ClosedForm::QosPower { .. } if quantity == Quantity::Bandwidth => None,
            ClosedForm::QosPower { rate_bps, bandwidth_hz } => {
                Some(qos_power_source(system, label, (rate_bps, bandwidth_hz), allocator))
            }
            ClosedForm::EqualBandwidth { rate_bps } => {
                Some(equal_bandwidth_source(system, label, rate_bps, allocator, quantity))
            }
        })
    }
}
