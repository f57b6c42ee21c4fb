//! Registry of all studies.

use crate::{
    Effort, Lab, ablation, alternatives, calibration, closed_forms, conservative, diagnose, fading,
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
    /// Question of the study and how it is answered, in Markdown. A results page shows it before the tables.
    pub introduction: &'static str,
    /// Whether `anyk reproduce` runs the study if no name is given; the others run only by name.
    pub by_default: bool,
    /// Whether the study is an addition to the paper's tables, figures and statements.
    pub own: bool,
    /// Function that trains and measures, and returns the tables. [`Study::tables`] calls it.
    run: fn(&mut Lab<'_>) -> Result<Vec<Table>, Error>,
}

impl Study {
    /// Returns the study with this name. `any-gnn`, a name from version 0.2, gives `price`.
    pub fn named(name: &str) -> Option<&'static Self> {
        let name = if name == FORMER_PRICE { "price" } else { name };
        STUDIES.iter().find(|study| study.name == name)
    }

    /// Trains and measures, and returns the tables. In a trial they have no verdicts, because its numbers are meaningless.
    pub fn tables(&self, lab: &mut Lab<'_>) -> Result<Vec<Table>, Error> {
        let mut tables = (self.run)(lab)?;
        if lab.effort == Effort::Trial {
            tables.iter_mut().for_each(|table| table.claims.clear());
        }
        Ok(tables)
    }
}

/// Name of the study `price` in version 0.2.
pub const FORMER_PRICE: &str = "any-gnn";

