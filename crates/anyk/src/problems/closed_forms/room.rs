//! (P5) and (P6) as the program sees them.

use std::io::Write;

use serde::Serialize;

use crate::config::{Config, System};
use crate::framework::{
    Amount, Arrays as _, Assessor, BuiltIn, CellOptions, CellReading, Choice, Counter, Error,
    Instances, LoadedModel, Method, Model, ModelError, ModelFile, OptionSpec, OptionValue, Options,
    Responder, Room, Show, Text, Trained, Verb, Workshop, cell_assessor, cell_counter,
    no_better_than, reference_options, refuse_own_class, responder, sample_options, sample_users,
    training_cells,
};
use crate::invalid::Invalid;
use crate::network::{Aggregator, Output};
use crate::problems::closed_forms::assess;
use crate::problems::closed_forms::evaluation::validation;
use crate::problems::closed_forms::models::{
    EQUAL_BANDWIDTH_POLICIES, Optimum, QOS_POWER_POLICIES,
};
use crate::problems::closed_forms::{
    ClosedForm, ClosedFormPolicy, ClosedFormSettings, EqualBandwidth, QosPower,
    answer_equal_bandwidth, answer_qos_power, train_closed_form,
};

/// Why no user has a class of its own.
pub(super) const SAME_RATE: &str = "all users get the same rate";

/// (P5) or (P6).
#[derive(Debug)]
pub struct ClosedFormRoom {
    shared: bool,
}

/// (P5).
pub static QOS_POWER: ClosedFormRoom = ClosedFormRoom { shared: false };
/// (P6).
pub static EQUAL_BANDWIDTH: ClosedFormRoom = ClosedFormRoom { shared: true };

const QOS_POWER_STATEMENT: &str =
    "  min   Σ_k P_k                                                       (P5)
   P
  s.t.  B·log2(1 + g_k P_k/(N_0 B)) ≥ s_0  for each user k

All users get the same rate s_0, and there is no power budget.";

const EQUAL_BANDWIDTH_STATEMENT: &str =
    "  min   B                                                             (P6)
  P,B
  s.t.  B·log2(1 + g_k P_k/(N_0 B)) ≥ s_0  for each user k,  Σ_k P_k ≤ P_max

All users get the same rate s_0.";

const INPUT: &str = "\
The input are users, as for urllc: JSON, or CSV with a header.

  {\"users\":[{\"id\":\"a\",\"distance_m\":60.0},{\"id\":\"b\",\"gain_db\":-110.5}]}

The gains are taken as they stand in the file, one antenna and no fading on top.";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Trainable(Method);

impl Choice for Trainable {
    const ALL: &'static [(&'static str, &'static str, Self)] = &[
        ("p-gnn", "Bandwidth with a pre-trained outer function", Self(Method::PGnn)),
        ("m-gnn", "Bandwidth without it", Self(Method::MGnn)),
    ];
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Normalisation(Output);

impl Choice for Normalisation {
    const ALL: &'static [(&'static str, &'static str, Self)] = &[
        ("softmax", "e^o over its sum", Self(Output::Softmax)),
        ("sum-normalisation", "softplus(o) over its sum", Self(Output::SumNormalisation)),
    ];
}

impl ClosedFormRoom {
    pub(super) fn cell(&self) -> CellOptions {
        CellOptions { radio: true, power: self.shared, service: false }
    }

    fn rates(&self) -> Vec<OptionSpec> {
        let number = |name, unit, help| OptionSpec::new(name, OptionValue::Number(unit), help);
        let mut options = vec![number("rate-bps", "BIT/S", "Rate s_0 of each user").or("1e6")];
        if !self.shared {
            options.push(number("bandwidth-hz", "HZ", "Bandwidth B of each user").or("1e6"));
        }
        options
    }

    fn problem(&self, options: &Options) -> Result<ClosedForm, Invalid> {
        let rate_bps = options.number("rate-bps")?.unwrap_or(1e6);
        Ok(if self.shared {
            ClosedForm::EqualBandwidth { rate_bps }
        } else {
            let bandwidth_hz = options.number("bandwidth-hz")?.unwrap_or(1e6);
            ClosedForm::QosPower { rate_bps, bandwidth_hz }
        })
    }
}

/// How the users of a problem are read.
pub(super) fn reading(
    problem: ClosedForm,
    system: System,
    options: &Options,
) -> Result<CellReading, Invalid> {
    let reading = CellReading::new(system, options)?;
    Ok(match problem {
        ClosedForm::QosPower { rate_bps, bandwidth_hz } => reading
            .using(QOS_POWER.cell())
            .with("rate_bps", Some(rate_bps.into()))
            .with("bandwidth_hz", Some(bandwidth_hz.into())),
        ClosedForm::EqualBandwidth { rate_bps } => {
            reading.using(EQUAL_BANDWIDTH.cell()).with("rate_bps", Some(rate_bps.into()))
        }
    })
}

