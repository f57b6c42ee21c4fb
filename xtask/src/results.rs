//! `cargo xtask results`: runs all studies and comparisons of one commit, and writes the pages of docs/results.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{cargo, root, step};

/// Page of docs/results.
struct Page {
    /// File name without its extension.
    name: &'static str,
    title: &'static str,
    parts: &'static [Part],
}

/// Part of a page, with the approximate seconds that it takes on two cores.
enum Part {
    /// Study of `anyk reproduce`, which supplies the title and the introduction.
    Study(&'static str, f64),
    /// Title, introduction, and commands whose output the page shows. A command runs `anyk` or `cargo xtask`.
    Commands(&'static str, &'static str, &'static [&'static str], f64),
    /// Commands that run only with `--full`; see [`Part::Commands`].
    FullCommands(&'static str, &'static str, &'static [&'static str], f64),
}

use Part::{Commands, FullCommands, Study};

/// Command that evaluates the models for minimum power in a given band.
const BAND: &str = "anyk evaluate urllc-power-1 urllc-power-2 urllc-power-3 urllc-power-4 urllc-power-5 \
                    --k 1,2,5,10,50,200,1000 --samples 20 --user-bandwidth-hz 2e5";

static PAGES: [Page; 16] = [
    Page {
        name: "tables",
        title: "The paper's tables",
        parts: &[
            Study("table1", 1.0),
            Study("table3", 80.0),
            Study("table4", 55.0),
            Study("table5", 15.0),
            Study("table6", 1.0),
        ],
    },
    Page {
        name: "paper-preset",
        title: "The paper's training",
        parts: &[
            Study("table2", 1.0),
            Study("rates", 1420.0),
            Study("published", 30.0),
            Study("ablation", 300.0),
        ],
    },
    Page { name: "price", title: "The price policy", parts: &[Study("price", 75.0)] },
    Page {
        name: "valid-cell",
        title: "A cell in which the rate formula holds",
        parts: &[Study("valid-cell", 60.0)],
    },
    Page { name: "fading", title: "Unknown fading distribution", parts: &[Study("fading", 60.0)] },
    Page {
        name: "claims",
        title: "Statements of the paper without a table",
        parts: &[
            Study("parameters", 240.0),
            Study("conservative", 120.0),
            Study("samples", 60.0),
            Study("alternatives", 60.0),
            Study("aggregators", 30.0),
        ],
    },
    Page { name: "closed-forms", title: "Closed forms", parts: &[Study("closed-forms", 10.0)] },
    Page {
        name: "power-control",
        title: "Power control and link scheduling",
        parts: &[Study("power-control", 20.0), Study("links-published", 60.0)],
    },
    Page {
        name: "figures",
        title: "Figures and propositions",
        parts: &[
            Study("fig1", 1.0),
            Study("fig2a", 10.0),
            Study("fig2b", 10.0),
            Study("fig2c", 10.0),
            Study("propositions", 30.0),
        ],
    },
    Page { name: "seeds", title: "Many seeds", parts: &[Study("seeds", 120.0)] },
    Page { name: "diagnose", title: "Diagnosis", parts: &[Study("diagnose", 15.0)] },
    Page { name: "calibration", title: "Calibration", parts: &[Study("calibration", 90.0)] },
    Page {
        name: "optimum",
        title: "The exact optimum",
        parts: &[Commands(
            "Optimum and equal power",
            "“Equal power” gives every user the same power and the exact bandwidth that this power requires. It needs \
             no training. If the fading distribution is known, a learned policy that needs more bandwidth is worse \
             than no learning.",
            &[
                "anyk evaluate optimum equal-power --problem urllc --k 1,2,5,10,50,100,200,500,1000 --samples 1000",
            ],
            10.0,
        )],
    },
    Page {
        name: "urllc-power",
        title: "Minimum power in a given band",
        parts: &[Commands(
            "Five training runs",
            "This problem is the mirror image of the paper's: the band is given, and the total power is minimized. The \
             price policy is trained with five seeds. The baseline gives every user the same bandwidth and the \
             power that this bandwidth requires.",
            &["anyk train urllc-power --seeds 1..5 --out urllc-power --force", BAND],
            15.0,
        )],
    },
    Page {
        name: "speed",
        title: "Speed",
        parts: &[
            Commands(
                "The program",
                "Times vary with the machine; ratios vary less.",
                &["anyk bench"],
                60.0,
            ),
            Commands(
                "The exact optimum compared with Python",
                "The fair comparison is with “tables”, which is AnyK's method in Python. “scipy” is the usual Python \
                 code. It has no tables and solves for each bandwidth by Newton's method (details: `bench/README.md`).",
                &["cargo xtask compare"],
                100.0,
            ),
            Commands(
                "WMMSE compared with NumPy",
                "Both run 100 iterations on the same networks, in double precision on one thread.",
                &["cargo xtask compare wmmse"],
                80.0,
            ),
            FullCommands(
                "Training compared with PyTorch and JAX",
                "One step of P-GNN's training and one allocation, in single precision on one thread.",
                &["cargo xtask compare learning"],
                600.0,
            ),
        ],
    },
    Page {
        name: "python",
        title: "The Python package",
        parts: &[Commands(
            "The package compared with Rust, SciPy and CVXPY",
            "The first table shows the cost of calling AnyK from Python. The others solve the same problems with other \
             packages (details: `bench/README.md`).",
            &["cargo xtask compare python"],
            240.0,
        )],
    },
];

