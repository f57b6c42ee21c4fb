//! Separable costs as the program sees them: the power of a cell, split by a cost of the users' SNR.

use std::io::Write;
use std::sync::Arc;

use serde::Serialize;

use crate::config::{Config, ParameterValue, System};
use crate::exchange::{UserRecord, read_cost_samples, read_file};
use crate::framework::{
    Allocate as _, Amount, Answer, Arrays as _, Assessor, CellAnswer, CellOptions, CellReading,
    Choice as _, Counter, Drawn, Error, Instances, LoadedModel, Model, ModelError, ModelFile,
    Observer, OptionSpec, OptionValue, Options, Outcome, Problem as _, Quantity, Refusal,
    Responder, Room, Show, Source, Text, Trained, Trials, Verb, Workshop, cell_assessor,
    cell_counter, reference_options, refuse_own_class, responder, sample_options, sample_users,
    training_cells,
};
use crate::invalid::Invalid;
use crate::problems::separable::answer::solve;
use crate::problems::separable::assess::{optimum, verdict};
use crate::problems::separable::{
    AnySeparablePolicy, AnySeparableSettings, BuiltInCost, Cost, EqualShares, Separable,
    SeparableCell, SeparableResult, SeparableServed, SeparableSolver, evaluate_separable,
    shortfall, train_any_separable,
};

/// Bring your own problem.
#[derive(Debug)]
pub struct SeparableRoom;

/// Bring your own problem.
pub static SEPARABLE: SeparableRoom = SeparableRoom;

const STATEMENT: &str = "  min   Σ_k c(u_k),   u_k = α_k x_k/(N_0 B)
   x
  s.t.  Σ_k x_k ≤ P_max,  x ≥ 0

c is any cost that falls and is convex in the SNR u: one by name, or your own as a file of samples. The library takes \
functions, several costs side by side and amounts of anything, see anyk::problems::separable.";

const INPUT: &str = "\
The input are users, as for urllc: JSON, or CSV with a header.

  {\"users\":[{\"id\":\"a\",\"distance_m\":60.0},{\"id\":\"b\",\"gain_db\":-110.5}]}

The cost is the name of one that is there, or a file of samples u,c: CSV, JSON [[u,c],…] or a NumPy array of shape \
(n, 2). Between samples it is bent, and goes through all of them; under the first nothing serves, and beyond the last \
it is flat.";

const CELL: CellOptions = CellOptions { radio: true, power: true, service: false };
/// The group of options of this room's models.
const MODELS: &str = "Models for separable";
/// The group of the cell's options where a model has a cell of its own.
const OTHER_CELL: &str = "Another cell than that of the model";
/// The cost where none is given.
const DEFAULT: &str = "log1p";
/// Up to which SNR costs by name are known.
const MOST_SNR: f64 = 1e12;
const BANDWIDTH_HZ: f64 = 1e6;

fn cost_option() -> OptionSpec {
    let help = "Cost of a user's SNR: log1p (the sum rate, by water-filling), fair-rate, delay, inverse, mmse, \
                exponential, or a file of samples u,c";
    OptionSpec::new("cost", OptionValue::Text("NAME|FILE"), help).or(DEFAULT)
}

fn bandwidth_option() -> OptionSpec {
    let help = "Bandwidth B of each user, whose noise the SNR is over";
    OptionSpec::new("bandwidth-hz", OptionValue::Number("HZ"), help).or("1e6").rare()
}

/// The cost that was given, and its name.
fn cost(options: &Options) -> Result<(Arc<Cost>, String), Error> {
    let names: Vec<&str> = BuiltInCost::ALL.iter().map(|choice| choice.0).collect();
    let expected = || format!("{}, or a file of samples u,c", names.join(", "));
    let given = options.text("cost").unwrap_or(DEFAULT);
    if let Some((.., built_in)) = BuiltInCost::ALL.iter().find(|choice| choice.0 == given) {
        return Ok((Arc::new(built_in.cost(MOST_SNR).map_err(Error::other)?), given.to_owned()));
    }
    let path = std::path::Path::new(given);
    if !path.exists() {
        return Err(Invalid::value("cost", given, expected()).into());
    }
    let bytes = read_file(path).map_err(|source| Error::Read { path: path.into(), source })?;
    let samples = read_cost_samples(&bytes, given)?;
    let cost = Cost::from_samples(&samples).map_err(|error| Error::other(error).in_file(given))?;
    Ok((Arc::new(cost), given.to_owned()))
}

fn bandwidth_hz(options: &Options, default: f64) -> Result<f64, Invalid> {
    Ok(options.positive("bandwidth-hz")?.unwrap_or(default))
}

/// What makes a problem of the users of a cell.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    cost: Arc<Cost>,
    /// Its name; none of a model with costs of its own.
    name: Option<String>,
    bandwidth_hz: f64,
}

