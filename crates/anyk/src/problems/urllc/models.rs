//! Models of URLLC as the program sees them.

use std::sync::Arc;

use crate::channel::FadingLaw;
use crate::config::System;
use crate::framework::{
    Answer, Calibrated, CalibrationSettings, CellOptions, CellReading, Counter, Error, LoadedModel,
    Model, ModelError, Observer, OptionSpec, OptionValue, Options, Quantity, Responder, Source,
    Trials, Verb, cell_counter, reference_options, responder,
};
use crate::invalid::Invalid;
use crate::problems::urllc::arrays::Certifying;
use crate::problems::urllc::desk::{AnyDesk, How, LearnedDesk, OwnCells, judge, no_check};
use crate::problems::urllc::reports::{EvaluatedSize, Evaluation, Measured};
use crate::problems::urllc::room::source;
use crate::problems::urllc::{
    Allocation, AnyPolicy, CellPolicy, EqualPower, Judge, LearnedPolicy, TestSet, Urllc, calibrate,
};

/// The heading of options that put a model into another cell.
const OTHER_CELL: &str = "Another cell than the model's own, for models of any-gnn";

/// Options of a verb for models: of those whose cell may be another, and of those learned from samples.
pub(super) fn options(verb: Verb, other_cells: bool, sampled: bool) -> Vec<OptionSpec> {
    let mut options = Vec::new();
    if verb == Verb::Allocate {
        options.push(
            OptionSpec::new(
                "certify",
                OptionValue::Switch,
                "Raise bandwidths to what is certified, and report the certificate of each user",
            )
            .of("Models for urllc"),
        );
        options.push(no_check().of("Models for urllc"));
        options.extend(reference_options());
    }
    if sampled {
        options.push(OptionSpec::new(
            "fading",
            OptionValue::Text("LAW|FILE"),
            "Fading to judge by, for a model that was learned from samples: a law (rician:k=3, see `anyk sample \
             fading`) or a NumPy array of samples held out",
        ).of("Models for urllc"));
    }
    if other_cells && verb != Verb::Calibrate {
        options.extend(CellOptions::ALL.specs_over_model(OTHER_CELL));
    }
    options
}

fn evaluate(
    policy: &impl CellPolicy,
    system: &System,
    judge: Option<&Judge>,
    trials: &Trials,
    observer: &dyn Observer,
) -> Result<Box<dyn Answer>, Error> {
    let Trials { sizes, samples, seed } = trials;
    trials.check()?;
    let fading = judge.map(|judge| &judge.rule);
    observer.begin("optimum, cells", samples * sizes.len() as u64);
    let set = TestSet::draw_under(system, fading, sizes, *samples, *seed, observer)?;
    let served = set.served();
    // With nothing to measure at all, the message says what is missing.
    if served.iter().all(|count| *count == 0) {
        set.check_served().map_err(|why| {
            let expected = format!("a size that the budget can serve: {why}");
            Invalid::value("k", why.size, expected)
        })?;
    }
    let cells: usize = served.iter().sum();
    let set = set.without_unserved();
    observer.begin("model, cells", cells as u64);
    let results = set.evaluate(&policy.allocator(), observer)?;
    observer.begin("equal power, cells", cells as u64);
    let equal = set.evaluate(&EqualPower::default(), observer)?;
    observer.end();
    let mut found = results.iter().zip(&equal);
    let all = usize::try_from(*samples).unwrap_or(usize::MAX);
    let rows = sizes.iter().zip(served).map(|(&k, count)| EvaluatedSize {
        k,
        found: if count == 0 {
            None
        } else {
            found.next().map(|(one, equal)| Measured::new(one, equal))
        },
        infeasible: all - count,
    });
    let rows = rows.collect();
    Ok(Box::new(Evaluation::new(trials, policy.guarantee(), rows)))
}

/// The powers or the bandwidths of a policy over the users' gains.
fn diagnosed(
    policy: &impl CellPolicy,
    quantity: Quantity,
) -> Result<Option<Arc<dyn Source>>, Error> {
    let (what, outputs): (_, fn(&Urllc, &Allocation) -> Vec<f64>) = match quantity {
        Quantity::Power => ("power", |_, answer| answer.power_w.clone()),
        Quantity::Bandwidth => ("bandwidth", |_, answer| answer.bandwidth_hz.clone()),
    };
    let label = format!("{what} of a model for URLLC over ln α");
    Ok(Some(source(policy.system(), label, policy.allocator(), outputs)))
}