impl Part {
    /// Returns the name for messages and for files in the working folder.
    fn name(&self) -> String {
        match self {
            Study(name, _) => (*name).to_owned(),
            Commands(title, ..) | FullCommands(title, ..) => {
                title.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-")
            }
        }
    }

    fn seconds(&self) -> f64 {
        match self {
            Study(_, seconds) | Commands(.., seconds) | FullCommands(.., seconds) => *seconds,
        }
    }
}

/// Arguments of the command, and the commit and machine that the pages name.
struct Run {
    /// Folder of the documentation.
    docs: PathBuf,
    /// Folder of the sections, their caches, and the outputs of commands.
    work: PathBuf,
    full: bool,
    commit: String,
    machine: String,
    /// Fingerprint of everything that a part depends on.
    sources: String,
}

/// Runs `cargo xtask results [DIR] [--only PAGE] [--full]`.
pub(crate) fn command(arguments: impl Iterator<Item = String>) -> Result<()> {
    let (mut docs, mut only, mut full) = (root().join("docs"), None, false);
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--full" => full = true,
            "--only" => only = Some(arguments.next().context("--only needs the name of a page")?),
            flag if flag.starts_with('-') => bail!("unknown option {flag}"),
            folder => docs = env::current_dir()?.join(folder),
        }
    }
    let pages: Vec<&Page> =
        PAGES.iter().filter(|page| only.as_ref().is_none_or(|name| name == page.name)).collect();
    if pages.is_empty() {
        let names: Vec<&str> = PAGES.iter().map(|page| page.name).collect();
        bail!("unknown page; expected one of {}", names.join(", "));
    }
    let results = [":!docs/results.md", ":!docs/results", ":!docs/figures"];
    let changes = git(&[&["status", "--porcelain", "--", "."], &results[..]].concat())?;
    if !changes.is_empty() {
        bail!("commit your changes first, so that the pages can name a commit:\n{changes}");
    }
    step("build", cargo().args(["build", "--release", "--locked"]))?;
    let run = Run::new(docs, full)?;
    run.measure(&pages)?;
    pages.iter().try_for_each(|page| run.write_page(page))?;
    if only.is_none() {
        run.write_index()?;
    } else {
        println!("== results.md lists all pages; it is written only without --only");
    }
    Ok(())
}

