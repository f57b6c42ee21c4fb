//! What a folder of results keeps of each study: with it a report shows all studies that were ever run into the folder,
//! whichever of them were run last.
//!
//! A report is always made anew from these files; nothing is ever read out of a page.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use thiserror::Error;

use crate::SOURCES;
use crate::{Effort, Lab, STUDIES, Study};
use anyk::exchange::{fingerprint, read_plain_file, to_json};
use anyk::framework::{Chart, Picture, Series, Table};

/// The folder of the files, below that of the results.
const FOLDER: &str = "sections";
/// The most cells of a table, with short rows filled up, and the most numbers in them. The largest table of a study has
/// a few hundred.
const MOST_CELLS: usize = 200_000;
/// The most bytes in the format of a column, because every cell of the column repeats it.
const MOST_FORMAT: usize = 100;

/// The results of one study, and how they were made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Section {
    /// The study's name.
    study: String,
    /// How it was done, in a line.
    about: String,
    /// Whether it was a trial, whose figures mean nothing.
    trial: bool,
    /// The sources that measured it.
    sources: String,
    /// Its tables.
    tables: Vec<Table>,
}

/// A file of the folder, with what tells damage.
#[derive(Deserialize)]
struct Kept<'a> {
    fingerprint: String,
    #[serde(borrow)]
    section: &'a RawValue,
}

/// Why a file is not taken.
#[derive(Debug, Error)]
pub enum SectionError {
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is not what this program wrote.
    #[error("{}: {why}; expected what `anyk reproduce {study}` writes", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Whose it would be.
        study: &'static str,
        /// What is wrong.
        why: String,
    },
}

/// All that a folder keeps, in the order of the registry, and what could not be taken.
#[derive(Debug, Default)]
pub struct Sections {
    /// The studies that were run.
    pub found: Vec<Section>,
    /// Files that are left out.
    pub refused: Vec<SectionError>,
}

impl Section {
    /// What a study has just made.
    pub fn new(study: &Study, lab: &Lab<'_>, tables: Vec<Table>) -> Self {
        Self {
            study: study.name.to_owned(),
            about: lab.about(),
            trial: lab.effort == Effort::Trial,
            sources: SOURCES.clone(),
            tables,
        }
    }

    /// The study's name.
    pub fn study(&self) -> &str {
        &self.study
    }

    /// How it was done, in a line.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// Whether its figures mean nothing.
    pub fn is_trial(&self) -> bool {
        self.trial
    }

    /// Whether it was measured by the sources of this program.
    pub fn is_current(&self) -> bool {
        self.sources == *SOURCES
    }

    /// Its tables.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// Path of the file that keeps the results of a study, within a folder of results.
    pub fn file_of(study: &str) -> String {
        format!("{FOLDER}/{study}.json")
    }

    /// What is kept: the section as JSON, and a fingerprint of its text.
    pub fn to_bytes(&self) -> io::Result<Vec<u8>> {
        // Points that no axis shows have no way into JSON.
        let shown = |table: &Table| Table {
            chart: table.chart.as_ref().map(finite),
            pictures: table
                .pictures
                .iter()
                .map(|picture| Picture { chart: finite(&picture.chart), ..picture.clone() })
                .collect(),
            ..table.clone()
        };
        let section = Self { tables: self.tables.iter().map(shown).collect(), ..self.clone() };
        let text = to_json(&section)?;
        let print = fingerprint(&text);
        Ok(format!("{{\"fingerprint\":\"{print:016x}\",\"section\":{text}}}").into_bytes())
    }

    /// Reads the file of a study.
    fn read(path: &Path, study: &'static Study) -> Result<Self, SectionError> {
        let bytes = read_plain_file(path)
            .map_err(|source| SectionError::Read { path: path.to_owned(), source })?;
        Self::from_bytes(&bytes, study).map_err(|why| SectionError::Damaged {
            path: path.to_owned(),
            study: study.name,
            why,
        })
    }

