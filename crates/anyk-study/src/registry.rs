//! The studies by their names.

use crate::{
    Lab, ablation, alternatives, calibration, closed_forms, conservative, diagnose, fading,
    figures, hyper_parameters, interference, links_published, parameters, power_control, price,
    propositions, published, rates, samples, seeds, small_sizes, tables,
};
use anyk::framework::{Error, Table};

/// A table or figure of the paper, or a study of our own.
#[derive(Debug, Clone, Copy)]
pub struct Study {
    /// What it is called: the paper's number, or its subject.
    pub name: &'static str,
    /// What it shows, in a few words.
    pub about: &'static str,
    /// Whether it is done where none is named; the others are done by their names alone.
    pub by_default: bool,
    /// Whether it is a study of our own, rather than a table, figure or statement of the paper.
    pub own: bool,
    /// Trains and measures what it takes.
    pub run: fn(&mut Lab<'_>) -> Result<Vec<Table>, Error>,
}

impl Study {
    /// The study of this name; `any-gnn`, of version 0.2, is `price`.
    pub fn named(name: &str) -> Option<&'static Self> {
        let name = if name == FORMER_PRICE { "price" } else { name };
        STUDIES.iter().find(|study| study.name == name)
    }
}

/// What the study `price` is called in version 0.2.
pub const FORMER_PRICE: &str = "any-gnn";

/// All studies: the paper's, in its order, then our own.
pub static STUDIES: [Study; 27] = {
    type Run = fn(&mut Lab<'_>) -> Result<Vec<Table>, Error>;
    const fn paper(name: &'static str, about: &'static str, run: Run) -> Study {
        Study { name, about, by_default: true, own: false, run }
    }
    const fn own(name: &'static str, about: &'static str, run: Run) -> Study {
        Study { name, about, by_default: false, own: true, run }
    }
    // Cheap, since it shares its trainings with the paper's, and what the report's first picture is drawn from.
    const fn beside(name: &'static str, about: &'static str, run: Run) -> Study {
        Study { name, about, by_default: true, own: true, run }
    }
    [
        paper("table1", "Data sets", tables::table1),
        paper("table2", "Hyper-parameters", hyper_parameters::table2),
        paper("table3", "P-GNN for different ε_D", tables::table3),
        paper("table4", "Small training sizes", small_sizes::table4),
        paper("table5", "Samples and training time", tables::table5),
        paper("table6", "The methods compared", tables::table6),
        paper(
            "closed-forms",
            "Policies with closed forms (sections III-A and IV-A)",
            closed_forms::tables,
        ),
        paper("fig1", "Two toy policies over K", figures::fig1),
        paper(
            "fig2a",
            "Probability of full power under WMMSE, by the own gain",
            interference::fig2a,
        ),
        paper("fig2b", "The same on average", interference::fig2b),
        paper("fig2c", "Mean and spread of the closed-form power", figures::fig2c),
        paper(
            "propositions",
            "Propositions 1 to 4 on policies and random networks, and the asymptotic forms",
            propositions::tables,
        ),
        paper(
            "power-control",
            "Power control and link scheduling, learned at one size (section III-B)",
            power_control::tables,
        ),
        beside(
            "price",
            "The price policy beside the paper's methods and the solver, with times; and for other costs",
            price::tables,
        ),
        own(
            "diagnose",
            "Remark 1: the size law of every policy, and what it predicts (`anyk diagnose`)",
            diagnose::tables,
        ),
        own(
            "calibration",
            "Calibrated margins: how often the promise is broken, and what it costs",
            calibration::tables,
        ),
        own(
            "published",
            "The paper's own trainings: preset paper, every training size and method",
            published::tables,
        ),
        own(
            "rates",
            "How often the paper's recipe serves everyone: 32 trainings of each kind, and B^v's error by K",
            rates::tables,
        ),
        own(
            "ablation",
            "Algorithm 1: initialization, meaning of t and units of the loss, which the paper leaves open",
            ablation::tables,
        ),
        own(
            "parameters",
            "Similar results when parameters change? P-GNN and the price policy in other cells",
            parameters::tables,
        ),
        own(
            "conservative",
            "The ε_D at which each method serves everyone at every K, and what that costs",
            conservative::tables,
        ),
        own(
            "samples",
            "Table V by its own rule: the fewest samples that more would hardly improve",
            samples::tables,
        ),
        own(
            "alternatives",
            "Training on all sizes at once, and K as an input",
            alternatives::alternatives,
        ),
        own(
            "aggregators",
            "Mean, sum and max on the URLLC task (proposition 4)",
            alternatives::aggregators,
        ),
        own(
            "links-published",
            "Links on published fields, beside the best of 60 starts of WMMSE",
            links_published::tables,
        ),
        own(
            "seeds",
            "Fifty trainings of every kind: the worst, the median and the spread",
            seeds::tables,
        ),
        own("fading", "Fading of unknown law, learned from samples", fading::tables),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_no_two_are_alike() {
        for (index, study) in STUDIES.iter().enumerate() {
            let found = Study::named(study.name).map(|found| found.about);
            assert_eq!(found, Some(study.about));
            assert!(STUDIES[..index].iter().all(|other| other.name != study.name));
        }
        assert!(Study::named("table7").is_none());
        assert_eq!(Study::named("any-gnn").map(|study| study.name), Some("price"));
        // The paper's come first.
        assert!(STUDIES.is_sorted_by_key(|study| !study.by_default));
    }
}