impl Setting {
    fn new(options: &Options) -> Result<Self, Error> {
        let (cost, name) = cost(options)?;
        let bandwidth_hz = bandwidth_hz(options, BANDWIDTH_HZ)?;
        Ok(Self { cost, name: Some(name), bandwidth_hz })
    }

    /// How its users are read.
    fn reading(&self, system: System, options: &Options) -> Result<CellReading, Invalid> {
        Ok(CellReading::new(system, options)?
            .using(CELL)
            .with("bandwidth_hz", Some(self.bandwidth_hz.into()))
            .with("cost", self.name.clone().map(ParameterValue::Word)))
    }

    fn problem(&self, system: &System, records: &[UserRecord]) -> Result<Separable, Error> {
        refuse_own_class(records, system, "all users have the same cost")?;
        self.of_gains(system, records.iter().map(|record| record.gain))
    }

    /// Of users with these gains.
    pub(super) fn of_gains(
        &self,
        system: &System,
        gains: impl Iterator<Item = f64>,
    ) -> Result<Separable, Error> {
        let noise_w = system.noise_w_hz() * self.bandwidth_hz;
        let gains = gains.map(|gain| gain / noise_w);
        Ok(Separable::uniform(Arc::clone(&self.cost), gains, system.max_power_w())?)
    }
}

