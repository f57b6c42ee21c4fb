//! URLLC in a fixed band as the program sees it.

use std::io::Write;
use std::sync::Arc;

use serde::Serialize;

use crate::config::{Config, System};
use crate::exchange::UserRecord;
use crate::framework::{
    Allocate, Amount, Answer, Arrays as _, Assessor, BuiltIn, CellOptions, CellReading, Counter,
    Drawn, Error, Instances, LoadedModel, Model, ModelError, ModelFile, Observer, OptionSpec,
    OptionValue, Options, Outcome, Problem as _, Quantity, Responder, Room, Show, Source, Text,
    Trained, Trials, UserOfCell, Verb, Workshop, cell_assessor, cell_counter, judge_users,
    no_better_than, reference_options, responder, sample_options, sample_users, training_cells,
    user_instances,
};
use crate::invalid::Invalid;
use crate::problems::urllc::{Allocation, NO_CHECK, no_check};
use crate::problems::urllc_power::assess::{optimum_w, verdict};
use crate::problems::urllc_power::evaluation::{
    BandTrials, USER_BAND_HZ, random_problem, validated,
};
use crate::problems::urllc_power::{
    AnyBandPolicy, AnyBandSettings, BandAnswer, BandResult, BandServed, BandSolver, EqualBand,
    UrllcPower, evaluate_band, train_any_band,
};
use crate::units::{Dbm, Watt};

/// The least power in a band.
#[derive(Debug)]
pub struct UrllcPowerRoom;

/// The least power in a band.
pub static URLLC_POWER: UrllcPowerRoom = UrllcPowerRoom;

const STATEMENT: &str = "  min   Σ_k P_k
  P,B
  s.t.  C^E_k(α_k P_k, B_k) ≥ S^E_k  for each user k,  Σ_k B_k ≤ B_max

The mirror of urllc: the band is given, and power is what is scarce. With `max_power_dbm` as well, the answer says \
whether everyone fits, and which is the largest set that does if not.";

