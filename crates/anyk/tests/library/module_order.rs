//! The modules are the way the data flows, and each uses only those before it: read from the paths that the
//! sources are written with.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

/// The order of the library; `lib.rs`, the map, is not part of it.
const ORDER: [&str; 13] = [
    "math",
    "units",
    "tolerance",
    "memory",
    "channel",
    "qos",
    "config",
    "exchange",
    "network",
    "framework",
    "problems",
    "diagnosis",
    "study",
];
/// What every module may use.
const FOR_ALL: [&str; 3] = ["units", "tolerance", "memory"];
/// The order of the problems, as their registry has it; the registry itself stands after all of them.
static ROOMS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let registry = include_str!("../../src/problems/mod.rs");
    let lines = registry.lines().skip_while(|line| !line.starts_with("pub static ROOMS"));
    let mut rooms: Vec<String> = Vec::new();
    for line in lines.take_while(|line| *line != "];") {
        let folder = line.trim().strip_prefix('&').and_then(|line| line.split_once("::"));
        if let Some((folder, _)) = folder
            && !rooms.iter().any(|room| room == folder)
        {
            rooms.push(folder.to_owned());
        }
    }
    rooms
});

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    /// `::`
    Path,
    Sign(char),
}

/// The code of a source: no white space, comments, literals or lifetimes.
fn tokens(source: &str) -> Vec<Token> {
    let text: Vec<char> = source.chars().collect();
    let at = |place: usize| text.get(place).copied().unwrap_or('\0');
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let starts =
        |place: usize, what: &str| what.chars().enumerate().all(|(i, c)| at(place + i) == c);
    // The first place from which the text goes on with this, and after it.
    let after = |from: usize, what: &str| {
        let found = (from..text.len()).find(|&place| starts(place, what));
        found.map_or(text.len(), |place| place + what.chars().count())
    };
    // Past a literal between quotes, from its first.
    let quoted = |from: usize, quote: char| {
        let mut place = from + 1;
        while place < text.len() && at(place) != quote {
            place += if at(place) == '\\' { 2 } else { 1 };
        }
        place + 1
    };
    let mut found = Vec::new();
    let mut place = 0;
    while place < text.len() {
        let c = at(place);
        if starts(place, "//") {
            place = after(place, "\n");
        } else if starts(place, "/*") {
            let mut depth = 1;
            place += 2;
            while depth > 0 && place < text.len() {
                let (opens, closes) = (starts(place, "/*"), starts(place, "*/"));
                depth += i32::from(opens) - i32::from(closes);
                place += if opens || closes { 2 } else { 1 };
            }
        } else if c == '"' {
            place = quoted(place, '"');
        } else if c == '\'' {
            // A lifetime has no second quote.
            let literal = at(place + 1) == '\\' || at(place + 2) == '\'';
            place = if literal { quoted(place, '\'') } else { place + 1 };
        } else if is_word(c) {
            let end = (place..).find(|&end| !is_word(at(end))).unwrap_or(text.len());
            let word: String = text[place..end].iter().collect();
            let hashes = (end..).take_while(|&place| at(place) == '#').count();
            if matches!(word.as_str(), "r" | "br" | "cr") && at(end + hashes) == '"' {
                place = after(end + hashes + 1, &format!("\"{}", "#".repeat(hashes)));
            } else {
                // What precedes a plain literal is passed over with it.
                if !(matches!(word.as_str(), "b" | "c") && matches!(at(end), '"' | '\'')) {
                    found.push(Token::Word(word));
                }
                place = end;
            }
        } else if starts(place, "::") {
            found.push(Token::Path);
            place += 2;
        } else {
            if !c.is_whitespace() {
                found.push(Token::Sign(c));
            }
            place += 1;
        }
    }
    found
}

/// The same without what is compiled for tests alone.
fn without_tests(tokens: &[Token]) -> Vec<Token> {
    let marks: Vec<Token> = self::tokens("#[cfg(test)]");
    let mut found = Vec::new();
    let mut rest = tokens;
    while let Some(first) = rest.first() {
        if rest.starts_with(&marks) {
            rest = &rest[marks.len()..];
            // Up to the end of the item: a semicolon, or the brace that closes its first.
            let mut depth = 0i32;
            let end = rest.iter().position(|token| {
                let Token::Sign(sign) = token else { return false };
                match sign {
                    '{' | '(' | '[' => depth += 1,
                    '}' | ')' | ']' => depth -= 1,
                    _ => {}
                }
                depth == 0 && matches!(sign, ';' | '}')
            });
            rest = &rest[end.map_or(rest.len(), |end| end + 1)..];
        } else {
            found.push(first.clone());
            rest = &rest[1..];
        }
    }
    found
}