impl Room for SeparableRoom {
    fn name(&self) -> &'static str {
        "separable"
    }

    fn about(&self) -> &'static str {
        "Power, least sum of a cost of your own that is convex in the SNR"
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
                "solve separable --cost log1p --input users.json",
                "sample separable --k 80 | anyk solve separable --cost cost.csv --input -",
            ],
            Verb::Assess => {
                &["assess separable --cost log1p --input cells.jsonl --allocations mine.jsonl"]
            }
            Verb::Train => &["train separable --cost log1p --out water.safetensors"],
            Verb::Sample => &["sample separable --k 10 --seed 1 > users.json"],
            Verb::Evaluate => &["evaluate water.safetensors --k 1,10,100,1000"],
            _ => &["allocate water.safetensors --input users.json"],
        }
    }

    fn options(&self, verb: Verb) -> Vec<OptionSpec> {
        let mut options = match verb {
            Verb::Solve | Verb::Assess => {
                let mut options = vec![cost_option(), bandwidth_option()];
                options.extend(reference_options());
                options
            }
            Verb::Sample => {
                let mut options = sample_options();
                options.extend(CellOptions::ROAD.specs());
                return options;
            }
            Verb::Train => {
                let whole =
                    |name, unit, help| OptionSpec::new(name, OptionValue::Whole(unit), help);
                vec![
                    cost_option(),
                    bandwidth_option(),
                    OptionSpec::new(
                        "train-k",
                        OptionValue::Sizes,
                        "Users in the training samples; several sizes separated by commas",
                    )
                    .or("10"),
                    whole("samples", "N", "Training samples of each size").or("2000"),
                    whole("seed", "SEED", "Seed of samples, initialization and order").or("1"),
                ]
            }
            Verb::Allocate => {
                let mut options = vec![bandwidth_option().of(MODELS)];
                options.extend(reference_options());
                options.extend(CELL.specs_over_model(OTHER_CELL));
                return options;
            }
            Verb::Evaluate | Verb::Calibrate => return Vec::new(),
        };
        options.extend(CELL.specs());
        options
    }

    fn solve(&self, options: &Options) -> Result<Box<dyn Counter>, Error> {
        let system = CELL.system(options, &Config::default())?;
        let setting = Setting::new(options)?;
        Ok(cell_counter(
            setting.reading(system, options)?,
            SeparableSolver::default(),
            move |solver, system, records| {
                Ok(solve(solver, &setting.problem(system, records)?, records)?)
            },
        ))
    }

    fn assess(&self, options: &Options) -> Result<Box<dyn Assessor>, Error> {
        let system = CELL.system(options, &Config::default())?;
        let setting = Setting::new(options)?;
        Ok(cell_assessor(
            setting.reading(system, options)?,
            SeparableSolver::default,
            move |solver, system, records, given| {
                let problem = setting.problem(system, records)?;
                verdict(&problem, records, given, optimum(solver, &problem))
            },
        ))
    }

    fn baselines(&self) -> &'static [(&'static str, &'static str)] {
        &[("optimum", "The exact optimum"), ("equal-power", "The same power for everyone")]
    }

    fn amounts(&self) -> &'static [Amount] {
        Separable::AMOUNTS
    }

    fn instances(&self, options: &Options) -> Result<Box<dyn Instances>, Error> {
        let system = CELL.system(options, &Config::default())?;
        let setting = Setting::new(options)?;
        Ok(super::arrays::instances(setting.clone(), setting.reading(system, options)?))
    }

    fn responder(
        &self,
        name: &str,
        _options: &Options,
    ) -> Option<Result<Box<dyn Responder>, Error>> {
        match name {
            "optimum" => Some(Ok(responder(SeparableSolver::default()))),
            // In a cell the shares are powers.
            "equal-power" | "equal-shares" => Some(Ok(responder(EqualShares))),
            _ => None,
        }
    }

    fn sample(&self, options: &Options, out: &mut dyn Write) -> Result<(), Error> {
        sample_users(options, &CellOptions::ROAD.system(options, &Config::default())?, out)
    }

    fn trains(&self) -> bool {
        true
    }

    fn train(&self, options: &Options, workshop: &Workshop<'_>) -> Result<Trained, Error> {
        let system = CELL.system(options, &Config::default())?;
        let (cost, name) = cost(options)?;
        let bandwidth_hz = bandwidth_hz(options, BANDWIDTH_HZ)?;
        let noise_w = system.noise_w_hz() * bandwidth_hz;
        let road = system.road();
        let [low, high] = [road.cell_radius_m, road.min_distance_m]
            .map(|distance_m| system.path_loss().gain(distance_m) / noise_w);
        let seed = options.seed("seed", 1)?;
        let mut settings = AnySeparableSettings::preset((low, high), system.max_power_w(), seed);
        (settings.train_k, settings.samples) = training_cells(options)?;
        settings.validate()?;
        let cell = SeparableCell { config: system.config().clone(), bandwidth_hz, cost: name };
        let costs = [cost];
        let (low, ends, coefficients, errors) = costs[0].parts();
        let cost = (low, ends, coefficients.collect::<Vec<_>>(), errors);
        let mut session = workshop.session(&(self.name(), &settings, &cell, cost))?;
        let policy = session.kept_or(|session| {
            Ok::<_, Error>(train_any_separable(&costs, &settings, session)?.of_cell(cell))
        })?;
        let metrics = policy.record().metrics;
        let report = Report {
            model: workshop.model_name(),
            training: settings,
            train_seconds: session.seconds("training"),
            gap_percent: metrics.gap_percent,
            equal_gap_percent: metrics.equal_gap_percent,
        };
        let warning = shortfall(&policy)?;
        Ok(Trained::new(&session, policy, report, warning))
    }

    fn read(&self, file: ModelFile) -> Result<Box<dyn LoadedModel>, ModelError> {
        Ok(Box::new(file.into_model::<AnySeparablePolicy>()?))
    }
}

#[derive(Serialize)]
struct Report {
    model: String,
    training: AnySeparableSettings,
    train_seconds: f64,
    /// On a validation set of the training sizes.
    gap_percent: f64,
    equal_gap_percent: f64,
}

impl Show for Report {
    fn show(&self) -> Text {
        let Self { model, training, train_seconds, gap_percent, equal_gap_percent, .. } = self;
        let mut text = Text::line(format!(
            "{model}: {} steps at K = {:?} in {train_seconds:.1} s",
            training.steps, training.train_k
        ));
        text.push(format!(
            "validation: costs {gap_percent:.4} % over the optimum, equal shares {equal_gap_percent:.4} %"
        ));
        text
    }
}

#[derive(Serialize)]
struct Evaluation {
    samples: u64,
    seed: u64,
    sizes: Vec<SeparableResult>,
}