    /// What was kept of a study; else what is wrong with it.
    pub fn from_bytes(bytes: &[u8], study: &Study) -> Result<Self, String> {
        let said = |error: serde_json::Error| format!("it is damaged ({error})");
        let kept: Kept<'_> = serde_json::from_slice(bytes).map_err(said)?;
        if kept.fingerprint != format!("{:016x}", fingerprint(kept.section.get())) {
            return Err("its fingerprint does not fit what it holds".to_owned());
        }
        let section: Self = serde_json::from_str(kept.section.get()).map_err(said)?;
        if section.study != study.name {
            return Err(format!("it holds another study, {:?}", section.study));
        }
        // Whoever can write the fingerprint can write anything: what is shown is checked as if it came from nowhere.
        for table in &section.tables {
            if !table.has_plain_name() {
                return Err(format!("{:?} is no name of a table", table.name));
            }
            let cells = table.rows.len().saturating_add(1).saturating_mul(table.width());
            let numbers = table.rows.iter().flatten().map(|value| value.numbers().len()).sum();
            if cells.max(numbers) > MOST_CELLS {
                return Err(format!("{} has more cells than any table of a study", table.name));
            }
            if table.columns.iter().any(|column| column.format.len() > MOST_FORMAT) {
                return Err(format!(
                    "{} has a longer format than any table of a study",
                    table.name
                ));
            }
            table.check().map_err(|error| error.to_string())?;
        }
        Ok(section)
    }
}

impl Sections {
    /// All that a folder of results keeps. Files of other names are not looked at.
    pub fn read(folder: &Path) -> Self {
        let mut sections = Self::default();
        let mut names = HashSet::new();
        for study in &STUDIES {
            let path = folder.join(Section::file_of(study.name));
            // A link to nowhere is there, and cannot be read.
            if path.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
                continue;
            }
            match Section::read(&path, study) {
                Ok(section) => {
                    // Two tables of one name would be one anchor.
                    let tables = section.tables.iter();
                    let twice = tables.filter(|table| !names.insert(table.name.clone())).count();
                    if twice == 0 {
                        sections.found.push(section);
                    } else {
                        let why = "it holds a table of another study".to_owned();
                        let refused = SectionError::Damaged { path, study: study.name, why };
                        sections.refused.push(refused);
                    }
                }
                Err(error) => sections.refused.push(error),
            }
        }
        sections
    }
}

/// Removes NaN and infinity, which JSON cannot contain. A point whose interval is not finite keeps only its value.
fn finite(chart: &Chart) -> Chart {
    let series = chart.series.iter().map(|series| {
        let shown = |&&(x, y): &&(f64, f64)| x.is_finite() && y.is_finite();
        let spread = series.spread.as_ref().map(|spread| {
            let both = spread.iter().zip(&series.points).filter(|(_, point)| shown(point));
            let ends = |(&(low, high), &(_, y)): (&(f64, f64), &(f64, f64))| {
                if low.is_finite() && high.is_finite() { (low, high) } else { (y, y) }
            };
            both.map(ends).collect()
        });
        let points = series.points.iter().filter(shown).copied().collect();
        Series { points, spread, ..series.clone() }
    });
    Chart { series: series.collect(), ..chart.clone() }
}

