//! Models of URLLC in a fixed band: their training, and what they reach.

use std::sync::Arc;

use serde::Serialize;

use crate::config::Config;
use crate::core::{
    About, Allocation, Instance, Model, Outcome, Page, Policy, Text, Trained, no_better_than,
};
use crate::framework::{
    Error, ModelError, ModelFile, Observer, OptionSpec, Options, Stored as _, Trials, Verb,
    Workshop, training_cells,
};
use crate::invalid::Invalid;
use crate::problems::urllc::{PriceSettings, add_outside};
use crate::problems::urllc_power::evaluation::{BandTrials, validated};
use crate::problems::urllc_power::problem::{CELL, USER_BAND_HZ};
use crate::problems::urllc_power::{
    BandPriceAllocator, BandPricePolicy, BandResult, BandSolver, URLLC_POWER, evaluate_band,
};

/// Trains a policy.
pub(super) fn train(options: &Options, workshop: &Workshop<'_>) -> Result<Trained, Error> {
    let system = CELL.system(options, &Config::default())?;
    let mut settings = PriceSettings::preset(options.seed("seed", 1)?);
    (settings.train_k, settings.samples) = training_cells(options)?;
    settings.validate()?;
    let mut session = workshop.session(&(URLLC_POWER.name, system.config(), &settings))?;
    let policy = session.kept_or(|session| BandPricePolicy::train(&system, &settings, session))?;
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
    let text = report.text();
    Trained::new(&session, policy, &report, text, warning)
}

/// Reads a model.
pub(super) fn load(file: ModelFile) -> Result<Arc<dyn Model>, ModelError> {
    Ok(Arc::new(file.into_model::<BandPricePolicy>()?))
}

#[derive(Serialize)]
struct Report {
    model: String,
    training: PriceSettings,
    train_seconds: f64,
    /// On a validation set of the training sizes, with 200 kHz for each user.
    availability: f64,
    gap_percent: f64,
    /// The same of equal bandwidths, which learn nothing.
    equal_gap_percent: f64,
}

impl Report {
    fn text(&self) -> Text {
        let Self { model, training, train_seconds, availability, gap_percent, .. } = self;
        let mut text =
            Text::line(format!("{model}: {} steps in {train_seconds:.1} s", training.steps));
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

impl Evaluation {
    fn text(&self) -> Text {
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

/// The model in any cell, with the solver where the budgets do not reach.
#[derive(Clone)]
struct PriceInBand {
    allocator: BandPriceAllocator,
    solver: BandSolver,
    /// Whether answers say what is outside of the training.
    explain: bool,
}

impl Policy for PriceInBand {
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        let outcome = self.allocator.allocate(instance, into)?;
        if !outcome.is_served() {
            return self.solver.allocate(instance, into);
        }
        if self.explain {
            let outside = self.allocator.out_of_range(instance.formulation()?);
            add_outside(outside, &mut into.facts);
        }
        Ok(outcome)
    }

    fn fork(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}

impl Model for BandPricePolicy {
    fn about(&self) -> &'static About {
        &URLLC_POWER
    }

    fn describe(&self) -> String {
        "a model for urllc-power (price)".to_owned()
    }

    fn bytes(&self) -> Result<Vec<u8>, ModelError> {
        self.to_bytes()
    }

    fn home(&self) -> Options {
        CELL.describe(&self.record().config)
    }

    fn flags(&self, verb: Verb) -> Vec<OptionSpec> {
        (URLLC_POWER.flags)(verb)
    }

    fn policy(&self, options: &Options) -> Result<Box<dyn Policy>, Error> {
        let (allocator, explain) = (self.allocator(), options.has("explain"));
        Ok(Box::new(PriceInBand { allocator, solver: BandSolver::default(), explain }))
    }

    fn evaluate(
        &self,
        options: &Options,
        trials: &Trials,
        observer: &dyn Observer,
    ) -> Result<Page, Error> {
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
        let evaluation = Evaluation { samples: *samples, seed: *seed, sizes };
        Page::new(&evaluation, evaluation.text())
    }
}