/// Every path of the tree that begins here, such as `a::{b, c::d}`; the tokens after it.
fn tree<'a>(
    mut rest: &'a [Token],
    mut path: Vec<String>,
    found: &mut Vec<Vec<String>>,
) -> &'a [Token] {
    loop {
        match rest {
            [Token::Word(word), Token::Path, after @ ..] => {
                path.push(word.clone());
                rest = after;
            }
            [Token::Word(word), after @ ..] => {
                path.push(word.clone());
                found.push(path);
                return after;
            }
            [Token::Sign('{'), after @ ..] => {
                rest = after;
                while !matches!(rest, [] | [Token::Sign('}'), ..]) {
                    rest = match rest {
                        [Token::Sign(','), after @ ..] => after,
                        [Token::Word(word), Token::Word(_), after @ ..] if word == "as" => after,
                        _ => tree(rest, path.clone(), found),
                    };
                }
                return rest.get(1..).unwrap_or_default();
            }
            // A glob, or what no path goes on with.
            [_, after @ ..] => {
                found.push(path);
                return after;
            }
            [] => {
                found.push(path);
                return rest;
            }
        }
    }
}

/// Every path from one of these words on.
fn paths_from(code: &[Token], starts: &[&str]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut rest = code;
    while let [first, after @ ..] = rest {
        rest = match (first, after) {
            (Token::Word(word), [Token::Path, ..]) if starts.contains(&word.as_str()) => {
                tree(rest, Vec::new(), &mut found)
            }
            _ => after,
        };
    }
    found
}

/// What `lib.rs` shows at the root of the library: names of a module, and names of its own.
struct Root {
    of_modules: Vec<(String, String)>,
    own: BTreeSet<String>,
}

impl Root {
    fn read(source: &str) -> Self {
        let code = without_tests(&tokens(source));
        let of_modules = paths_from(&code, &ORDER);
        let of_modules = of_modules.into_iter().filter_map(|path| match &path[..] {
            [module, .., name] => Some((name.clone(), module.clone())),
            _ => None,
        });
        let own = code.windows(2).filter_map(|pair| match pair {
            [Token::Word(kind), Token::Word(name)] if kind == "const" => Some(name.clone()),
            _ => None,
        });
        Self { of_modules: of_modules.collect(), own: own.collect() }
    }
}

/// Where a module, or a room among the problems, stands; an error for one that has no place.
fn rank(path: &[String]) -> Result<(usize, usize), String> {
    let first = path.first().ok_or("the root of the library")?;
    let module = ORDER.iter().position(|module| module == first);
    let module = module.ok_or_else(|| format!("{first}, which has no place in the order"))?;
    let room = match path.get(1) {
        Some(name) if first == "problems" => ROOMS.iter().position(|room| room == name),
        _ => None,
    };
    Ok((module, room.unwrap_or(ROOMS.len())))
}

/// The module of a file, by its path under `src`.
fn module_of(file: &str) -> Vec<String> {
    let mut path: Vec<String> =
        file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if path.last().is_some_and(|last| last == "mod") {
        path.pop();
    }
    path
}

