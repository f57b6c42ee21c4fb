//! URLLC policies as models: their options, evaluation and calibration, as used by `anyk`.

use std::sync::Arc;

use crate::channel::FadingLaw;
use crate::config::System;
use crate::core::{About, Calibrated, FixedCell, Model, Page, Policy, Problem};
use crate::framework::{
    CalibrationSettings, CellOptions, Error, ModelError, Observer, OptionSpec, OptionValue,
    Options, Rows, Stored, Trials, Verb,
};
use crate::invalid::Invalid;
use crate::problems::urllc::in_cells::{OwnCells, PriceCells, judge};
use crate::problems::urllc::problem::{URLLC, UrllcProblem, no_check};
use crate::problems::urllc::reports::{EvaluatedSize, Evaluation, Measured};
use crate::problems::urllc::test_set::{CellDraw, CellResult, Meter, NoneServed};
use crate::problems::urllc::{
    CellPolicy, EqualPower, Judge, LearnedPolicy, PricePolicy, SizeResult, calibrate,
};

/// Heading of options that use a model in another cell.
const OTHER_CELL: &str = "Cell other than the model's own, for models of the price policy";

/// Returns the options of a verb for models. The flags add options of models for any cell, and of models that were
/// learned from samples.
pub(super) fn options(verb: Verb, other_cells: bool, sampled: bool) -> Vec<OptionSpec> {
    let mut options = Vec::new();
    if verb == Verb::Allocate {
        let certify =
            "Raise bandwidths that are too small, and certify each user's QoS by quadrature";
        options.extend([OptionSpec::new("certify", OptionValue::Switch, certify), no_check()]);
    }
    if sampled {
        options.push(OptionSpec::new(
            "fading",
            OptionValue::Text("LAW|FILE"),
            "Fading for checks: distribution (see `anyk sample fading`), or held-out samples",
        ));
    }
    let options = options.into_iter().map(|spec| spec.of("Models for urllc")).collect();
    CellOptions::ALL.flags((&URLLC, verb), options, other_cells.then_some(OTHER_CELL))
}

fn evaluate(
    policy: &impl CellPolicy,
    system: &System,
    (judge, epsilon_d): (Option<&Judge>, Option<f64>),
    trials: &Trials,
    observer: &dyn Observer,
) -> Result<Page, Error> {
    trials.check()?;
    let draw = CellDraw::new(system, judge.map(|judge| &judge.rule))?;
    let (model, equal) = (policy.allocator(), EqualPower::default());
    observer.begin("cells", trials.count());
    let found: Vec<Rows<Measurement>> = trials.measure(
        |_| {
            let meters = [Meter::new(&model, epsilon_d)?, Meter::new(&equal, None)?];
            Ok((draw.solver.clone(), meters))
        },
        |(solver, [model, equal]), size, index| {
            Ok(Some(match draw.cell(solver, (trials.seed, size, index))? {
                Err(why) => Err(why.required_power_w),
                Ok((instance, optimum_mhz)) => {
                    Ok((optimum_mhz, model.measure(&instance)?, equal.measure(&instance)?))
                }
            }))
        },
        observer,
    )?;
    observer.end();
    // If nothing can be measured, the message says what is missing.
    if let Some(first) = found.first()
        && found.iter().flat_map(|found| &found.rows).all(Result::is_err)
    {
        let least = |least: f64, row: &Measurement| {
            least.min(row.as_ref().err().copied().flatten().unwrap_or(f64::INFINITY))
        };
        let required_w = first.rows.iter().fold(f64::INFINITY, least);
        let max_power_w = system.max_power_w();
        let why = NoneServed { size: first.k, required_w, max_power_w };
        let expected = format!("a size that the budget can serve: {why}");
        return Err(Invalid::value("k", why.size, expected).into());
    }
    let rows = found.into_iter().map(|Rows { k, rows, .. }| {
        let all = rows.len();
        let served: Vec<_> = rows.into_iter().filter_map(Result::ok).collect();
        let (optima, pairs): (Vec<f64>, Vec<_>) =
            served.into_iter().map(|(optimum, model, equal)| (optimum, (model, equal))).unzip();
        let (model, equal): (Vec<CellResult>, Vec<CellResult>) = pairs.into_iter().unzip();
        let optimum_mhz = optima.iter().sum::<f64>() / optima.len().max(1) as f64;
        let result = |rows: &[CellResult]| SizeResult::new(k, rows, optimum_mhz);
        let found = (!optima.is_empty())
            .then(|| Measured::new(&result(&model), &result(&equal), epsilon_d.is_some()));
        EvaluatedSize { k, found, infeasible: all - optima.len() }
    });
    let rows = rows.collect();
    Evaluation::new(trials, policy.guarantee(), rows, epsilon_d).page()
}