const INPUT: &str = "\
The input are users as for urllc:

  {\"users\":[{\"id\":\"a\",\"distance_m\":60.0},{\"id\":\"b\",\"gain_db\":-110.5}]}

or CSV with the columns id,distance_m.";

/// Options of the cell; the power budget is the room's own, since there may be none.
const CELL: CellOptions = CellOptions { radio: true, power: false, service: true };
/// The group of options of this room's models.
const MODELS: &str = "Models for urllc-power";
/// The group of the cell's options where a model has a cell of its own.
const OTHER_CELL: &str = "Another cell than that of the model";

fn budgets() -> [OptionSpec; 2] {
    [
        OptionSpec::new(
            "max-bandwidth-hz",
            OptionValue::Number("HZ"),
            "Bandwidth budget B_max; required",
        ),
        OptionSpec::new(
            "max-power-dbm",
            OptionValue::Number("DBM"),
            "Power budget, if there is one as well",
        ),
    ]
}

/// The budgets that were given.
#[derive(Debug, Clone, Copy)]
struct Budgets {
    max_bandwidth_hz: f64,
    max_power_w: Option<f64>,
}

impl Budgets {
    fn new(options: &Options) -> Result<Self, Invalid> {
        let missing = || Invalid::missing("max_bandwidth_hz", "the band of all users in Hz");
        let max_bandwidth_hz = options.positive("max-bandwidth-hz")?.ok_or_else(missing)?;
        let max_power_w = match options.number("max-power-dbm")? {
            None => None,
            Some(dbm) if (-60.0..=100.0).contains(&dbm) => Some(Watt::from(Dbm(dbm)).0),
            Some(dbm) => {
                let expected = "a power in dBm from -60 to 100";
                return Err(Invalid::number("max_power_dbm", dbm, expected));
            }
        };
        Ok(Self { max_bandwidth_hz, max_power_w })
    }

    /// How users within them are read.
    fn reading(self, system: System, options: &Options) -> Result<CellReading, Invalid> {
        let max_power_dbm = self.max_power_w.map(|power_w| Dbm::from(Watt(power_w)).0.into());
        Ok(CellReading::new(system, options)?
            .using(CELL)
            .with("max_power_dbm", max_power_dbm)
            .with("max_bandwidth_hz", Some(self.max_bandwidth_hz.into())))
    }

    /// The problem of the users of a cell within them.
    fn problem(
        self,
        system: &System,
        users: impl Iterator<Item = UserOfCell>,
    ) -> Result<UrllcPower, Invalid> {
        let problem = UrllcPower::new(system, users, self.max_bandwidth_hz)?;
        match self.max_power_w {
            None => Ok(problem),
            Some(max_power_w) => problem.with_max_power_w(max_power_w),
        }
    }
}

/// The users of records.
fn users_in(records: &[UserRecord]) -> impl Iterator<Item = UserOfCell> {
    records.iter().map(|record| (record.gain, record.service))
}

impl Room for UrllcPowerRoom {
    fn name(&self) -> &'static str {
        "urllc-power"
    }

    fn about(&self) -> &'static str {
        "Power and bandwidth, least total power in a given band at a loss and delay target"
    }

    fn statement(&self) -> &'static str {
        STATEMENT
    }

    fn input(&self) -> &'static str {
        INPUT
    }

    fn examples(&self, verb: Verb) -> &'static [&'static str] {
        match verb {
            Verb::Solve => &[
                "solve urllc-power --max-bandwidth-hz 20e6 --input users.json",
                "solve urllc-power --max-bandwidth-hz 20e6 --max-power-dbm 43 --input users.json",
                "sample urllc-power --k 80 | anyk solve urllc-power --max-bandwidth-hz 20e6 --input -",
            ],
            Verb::Assess => &[
                "assess urllc-power --max-bandwidth-hz 20e6 --input cells.jsonl --allocations mine.jsonl",
            ],
            Verb::Train => &["train urllc-power --out band.safetensors"],
            Verb::Sample => &["sample urllc-power --k 10 --seed 1 > users.json"],
            Verb::Evaluate => {
                &["evaluate band.safetensors --k 1,10,100,1000 --user-bandwidth-hz 2e5"]
            }
            _ => &["allocate band.safetensors --max-bandwidth-hz 20e6 --input users.json"],
        }
    }

    fn options(&self, verb: Verb) -> Vec<OptionSpec> {
        let mut options = Vec::new();
        match verb {
            Verb::Assess => {
                options.extend(budgets());
                options.extend(reference_options());
            }
            Verb::Solve => {
                options.extend(budgets());
                options.push(no_check());
                options.extend(reference_options());
            }
            Verb::Sample => options.extend(sample_options()),
            Verb::Train => options.extend([
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
                OptionSpec::new(
                    "seed",
                    OptionValue::Whole("SEED"),
                    "Seed of samples, initialization and order",
                )
                .or("1"),
            ]),
            Verb::Evaluate => {
                let [band, _] = budgets();
                let band = OptionSpec { help: "Bandwidth budget B_max at every size", ..band };
                options.push(band.of(MODELS));
                options.push(
                    OptionSpec::new(
                        "user-bandwidth-hz",
                        OptionValue::Number("HZ"),
                        "Or the bandwidth budget for each user, times the size",
                    )
                    .or("2e5")
                    .of(MODELS),
                );
            }
            Verb::Allocate => {
                options.extend(budgets().map(|spec| spec.of(MODELS)));
                options.push(no_check().of(MODELS));
                options.extend(reference_options());
            }
            Verb::Calibrate => return Vec::new(),
        }
        let cell = match verb {
            Verb::Sample => CellOptions::ROAD.specs(),
            Verb::Evaluate | Verb::Allocate => CELL.specs_over_model(OTHER_CELL),
            _ => CELL.specs(),
        };
        options.extend(cell);
        options
    }

    fn solve(&self, options: &Options) -> Result<Box<dyn Counter>, Error> {
        let system = CELL.system(options, &Config::default())?;
        let (budgets, checks) = (Budgets::new(options)?, !options.has(NO_CHECK));
        Ok(cell_counter(
            budgets.reading(system, options)?,
            BandSolver::default(),
            move |solver, system, records| {
                let problem = budgets.problem(system, users_in(records))?;
                Ok(BandAnswer::solve(solver, &problem, records, checks)?)
            },
        ))
    }

    fn assess(&self, options: &Options) -> Result<Box<dyn Assessor>, Error> {
        let system = CELL.system(options, &Config::default())?;
        let budgets = Budgets::new(options)?;
        Ok(cell_assessor(
            budgets.reading(system, options)?,
            BandSolver::default,
            move |solver, system, records, given| {
                let problem = budgets.problem(system, users_in(records))?;
                verdict(&problem, records, given, optimum_w(solver, &problem))
            },
        ))
    }

    fn baselines(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("optimum", "The exact optimum"),
            (
                "equal-bandwidth",
                "The same bandwidth for everyone, and the exact power that it needs",
            ),
        ]
    }

    fn amounts(&self) -> &'static [Amount] {
        UrllcPower::AMOUNTS
    }

    fn instances(&self, options: &Options) -> Result<Box<dyn Instances>, Error> {
        let system = CELL.system(options, &Config::default())?;
        let budgets = Budgets::new(options)?;
        Ok(user_instances(
            budgets.reading(system, options)?,
            move |system, users| Ok(budgets.problem(system, users.iter().copied())?),
            judge_users(super::arrays::users, optimum_w, verdict),
        ))
    }

    fn responder(
        &self,
        name: &str,
        _options: &Options,
    ) -> Option<Result<Box<dyn Responder>, Error>> {
        match name {
            "optimum" => Some(Ok(responder(BandSolver::default()))),
            "equal-bandwidth" => Some(Ok(responder(EqualBand::default()))),
            _ => None,
        }
    }

    fn sized(&self, options: &Options, size: usize) -> Result<Options, Error> {
        let mut options = options.clone();
        if !options.has("max-bandwidth-hz") {
            let each_hz = options.positive("user-bandwidth-hz")?.unwrap_or(USER_BAND_HZ);
            options.set("max-bandwidth-hz", (each_hz * size as f64).to_string());
        }
        Ok(options)
    }

    fn sample(&self, options: &Options, out: &mut dyn Write) -> Result<(), Error> {
        let system = CellOptions::ROAD.system(options, &Config::default())?;
        sample_users(options, &system, out)
    }

    fn trains(&self) -> bool {
        true
    }

    fn train(&self, options: &Options, workshop: &Workshop<'_>) -> Result<Trained, Error> {
        let system = CELL.system(options, &Config::default())?;
        let mut settings = AnyBandSettings::preset(options.seed("seed", 1)?);
        (settings.train_k, settings.samples) = training_cells(options)?;
        settings.validate()?;
        let mut session = workshop.session(&(self.name(), system.config(), &settings))?;
        let policy = session.kept_or(|session| train_any_band(&system, &settings, session))?;
        let (metrics, equal_gap_percent) = validated(&policy)?;
        let warning = no_better_than("equal bandwidths", metrics.gap_percent, equal_gap_percent);
        let report = Report {
            model: workshop.model_name(),
            training: settings,
            train_seconds: session.seconds("training"),
            availability: metrics.availability,
            gap_percent: metrics.gap_percent,
            equal_gap_percent,
        };
        Ok(Trained::new(&session, policy, report, warning))
    }

    fn read(&self, file: ModelFile) -> Result<Box<dyn LoadedModel>, ModelError> {
        Ok(Box::new(file.into_model::<AnyBandPolicy>()?))
    }

    fn policies(&self) -> &'static [BuiltIn] {
        &POLICIES
    }
}

