//! Table II of the paper: hyper-parameters of the presets paper and fast.

use crate::{Effort, Entry, Lab, our_entries, paper_entries};
use anyk::framework::{Error, Initialization, PretrainSettings, Schedule, Table, Update};
use anyk::network::SizeScale;
use anyk::problems::urllc::{LossScale, Recipe};
use anyk::row;

pub(crate) fn table2(_: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
    let paper = paper_entries(Effort::Full);
    let ours = our_entries(Effort::Full);
    let [of_paper, of_ours] = [&paper, &ours]
        .map(|[p_gnn, .., fnn]| [&p_gnn.settings.recipe, &fnn.settings.recipe].map(figures));
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
        note: "Tables III to VI use the preset paper. The preset fast trains the same networks; it differs in the \
               optimizer, the initial weights, the scale of the loss, the fading states in a step, and the shape and \
               inputs of B^v. Both presets compute the labels of B^v by quadrature. For training cells of more than 50 \
               users, the preset fast uses batches of 5, 20,000 steps and 4 of 16 fading states. The notes of tables V \
               and VI say how many epochs of the FNN are run."
            .into(),
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
fn figures(recipe: &Recipe) -> [String; 11] {
    let is_fnn = recipe.batch >= 100;
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
        match recipe.steps {
            Some(steps) => format!("{steps} steps"),
            None => format!("{} epochs", recipe.epochs),
        },
        format!("{} of {}", recipe.draws, recipe.stored_draws),
    ]
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
