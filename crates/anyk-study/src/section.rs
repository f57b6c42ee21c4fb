//! Files that store the results of each study in a results folder. From them, a report shows every study that was ever
//! run into the folder. The report is always built from these files, never from an existing page.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use thiserror::Error;

use crate::SOURCES;
use crate::{Effort, Lab, STUDIES, Study};
use anyk::exchange::{fingerprint, read_plain_file, to_json};
use anyk::framework::{Chart, Picture, Series, Table, Value};

/// Subfolder of the results folder that contains the files.
const FOLDER: &str = "sections";
/// Maximum number of cells of a table (with short rows padded), and of numbers in it. The largest table of a study has
/// a few hundred.
const MOST_CELLS: usize = 200_000;
/// Maximum length of a column's format in bytes. Every cell of the column repeats it.
const MOST_FORMAT: usize = 100;

/// Results of one study, and how they were measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Section {
    /// Name of the study.
    study: String,
    /// Description of the study in one line.
    #[serde(default)]
    title: String,
    /// Question of the study and how it is answered, in Markdown.
    #[serde(default)]
    introduction: String,
    /// Line that describes how the study was run.
    about: String,
    /// Whether it was a trial, whose figures are meaningless.
    trial: bool,
    /// Fingerprints of the sources that measured it.
    sources: String,
    /// Tables of the study.
    tables: Vec<Table>,
}

/// Content of a file: the section, and a fingerprint that detects damage.
#[derive(Deserialize)]
struct Kept<'a> {
    fingerprint: String,
    #[serde(borrow)]
    section: &'a RawValue,
}

/// Error of a section file.
#[derive(Debug, Error)]
pub enum SectionError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// The file was not written by this program, or is damaged.
    #[error("{}: {why}; `anyk reproduce {study}` writes it again", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Study to which the file belongs.
        study: &'static str,
        /// Description of the fault.
        why: String,
    },
}

/// All sections of a results folder in the order of the registry, and the files that are rejected.
#[derive(Debug, Default)]
pub struct Sections {
    /// Sections that were read.
    pub found: Vec<Section>,
    /// Errors of rejected files.
    pub refused: Vec<SectionError>,
}

impl Section {
    /// Builds a section from the tables that a study has just measured.
    pub fn new(study: &Study, lab: &Lab<'_>, tables: Vec<Table>) -> Self {
        Self {
            study: study.name.to_owned(),
            title: study.about.to_owned(),
            introduction: study.introduction.to_owned(),
            about: lab.about(),
            trial: lab.effort == Effort::Trial,
            sources: SOURCES.clone(),
            tables,
        }
    }

    /// Name of the study.
    pub fn study(&self) -> &str {
        &self.study
    }

    /// Line that describes how the study was run.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// Returns whether the study was a trial, whose figures are meaningless.
    pub fn is_trial(&self) -> bool {
        self.trial
    }

    /// Returns whether the sources of this program measured the section.
    pub fn is_current(&self) -> bool {
        self.sources == *SOURCES
    }

    /// Tables of the study.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// Returns the path of a study's section file, relative to the results folder.
    pub fn file_of(study: &str) -> String {
        format!("{FOLDER}/{study}.json")
    }

    /// Returns the content of the file: the section as JSON, with a fingerprint of that JSON.
    pub fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let text = to_json(&self.storable())?;
        let print = fingerprint(&text);
        Ok(format!("{{\"fingerprint\":\"{print:016x}\",\"section\":{text}}}").into_bytes())
    }

    /// Returns the section without measured times, which differ between machines.
    #[must_use]
    pub fn without_times(mut self) -> Self {
        const UNITS: [&str; 4] = ["s", "ms", "µs", "times faster"];
        for table in &mut self.tables {
            for (place, head) in table.columns.iter().enumerate() {
                if UNITS.contains(&&*head.unit) || UNITS.contains(&&*head.head) {
                    let cells = table.rows.iter_mut().filter_map(|row| row.get_mut(place));
                    cells.for_each(|cell| *cell = Value::Empty);
                }
            }
        }
        self
    }

    /// Returns the section as JSON can store it.
    #[must_use]
    pub fn storable(&self) -> Self {
        // JSON cannot contain NaN or infinity, which no axis shows.
        let shown = |table: &Table| Table {
            chart: table.chart.as_ref().map(finite),
            pictures: table
                .pictures
                .iter()
                .map(|picture| Picture { chart: finite(&picture.chart), ..picture.clone() })
                .collect(),
            ..table.clone()
        };
        Self { tables: self.tables.iter().map(shown).collect(), ..self.clone() }
    }

    /// Reads the section file of a study.
    fn read(path: &Path, study: &'static Study) -> Result<Self, SectionError> {
        let bytes = read_plain_file(path)
            .map_err(|source| SectionError::Read { path: path.to_owned(), source })?;
        Self::from_bytes(&bytes, study).map_err(|why| SectionError::Damaged {
            path: path.to_owned(),
            study: study.name,
            why,
        })
    }

    /// Parses a section file; the error describes the fault.
    pub fn from_bytes(bytes: &[u8], study: &Study) -> Result<Self, String> {
        let said = |error: serde_json::Error| format!("the file is damaged ({error})");
        let kept: Kept<'_> = serde_json::from_slice(bytes).map_err(said)?;
        if kept.fingerprint != format!("{:016x}", fingerprint(kept.section.get())) {
            return Err("the fingerprint does not match the content".to_owned());
        }
        let section: Self = serde_json::from_str(kept.section.get()).map_err(said)?;
        if section.study != study.name {
            return Err(format!("the file contains another study, {:?}", section.study));
        }
        // The fingerprint is no protection against forgery, so the content is checked like any untrusted input.
        for table in &section.tables {
            if !table.has_plain_name() {
                return Err(format!("{:?} is not a valid table name", table.name));
            }
            let cells = table.rows.len().saturating_add(1).saturating_mul(table.width());
            let numbers = table.rows.iter().flatten().map(|value| value.numbers().len()).sum();
            if cells.max(numbers) > MOST_CELLS {
                return Err(format!(
                    "the table {} has more cells or numbers than the limit of {MOST_CELLS}",
                    table.name
                ));
            }
            if table.columns.iter().any(|column| column.format.len() > MOST_FORMAT) {
                return Err(format!(
                    "{} has a longer column format than any table of a study has",
                    table.name
                ));
            }
            table.check().map_err(|error| error.to_string())?;
        }
        Ok(section)
    }
}