impl LoadedModel for LearnedPolicy {
    fn problem(&self) -> &'static str {
        Model::problem(self)
    }

    fn describe(&self) -> String {
        format!("a model for urllc ({})", self.method())
    }

    fn file_bytes(&self) -> Result<Vec<u8>, ModelError> {
        self.to_bytes()
    }

    fn options(&self, verb: Verb) -> Vec<OptionSpec> {
        options(verb, false, false)
    }

    fn home(&self) -> Options {
        CellOptions::ALL.describe(&self.record().config)
    }

    fn validated_k(&self) -> Option<usize> {
        let calibrated = self.guarantee().map_or(&[][..], |guarantee| &guarantee.k);
        self.record().training.train_k.iter().chain(calibrated).copied().max()
    }

    fn evaluate(
        &self,
        _options: &Options,
        trials: &Trials,
        observer: &dyn Observer,
    ) -> Result<Box<dyn Answer>, Error> {
        evaluate(self, CellPolicy::system(self), None, trials, observer)
    }

    fn allocate(&self, options: &Options) -> Result<Box<dyn Counter>, Error> {
        Ok(cell_counter(
            CellReading::new(CellPolicy::system(self).clone(), options)?,
            LearnedDesk::new(self, How::new(options)),
            LearnedDesk::answer,
        ))
    }

    fn responder(&self, options: &Options) -> Result<Box<dyn Responder>, Error> {
        Ok(responder(OwnCells::new(self, How::new(options).certify)))
    }

    fn calibrate(
        &self,
        _options: &Options,
        settings: &CalibrationSettings,
    ) -> Option<Result<Calibrated, Error>> {
        Some(calibrated(self, None, settings))
    }

    fn source(&self, quantity: Quantity) -> Result<Option<Arc<dyn Source>>, Error> {
        diagnosed(self, quantity)
    }
}

fn calibrated<P: CellPolicy + LoadedModel + 'static>(
    policy: &P,
    judge: Option<&Judge>,
    settings: &CalibrationSettings,
) -> Result<Calibrated, Error> {
    let policy = calibrate(policy, judge, settings)?;
    let none = || ModelError::Content("the calibrated model has no guarantee".to_owned());
    let guarantee = policy.guarantee().cloned().ok_or_else(none)?;
    Ok((Box::new(policy), guarantee))
}

impl AnyPolicy {
    /// The judge that a measurement needs: of a policy that knows samples alone, not its own.
    fn needed_judge(&self, options: &Options, system: &System) -> Result<Option<Judge>, Error> {
        let judge = judge(options, system)?;
        if judge.is_none() && !self.knows_fading() {
            let expected = "a law of fading, or samples held out, to judge the model by: it was learned from \
                            samples and knows no law";
            return Err(Invalid::missing("fading", expected).into());
        }
        Ok(judge)
    }
}

impl LoadedModel for AnyPolicy {
    fn problem(&self) -> &'static str {
        Model::problem(self)
    }

    fn describe(&self) -> String {
        let samples = if self.knows_fading() { "" } else { ", learned from samples of fading" };
        format!("a model for urllc (any-gnn{samples})")
    }

    fn file_bytes(&self) -> Result<Vec<u8>, ModelError> {
        self.to_bytes()
    }

    fn options(&self, verb: Verb) -> Vec<OptionSpec> {
        options(verb, true, !self.knows_fading())
    }

    fn home(&self) -> Options {
        CellOptions::ALL.describe(&self.record().config)
    }

    fn evaluate(
        &self,
        options: &Options,
        trials: &Trials,
        observer: &dyn Observer,
    ) -> Result<Box<dyn Answer>, Error> {
        let system = CellOptions::ALL.system(options, &self.record().config)?;
        let judge = self.needed_judge(options, &system)?;
        evaluate(self, &system, judge.as_ref(), trials, observer)
    }

    fn allocate(&self, options: &Options) -> Result<Box<dyn Counter>, Error> {
        let system = CellOptions::ALL.system(options, &self.record().config)?;
        let judge = judge(options, &system)?;
        let how = How::new(options);
        // Samples certify nothing.
        if how.certify && !self.knows_fading() {
            let expected = "a law of fading with `certify`: the model was learned from samples, which certify \
                            nothing";
            match options.text("fading") {
                Some(text) if text.parse::<FadingLaw>().is_ok() => (),
                Some(text) => return Err(Invalid::value("fading", text, expected).into()),
                None => return Err(Invalid::missing("fading", expected).into()),
            }
        }
        let desk = AnyDesk::new(self, judge, how);
        Ok(cell_counter(CellReading::new(system, options)?, desk, AnyDesk::answer))
    }

    fn responder(&self, options: &Options) -> Result<Box<dyn Responder>, Error> {
        let certify = How::new(options).certify;
        if certify && !self.knows_fading() {
            let expected = "a model that knows the law of fading: this one was learned from samples, which certify \
                            nothing";
            return Err(Invalid::value("certify", "given", expected).into());
        }
        let allocator = self.allocator();
        Ok(if certify { responder(Certifying(allocator)) } else { responder(allocator) })
    }

    fn calibrate(
        &self,
        options: &Options,
        settings: &CalibrationSettings,
    ) -> Option<Result<Calibrated, Error>> {
        let run = || {
            let judge = self.needed_judge(options, CellPolicy::system(self))?;
            calibrated(self, judge.as_ref(), settings)
        };
        Some(run())
    }

    fn source(&self, quantity: Quantity) -> Result<Option<Arc<dyn Source>>, Error> {
        diagnosed(self, quantity)
    }
}