/// Optimum in MHz and the results of the model and of equal power, or the power that the cell needs, W.
type Measurement = Result<(f64, CellResult, CellResult), Option<f64>>;

/// URLLC policy that can be saved as a model.
trait CellModel: CellPolicy + Stored {
    /// Whether the policy allocates in cells other than its own.
    const ANY_CELL: bool;

    /// Returns a policy for cells, with options of [`Verb::Allocate`].
    fn in_cells(&self, options: &Options) -> Box<dyn Policy>;

    /// Returns the largest number of users at which the policy was measured; `None` if the policy does not depend on
    /// it.
    fn measured_k(&self) -> Option<usize>;

    /// Returns the loss target of the training if it is stricter than that of the users. A base station may code for
    /// this target.
    fn coded_epsilon(&self) -> Option<f64>;

    /// Returns the judge for a measurement. A policy that was learned from samples needs one in the options.
    fn needed_judge(&self, options: &Options, system: &System) -> Result<Option<Judge>, Error> {
        let judge = judge(options, system)?;
        if judge.is_none() && !self.knows_fading() {
            let expected = "a fading distribution, or held-out samples, to check the model: it was learned from \
                            samples of an unknown distribution";
            return Err(Invalid::missing("fading", expected).into());
        }
        Ok(judge)
    }
}

impl CellModel for LearnedPolicy {
    const ANY_CELL: bool = false;

    fn in_cells(&self, options: &Options) -> Box<dyn Policy> {
        let policy = Box::new(OwnCells::new(self, options));
        Box::new(FixedCell::new(policy, self.trained_options(), "the price policy"))
    }

    fn coded_epsilon(&self) -> Option<f64> {
        Some(self.record().training.epsilon_d)
    }

    fn measured_k(&self) -> Option<usize> {
        let calibrated = self.guarantee().map_or(&[][..], |guarantee| &guarantee.k);
        self.record().training.train_k.iter().chain(calibrated).copied().max()
    }
}

impl CellModel for PricePolicy {
    const ANY_CELL: bool = true;

    fn in_cells(&self, options: &Options) -> Box<dyn Policy> {
        Box::new(PriceCells::new(self, options))
    }

    fn coded_epsilon(&self) -> Option<f64> {
        None
    }

    fn measured_k(&self) -> Option<usize> {
        None
    }
}

impl<P: CellModel + Send + Sync + 'static> Model for P {
    fn about(&self) -> &'static About {
        &URLLC
    }

    fn describe(&self) -> String {
        let samples = if self.knows_fading() { "" } else { ", learned from samples of fading" };
        format!("a model for urllc ({}{samples})", self.method())
    }

    fn bytes(&self) -> Result<Vec<u8>, ModelError> {
        self.to_bytes()
    }

    fn flags(&self, verb: Verb) -> Vec<OptionSpec> {
        options(verb, P::ANY_CELL, !self.knows_fading())
    }

    fn trained_options(&self) -> Options {
        CellOptions::ALL.describe(self.system().config())
    }

    fn validated_k(&self) -> Option<usize> {
        self.measured_k()
    }

    fn evaluate(
        &self,
        options: &Options,
        trials: &Trials,
        observer: &dyn Observer,
    ) -> Result<Page, Error> {
        let system = CellOptions::ALL.system(options, self.system().config())?;
        let judge = self.needed_judge(options, &system)?;
        evaluate(self, &system, (judge.as_ref(), self.coded_epsilon()), trials, observer)
    }

    fn policy(&self, options: &Options) -> Result<Box<dyn Policy>, Error> {
        // Samples cannot certify an allocation.
        if options.has("certify") && !self.knows_fading() {
            let expected = "a fading distribution with `certify`: the model was learned from samples, which cannot \
                            certify";
            match options.text("fading") {
                Some(text) if text.parse::<FadingLaw>().is_ok() => (),
                Some(text) => return Err(Invalid::value("fading", text, expected).into()),
                None => return Err(Invalid::missing("fading", expected).into()),
            }
        }
        Ok(self.in_cells(options))
    }

    fn problem(&self, options: &Options) -> Result<Arc<dyn Problem>, Error> {
        let options = options.over_trained(&self.trained_options());
        Ok(Arc::new(UrllcProblem::of_model(&options, self.knows_fading())?))
    }

    fn calibrate(
        &self,
        options: &Options,
        settings: &CalibrationSettings,
    ) -> Option<Result<Calibrated, Error>> {
        let run = || {
            let judge = self.needed_judge(options, self.system())?;
            let policy = calibrate(self, judge.as_ref(), settings)?;
            let none = || ModelError::Content("the calibrated model has no guarantee".to_owned());
            let guarantee = policy.guarantee().cloned().ok_or_else(none)?;
            Ok::<Calibrated, Error>((Arc::new(policy), guarantee))
        };
        Some(run())
    }
}
