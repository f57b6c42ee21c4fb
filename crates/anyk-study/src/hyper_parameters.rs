//! Table II of the paper: hyper-parameters of the presets paper and fast.

use crate::fnn::paper_methods;
use crate::{Entry, Lab, our_entries};
use anyk::framework::{Error, Initialization, Method, PretrainSettings, Schedule, Table, Update};
use anyk::network::SizeScale;
use anyk::problems::urllc::{LossScale, Recipe, TrainSettings};
use anyk::row;

pub(crate) fn table2(lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    // The entries of tables V and VI, so that all of these tables show the same steps.
    let (paper, budget) = paper_methods(lab)?;
    let ours = our_entries(lab.effort);
    let [of_paper, of_ours] =
        [&paper, &ours].map(|[p_gnn, .., fnn]| [&p_gnn.settings, &fnn.settings].map(figures));
    let [law, our_law] = [&paper, &ours].map(|[p_gnn, ..]| law_figures(p_gnn));
    let rows = NAMES.iter().enumerate().map(|(place, (name, printed))| {
        let [gnn, fnn] = of_paper.each_ref().map(|figures| figures[place].clone());
        let [our_gnn, our_fnn] = of_ours.each_ref().map(|figures| figures[place].clone());
        let [law, our_law] = [&law, &our_law].map(|figures| figures[place].clone());
        row![*name, gnn, law, fnn, *printed, our_gnn, our_law, our_fnn]
    });
    Ok(vec![Table {
        name: "table2".into(),
        title: "Table II: hyper-parameters of the presets paper and fast".into(),
        note: format!(
            "Tables III to VI use the preset paper. It deviates from the paper's text in three points. In the learning \
             rate, t counts epochs, although the text says iterations; θ contains the bound on the queueing delay, 0.8 ms, \
             although the printed formula has D_max = 1 ms; and the labels of B^v come from quadrature, although the \
             paper averages over samples of the fading. The last two points hold for preset fast too. It trains the same \
             networks, but differs in the optimizer, the initial weights, the scale of the loss, the fading states in a \
             step, and the shape and inputs of B^v. For training cells of more than 50 \
             users, the preset fast uses batches of 5, 20,000 steps and 4 of 16 fading states. {budget}"
        ),
        columns: row![
            "",
            "GNNs",
            "B^v",
            "FNN",
            "as printed in the paper: GNNs; B^v; FNN",
            "GNNs, preset fast",
            "B^v, preset fast",
            "FNN, preset fast",
        ],
        rows: rows.collect(),
        ..Table::default()
    }])
}

/// Names of the hyper-parameters, and the paper's printed values.
const NAMES: [(&str, &str); 11] = [
    ("hidden layers", "[4K]; [200, 100, 100, 50]; [300]"),
    ("K as an input", "–; K/200; –"),
    ("hidden activation", "leaky ReLU"),
    ("output", "softmax, softplus; softplus; softmax, softplus"),
    ("initialization", "–"),
    ("optimizer", "gradient steps"),
    ("learning rate", "0.01/(1+0.01t); 0.01/(1+0.001t); 0.001/(1+0.001t)"),
    ("loss", "as written, without a unit"),
    ("batch", "10; 100; 100"),
    ("duration", "5000 epochs; 2500 epochs; –"),
    ("fading states in a step", "1; –; 1"),
];

/// Returns the hyper-parameters of Algorithm 1, for GNNs or the FNN.
fn figures(settings: &TrainSettings) -> [String; 11] {
    let recipe = &settings.recipe;
    let is_fnn = settings.method == Method::Fnn;
    [
        if is_fnn { "[300]" } else { "[4] for each user" }.to_owned(),
        "–".to_owned(),
        "leaky ReLU".to_owned(),
        "softmax, softplus".to_owned(),
        start(recipe.initialization).to_owned(),
        update(recipe.update),
        rate(recipe.rate),
        match recipe.loss {
            LossScale::Raw => "as written, in MHz".to_owned(),
            LossScale::Relative => "relative".to_owned(),
        },
        recipe.batch.to_string(),
        duration(settings),
        format!("{} of {}", recipe.draws, recipe.stored_draws),
    ]
}

/// Returns the duration of a training run. The studies run only a part of the preset's duration for the FNN.
fn duration(settings: &TrainSettings) -> String {
    let recipe = &settings.recipe;
    let [paper, fast] = match settings.method {
        Method::Fnn => [Recipe::paper_fnn(), Recipe::fast_fnn()],
        _ => [Recipe::paper(), Recipe::fast(settings.train_k.iter().copied().fold(0, usize::max))],
    };
    let part = |run: u64, whole: u64| match run == whole {
        true => run.to_string(),
        false => format!("{run} of {whole}"),
    };
    match (recipe.steps, fast.steps) {
        (Some(steps), Some(whole)) => format!("{} steps", part(steps, whole)),
        _ => {
            let epochs = part(recipe.epochs, paper.epochs);
            format!("{epochs} epochs ({} steps)", settings.steps())
        }
    }
}

/// Returns the hyper-parameters of the pre-training.
fn law_figures(entry: &Entry) -> [String; 11] {
    let PretrainSettings { shape, batch, epochs, update: by, rate: at, .. } = &entry.pretraining;
    let squares = if entry.pretraining.balanced { "relative errors" } else { "errors" };
    [
        format!("{:?}", shape.hidden),
        match shape.scale {
            SizeScale::Linear => "K/200".to_owned(),
            SizeScale::Logarithmic => "ln K".to_owned(),
        },
        "leaky ReLU".to_owned(),
        "softplus".to_owned(),
        start(entry.pretraining.initialization).to_owned(),
        update(*by),
        rate(*at),
        format!("squares of {squares}, in {} kHz", shape.unit_khz),
        batch.to_string(),
        format!("{epochs} epochs"),
        "labels by quadrature".to_owned(),
    ]
}

fn start(initialization: Initialization) -> &'static str {
    match initialization {
        Initialization::Placed => "placed near equal power",
        Initialization::Normal => "normal, σ = 0.1 cut at 2σ, biases 0.1",
        Initialization::Glorot => "Glorot",
        Initialization::Pytorch => "PyTorch's default",
    }
}

fn update(update: Update) -> String {
    match update {
        Update::Sgd { .. } => "gradient steps".to_owned(),
        Update::Adam { beta1, beta2 } => format!("Adam ({beta1}, {beta2})"),
    }
}

fn rate(schedule: Schedule) -> String {
    match schedule {
        Schedule::Inverse { rate, decay } => format!("{rate}/(1+{decay}t)"),
        Schedule::Cosine { rate, last } if last > 0.0 => format!("{rate} to {last:e}, cosine"),
        Schedule::Cosine { rate, .. } => format!("{rate} to 0, cosine"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Effort, paper_entries};

    /// Table V shows the steps of the same settings.
    #[test]
    fn the_duration_is_the_one_that_the_studies_run() {
        let of = |[.., fnn]: [Entry; 4]| duration(&fnn.settings);
        assert_eq!(of(paper_entries(Effort::Usual)), "8 of 5000 epochs (160 steps)");
        assert_eq!(of(paper_entries(Effort::Full)), "5000 epochs (5000000 steps)");
        assert_eq!(of(our_entries(Effort::Usual)), "2500 of 25000 steps");
        assert_eq!(of(our_entries(Effort::Full)), "25000 steps");
    }
}
