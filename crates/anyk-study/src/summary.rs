//! Summary of all studies in a folder: which statements of the paper reproduce, which do not, and what is new. The
//! studies compute the verdicts from the numbers of their tables; this module collects them.

use crate::pictures::{AVAILABILITY, BANDWIDTH, DENSE_RATES, FIELD_RATES};
use crate::{STUDIES, Section, Study};
use anyk::framework::{Claim, Claimant, Holds, Picture};

/// Verdict, with the study and table that contain its numbers.
#[derive(Debug, Clone, Copy)]
pub struct CitedClaim<'a> {
    /// Name of the study.
    pub study: &'a str,
    /// Name of the table.
    pub table: &'a str,
    /// Statement, measurement and verdict.
    pub claim: &'a Claim,
}

/// Picture of the summary, or the study that would draw it.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// Subject of the picture, as a file name.
    pub subject: &'static str,
    /// Subject in words.
    pub about: &'static str,
    /// Study that drew the picture, and the picture; `None` if no such study was run.
    pub picture: Option<(&'a str, &'a Picture)>,
    /// Study that would draw a more complete picture, if it was not run.
    pub better: Option<&'static str>,
}

/// Summary of the studies.
#[derive(Debug)]
pub struct Summary<'a> {
    /// Statements of the paper that hold.
    pub reproduced: Vec<CitedClaim<'a>>,
    /// Statements of the paper that hold at some sizes, for some methods or by one criterion.
    pub partly: Vec<CitedClaim<'a>>,
    /// Statements of the paper that do not hold.
    pub contradicted: Vec<CitedClaim<'a>>,
    /// Statements of the paper that the numbers do not decide.
    pub undecided: Vec<CitedClaim<'a>>,
    /// Statements that are not in the paper.
    pub new: Vec<CitedClaim<'a>>,
    /// Pictures of the summary.
    pub pictures: Vec<Shown<'a>>,
    /// Studies of the paper that were not run.
    pub missing: Vec<&'static Study>,
    /// Additional studies that were not run.
    pub missing_own: Vec<&'static Study>,
}

/// Pictures, and the studies that draw them, the most complete first.
const PICTURES: [(&str, &str, &[&str]); 4] = [
    (BANDWIDTH, "extra bandwidth", &["price", "table6"]),
    (AVAILABILITY, "availability", &["price", "table6"]),
    (DENSE_RATES, "sum rates on dense networks", &["power-control"]),
    (FIELD_RATES, "sum rates on D2D fields", &["power-control"]),
];

impl<'a> Summary<'a> {
    /// Summarizes the sections of a folder.
    pub fn of(sections: &'a [Section]) -> Self {
        let said: Vec<CitedClaim<'a>> = sections
            .iter()
            .flat_map(|section| section.tables().iter().map(move |table| (section.study(), table)))
            .flat_map(|(study, table)| {
                let table_name = table.name.as_str();
                table.claims.iter().map(move |claim| CitedClaim { study, table: table_name, claim })
            })
            .collect();
        let of_paper = |holds: Holds| -> Vec<CitedClaim<'a>> {
            let fits = |said: &&CitedClaim<'a>| {
                said.claim.by == Claimant::Paper && said.claim.holds == holds
            };
            said.iter().filter(fits).copied().collect()
        };
        let missing = |own: bool| {
            let was_run =
                |study: &Study| sections.iter().any(|section| section.study() == study.name);
            let all = STUDIES.iter().filter(|study| study.own == own);
            all.filter(|study| !was_run(study)).collect::<Vec<_>>()
        };
        Self {
            reproduced: of_paper(Holds::Yes),
            partly: of_paper(Holds::Partly),
            contradicted: of_paper(Holds::No),
            undecided: of_paper(Holds::Undecided),
            new: said.iter().filter(|said| said.claim.by == Claimant::Own).copied().collect(),
            pictures: PICTURES.iter().map(|picture| shown(sections, picture)).collect(),
            missing: missing(false),
            missing_own: missing(true),
        }
    }
}

/// Finds the picture of a subject, from the most complete study that was run.
fn shown<'a>(
    sections: &'a [Section],
    &(subject, about, by): &(&'static str, &'static str, &[&'static str]),
) -> Shown<'a> {
    let drawn = |study: &&'static str| {
        let section = sections.iter().find(|section| section.study() == *study)?;
        let mut all = section.tables().iter().flat_map(|table| &table.pictures);
        Some((section.study(), all.find(|picture| picture.subject == subject)?))
    };
    let picture = by.iter().find_map(drawn);
    let better = by.first().copied().filter(|&first| picture.is_none_or(|found| found.0 != first));
    Shown { subject, about, picture, better }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::section::section_of;
    use anyk::framework::Table;

    fn table(name: &str, claims: Vec<Claim>, subjects: &[&str]) -> Table {
        let picture =
            |subject: &&str| Picture { subject: (*subject).to_owned(), ..Picture::default() };
        let pictures = subjects.iter().map(picture).collect();
        Table { name: name.to_owned(), claims, pictures, ..Table::default() }
    }

    #[test]
    fn verdicts_go_where_they_belong() {
        let claims = vec![
            Claim::paper("a", "1", true),
            Claim::paper("b", "2", false),
            Claim::paper("c", "3", None),
            Claim::own("d", "4", true),
            Claim::own("e", "5", false),
            Claim::paper("f", "6", Holds::Partly),
        ];
        let sections = [section_of("table6", vec![table("table6", claims, &[BANDWIDTH])])];
        let summary = Summary::of(&sections);
        let names = |said: &[CitedClaim<'_>]| -> String {
            said.iter().map(|said| said.claim.statement.as_str()).collect()
        };
        assert_eq!(names(&summary.reproduced), "a");
        assert_eq!(names(&summary.partly), "f");
        assert_eq!(names(&summary.contradicted), "b");
        assert_eq!(names(&summary.undecided), "c");
        assert_eq!(names(&summary.new), "de");
        assert_eq!((summary.new[0].study, summary.new[0].table), ("table6", "table6"));
        // Every study that was not run is missing, and no other.
        assert!(!summary.missing.iter().any(|study| study.name == "table6"));
        assert_eq!(summary.missing.len() + summary.missing_own.len(), STUDIES.len() - 1);
        assert!(summary.missing.iter().all(|study| !study.own));
    }

    #[test]
    fn a_picture_is_by_the_study_that_shows_the_most() {
        let section = |study: &str| section_of(study, vec![table(study, vec![], &[BANDWIDTH])]);
        let (six, any) = ([section("table6")], [section("table6"), section("price")]);
        let first = |sections: &[Section]| {
            let shown = Summary::of(sections).pictures[0];
            (shown.picture.map(|picture| picture.0.to_owned()), shown.better)
        };
        assert_eq!(first(&six), (Some("table6".to_owned()), Some("price")));
        assert_eq!(first(&any), (Some("price".to_owned()), None));
        assert_eq!(first(&[]), (None, Some("price")));
        // A study that was run without drawing the picture counts like one that was not run.
        let empty = [section_of("power-control", vec![])];
        let shown = Summary::of(&empty).pictures[2];
        assert_eq!((shown.picture.is_none(), shown.better), (true, Some("power-control")));
        // Every study named here exists.
        for study in PICTURES.iter().flat_map(|picture| picture.2) {
            assert!(Study::named(study).is_some(), "{study}");
        }
    }
}
