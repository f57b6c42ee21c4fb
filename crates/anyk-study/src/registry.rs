//! Registry of all studies.

use crate::{
    Lab, ablation, alternatives, calibration, closed_forms, conservative, diagnose, fading,
    figures, hyper_parameters, interference, links_published, parameters, power_control, price,
    propositions, published, rates, samples, seeds, small_sizes, tables, valid_cell,
};
use anyk::framework::{Error, Table};

/// Table or figure of the paper, or an additional study.
#[derive(Debug, Clone, Copy)]
pub struct Study {
    /// Name of the study: the paper's number, or the subject.
    pub name: &'static str,
    /// One-line description.
    pub about: &'static str,
    /// Whether `anyk reproduce` runs the study if no name is given; the others run only by name.
    pub by_default: bool,
    /// Whether the study is an addition to the paper's tables, figures and statements.
    pub own: bool,
    /// Function that trains and measures, and returns the tables.
    pub run: fn(&mut Lab<'_>) -> Result<Vec<Table>, Error>,
}

impl Study {
    /// Returns the study with this name. `any-gnn`, a name from version 0.2, gives `price`.
    pub fn named(name: &str) -> Option<&'static Self> {
        let name = if name == FORMER_PRICE { "price" } else { name };
        STUDIES.iter().find(|study| study.name == name)
    }
}

/// Name of the study `price` in version 0.2.
pub const FORMER_PRICE: &str = "any-gnn";

/// All studies: the paper's in its order, then the additional ones.
pub static STUDIES: [Study; 28] = {
    type Run = fn(&mut Lab<'_>) -> Result<Vec<Table>, Error>;
    const fn paper(name: &'static str, about: &'static str, run: Run) -> Study {
        Study { name, about, by_default: true, own: false, run }
    }
    const fn own(name: &'static str, about: &'static str, run: Run) -> Study {
        Study { name, about, by_default: false, own: true, run }
    }
    // Run by default next to the paper's: the first draws the first picture of the report.
    const fn beside(name: &'static str, about: &'static str, run: Run) -> Study {
        Study { name, about, by_default: true, own: true, run }
    }
    [
        paper("table1", "Data sets", tables::table1),
        paper("table2", "Hyper-parameters", hyper_parameters::table2),
        paper("table3", "P-GNN for different ε_D", tables::table3),
        paper("table4", "Small training sizes", small_sizes::table4),
        paper("table5", "Samples and training time", tables::table5),
        paper("table6", "Comparison of the methods", tables::table6),
        paper(
            "closed-forms",
            "Policies with closed forms (sections III-A and IV-A)",
            closed_forms::tables,
        ),
        paper("fig1", "Outputs of two toy policies against K", figures::fig1),
        paper(
            "fig2a",
            "Probability of full power under WMMSE, by the direct gain",
            interference::fig2a,
        ),
        paper("fig2b", "Probability of full power under WMMSE, on average", interference::fig2b),
        paper("fig2c", "Mean and spread of the closed-form power", figures::fig2c),
        paper(
            "propositions",
            "Propositions 1 to 4 on policies and random networks; asymptotic forms",
            propositions::tables,
        ),
        paper(
            "power-control",
            "Power control and link scheduling, trained at one K (section III-B)",
            power_control::tables,
        ),
        beside(
            "price",
            "Price policy compared with the paper's methods and the solver; times; other costs",
            price::tables,
        ),
        beside(
            "valid-cell",
            "The paper's comparison in a cell in which its rate formula holds",
            valid_cell::tables,
        ),
        own(
            "diagnose",
            "Remark 1: size law of every policy and predicted losses (`anyk diagnose`)",
            diagnose::tables,
        ),
        own(
            "calibration",
            "Calibrated margins: how often the guarantee fails, and its cost in bandwidth",
            calibration::tables,
        ),
        own(
            "published",
            "Training as in the paper (preset paper), for every training size and method",
            published::tables,
        ),
        own(
            "rates",
            "How often the paper's recipe serves every user (32 runs of each kind); error of B^v by K",
            rates::tables,
        ),
        own(
            "ablation",
            "Choices that the paper leaves open: initialization, meaning of t, unit of the loss",
            ablation::tables,
        ),
        own(
            "parameters",
            "P-GNN and the price policy in other cells: do results stay similar?",
            parameters::tables,
        ),
        own(
            "conservative",
            "ε_D at which each method serves every user at every K, and the extra bandwidth",
            conservative::tables,
        ),
        own(
            "samples",
            "Table V by its own rule: the smallest sufficient number of samples",
            samples::tables,
        ),
        own(
            "alternatives",
            "Training at several K at once, and K as an input",
            alternatives::alternatives,
        ),
        own(
            "aggregators",
            "Aggregators mean, sum and max on the URLLC task (proposition 4)",
            alternatives::aggregators,
        ),
        own(
            "links-published",
            "Links on published fields, compared with the best of 60 WMMSE starts",
            links_published::tables,
        ),
        own(
            "seeds",
            "20 training runs of every kind (50 with --full): worst, median and best",
            seeds::tables,
        ),
        own("fading", "Unknown fading distribution, learned from samples", fading::tables),
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
        // The studies that run by default come first.
        assert!(STUDIES.is_sorted_by_key(|study| !study.by_default));
    }
}
