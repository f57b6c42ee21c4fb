//! Checks every path in the sources: each module of the library uses only modules before it.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use syn::buffer::{Cursor, TokenBuffer};

const ORDER: &str = "math units tolerance limits invalid channel qos config exchange network framework core \
                     problems diagnosis sweep";
/// Order of the folders in `problems`.
pub(crate) const FOLDERS: &str = "urllc urllc_power closed_forms interference separable";
/// Modules that every module may use.
const FOR_ALL: [&str; 4] = ["units", "tolerance", "limits", "invalid"];

/// Adds the paths in these tokens, except those in tests. `prefix` is the path before the braces of `a::{b, c}`.
pub(crate) fn add_paths(
    mut rest: Cursor<'_>,
    prefix: &[String],
    found: &mut BTreeSet<Vec<String>>,
) {
    let (mut path, mut colons) = (prefix.to_vec(), 0);
    while let Some((token, after)) = rest.token_tree() {
        if let Some((name, _)) = rest.ident() {
            if colons != 2 {
                found.insert(std::mem::replace(&mut path, prefix.to_vec()));
            }
            path.push(name.to_string());
            colons = 0;
        } else if let Some((inside, ..)) = rest.any_group() {
            if inside.token_stream().to_string().replace(' ', "") == "cfg(test)" {
                rest = after_item(after);
                continue;
            }
            let prefix: &[String] = if colons == 2 { &path } else { &[] };
            add_paths(inside, prefix, found);
            colons = 0;
        } else {
            colons = if token.to_string() == ":" { colons + 1 } else { 0 };
        }
        rest = after;
    }
    found.insert(path);
}

/// Returns the tokens after the first semicolon or block.
pub(crate) fn after_item(mut rest: Cursor<'_>) -> Cursor<'_> {
    while let Some((token, after)) = rest.token_tree() {
        rest = after;
        if token.to_string().starts_with([';', '{']) {
            break;
        }
    }
    rest
}

/// Returns the tokens after the comma that ends a field.
fn after_field(mut rest: Cursor<'_>) -> Cursor<'_> {
    while let Some((token, after)) = rest.token_tree() {
        rest = after;
        if token.to_string() == "," {
            break;
        }
    }
    rest
}

/// Returns the position of a module and, within `problems`, of its folder. The registry comes after every folder.
fn rank(module: &[String]) -> Option<(usize, usize)> {
    let place = |order: &str, name: &String| order.split(' ').position(|other| other == name);
    let folder = module.get(1).filter(|_| module[0] == "problems");
    let inner = folder.and_then(|folder| place(FOLDERS, folder)).unwrap_or(99);
    Some((place(ORDER, module.first()?)?, inner))
}

/// Returns the paths of a file that violate the order.
fn broken(file: &str, source: &str) -> Vec<String> {
    let module = file.trim_end_matches(".rs").trim_end_matches("/mod").split('/');
    let module: Vec<String> = module.map(str::to_owned).collect();
    let mut paths = BTreeSet::new();
    add_paths(TokenBuffer::new2(source.parse().unwrap()).begin(), &[], &mut paths);
    let breaks = |path: &Vec<String>| {
        let mut target = match path.first().map(String::as_str) {
            Some("crate") if path.len() > 1 => Vec::new(),
            Some("self" | "super") if path.len() > 1 => module.clone(),
            _ => return false,
        };
        for name in path {
            match name.as_str() {
                "crate" | "self" => {}
                "super" => drop(target.pop()),
                name => target.push(name.to_owned()),
            }
        }
        // The root of the library contains a constant, a macro of `framework` and the names of `config`.
        match target.first().map_or("", String::as_str) {
            "SOURCES" => return false,
            "row" => target = vec!["framework".to_owned()],
            name if name.starts_with(char::is_uppercase) => target = vec!["config".to_owned()],
            name if FOR_ALL.contains(&name) => return false,
            _ => {}
        }
        !matches!((rank(&module), rank(&target)), (Some(here), Some(there)) if there <= here)
    };
    let wrong = paths.iter().filter(|path| breaks(path));
    wrong.map(|path| format!("{file}: {}", path.join("::"))).collect()
}

/// Collects all sources in a folder with their paths.
pub(crate) fn sources(folder: &Path, prefix: &str, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            sources(&entry.path(), &format!("{name}/"), found);
        } else if name.ends_with(".rs") {
            found.push((name, fs::read_to_string(entry.path()).unwrap()));
        }
    }
}