/// What is wrong with the paths of a file.
fn broken(file: &str, source: &str, root: &Root) -> Vec<String> {
    let module = module_of(file);
    let code = without_tests(&tokens(source));
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    for path in paths_from(&code, &["crate", "super", "self"]) {
        let names =
            path.iter().position(|word| !matches!(word.as_str(), "crate" | "super" | "self"));
        let names = names.unwrap_or(path.len());
        let mut target = if path[0] == "crate" { Vec::new() } else { module.clone() };
        for _ in path[..names].iter().filter(|word| *word == "super") {
            target.pop();
        }
        target.extend_from_slice(&path[names..]);
        if let [name] = &target[..] {
            if root.own.contains(name) {
                continue;
            }
            if let Some((_, module)) = root.of_modules.iter().find(|(known, _)| known == name) {
                target = vec![module.clone()];
            }
        }
        used.insert((target, path.join("::")));
    }
    for (target, path) in used {
        if target.first().is_some_and(|module| FOR_ALL.contains(&module.as_str())) {
            continue;
        }
        match (rank(&module), rank(&target)) {
            (Ok(here), Ok(there)) if there <= here => {}
            (Ok(_), Ok(_)) => wrong.push(format!("{file}: {path} comes after it")),
            (Err(place), _) | (_, Err(place)) => wrong.push(format!("{file}: {path}: {place}")),
        }
    }
    // A room that is not in the list could use, and be used by, any other.
    if let [problems, room, ..] = &module[..]
        && problems == "problems"
        && !ROOMS.contains(room)
    {
        wrong.push(format!("{file}: the room {room} has no place in the order"));
    }
    wrong
}

/// Every source under a folder, by its path there.
fn sources(folder: &Path, prefix: &str, found: &mut Vec<(String, String)>) {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(Result::unwrap).collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            sources(&entry.path(), &format!("{name}/"), found);
        } else if name.ends_with(".rs") {
            found.push((name, fs::read_to_string(entry.path()).unwrap()));
        }
    }
}

fn library() -> Vec<(String, String)> {
    let mut found = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "", &mut found);
    found
}

fn root() -> Root {
    let found = library();
    let (_, source) = found.iter().find(|(file, _)| file == "lib.rs").unwrap();
    Root::read(source)
}

#[test]
fn every_module_uses_only_those_before_it() {
    let root = root();
    let all = library();
    assert!(all.len() > 100, "{} files", all.len());
    let rest = all.iter().filter(|(file, _)| file != "lib.rs");
    let wrong: Vec<String> = rest.flat_map(|(file, source)| broken(file, source, &root)).collect();
    assert!(wrong.is_empty(), "{} paths against the order:\n{}", wrong.len(), wrong.join("\n"));
}

/// Every module and room of the lists is there, and paths are found at all: no test of nothing.
#[test]
fn the_order_is_of_this_library() {
    let all = library();
    for module in ORDER {
        let is_there = |(file, _): &(String, String)| {
            *file == format!("{module}.rs") || *file == format!("{module}/mod.rs")
        };
        assert!(all.iter().any(is_there), "{module}");
    }
    assert!(ROOMS.len() >= 4);
    for room in ROOMS.iter() {
        assert!(all.iter().any(|(file, _)| *file == format!("problems/{room}/mod.rs")), "{room}");
    }
    let root = root();
    assert!(root.of_modules.contains(&("Config".to_owned(), "config".to_owned())));
    assert!(root.own.contains("SOURCES"));
    let count = |module: &str| {
        let starts = format!("{module}/");
        let files = all.iter().filter(|(file, _)| file.starts_with(&starts));
        files.map(|(_, source)| paths_from(&tokens(source), &["crate"]).len()).sum::<usize>()
    };
    assert!(count("problems") > 300 && count("framework") > 50, "{}", count("problems"));
}