/// Returns the output of a git command, without the last line break.
fn git(arguments: &[&str]) -> Result<String> {
    let output = Command::new("git").args(arguments).current_dir(root()).output()?;
    if !output.status.success() {
        bail!("git {arguments:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

/// Describes the processor and the compiler.
fn machine() -> Result<String> {
    let cores = std::thread::available_parallelism()?;
    let about = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = about.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split_once(": ")).map_or(env::consts::ARCH, |it| it.1);
    let rustc = Command::new("rustc").arg("--version").current_dir(root()).output()?.stdout;
    let rustc = String::from_utf8_lossy(&rustc);
    let version = rustc.split_whitespace().nth(1).unwrap_or("?");
    Ok(format!("{cores} cores, {model}, Rust {version}"))
}

impl Run {
    fn new(docs: PathBuf, full: bool) -> Result<Self> {
        let work = root().join("target/results").join(if full { "full" } else { "usual" });
        fs::create_dir_all(work.join("done"))?;
        fs::create_dir_all(docs.join("results"))?;
        fs::create_dir_all(docs.join("figures"))?;
        let machine = machine()?;
        let sources = git(&["rev-parse", "HEAD:crates", "HEAD:bench", "HEAD:Cargo.lock"])?;
        let sources = format!("{sources}\n{machine}\n");
        let commit = git(&["log", "-1", "--format=%h"])?;
        Ok(Self { docs, work, full, commit, machine, sources })
    }

    /// Returns whether a part belongs to this run.
    fn has(&self, part: &Part) -> bool {
        self.full || !matches!(part, FullCommands(..))
    }

    fn is_done(&self, part: &Part) -> bool {
        let stamp = fs::read_to_string(self.work.join("done").join(part.name()));
        stamp.is_ok_and(|stamp| stamp == self.sources)
    }

    /// Measures all parts that have not been measured with these sources.
    fn measure(&self, pages: &[&Page]) -> Result<()> {
        let parts = pages.iter().flat_map(|page| page.parts);
        let missing: Vec<&Part> =
            parts.filter(|part| self.has(part) && !self.is_done(part)).collect();
        let mut left: f64 = missing.iter().map(|part| part.seconds()).sum();
        let (mut planned, mut taken) = (60.0, 60.0);
        for (place, part) in missing.iter().enumerate() {
            let place = place + 1;
            let minutes = left * taken / planned / 60.0;
            let (name, all) = (part.name(), missing.len());
            println!("== {place} of {all}: {name}; about {minutes:.0} minutes left");
            let started = Instant::now();
            if self.measure_part(part)? {
                fs::write(self.work.join("done").join(&name), &self.sources)?;
            }
            planned += part.seconds();
            taken += started.elapsed().as_secs_f64();
            left -= part.seconds();
        }
        Ok(())
    }

    /// Measures a part. Returns false if a command fails, for example because Python packages cannot be installed; the
    /// page then says so, and the next run tries again.
    fn measure_part(&self, part: &Part) -> Result<bool> {
        match part {
            Study(name, _) => {
                let full: &[&str] = if self.full { &["--full"] } else { &[] };
                let mut command = Command::new(program());
                command.args(["reproduce", name, "--out"]).arg(&self.work).args(full);
                let output = command.stderr(Stdio::inherit()).output()?;
                if !output.status.success() {
                    bail!("{name} failed; run the same command again to continue");
                }
            }
            Commands(_, _, lines, _) | FullCommands(_, _, lines, _) => {
                let shown = lines.iter().map(|line| self.shown(line)).collect::<Result<String>>();
                let path = self.work.join(format!("{}.txt", part.name()));
                if let Err(error) = &shown {
                    println!("== SKIPPED: {error:#}");
                    fs::write(path, "Not measured: the command failed on this machine.\n")?;
                    return Ok(false);
                }
                fs::write(path, shown?)?;
            }
        }
        Ok(true)
    }

    /// Runs a command in the working folder, and returns it with its output.
    fn shown(&self, line: &str) -> Result<String> {
        let mut words = line.split_whitespace();
        let mut command = match words.next() {
            Some("anyk") => Command::new(program()),
            _ => Command::new(env::current_exe()?),
        };
        let words = words.skip_while(|word| *word == "xtask");
        command.args(words).current_dir(&self.work).stderr(Stdio::inherit());
        let output = command.output()?;
        if !output.status.success() {
            bail!("{line} failed");
        }
        // Lines with == name the steps of `cargo xtask`.
        let text = String::from_utf8(output.stdout)?;
        let text: Vec<&str> = text.lines().filter(|line| !line.starts_with("==")).collect();
        Ok(format!("```console\n$ {line}\n{}\n```\n\n", text.join("\n").trim_matches('\n')))
    }

    /// Reads the results of a study.
    fn section(&self, study: &str) -> Result<Value> {
        let path = self.work.join("sections").join(format!("{study}.json"));
        let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
        Ok(serde_json::from_slice::<Value>(&bytes)?["section"].take())
    }

    /// Returns the line below the title of each page.
    fn origin(&self) -> String {
        let counts = if self.full { "the paper's counts (`--full`)" } else { "default counts" };
        format!("Commit {} · {} · {counts}", self.commit, self.machine)
    }

    fn write_page(&self, page: &Page) -> Result<()> {
        let mut text = format!(
            "# {}\n\n[All results](../results.md) · {} · written by `cargo xtask results --only {}`\n",
            page.title,
            self.origin(),
            page.name,
        );
        for part in page.parts.iter().filter(|part| self.has(part)) {
            match part {
                Study(name, _) => self.push_study(&mut text, name)?,
                Commands(title, introduction, ..) | FullCommands(title, introduction, ..) => {
                    let shown = fs::read_to_string(self.work.join(format!("{}.txt", part.name())))?;
                    let _ =
                        write!(text, "\n## {title}\n\n{introduction}\n\n{}\n", shown.trim_end());
                }
            }
        }
        write(&self.docs.join("results").join(format!("{}.md", page.name)), &text)
    }

    /// Appends a study: its introduction, its command, and its tables as the program wrote them.
    fn push_study(&self, text: &mut String, study: &str) -> Result<()> {
        let section = self.section(study)?;
        let [title, introduction] = ["title", "introduction"].map(|field| said(&section, field));
        let full = if self.full { " --full" } else { "" };
        let command = format!("anyk reproduce {study}{full}");
        let _ = write!(text, "\n## {title}\n\n{introduction} To repeat: `{command}`.\n");
        for table in listed(&section, "tables") {
            let name = said(table, "name");
            let markdown = fs::read_to_string(self.work.join(format!("{name}.md")))?;
            // The heading of the table is one level below that of the study.
            let markdown =
                markdown.replace(&format!("]({name}.svg)"), &format!("](../figures/{name}.svg)"));
            let _ = write!(text, "\n#{}\n", markdown.trim_end());
            if !table["chart"].is_null() {
                self.copy_figure(&format!("{name}.svg"), &format!("{name}.svg"))?;
            }
        }
        Ok(())
    }

    fn copy_figure(&self, from: &str, to: &str) -> Result<()> {
        let from = self.work.join(from);
        fs::copy(&from, self.docs.join("figures").join(to))
            .with_context(|| from.display().to_string())?;
        Ok(())
    }

    /// Writes the list of pages and of all verdicts.
    fn write_index(&self) -> Result<()> {
        let mut text = format!(
            "# Results\n\n{}. `cargo xtask results` writes this page and all pages that it links to, from the results \
             of one commit. Verdicts are computed from the numbers of the tables; brackets show the sizes and the \
             budget that they cover.\n\n| page | studies | statements that hold | partly | do not hold | undecided |\n\
             | --- | --- | --- | --- | --- | --- |\n",
            self.origin(),
        );
        let mut lists: BTreeMap<(bool, &str), String> = BTreeMap::new();
        let mut pictures = BTreeMap::new();
        for page in &PAGES {
            let mut counts = [0; 4];
            let mut titles = Vec::new();
            for part in page.parts.iter().filter(|part| self.has(part)) {
                let Study(name, _) = part else {
                    let (Commands(title, ..) | FullCommands(title, ..)) = part else { continue };
                    titles.push((*title).to_owned());
                    continue;
                };
                let section = self.section(name)?;
                titles.push(said(&section, "title").to_owned());
                for table in listed(&section, "tables") {
                    for picture in listed(table, "pictures") {
                        let subject = said(picture, "subject").to_owned();
                        pictures.insert(subject, said(&picture["chart"], "title").to_owned());
                    }
                    for claim in listed(table, "claims") {
                        let place = match &claim["holds"] {
                            Value::Bool(true) => 0,
                            Value::String(_) => 1,
                            Value::Bool(false) => 2,
                            _ => 3,
                        };
                        counts[place] += 1;
                        let own = claim["by"] == "own";
                        let list = lists.entry((own, VERDICTS[place])).or_default();
                        let [statement, measured, covers] =
                            ["statement", "measured", "covers"].map(|field| said(claim, field));
                        let covers =
                            if covers.is_empty() { String::new() } else { format!(" ({covers})") };
                        let (page, study) = (page.name, *name);
                        let _ = writeln!(
                            list,
                            "- {statement}: {measured}{covers}. [{study}](results/{page}.md)"
                        );
                    }
                }
            }
            let counts =
                counts.map(|count| if count == 0 { "–".to_owned() } else { count.to_string() });
            let (title, name) = (page.title, page.name);
            let titles = titles.join("; ").replace('|', r"\|");
            let _ = writeln!(
                text,
                "| [{title}](results/{name}.md) | {titles} | {} |",
                counts.join(" | ")
            );
        }
        for (subject, title) in pictures {
            self.copy_figure(&format!("summary-{subject}.svg"), &format!("{subject}.svg"))?;
            let _ = write!(text, "\n![{title}](figures/{subject}.svg)\n");
        }
        for (own, heading) in [(false, "Statements of the paper"), (true, "Statements of AnyK")] {
            let _ = write!(text, "\n## {heading}\n");
            for verdict in VERDICTS {
                if let Some(list) = lists.get(&(own, verdict)) {
                    let count = list.lines().count();
                    let _ = write!(text, "\n### {verdict} ({count})\n\n{list}");
                }
            }
        }
        write(&self.docs.join("results.md"), &text)
    }
}

/// Headings of the lists of statements.
const VERDICTS: [&str; 4] = ["Hold", "Hold partly", "Do not hold", "Undecided"];

fn program() -> PathBuf {
    root().join("target/release/anyk")
}

/// Returns a text in JSON, or an empty one.
fn said<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// Returns the items of an array in JSON.
fn listed<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().map_or(&[], Vec::as_slice)
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| path.display().to_string())?;
    println!("== wrote {}", path.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_study_is_on_one_page() {
        let registry = include_str!("../../crates/anyk-study/src/registry.rs");
        // A study begins with one of these calls, whose first argument is its name.
        let calls = ["        paper(\n", "        own(\n", "        beside(\n"];
        let named = calls.iter().flat_map(|call| registry.split(call).skip(1));
        let named: BTreeSet<&str> = named.filter_map(|text| text.split('"').nth(1)).collect();
        let parts = || PAGES.iter().flat_map(|page| page.parts);
        let studies =
            parts().filter_map(|part| if let Study(name, _) = part { Some(*name) } else { None });
        let studies: Vec<&str> = studies.collect();
        assert_eq!(studies.iter().copied().collect::<BTreeSet<_>>(), named);
        assert_eq!(studies.len(), named.len());
        // The names of parts are names of files.
        let names: BTreeSet<String> = parts().map(Part::name).collect();
        assert_eq!(names.len(), parts().count());
    }
}