pub(crate) fn library() -> Vec<(String, String)> {
    let mut found = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "", &mut found);
    found
}

#[test]
fn every_module_uses_only_those_before_it() {
    let all = library();
    let modules = all.iter().filter(|(file, _)| file != "lib.rs");
    let wrong: Vec<String> = modules.flat_map(|(file, source)| broken(file, source)).collect();
    assert!(wrong.is_empty(), "paths against the order:\n{}", wrong.join("\n"));
    let registry = all.iter().find(|(file, _)| file == "problems/mod.rs").unwrap();
    let built_in = registry.1.split("static BUILT_IN").nth(1).unwrap().split("];").next().unwrap();
    let rows =
        built_in.lines().filter_map(|line| line.trim().strip_prefix('&')?.split("::").next());
    let mut folders: Vec<&str> = rows.collect();
    folders.dedup();
    assert_eq!(folders.join(" "), FOLDERS, "the order of the registry");
    let mut declared: Vec<&str> =
        registry.1.lines().filter_map(|line| line.strip_prefix("pub mod ")).collect();
    declared.sort_unstable_by_key(|line| {
        FOLDERS.split(' ').position(|name| line.starts_with(&format!("{name};")))
    });
    assert_eq!(
        declared.join(" ").replace(';', ""),
        FOLDERS,
        "folders that are not in the registry"
    );
}

#[test]
fn an_edge_against_the_order_is_found() {
    for (file, source, is_broken) in [
        ("math/root.rs", "use crate::diagnosis::Law;", true),
        ("math/root.rs", "use crate::{math::single, network::{Gnn, Tape}};", true),
        ("math/root.rs", "pub(crate) use crate::channel::*;", true),
        ("channel/road.rs", "fn f(system: &crate::config::System) {}", true),
        ("channel/road.rs", "use crate::{units::Decibel, Config};", true),
        ("exchange/file.rs", "use crate::framework as f;", true),
        ("network/mod.rs", "macro_rules! m { () => { $crate::framework::train() } }", true),
        ("framework/mod.rs", "use super::problems;", true),
        ("framework/mod.rs", "use crate::core::Instance;", true),
        ("core/instance.rs", "use crate::problems::named;", true),
        ("core/read/users.rs", "use crate::problems::urllc::Urllc;", true),
        ("core/compare.rs", "use crate::diagnosis::Subject;", true),
        ("network/gnn.rs", "use crate::row;", true),
        ("problems/urllc/solver.rs", "use super::super::closed_forms::Optimum;", true),
        // The registry names every problem, so no problem may use it.
        ("problems/urllc/solver.rs", "fn f() { crate::problems::read_model(&[]); }", true),
        ("qos/mod.rs", "use crate::nowhere::Thing;", true),
        ("elsewhere.rs", "use crate::math::single;", true),
        ("math/root.rs", "#[cfg(feature = \"test\")] use crate::diagnosis::Law;", true),
        ("diagnosis/law.rs", "use crate::{math::single, problems::urllc::User, Config};", false),
        ("math/root.rs", "use crate::tolerance; use crate::units::Decibel;", false),
        ("problems/interference/problem.rs", "use crate::problems::urllc::User;", false),
        ("problems/urllc/problem.rs", "use crate::core::{Problem, Record};", false),
        ("core/read/users.rs", "use super::Reader; use crate::framework::Options;", false),
        ("diagnosis/tables.rs", "use crate::row;", false),
        ("framework/training_context.rs", "pub(crate) const A: &str = crate::SOURCES;", false),
        ("math/root.rs", "#[cfg(test)] mod tests { use crate::diagnosis::Law; }", false),
        ("math/root.rs", "#[cfg(test)] use a::b; use crate::diagnosis::Law;", true),
        (
            "math/root.rs",
            "/// [`crate::diagnosis`]\nconst A: &str = \"crate::diagnosis::Law\";",
            false,
        ),
    ] {
        assert_eq!(!broken(file, source).is_empty(), is_broken, "{file}: {source}");
    }
}

