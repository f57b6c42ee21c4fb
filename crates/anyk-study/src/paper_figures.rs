//! Figures that the paper prints in tables III to VI, and the corresponding entries.

use crate::{Effort, Entry};
use anyk::framework::Method;
use anyk::problems::urllc::{Recipe, TrainSettings};

/// Row of tables III and VI: a label, and `(A_K, W_K in MHz)` at K = 1, 2, 5, 10, 50, 100, 200.
pub struct PaperRow {
    /// Name of the row.
    pub label: &'static str,
    /// Availability and bandwidth at each size.
    pub figures: [(f64, f64); 7],
}

/// Table III: P-GNN trained for different `ε_D`.
pub const PAPER_EPSILON: [(f64, PaperRow); 4] = [
    (
        1e-5,
        PaperRow {
            label: "1e-5",
            figures: [
                (0.57, 0.13),
                (0.26, 0.27),
                (0.32, 0.77),
                (0.44, 1.66),
                (0.42, 10.29),
                (0.41, 22.95),
                (0.45, 51.81),
            ],
        },
    ),
    (
        8e-6,
        PaperRow {
            label: "8e-6",
            figures: [
                (1.00, 0.14),
                (0.81, 0.28),
                (0.84, 0.78),
                (0.91, 1.68),
                (0.77, 10.38),
                (0.73, 23.15),
                (0.63, 52.27),
            ],
        },
    ),
    (
        6e-6,
        PaperRow {
            label: "6e-6",
            figures: [
                (1.00, 0.14),
                (1.00, 0.28),
                (1.00, 0.79),
                (1.00, 1.70),
                (1.00, 10.55),
                (1.00, 23.53),
                (1.00, 53.14),
            ],
        },
    ),
    (
        5e-6,
        PaperRow {
            label: "5e-6",
            figures: [
                (1.00, 0.14),
                (1.00, 0.28),
                (1.00, 0.80),
                (1.00, 1.72),
                (1.00, 10.64),
                (1.00, 23.74),
                (1.00, 53.60),
            ],
        },
    ),
];

/// Table IV: training size, number of samples for availability 1.00 at every size, seconds.
pub const PAPER_SMALL_K: [(usize, usize, f64); 4] =
    [(2, 5000, 1290.32), (5, 4000, 1289.91), (8, 3000, 1185.11), (10, 2000, 875.43)];

/// Table V: method, `ε_D`, training size, number of samples, seconds.
pub const PAPER_TIMES: [(&str, f64, usize, usize, f64); 4] = [
    ("P-GNN", 6e-6, 10, 2000, 875.43),
    ("M-GNN^10", 5e-6, 10, 2000, 503.81),
    ("M-GNN^200", 3e-6, 200, 300, 429.71),
    ("FNN", 2e-6, 200, 100_000, 49_422.77),
];

/// Table VI: comparison of the methods.
pub const PAPER_COMPARISON: [PaperRow; 4] = [
    // The paper repeats this row of table III in table VI.
    PaperRow { label: "P-GNN", figures: PAPER_EPSILON[2].1.figures },
    PaperRow {
        label: "M-GNN^10",
        figures: [
            (1.00, 0.17),
            (1.00, 0.33),
            (1.00, 0.86),
            (1.00, 1.72),
            (0.00, 8.65),
            (0.00, 17.29),
            (0.00, 34.50),
        ],
    },
    PaperRow {
        label: "M-GNN^200",
        figures: [
            (1.00, 0.27),
            (1.00, 0.52),
            (1.00, 1.35),
            (1.00, 2.70),
            (1.00, 13.61),
            (1.00, 27.20),
            (1.00, 54.22),
        ],
    },
    PaperRow {
        label: "FNN",
        figures: [
            (1.00, 0.42),
            (1.00, 0.78),
            (1.00, 2.02),
            (0.98, 3.78),
            (0.91, 17.16),
            (0.88, 31.04),
            (1.00, 55.19),
        ],
    },
];

/// Samples and steps of the FNN with preset fast, without full effort.
const QUICK_FNN: (usize, u64) = (20_000, 2_500);
/// Samples and epochs of the FNN with preset paper, without full effort.
const QUICK_PAPER_FNN: (usize, u64) = (2_000, 8);
/// Samples of the FNN in the paper.
const FNN_SAMPLES: usize = 100_000;

/// Returns the entries of table VI in its order, with the preset paper. With full effort, the FNN has the paper's
/// 100,000 samples, and `fnn::paper_methods` chooses how many of the 5,000 epochs are run. Otherwise it has 2,000
/// samples and 8 epochs.
pub fn paper_entries(effort: Effort) -> [Entry; 4] {
    let mut entries = our_entries(Effort::Full).map(Entry::published);
    if effort != Effort::Full {
        let fnn = &mut entries[3].settings;
        (fnn.samples, fnn.recipe.epochs) = QUICK_PAPER_FNN;
    }
    entries
}

/// Returns the entries of table VI in its order, with the preset fast. The FNN has the paper's 100,000 samples with
/// full effort, and a fifth of them otherwise.
pub fn our_entries(effort: Effort) -> [Entry; 4] {
    let p_gnn = Entry::p_gnn(10, 2000, 6e-6);
    let m_gnn = |train_k: usize, samples: usize, epsilon_d: f64| Entry {
        label: format!("M-GNN^{train_k}"),
        settings: TrainSettings {
            method: Method::MGnn,
            ..TrainSettings::p_gnn(train_k, samples, epsilon_d)
        },
        ..p_gnn.clone()
    };
    let mut recipe = Recipe::fast_fnn();
    let mut samples = FNN_SAMPLES;
    if effort != Effort::Full {
        samples = QUICK_FNN.0;
        recipe.steps = Some(QUICK_FNN.1);
    }
    let fnn = Entry {
        label: "FNN".to_owned(),
        settings: TrainSettings {
            method: Method::Fnn,
            hidden: vec![300],
            recipe,
            ..TrainSettings::p_gnn(200, samples, 2e-6)
        },
        ..p_gnn.clone()
    };
    [p_gnn.clone(), m_gnn(10, 2000, 5e-6), m_gnn(200, 300, 3e-6), fnn]
}
