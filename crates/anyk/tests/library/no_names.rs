//! Tests that only `problems/` names problems, their options and their fields. The library, the program and the
//! bindings read the registry.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::Path;

use anyk::core::CELL_INPUTS;
use anyk::framework::{CellOptions, Verb};
use anyk::problems::BUILT_IN;
use syn::buffer::{Cursor, TokenBuffer};

use crate::module_order::{FOLDERS, add_paths, after_item, library, sources};

/// File that may name a problem: it turns Python functions into costs, which options and columns cannot express.
const OWN_COSTS: &str = "anyk-py/separable.rs";

/// Options of verbs and of all training runs, which the framework reads.
const OPTIONS_OF_VERBS: &[&str] = &[
    "aggregator",
    "classes",
    "count",
    "format",
    "hidden",
    "k",
    "method",
    "reference-bandwidth-hz",
    "reference-power-dbm",
    "samples",
    "seed",
    "steps",
    "train-k",
];

/// Commands and fields of the core with the same name as an option or a field of a problem.
const FIELDS_OF_CORE: &[&str] = &[
    "admissible",
    "admissible_at_most",
    "admissible_count",
    "availability",
    "dropped",
    "duality_gap",
    "error",
    "fading",
    "gap_percent",
    "guarantee",
    "instances",
    "iterations",
    "kkt_residual",
    "max_power_w",
    "missed",
    "objective",
    "price",
    "required_power_w",
    "shortfall_w",
    "status",
    "value",
    "warning",
];

/// Words that belong to problems.
struct Words {
    problems: BTreeSet<String>,
    options: BTreeSet<String>,
    fields: BTreeSet<String>,
}

impl Words {
    fn of_registry() -> Self {
        let options = Verb::ALL.iter().flat_map(|(_, verb)| {
            BUILT_IN.iter().flat_map(|about| (about.flags)(*verb)).map(|spec| spec.name)
        });
        let of_cells = CellOptions::specs_of_files().into_iter().chain(CellOptions::ALL.specs());
        let of_cells: BTreeSet<&str> = of_cells.map(|spec| spec.name).collect();
        let is_own = |name: &&str| !of_cells.contains(name) && !OPTIONS_OF_VERBS.contains(name);
        let columns = BUILT_IN.iter().flat_map(|about| about.inputs.iter().chain(about.amounts));
        let columns = columns.filter(|column| !CELL_INPUTS.contains(column));
        let answers = BUILT_IN.iter().flat_map(|about| about.answer_fields);
        let fields = columns.map(|column| column.name).chain(answers.copied());
        Self {
            problems: BUILT_IN.iter().map(|about| about.name.to_owned()).collect(),
            options: options.filter(is_own).map(str::to_owned).collect(),
            fields: fields
                .filter(|name| !FIELDS_OF_CORE.contains(name))
                .map(str::to_owned)
                .collect(),
        }
    }

    /// Returns the names of problems, options and fields in a text. Common words, such as `noise`, count only if they
    /// are the whole text.
    fn named(&self, text: &str) -> Vec<String> {
        let part = |letter: char| !(letter.is_ascii_alphanumeric() || "_-".contains(letter));
        let words: Vec<&str> = text.split(part).filter(|word| !word.is_empty()).collect();
        let alone = |name: &str| text == name;
        let within = |name: &str| alone(name) || words.contains(&name);
        let is_problem = |name: &&String| within(name);
        let is_option = |name: &&String| {
            let field = name.replace('-', "_");
            let is_phrase = name.contains('-') && (within(name) || within(&field));
            let is_core = FIELDS_OF_CORE.contains(&name.as_str());
            !is_core && alone(name) || is_phrase || words.contains(&&*format!("--{name}"))
        };
        let is_field = |name: &&String| if name.contains('_') { within(name) } else { alone(name) };
        let problems = self.problems.iter().filter(is_problem);
        let options = self.options.iter().filter(is_option);
        problems.chain(options).chain(self.fields.iter().filter(is_field)).cloned().collect()
    }

    /// Returns the names of problems, options and fields in a source.
    fn found(&self, source: &str) -> BTreeSet<String> {
        let tokens = TokenBuffer::new2(source.parse().unwrap());
        let (mut texts, mut paths) = (Vec::new(), BTreeSet::new());
        literals(tokens.begin(), &mut texts);
        add_paths(tokens.begin(), &[], &mut paths);
        let is_folder = |name: &str| FOLDERS.split(' ').any(|folder| folder == name);
        let into_problem = |path: &Vec<String>| {
            path.windows(2).any(|pair| pair[0] == "problems" && is_folder(&pair[1]))
        };
        let paths = paths.into_iter().filter(into_problem).map(|path| path.join("::"));
        texts.iter().flat_map(|text| self.named(text)).chain(paths).collect()
    }
}

/// Collects the texts in these tokens, except documentation and tests.
fn literals(mut rest: Cursor<'_>, found: &mut Vec<String>) {
    while let Some((_, after)) = rest.token_tree() {
        let mut next = after;
        if let Some((literal, _)) = rest.literal() {
            if let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string()) {
                found.push(text.value());
            }
        } else if let Some((inside, ..)) = rest.any_group() {
            if inside.token_stream().to_string().replace(' ', "") == "cfg(test)" {
                next = after_item(after);
            } else if inside.ident().is_none_or(|(name, _)| name != "doc") {
                literals(inside, found);
            }
        }
        rest = next;
    }
}

#[test]
fn only_problems_are_named_in_their_folder() {
    let mut all = library();
    all.retain(|(file, _)| !file.starts_with("problems/"));
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for name in ["anyk-cli", "anyk-py"] {
        sources(&crates.join(name).join("src"), &format!("{name}/"), &mut all);
    }
    let words = Words::of_registry();
    let exception = all.iter().position(|(file, _)| file == OWN_COSTS);
    let (_, own_costs) = all.swap_remove(exception.unwrap());
    assert!(!words.found(&own_costs).is_empty(), "no exception is needed any more");
    let named = all.iter().flat_map(|(file, source)| {
        words.found(source).into_iter().map(move |name| format!("{file}: {name}"))
    });
    let named: Vec<String> = named.collect();
    assert!(named.is_empty(), "names of problems:\n{}", named.join("\n"));
}

#[test]
fn a_name_is_found() {
    let words = Words::of_registry();
    for (source, found) in [
        ("use anyk::problems::{self, urllc::Urllc};", "anyk::problems::urllc::Urllc"),
        (r#"const A: &str = "sample urllc --k 10";"#, "urllc"),
        (r#"#[arg(help = "for urllc-power")] struct A;"#, "urllc-power"),
        (r#"fn a() { names.retain(|name| name != "no-check") }"#, "no-check"),
        (r#"fn a() { format!("its {} with --certify", b) }"#, "certify"),
        (r#"fn a() { vec!["noise", "power of noise"] }"#, "noise"),
        (r#"fn a() { "the rate_bps of a user" }"#, "rate-bps rate_bps"),
        (r#"fn a() { "a power, without noise, as usual" }"#, ""),
        ("/// As in urllc.\nfn a() {}", ""),
        (r#"#[cfg(test)] mod tests { const A: &str = "urllc"; }"#, ""),
    ] {
        let all: Vec<String> = words.found(source).into_iter().collect();
        assert_eq!(all.join(" "), found, "{source}");
    }
}