/// All studies: the paper's in its order, then the additional ones.
pub static STUDIES: [Study; 28] = {
    type Run = fn(&mut Lab<'_>) -> Result<Vec<Table>, Error>;
    const fn paper(
        name: &'static str,
        about: &'static str,
        introduction: &'static str,
        run: Run,
    ) -> Study {
        Study { name, about, introduction, by_default: true, own: false, run }
    }
    const fn own(
        name: &'static str,
        about: &'static str,
        introduction: &'static str,
        run: Run,
    ) -> Study {
        Study { name, about, introduction, by_default: false, own: true, run }
    }
    // Run by default with the paper's studies; the first one draws the first picture of the report.
    const fn beside(
        name: &'static str,
        about: &'static str,
        introduction: &'static str,
        run: Run,
    ) -> Study {
        Study { name, about, introduction, by_default: true, own: true, run }
    }
    [
        paper(
            "table1",
            "Data sets",
            "The numbers of cells in the data sets of P-GNN, of AnyK and of the paper.",
            tables::table1,
        ),
        paper(
            "table2",
            "Hyper-parameters",
            "AnyK has two ways to train the paper's networks: the preset `paper` follows the paper's text, and the \
             preset `fast`, the default of `anyk train`, is ours. This study lists where they differ \
             ([how AnyK reads the paper](../how-to/reproduce.md#how-anyk-reads-the-paper)).",
            hyper_parameters::table2,
        ),
        paper(
            "table3",
            "P-GNN for different ε_D",
            "P-GNN is trained for a stricter loss ε_D than the target ε = 1e-5, so that it serves every user in spite of \
             its errors. This study shows how much stricter ε_D must be, and what that costs in bandwidth.",
            tables::table3,
        ),
        paper(
            "table4",
            "Small training sizes",
            "The paper trains P-GNN with 2, 5 or 8 users and applies it to up to 200. This study looks for the number \
             of samples that this takes. The controls show what the same networks do without training.",
            small_sizes::table4,
        ),
        paper(
            "table5",
            "Samples and training time",
            "Training times with the paper's recipe are compared with the times in the paper. They were measured on \
             different machines.",
            tables::table5,
        ),
        paper(
            "table6",
            "Comparison of the methods",
            "The paper compares P-GNN with networks that have no outer function (M-GNN) and with a fully connected \
             network (FNN). This study adds the exact optimum and equal power with exact bandwidths, which needs no \
             training.",
            tables::table6,
        ),
        paper(
            "closed-forms",
            "Policies with closed forms (sections III-A and IV-A)",
            "For problems (P5) and (P6) the optimal policy is known as a formula, so the distance of a trained network \
             to it can be measured at any K.",
            closed_forms::tables,
        ),
        paper(
            "fig1",
            "Outputs of two toy policies against K",
            "For large K, one of the paper's two toy policies does not change with K, and the other does.",
            figures::fig1,
        ),
        paper(
            "fig2a",
            "Probability of full power under WMMSE, by the direct gain",
            "WMMSE gives nearly every link either no power or full power. This study counts how often a link with a \
             given direct gain has full power.",
            interference::fig2a,
        ),
        paper(
            "fig2b",
            "Probability of full power under WMMSE, on average",
            "If this probability stayed constant for large K, the policy would be asymptotically size-invariant, as \
             the paper states.",
            interference::fig2b,
        ),
        paper(
            "fig2c",
            "Mean and spread of the closed-form power",
            "The power of a user depends on the gains of all other users. This study measures how much it still \
             varies if the user's own gain is known.",
            figures::fig2c,
        ),
        paper(
            "propositions",
            "Propositions 1 to 4 on policies and random networks; asymptotic forms",
            "The propositions concern the limit of large K. This study measures how fast each policy and each \
             aggregator approaches it.",
            propositions::tables,
        ),
        paper(
            "power-control",
            "Power control and link scheduling, trained at one K (section III-B)",
            "Networks for the powers of links that share a band are trained at one K and measured at others. WMMSE is \
             the reference.",
            power_control::tables,
        ),
        beside(
            "price",
            "Price policy compared with the paper's methods and the solver; times; other costs",
            "The price policy learns how one user responds to a price of power. In each cell, AnyK finds the price that \
             spends the budget. The policy does not aggregate over users, so K appears neither in the training nor \
             in the network. The policy trained on fading samples does what the solver cannot: it works with an unknown \
             fading distribution. If the distribution is known, the policy is the solver with one fitted curve, so use \
             the solver.",
            price::tables,
        ),
        beside(
            "valid-cell",
            "The paper's comparison in a cell in which its rate formula holds",
            "In the paper's cell at K = 10, a user has 6 to 11 channel uses per frame, that is, 18 to 10 bit/s/Hz, which \
             is outside the range of the paper's rate formula ([guarantees](../guarantees.md)). This study repeats the comparison \
             in a cell within that range.",
            valid_cell::tables,
        ),
        own(
            "diagnose",
            "Remark 1: size law of every policy and predicted losses (`anyk diagnose`)",
            "`anyk diagnose` predicts from small K whether a network will generalize to large K. This study compares \
             its predictions with trained networks.",
            diagnose::tables,
        ),
        own(
            "calibration",
            "Calibrated margins: how often the guarantee fails, and its cost in bandwidth",
            "`anyk calibrate` multiplies the bandwidth by a margin, which guarantees a share of served users at the \
             calibrated K. This study repeats calibrations and counts how often the guarantee fails \
             ([statement and proof](../guarantees.md#calibration)).",
            calibration::tables,
        ),
        own(
            "published",
            "Training as in the paper (preset paper), for every training size and method",
            "These are the figures of tables IV and VI if each run of P-GNN pre-trains its own B^v \
             ([how AnyK reads the paper](../how-to/reproduce.md#how-anyk-reads-the-paper)).",
            published::tables,
        ),
        own(
            "rates",
            "How often the paper's recipe serves every user (32 runs of each kind); error of B^v by K",
            "The paper reports the second worst of ten runs. Ten runs are too few for a rate, so this study has at least \
             32 of each kind. It also shows where the outer function B^v is too low, and what a better one changes. One kind of run \
             counts t in the learning rate in steps, as the paper's text says \
             ([how AnyK reads the paper](../how-to/reproduce.md#how-anyk-reads-the-paper)).",
            rates::tables,
        ),
        own(
            "ablation",
            "Details of the training: initialization, meaning of t, unit of the loss",
            "The paper's text does not fix every detail of the training. For t in the learning rate, it says steps, but \
             preset `paper` counts epochs. This study varies each detail, with too few runs for a rate \
             ([how AnyK reads the paper](../how-to/reproduce.md#how-anyk-reads-the-paper)).",
            ablation::tables,
        ),
        own(
            "parameters",
            "P-GNN and the price policy in other cells: do results stay similar?",
            "The paper says: “When the system parameters … change, similar results can be obtained”. This study \
             changes the number of antennas, the power budget, the radius and the loss target.",
            parameters::tables,
        ),
        own(
            "conservative",
            "ε_D at which each method serves every user at every K, and the extra bandwidth",
            "The paper says that M-GNN and the FNN can reach availability 1.00 with a stricter ε_D, but then need much \
             more bandwidth.",
            conservative::tables,
        ),
        own(
            "samples",
            "Table V by its own rule: the smallest sufficient number of samples",
            "The paper chooses the number of samples such that more samples improve availability and bandwidth by less \
             than 1 %. This study applies the rule to the preset `fast`.",
            samples::tables,
        ),
        own(
            "alternatives",
            "Training at several K at once, and K as an input",
            "Two other ways to generalize to unseen K are training at several K, and K as an input of the network.",
            alternatives::alternatives,
        ),
        own(
            "aggregators",
            "Aggregators mean, sum and max on the URLLC task (proposition 4)",
            "Proposition 4 states that with the sum or the maximum as the aggregator, the output of a network depends on \
             K; with the mean, it does not (proposition 3). This study trains the same networks with each aggregator.",
            alternatives::aggregators,
        ),
        own(
            "links-published",
            "Links on published fields, compared with the best of 60 WMMSE starts",
            "The default networks for links are measured on fields of published code, for which they were not trained.",
            links_published::tables,
        ),
        own(
            "seeds",
            "20 training runs of every kind (50 with --full): worst, median and best",
            "This study trains each kind of network with many seeds and counts the runs that fail.",
            seeds::tables,
        ),
        own(
            "fading",
            "Unknown fading distribution, learned from samples",
            "If the fading distribution is unknown, the required bandwidth is learned from samples. This study measures \
             the price policy under the true distribution.",
            fading::tables,
        ),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StudySettings;
    use anyk::framework::Silent;

    #[test]
    fn a_trial_has_no_verdicts() {
        let claims = |effort| {
            let settings = StudySettings { effort, ..StudySettings::default() };
            let mut lab = Lab::new(&settings, &Silent).unwrap();
            let tables = Study::named("fig1").unwrap().tables(&mut lab).unwrap();
            tables.iter().map(|table| table.claims.len()).sum::<usize>()
        };
        assert_eq!([Effort::Trial, Effort::Usual].map(claims), [0, 1]);
    }

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