impl Sections {
    /// Reads all sections of a results folder. Files with other names are ignored.
    pub fn read(folder: &Path) -> Self {
        let mut sections = Self::default();
        let mut names = HashSet::new();
        for study in &STUDIES {
            let path = folder.join(Section::file_of(study.name));
            // A dangling symbolic link counts as a file that cannot be read.
            if path.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
                continue;
            }
            match Section::read(&path, study) {
                Ok(section) => {
                    // Table names are anchors of the page, so they must be unique.
                    let tables = section.tables.iter();
                    let twice = tables.filter(|table| !names.insert(table.name.clone())).count();
                    if twice == 0 {
                        sections.found.push(section);
                    } else {
                        let why = "the file contains a table of another study".to_owned();
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
    let (study, about) = (study.to_owned(), "three runs".to_owned());
    let (title, introduction) = (String::new(), String::new());
    let sources = SOURCES.clone();
    Section { study, title, introduction, about, trial: false, sources, tables }
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
        // Numbers are exact; points that no axis can show are dropped.
        let series = &found[0].tables()[0].chart.as_ref().unwrap().series[0];
        assert_eq!(series.points[0].1.to_bits(), (0.1f64 + 0.2).to_bits());
        assert_eq!(series.points, [(1.0, 0.1 + 0.2), (3.0, 4.0)]);
        assert_eq!(series.spread, Some(vec![(0.2, 0.5), (4.0, 4.0)]));
        assert_eq!(found[0].tables()[0].claims, table("table3").claims);
        // A later run replaces only its own section.
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
        // Every flipped byte and every truncation is detected.
        for place in 0..good.len() {
            let mut bytes = good.clone();
            bytes[place] ^= 1;
            write("table3.json", &bytes);
            refused();
            write("table3.json", &good[..place]);
            refused();
        }
        // A file with a matching fingerprint, as an attacker could write it.
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
        assert!(forged(&text(&of(vec![plain("../../etc")]))).contains("not a valid table name"));
        assert!(
            forged(&text(&of(vec![plain("a\" onload=\"b")]))).contains("not a valid table name")
        );
        let nan = text(&of(vec![plain("table3")])).replace("\"6e-6\"", "\"NaN\"");
        assert!(forged(&nan).contains("NaN"));
        // One long row, and many short rows that would be padded.
        let mut bomb = Table { rows: vec![vec![]; 30_000], ..plain("table3") };
        bomb.rows.push(vec![Value::Empty; 30_000]);
        assert!(forged(&text(&of(vec![bomb]))).contains("more cells"));
        // Many numbers in one cell, and a long format that every cell would repeat.
        let crowd = Table { rows: vec![row![vec![1e300; 200_001]]], ..plain("table3") };
        assert!(forged(&text(&of(vec![crowd]))).contains("more cells"));
        let wordy = Table { columns: row![("K", &*"ä".repeat(51))], ..plain("table3") };
        assert!(forged(&text(&of(vec![wordy]))).contains("longer column format"));
        assert!(forged(&"[".repeat(100_000)).contains("damaged"));
        // If two studies contain a table with the same name, only the first in the registry is shown.
        write("table3.json", &good);
        keep(&section_of("table4", vec![table("table3")]), folder.path());
        let Sections { found, refused } = Sections::read(folder.path());
        assert_eq!((found.len(), found[0].study(), refused.len()), (1, "table3", 1));
        // Files with other names are ignored; a folder instead of a file is an error.
        write("nothing.json", b"");
        fs::create_dir(folder.path().join(FOLDER).join("table5.json")).unwrap();
        assert_eq!(Sections::read(folder.path()).refused.len(), 2);
    }
}
