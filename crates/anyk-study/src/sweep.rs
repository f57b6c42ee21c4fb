//! Mean exact optimum over random cells of many sizes, with which policies are compared.

use anyk::System;
use anyk::core::{Page, Text};
use anyk::framework::{Error, Observer, Trials};
use anyk::math::Mean;
use anyk::problems::urllc::{OptimumRow, optimum_over_sizes};
use serde::Serialize;

/// Description of [`sweep`] in the help.
pub const SWEEP: &str = "Mean exact optimum of urllc over random cells of many sizes";

#[derive(Serialize)]
struct Sweep {
    samples: u64,
    seed: u64,
    sizes: Vec<OptimumRow>,
}

/// Solves random cells of each size exactly, and computes equal power with exact bandwidths on the same cells.
pub fn sweep(system: &System, trials: &Trials, observer: &dyn Observer) -> Result<Page, Error> {
    trials.check()?;
    let &Trials { ref sizes, samples, seed, .. } = trials;
    observer.begin("cells solved", samples * sizes.len() as u64);
    let sizes = optimum_over_sizes(system, sizes, samples, seed, observer)?;
    observer.end();
    let sweep = Sweep { samples, seed, sizes };
    Page::new(&sweep, sweep.text())
}

impl Sweep {
    fn text(&self) -> Text {
        let value =
            |mean: Option<Mean>| mean.map_or("–".into(), |mean| format!("{:.4}", mean.mean));
        let rows = self.sizes.iter().map(|row| {
            let error =
                row.optimum_mhz.map_or("–".into(), |m| format!("{:.4}", m.standard_error));
            let over = match (row.optimum_mhz, row.equal_power_mhz) {
                (Some(optimum), Some(equal)) => {
                    // At K = 1 both are equal up to rounding.
                    format!("{:.2}", (100.0 * (equal.mean / optimum.mean - 1.0)).max(0.0))
                }
                _ => "–".into(),
            };
            vec![
                row.k.to_string(),
                value(row.optimum_mhz),
                error,
                value(row.equal_power_mhz),
                over,
                row.infeasible.to_string(),
                format!("{:.1e}", row.worst_gap),
            ]
        });
        let header = [
            "K",
            "optimum (MHz)",
            "standard error",
            "equal power (MHz)",
            "equal power, extra (%)",
            "infeasible",
            "worst gap",
        ];
        let mut text = Text::default();
        text.table(&header, rows);
        text
    }
}