static POLICIES: [BuiltIn; 1] = [BuiltIn {
    name: "band-power",
    label: "power (W) for URLLC in 200 kHz for each user over ln α",
    source: |system| {
        let label = POLICIES[0].label.to_owned();
        Ok(source(system, label, BandSolver::default(), Quantity::Power))
    },
}];

/// A policy on random cells, with the same bandwidth for each user at every size.
fn source(
    system: &System,
    label: String,
    allocator: impl Allocate<UrllcPower> + Clone + 'static,
    quantity: Quantity,
) -> Arc<dyn Source> {
    let system = system.clone();
    Arc::new(Drawn {
        label,
        allocator,
        instance: Box::new(move |seed, size, index| {
            Ok(random_problem(&system, (seed, size, index), USER_BAND_HZ * size as f64)?)
        }),
        inputs: |problem: &UrllcPower| {
            problem.cell().users().iter().map(|user| user.gain.ln()).collect()
        },
        outputs: match quantity {
            Quantity::Power => |_, answer: &Allocation| answer.power_w.clone(),
            Quantity::Bandwidth => |_, answer: &Allocation| answer.bandwidth_hz.clone(),
        },
    })
}

#[derive(Serialize)]
struct Report {
    model: String,
    training: AnyBandSettings,
    train_seconds: f64,
    /// On a validation set of the training sizes, with 200 kHz for each user.
    availability: f64,
    gap_percent: f64,
    /// The same of equal bandwidths, which learn nothing.
    equal_gap_percent: f64,
}

impl Show for Report {
    fn show(&self) -> Text {
        let Self { model, training, train_seconds, availability, gap_percent, .. } = self;
        let mut text = Text::line(format!(
            "{model}: {} steps at K = {:?} in {train_seconds:.1} s",
            training.steps, training.train_k
        ));
        text.push(format!(
            "validation, {} kHz for each user: the QoS of {:.2} % of users is met; power {gap_percent:.4} % over \
             the optimum (equal bandwidths: {:.2} %)",
            1e-3 * USER_BAND_HZ,
            100.0 * availability,
            self.equal_gap_percent
        ));
        text
    }
}