impl Room for ClosedFormRoom {
    fn name(&self) -> &'static str {
        if self.shared { "equal-bandwidth" } else { "qos-power" }
    }

    fn about(&self) -> &'static str {
        if self.shared {
            "Power and one bandwidth for all users, least bandwidth at a rate (closed form)"
        } else {
            "Power, least total at a rate over a given bandwidth (closed form)"
        }
    }

    fn statement(&self) -> &'static str {
        if self.shared { EQUAL_BANDWIDTH_STATEMENT } else { QOS_POWER_STATEMENT }
    }

    fn input(&self) -> &'static str {
        INPUT
    }

    fn examples(&self, verb: Verb) -> &'static [&'static str] {
        match (verb, self.shared) {
            (Verb::Solve, false) => &["solve qos-power --rate-bps 2e6 --input users.json"],
            (Verb::Solve, true) => &["solve equal-bandwidth --rate-bps 2e6 --input users.json"],
            (Verb::Assess, false) => {
                &["assess qos-power --rate-bps 2e6 --input users.json --allocations mine.json"]
            }
            (Verb::Assess, true) => {
                &["assess equal-bandwidth --rate-bps 2e6 --input users.json --allocations mine.csv"]
            }
            (Verb::Train, false) => &["train qos-power --train-k 10 --out power.safetensors"],
            (Verb::Train, true) => {
                &["train equal-bandwidth --rate-bps 1e5 --out equal.safetensors"]
            }
            (Verb::Sample, false) => &["sample qos-power --k 10 --seed 1 > users.json"],
            (Verb::Sample, true) => &["sample equal-bandwidth --k 10 --seed 1 > users.json"],
            _ => &["sample urllc --k 50 | anyk allocate power.safetensors --input -"],
        }
    }

    fn options(&self, verb: Verb) -> Vec<OptionSpec> {
        let mut options = match verb {
            Verb::Solve | Verb::Assess => {
                let mut options = self.rates();
                options.extend(reference_options());
                options
            }
            Verb::Sample => {
                let mut options = sample_options();
                options.extend(CellOptions::ROAD.specs());
                return options;
            }
            Verb::Train => {
                let mut options = self.rates();
                if self.shared {
                    let method = OptionSpec::choice::<Trainable>("method", "What to train");
                    options.push(method.or("p-gnn"));
                }
                options.extend([
                    OptionSpec::new(
                        "train-k",
                        OptionValue::Sizes,
                        "Users in the training samples; several sizes separated by commas",
                    )
                    .or("10"),
                    OptionSpec::new(
                        "samples",
                        OptionValue::Whole("N"),
                        "Training samples of each size",
                    )
                    .or("2000"),
                    OptionSpec::choice::<Aggregator>("aggregator", "How users see each other")
                        .or("mean"),
                ]);
                if self.shared {
                    let help = "What makes powers of the outputs";
                    let output = OptionSpec::choice::<Normalisation>("output", help);
                    options.push(output.or("softmax"));
                }
                let help = "Seed of samples, initialization and order";
                options.push(OptionSpec::new("seed", OptionValue::Whole("SEED"), help).or("1"));
                options
            }
            Verb::Allocate => return reference_options().to_vec(),
            Verb::Evaluate | Verb::Calibrate => return Vec::new(),
        };
        options.extend(self.cell().specs());
        options
    }

    fn solve(&self, options: &Options) -> Result<Box<dyn Counter>, Error> {
        let problem = self.problem(options)?;
        let system = self.cell().system(options, &Config::default())?;
        Ok(cell_counter(reading(problem, system, options)?, (), move |(), system, records| {
            refuse_own_class(records, system, SAME_RATE)?;
            let gains = records.iter().map(|record| record.gain);
            Ok(match problem {
                ClosedForm::QosPower { rate_bps, bandwidth_hz } => {
                    let problem = QosPower::new(system, rate_bps, bandwidth_hz, gains)?;
                    answer_qos_power(&problem, records)?
                }
                ClosedForm::EqualBandwidth { rate_bps } => {
                    let problem = EqualBandwidth::new(system, rate_bps, gains)?;
                    answer_equal_bandwidth(&problem, records)?
                }
            })
        }))
    }

    fn assess(&self, options: &Options) -> Result<Box<dyn Assessor>, Error> {
        let problem = self.problem(options)?;
        let system = self.cell().system(options, &Config::default())?;
        Ok(cell_assessor(
            reading(problem, system, options)?,
            || (),
            move |(), system, records, given| {
                refuse_own_class(records, system, SAME_RATE)?;
                let gains = records.iter().map(|record| record.gain);
                match problem {
                    ClosedForm::QosPower { rate_bps, bandwidth_hz } => {
                        let problem = QosPower::new(system, rate_bps, bandwidth_hz, gains)?;
                        let optimum_w = assess::optimum_w(&mut (), &problem);
                        assess::of_qos_power(&problem, records, given, optimum_w)
                    }
                    ClosedForm::EqualBandwidth { rate_bps } => {
                        let problem = EqualBandwidth::new(system, rate_bps, gains)?;
                        let optimum_hz = assess::optimum_hz(&mut (), &problem);
                        assess::of_equal_bandwidth(&problem, records, given, optimum_hz)
                    }
                }
            },
        ))
    }

    fn baselines(&self) -> &'static [(&'static str, &'static str)] {
        &[("optimum", "The closed form")]
    }

    fn amounts(&self) -> &'static [Amount] {
        if self.shared { EqualBandwidth::AMOUNTS } else { QosPower::AMOUNTS }
    }

    fn instances(&self, options: &Options) -> Result<Box<dyn Instances>, Error> {
        let problem = self.problem(options)?;
        let system = self.cell().system(options, &Config::default())?;
        Ok(super::arrays::instances(problem, reading(problem, system, options)?))
    }

    fn responder(
        &self,
        name: &str,
        _options: &Options,
    ) -> Option<Result<Box<dyn Responder>, Error>> {
        let optimum = || {
            if self.shared {
                responder::<EqualBandwidth>(Optimum)
            } else {
                responder::<QosPower>(Optimum)
            }
        };
        (name == "optimum").then(|| Ok(optimum()))
    }

    fn sample(&self, options: &Options, out: &mut dyn Write) -> Result<(), Error> {
        sample_users(options, &CellOptions::ROAD.system(options, &Config::default())?, out)
    }

    fn trains(&self) -> bool {
        true
    }

    fn train(&self, options: &Options, workshop: &Workshop<'_>) -> Result<Trained, Error> {
        let system = self.cell().system(options, &Config::default())?;
        let seed = options.seed("seed", 1)?;
        let mut settings = ClosedFormSettings::new(self.problem(options)?, seed);
        (settings.train_k, settings.samples) = training_cells(options)?;
        settings.aggregator = options.choice("aggregator")?.unwrap_or(Aggregator::Mean);
        if let Some(Trainable(method)) = options.choice("method")? {
            settings.method = method;
        }
        if let Some(Normalisation(output)) = options.choice("output")? {
            settings.output = output;
        }
        settings.validate(&system)?;
        let mut session = workshop.session(&(self.name(), system.config(), &settings))?;
        let policy = session.kept_or(|session| train_closed_form(&system, &settings, session))?;
        let metrics = policy.record().metrics;
        let results = validation(&policy)?;
        let equal_power_percent =
            results.iter().map(|result| result.equal_power_percent).sum::<f64>()
                / results.len() as f64;
        let seconds = |stage: &str| session.seconds(stage);
        let report = Report {
            model: workshop.model_name(),
            training: settings,
            train_seconds: seconds("pre-training") + seconds("powers") + seconds("bandwidth"),
            power_error_percent: metrics.power_error_percent,
            bandwidth_error_percent: metrics.bandwidth_error_percent,
            equal_power_percent,
        };
        let error_percent = metrics.power_error_percent;
        let warning = no_better_than("equal power", error_percent, equal_power_percent);
        Ok(Trained::new(&session, policy, report, warning))
    }

    fn read(&self, file: ModelFile) -> Result<Box<dyn LoadedModel>, ModelError> {
        Ok(Box::new(file.into_model::<ClosedFormPolicy>()?))
    }

    fn policies(&self) -> &'static [BuiltIn] {
        if self.shared { &EQUAL_BANDWIDTH_POLICIES } else { &QOS_POWER_POLICIES }
    }
}

#[derive(Serialize)]
struct Report {
    model: String,
    training: ClosedFormSettings,
    train_seconds: f64,
    /// On a validation set of the training sizes.
    power_error_percent: f64,
    bandwidth_error_percent: Option<f64>,
    /// Error of the powers if every user gets the mean power.
    equal_power_percent: f64,
}

impl Show for Report {
    fn show(&self) -> Text {
        let mut text = Text::line(format!(
            "{}: {} steps for each network at K = {:?} in {:.1} s",
            self.model, self.training.steps, self.training.train_k, self.train_seconds
        ));
        let bandwidth = self.bandwidth_error_percent;
        text.push(format!(
            "validation: powers off by {:.3} % (equal power: {:.1} %){}",
            self.power_error_percent,
            self.equal_power_percent,
            bandwidth.map_or(String::new(), |percent| format!(", bandwidth by {percent:.3} %"))
        ));
        text
    }
}