#[cfg(test)]
pub(crate) fn section_of(study: &str, tables: Vec<Table>) -> Section {
    let (study, about) = (study.to_owned(), "three trainings".to_owned());
    Section { study, about, trial: false, sources: SOURCES.clone(), tables }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use anyk::framework::{Claim, Value};
    use anyk::row;

    fn table(name: &str) -> Table {
        Table {
            name: name.to_owned(),
            columns: row!["K", ("ε_D", "{:e}")],
            rows: vec![row![1_usize, 6e-6, "6e-6"]],
            chart: Some(Chart {
                series: vec![Series {
                    spread: Some(vec![(0.2, 0.5), (0.0, 1.0), (f64::NAN, 5.0)]),
                    ..Series::solid("a", vec![(1.0, 0.1 + 0.2), (2.0, f64::NAN), (3.0, 4.0)])
                }],
                ..Chart::default()
            }),
            claims: vec![Claim::paper("it is so", "it is not", false)],
            ..Table::default()
        }
    }

    fn keep(section: &Section, folder: &Path) {
        fs::create_dir_all(folder.join(FOLDER)).unwrap();
        let path = folder.join(Section::file_of(section.study()));
        fs::write(path, section.to_bytes().unwrap()).unwrap();
    }

    #[test]
    fn sections_come_back_in_the_order_of_the_registry() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Sections::read(folder.path()).found.is_empty());
        for study in ["price", "table6", "table3"] {
            keep(&section_of(study, vec![table(study)]), folder.path());
        }
        let Sections { found, refused } = Sections::read(folder.path());
        assert!(refused.is_empty(), "{refused:?}");
        let names: Vec<&str> = found.iter().map(Section::study).collect();
        assert_eq!(names, ["table3", "table6", "price"]);
        assert!(found.iter().all(|section| section.is_current() && !section.is_trial()));
        // Bit by bit, but for what no axis shows.
        let series = &found[0].tables()[0].chart.as_ref().unwrap().series[0];
        assert_eq!(series.points[0].1.to_bits(), (0.1f64 + 0.2).to_bits());
        assert_eq!(series.points, [(1.0, 0.1 + 0.2), (3.0, 4.0)]);
        assert_eq!(series.spread, Some(vec![(0.2, 0.5), (4.0, 4.0)]));
        assert_eq!(found[0].tables()[0].claims, table("table3").claims);
        // A later run replaces its own alone.
        keep(&section_of("table3", vec![table("table3"), table("more")]), folder.path());
        let counts: Vec<usize> =
            Sections::read(folder.path()).found.iter().map(|s| s.tables().len()).collect();
        assert_eq!(counts, [2, 1, 1]);
    }

    #[test]
    fn what_is_damaged_or_foreign_is_left_out_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            fs::write(folder.path().join(FOLDER).join(name), bytes).unwrap();
        };
        keep(&section_of("table3", vec![table("table3")]), folder.path());
        keep(&section_of("table4", vec![table("table4")]), folder.path());
        let path = folder.path().join(FOLDER).join("table3.json");
        let good = fs::read(&path).unwrap();
        let refused = || {
            let Sections { found, refused } = Sections::read(folder.path());
            assert_eq!(found.iter().map(Section::study).collect::<Vec<_>>(), ["table4"]);
            assert_eq!(refused.len(), 1, "{refused:?}");
            let message = refused[0].to_string();
            assert!(message.contains("table3.json"), "{message}");
            message
        };
        // Every byte that is flipped, and every way to end early.
        for place in 0..good.len() {
            let mut bytes = good.clone();
            bytes[place] ^= 1;
            write("table3.json", &bytes);
            refused();
            write("table3.json", &good[..place]);
            refused();
        }
        // With a fingerprint that fits: somebody who knows how.
        let forged = |section: &str| {
            let print = format!("{:016x}", fingerprint(section));
            write(
                "table3.json",
                format!("{{\"fingerprint\":\"{print}\",\"section\":{section}}}").as_bytes(),
            );
            refused()
        };
        let text = |section: &Section| -> String {
            let kept = String::from_utf8(section.to_bytes().unwrap()).unwrap();
            let section = kept.split_once("\"section\":").unwrap().1;
            section[..section.len() - 1].to_owned()
        };
        let of = |tables: Vec<Table>| Section { tables, ..section_of("table3", vec![]) };
        let plain = |name: &str| Table { chart: None, ..table(name) };
        assert!(forged("{}").contains("damaged"));
        assert!(forged(&text(&section_of("table5", vec![]))).contains("another study"));
        assert!(forged(&text(&of(vec![plain("../../etc")]))).contains("no name of a table"));
        assert!(forged(&text(&of(vec![plain("a\" onload=\"b")]))).contains("no name of a table"));
        let nan = text(&of(vec![plain("table3")])).replace("\"6e-6\"", "\"NaN\"");
        assert!(forged(&nan).contains("NaN"));
        // One long row, and many short ones that would be filled up.
        let mut bomb = Table { rows: vec![vec![]; 30_000], ..plain("table3") };
        bomb.rows.push(vec![Value::Empty; 30_000]);
        assert!(forged(&text(&of(vec![bomb]))).contains("more cells"));
        // Many numbers in one cell, and words that every cell would repeat.
        let crowd = Table { rows: vec![row![vec![1e300; 200_001]]], ..plain("table3") };
        assert!(forged(&text(&of(vec![crowd]))).contains("more cells"));
        let wordy = Table { columns: row![("K", &*"ä".repeat(51))], ..plain("table3") };
        assert!(forged(&text(&of(vec![wordy]))).contains("longer format"));
        assert!(forged(&"[".repeat(100_000)).contains("damaged"));
        // A table that another study has, too: the one that comes first in the registry is shown.
        write("table3.json", &good);
        keep(&section_of("table4", vec![table("table3")]), folder.path());
        let Sections { found, refused } = Sections::read(folder.path());
        assert_eq!((found.len(), found[0].study(), refused.len()), (1, "table3", 1));
        // Other files are nobody's, and folders in the place of files are no files.
        write("nothing.json", b"");
        fs::create_dir(folder.path().join(FOLDER).join("table5.json")).unwrap();
        assert_eq!(Sections::read(folder.path()).refused.len(), 2);
    }
}