#[derive(Serialize)]
struct Evaluation {
    samples: u64,
    seed: u64,
    sizes: Vec<BandResult>,
}

impl Show for Evaluation {
    fn show(&self) -> Text {
        let rows = self.sizes.iter().map(|row| {
            vec![
                row.k.to_string(),
                format!("{:.3}", 1e-6 * row.max_bandwidth_hz),
                format!("{:.4}", row.availability),
                format!("{:.4}", row.total_power_w),
                format!("{:.4}", row.optimum_w),
                format!("{:.4}", row.gap_percent),
                format!("{:.4}", row.worst_gap_percent),
                format!("{:.2}", row.equal_gap_percent),
                row.infeasible.to_string(),
            ]
        });
        let header = [
            "K",
            "band (MHz)",
            "availability",
            "power (W)",
            "optimum (W)",
            "over (%)",
            "worst cell (%)",
            "equal bandwidths, over (%)",
            "infeasible",
        ];
        let mut text = Text::default();
        text.table(&header, rows);
        text
    }
}

impl LoadedModel for AnyBandPolicy {
    fn problem(&self) -> &'static str {
        Model::problem(self)
    }

    fn describe(&self) -> String {
        "a model for urllc-power (any-gnn)".to_owned()
    }

    fn file_bytes(&self) -> Result<Vec<u8>, ModelError> {
        self.to_bytes()
    }

    fn options(&self, verb: Verb) -> Vec<OptionSpec> {
        URLLC_POWER.options(verb)
    }

    fn home(&self) -> Options {
        CELL.describe(&self.record().config)
    }

    fn evaluate(
        &self,
        options: &Options,
        trials: &Trials,
        observer: &dyn Observer,
    ) -> Result<Box<dyn Answer>, Error> {
        let system = CELL.system(options, &self.record().config)?;
        trials.check()?;
        let each_hz = options.positive("user-bandwidth-hz")?;
        let fixed_hz = options.positive("max-bandwidth-hz")?;
        if each_hz.is_some() && fixed_hz.is_some() {
            let what = "a band that is the same at every size";
            return Err(Invalid::stray("user_bandwidth_hz", what).into());
        }
        let each_hz = each_hz.unwrap_or(USER_BAND_HZ);
        let Trials { sizes, samples, seed } = trials;
        let band_trials = BandTrials {
            system: &system,
            sizes,
            samples: *samples,
            seed: *seed,
            band_hz: &|size| fixed_hz.unwrap_or(each_hz * size as f64),
        };
        observer.begin("cells", samples * sizes.len() as u64);
        let sizes = evaluate_band(&self.allocator(), &band_trials, observer)?;
        observer.end();
        Ok(Box::new(Evaluation { samples: *samples, seed: *seed, sizes }))
    }

    fn allocate(&self, options: &Options) -> Result<Box<dyn Counter>, Error> {
        let system = CELL.system(options, &self.record().config)?;
        let (budgets, checks) = (Budgets::new(options)?, !options.has(NO_CHECK));
        Ok(cell_counter(
            budgets.reading(system, options)?,
            (BandSolver::default(), self.allocator()),
            move |(solver, allocator), system, records| {
                let problem = budgets.problem(system, users_in(records))?;
                let mut allocation = Allocation::default();
                // Where the budgets do not reach everyone, the answer is that of `solve`.
                if !matches!(allocator.allocate(&problem, &mut allocation), Outcome::Learned) {
                    return Ok(BandAnswer::solve(solver, &problem, records, checks)?);
                }
                problem.check(&allocation)?;
                let mut served =
                    BandServed::learned(&problem, &allocation, records.iter(), checks)?;
                if let Some(optimum_w) = checks.then(|| optimum_w(solver, &problem)).flatten() {
                    served.duality_gap = Some(1.0 - optimum_w / served.total_power_w);
                }
                let outside = allocator.policy().out_of_range(&problem);
                served.in_distribution = Some(outside.is_empty());
                served.out_of_range = Some(outside);
                Ok(BandAnswer::Served(served))
            },
        ))
    }

    fn responder(&self, _options: &Options) -> Result<Box<dyn Responder>, Error> {
        Ok(responder(self.allocator()))
    }

    fn source(&self, quantity: Quantity) -> Result<Option<Arc<dyn Source>>, Error> {
        let what = match quantity {
            Quantity::Power => "power",
            Quantity::Bandwidth => "bandwidth",
        };
        let label = format!("{what} of a model for URLLC in a fixed band over ln α");
        Ok(Some(source(self.system(), label, self.allocator(), quantity)))
    }
}