impl Show for Evaluation {
    fn show(&self) -> Text {
        let rows = self.sizes.iter().map(|row| {
            let equal = row.equal_gap_percent;
            vec![
                row.k.to_string(),
                format!("{:.6}", row.objective),
                format!("{:.6}", row.optimum),
                format!("{:.4}", row.gap_percent),
                format!("{:.4}", row.worst_gap_percent),
                equal.map_or_else(|| "–".to_owned(), |percent| format!("{percent:.2}")),
                format!("{:.3}", row.zeros),
                row.infeasible.to_string(),
            ]
        });
        let header = [
            "K",
            "cost",
            "optimum",
            "over (%)",
            "worst (%)",
            "equal shares, over (%)",
            "share with nothing",
            "infeasible",
        ];
        let mut text = Text::default();
        text.table(&header, rows);
        text
    }
}

impl LoadedModel for AnySeparablePolicy {
    fn problem(&self) -> &'static str {
        Model::problem(self)
    }

    fn describe(&self) -> String {
        "a model for separable (any-gnn)".to_owned()
    }

    fn file_bytes(&self) -> Result<Vec<u8>, ModelError> {
        self.to_bytes()
    }

    fn options(&self, verb: Verb) -> Vec<OptionSpec> {
        SEPARABLE.options(verb)
    }

    fn home(&self) -> Options {
        let Some(cell) = &self.record().cell else { return Options::default() };
        let mut options = CELL.describe(&cell.config);
        options.set("bandwidth-hz", cell.bandwidth_hz.to_string());
        options.set("cost", cell.cost.clone());
        options
    }

    fn evaluate(
        &self,
        _options: &Options,
        trials: &Trials,
        observer: &dyn Observer,
    ) -> Result<Box<dyn Answer>, Error> {
        trials.check()?;
        let Trials { sizes, samples, seed } = trials;
        observer.begin("instances", samples * sizes.len() as u64);
        let found = evaluate_separable(self, trials, observer)?;
        observer.end();
        Ok(Box::new(Evaluation { samples: *samples, seed: *seed, sizes: found }))
    }

    fn allocate(&self, options: &Options) -> Result<Box<dyn Counter>, Error> {
        let cost = &self.costs()[0];
        let cell = self.record().cell.as_ref();
        let config = cell.map_or_else(Config::default, |cell| cell.config.clone());
        let system = CELL.system(options, &config)?;
        let default_hz = cell.map_or(BANDWIDTH_HZ, |cell| cell.bandwidth_hz);
        let bandwidth_hz = bandwidth_hz(options, default_hz)?;
        let name = cell.map(|cell| cell.cost.clone());
        let setting = Setting { cost: Arc::clone(cost), name, bandwidth_hz };
        Ok(cell_counter(
            setting.reading(system, options)?,
            (SeparableSolver::default(), self.allocator()),
            move |(solver, allocator), system, records| {
                if allocator.policy().costs().len() > 1 {
                    let message = "the model has several costs, and users of a cell do not say which is theirs";
                    return Err(Error::other(Refusal(message.to_owned())));
                }
                let problem = setting.problem(system, records)?;
                let mut powers = Vec::new();
                // Where the budget does not reach everyone, the answer is that of `solve`.
                if allocator.allocate(&problem, &mut powers) != Outcome::Learned {
                    return Ok(solve(solver, &problem, records)?);
                }
                problem.check(&powers)?;
                let mut served = SeparableServed::new(&problem, &powers, records.iter())?;
                let optimum = solver.solve(&problem);
                let size = optimum.objective.abs() + optimum.price * problem.budget();
                let gap = (served.total_cost - optimum.objective) / size;
                served.duality_gap = gap.is_finite().then_some(gap);
                let outside = allocator.policy().out_of_range(&problem);
                served.in_distribution = Some(outside.is_empty());
                served.out_of_range = Some(outside);
                Ok(CellAnswer::Served(served))
            },
        ))
    }

    fn responder(&self, _options: &Options) -> Result<Box<dyn Responder>, Error> {
        Ok(responder(self.allocator()))
    }

    fn source(&self, quantity: Quantity) -> Result<Option<Arc<dyn Source>>, Error> {
        if quantity == Quantity::Bandwidth {
            return Ok(None);
        }
        let (settings, costs) = (self.record().training.clone(), self.costs().to_vec());
        Ok(Some(Arc::new(Drawn {
            label: "amount of a model with separable costs over ln α".to_owned(),
            allocator: self.allocator(),
            instance: Box::new(move |seed, size, index| {
                let problem: Result<Separable, Invalid> =
                    settings.draw(&costs, (seed, size, index));
                Ok(problem?)
            }),
            inputs: |problem: &Separable| problem.gains().iter().map(|gain| gain.ln()).collect(),
            outputs: |_, amounts: &Vec<f64>| amounts.clone(),
        })))
    }
}