#[test]
fn an_edge_against_the_order_is_found() {
    let root = root();
    let is_broken = |file: &str, source: &str| !broken(file, source, &root).is_empty();
    for (file, source) in [
        ("math/root.rs", "use crate::study::Lab;"),
        ("math/root.rs", "use crate::{math::single, network::{Gnn, Tape}};"),
        ("math/root.rs", "pub(crate) use crate::channel::*;"),
        ("channel/road.rs", "fn f(system: &crate::config::System) {}"),
        ("channel/road.rs", "use crate::{units::Decibel, Config};"),
        ("exchange/file.rs", "use crate::framework as f;"),
        ("network/mod.rs", "macro_rules! m { () => { $crate::framework::train() } }"),
        ("framework/train.rs", "impl T for crate::problems::urllc::User {}"),
        ("framework/mod.rs", "use super::problems;"),
        ("problems/urllc/solver.rs", "use crate::problems::interference::Wmmse;"),
        ("problems/urllc/mod.rs", "use super::closed_forms::Optimum;"),
        ("problems/urllc/solver.rs", "use super::super::closed_forms::Optimum;"),
        ("problems/closed_forms/room.rs", "use crate::problems::{urllc::User, interference};"),
        // The registry knows every room: none may know it.
        ("problems/urllc/solver.rs", "fn f() { crate::problems::read_model(&[]); }"),
        ("problems/urllc/solver.rs", "use crate::diagnosis::Answer;"),
        ("problems/elsewhere/mod.rs", "use crate::math::single;"),
        ("qos/mod.rs", "use crate::nowhere::Thing;"),
        ("elsewhere.rs", "use crate::math::single;"),
        // After what only looks like a test, a comment or a literal.
        ("math/root.rs", "#[cfg(test)] mod tests { fn f() {} } use crate::study::Lab;"),
        ("math/root.rs", "#[cfg(test)] use a::b; use crate::study::Lab;"),
        ("math/root.rs", "#[cfg(feature = \"test\")] use crate::study::Lab;"),
        ("math/root.rs", "/* a /* b */ c */ use crate::study::Lab;"),
        ("math/root.rs", "const A: char = '\"'; use crate::study::Lab; const B: char = '\"';"),
        ("math/root.rs", "const A: &str = \"\\\"\"; use crate::study::Lab;"),
        ("math/root.rs", "const A: &str = r#\"\"\"#; use crate::study::Lab;"),
        ("math/root.rs", "fn f<'a>(x: &'a str) { crate::study::f(x) }"),
    ] {
        assert!(is_broken(file, source), "{file}: {source}");
    }
    for (file, source) in [
        ("study/lab.rs", "use crate::{math::single, problems::urllc::User, Config};"),
        ("math/root.rs", "use crate::tolerance; use crate::units::Decibel;"),
        ("problems/interference/room.rs", "use crate::problems::urllc::User;"),
        ("problems/mod.rs", "use crate::problems::interference::Wmmse; use self::urllc::User;"),
        ("diagnosis/subject.rs", "use crate::problems; fn f() { crate::problems::ROOMS; }"),
        ("framework/checkpoint.rs", "const A: &str = crate::SOURCES;"),
        ("framework/checkpoint.rs", "pub(crate) fn f() {}"),
        ("math/root.rs", "// use crate::study::Lab;\n/// [`crate::study`]\nfn f() {}"),
        ("math/root.rs", "/* use crate::study::Lab; */"),
        ("math/root.rs", "const A: &str = \"crate::study::Lab\";"),
        ("math/root.rs", "const A: &str = r#\"\" crate::study::Lab\"#;"),
        ("math/root.rs", "#[cfg(test)]\nmod tests { use crate::study::Lab; fn f() { { } } }"),
        ("math/root.rs", "#[cfg(test)] #[path = \"a;b\"] mod tests { use crate::study::Lab; }"),
        ("math/root.rs", "#[cfg(test)] use crate::study::Lab;"),
        ("math/root.rs", "fn f(super_: u8) { self.x(); Self::y(); }"),
    ] {
        assert!(!is_broken(file, source), "{file}: {:?}", broken(file, source, &root));
    }
}

/// Files are written by one writer, and JSON passes one gate on its way out: what is called elsewhere would go
/// around them.
#[test]
fn there_is_one_writer_and_one_gate() {
    let mut all = library();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../anyk-cli/src");
    sources(&program, "anyk-cli/", &mut all);
    // The gate itself, and after it; texts that name things, and are never read as numbers.
    let behind_the_gate = [
        "exchange/finite.rs",
        "exchange/container.rs",
        "anyk-cli/output.rs",
        "framework/checkpoint.rs",
        "study/cache.rs",
    ];
    let mut found = 0;
    for (file, source) in &all {
        for word in ["to_writer", "to_writer_pretty", "to_string_pretty", "to_vec_pretty"] {
            let outside = !behind_the_gate.contains(&file.as_str());
            assert!(!(outside && source.contains(word)), "{file}: {word}");
        }
        for line in source.lines().filter(|line| line.contains("serde_json::to_")) {
            found += 1;
            assert!(behind_the_gate.contains(&file.as_str()), "{file}: {line}");
        }
        let tested = source.split("#[cfg(test)]").next().unwrap();
        for call in ["File::create", "fs::write(", "OpenOptions", "create_new"] {
            assert!(!tested.contains(call), "{file}: {call}");
        }
    }
    assert!(found > 3, "{found}: the calls have another name now");
}