/// Tests that only one function writes files, and that all JSON output passes one check. Calls from elsewhere would
/// bypass them.
#[test]
fn there_is_one_writer_and_one_gate() {
    let mut all = library();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for name in ["anyk-study", "anyk-cli"] {
        sources(&crates.join(name).join("src"), &format!("{name}/"), &mut all);
    }
    // The check itself and the code behind it, and texts that contain names and never numbers.
    let behind_the_gate = [
        "exchange/finite.rs",
        "exchange/container.rs",
        "anyk-cli/output.rs",
        "framework/training_context.rs",
        "anyk-study/cache.rs",
    ];
    let mut found = 0;
    for (file, source) in &all {
        for word in ["to_writer", "to_writer_pretty", "to_string_pretty", "to_vec_pretty"] {
            let outside = !behind_the_gate.contains(&file.as_str());
            assert!(!(outside && source.contains(word)), "{file}: {word}");
        }
        let tested = source.split("#[cfg(test)]").next().unwrap();
        for line in tested.lines().filter(|line| line.contains("serde_json::to_")) {
            found += 1;
            assert!(behind_the_gate.contains(&file.as_str()), "{file}: {line}");
        }
        for call in ["File::create", "fs::write(", "OpenOptions", "create_new"] {
            // Parts grow line by line.
            let is_allowed = file == "exchange/disk.rs" && call == "OpenOptions";
            assert!(is_allowed || !tested.contains(call), "{file}: {call}");
        }
    }
    assert!(found > 3, "{found}: the calls have another name now");
}

/// Collects the literals in these tokens that name a flag, except in documentation and in the function or field
/// `examples`.
fn flags(mut rest: Cursor<'_>, found: &mut Vec<String>) {
    while let Some((token, after)) = rest.token_tree() {
        let next = after.ident().map(|(name, _)| name.to_string());
        let is_field = token.to_string() == "examples"
            && after.punct().is_some_and(|(mark, _)| mark.as_char() == ':');
        if is_field || token.to_string() == "fn" && next.as_deref() == Some("examples") {
            rest = if is_field { after_field(after) } else { after_item(after) };
            continue;
        }
        if let Some((literal, _)) = rest.literal() {
            let text = literal.to_string();
            if text.split("--").skip(1).any(|after| after.starts_with(char::is_alphabetic)) {
                found.push(text);
            }
        } else if let Some((inside, ..)) = rest.any_group()
            && inside.ident().is_none_or(|(name, _)| name != "doc")
        {
            flags(inside, found);
        }
        rest = after;
    }
}

/// Tests that the library names fields, which are keyword arguments in Python; the program turns them into flags.
#[test]
fn no_text_of_the_library_names_a_flag() {
    let all = library().into_iter().flat_map(|(file, source)| {
        let mut found = Vec::new();
        flags(TokenBuffer::new2(source.parse().unwrap()).begin(), &mut found);
        found.into_iter().map(move |text| format!("{file}: {text}"))
    });
    let all: Vec<String> = all.collect();
    assert!(all.is_empty(), "flags in the library:\n{}", all.join("\n"));
    let mut found = Vec::new();
    let source = "/// --doc\nfn a() { \"a --flag\" } fn examples() -> [u8] { \"--example\" } #[error(\"--b\")] c";
    flags(TokenBuffer::new2(source.parse().unwrap()).begin(), &mut found);
    assert_eq!(found, ["\"a --flag\"", "\"--b\""]);
    found.clear();
    let source =
        "A { examples: |verb| match verb { B => &[\"--c\", \"--d\"], _ => &[] }, line: \"--e\" }";
    flags(TokenBuffer::new2(source.parse().unwrap()).begin(), &mut found);
    assert_eq!(found, ["\"--e\""]);
}
