//! Models of interference networks for the program.

use std::sync::Arc;

use serde::Serialize;

use crate::core::{About, Model, Page, Policy, Problem, Text};
use crate::framework::{
    Error, ModelError, Observer, OptionSpec, Options, Stored as _, Trials, Verb,
};
use crate::problems::interference::{
    INTERFERENCE, PowerPolicy, PowerSizeResult, WeightLaw, power_over_sizes,
};

#[derive(Serialize)]
struct Evaluation {
    scenario: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    weights: Option<&'static str>,
    output: &'static str,
    samples: u64,
    seed: u64,
    sizes: Vec<Size>,
}

/// Results at one number of links; sum rates are weighted if links have weights. Percentages refer to the mean
/// sum rate of WMMSE.
#[derive(Serialize)]
struct Size {
    k: usize,
    sum_rate_bits: f64,
    sum_rate_percent: f64,
    wmmse_bits: f64,
    fplinq_percent: f64,
    greedy_percent: f64,
    greedy_improved_percent: f64,
    exact_percent: Option<f64>,
    power_share: f64,
    wmmse_power_share: f64,
}

impl Size {
    fn new(result: &PowerSizeResult) -> Self {
        let policy = result.policies[0];
        Self {
            k: result.k,
            sum_rate_bits: policy.sum_rate_bits,
            sum_rate_percent: policy.sum_rate_percent,
            wmmse_bits: result.wmmse_bits,
            fplinq_percent: result.fplinq_percent,
            greedy_percent: result.greedy_percent,
            greedy_improved_percent: result.greedy_improved_percent,
            exact_percent: result.exact_percent,
            power_share: policy.power_share,
            wmmse_power_share: result.wmmse_power_share,
        }
    }
}

impl Evaluation {
    fn text(&self) -> Text {
        let percent = |value: f64| format!("{value:.2}");
        let rows = self.sizes.iter().map(|size| {
            vec![
                size.k.to_string(),
                percent(size.sum_rate_percent),
                format!("{:.4}", size.sum_rate_bits),
                format!("{:.4}", size.wmmse_bits),
                percent(size.fplinq_percent),
                percent(size.greedy_percent),
                percent(size.greedy_improved_percent),
                size.exact_percent.map_or("–".to_owned(), percent),
            ]
        });
        let rate = match self.weights {
            None => "sum rate (bit/s/Hz)",
            Some(_) => "weighted sum rate (bit/s/Hz)",
        };
        let header = [
            "K",
            "of WMMSE (%)",
            rate,
            "WMMSE",
            "FPLinQ (%)",
            "greedy (%)",
            "improved (%)",
            "best schedule (%)",
        ];
        let mut text = Text::default();
        text.table(&header, rows);
        text
    }
}

impl Model for PowerPolicy {
    fn about(&self) -> &'static About {
        &INTERFERENCE
    }

    fn describe(&self) -> String {
        let weights = if self.record().features.weighted { " with weights" } else { "" };
        let output = self.record().output.name();
        format!("a model for interference networks{weights} (output {output})")
    }

    fn bytes(&self) -> Result<Vec<u8>, ModelError> {
        self.to_bytes()
    }

    fn flags(&self, verb: Verb) -> Vec<OptionSpec> {
        match verb {
            // The model is evaluated on the networks for which it was trained.
            Verb::Evaluate => Vec::new(),
            verb => (INTERFERENCE.flags)(verb),
        }
    }

    fn trained_options(&self) -> Options {
        self.record().training.networks().options()
    }

    fn evaluate(
        &self,
        _options: &Options,
        trials: &Trials,
        observer: &dyn Observer,
    ) -> Result<Page, Error> {
        trials.check()?;
        observer.begin("networks", trials.count());
        let networks = self.record().training.networks();
        let policies = std::slice::from_ref(self);
        let results = power_over_sizes(networks, policies, trials, observer)?;
        observer.end();
        let evaluation = Evaluation {
            scenario: networks.scenario.name(),
            weights: networks.weights.map(WeightLaw::name),
            output: self.record().output.name(),
            samples: trials.samples,
            seed: trials.seed,
            sizes: results.iter().map(Size::new).collect(),
        };
        Page::new(&evaluation, evaluation.text())
    }

    fn policy(&self, _options: &Options) -> Result<Box<dyn Policy>, Error> {
        Ok(Box::new(self.allocator()))
    }

    fn problem(&self, options: &Options) -> Result<Arc<dyn Problem>, Error> {
        (INTERFERENCE.make)(&options.over(&self.trained_options()))
    }
}
