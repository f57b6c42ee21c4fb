//! Public API of the library as a text file in the repository, so that a diff shows every change.
//!
//! `ANYK_UPDATE_API=1 cargo test -p anyk --test library public_api` writes the file again.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use quote::ToTokens;
use syn::{Fields, FnArg, ImplItem, Item, Signature, TraitItem, Type, UseTree, Visibility};

fn source(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(relative)
}

/// Returns the source of a module, by its path in the crate.
fn file_of(module: &[String]) -> Option<syn::File> {
    let path = module.iter().fold(source("src"), |path, name| path.join(name));
    let files = [path.join("mod.rs"), path.with_extension("rs"), path.join("lib.rs")];
    let text = files.iter().find_map(|file| fs::read_to_string(file).ok())?;
    Some(syn::parse_file(&text).unwrap())
}

/// Returns tokens as formatted source text.
fn text(tokens: &impl ToTokens) -> String {
    let mut text = tokens.to_token_stream().to_string();
    for (from, to) in [
        (" :: ", "::"),
        (":: ", "::"),
        (" < ", "<"),
        ("< ", "<"),
        (" >", ">"),
        (" ,", ","),
        ("& ", "&"),
        ("( ", "("),
        (" )", ")"),
        (" (", "("),
        (" : ", ": "),
        ("[ ", "["),
        (" ]", "]"),
        (" ;", ";"),
        ("> (", ">("),
        (" !", "!"),
        ("-> (", "-> ("),
        (",)", ")"),
        (", >", ">"),
        ("->(", "-> ("),
        ("Fn(", "Fn("),
    ] {
        text = text.replace(from, to);
    }
    text
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Lines of the API, and the functions with a tuple as an argument.
#[derive(Default)]
struct Api {
    lines: BTreeSet<String>,
    tuples: BTreeSet<String>,
}

impl Api {
    fn function(&mut self, path: &str, signature: &Signature) {
        let name = &signature.ident;
        let takes_tuple = |argument: &FnArg| {
            let FnArg::Typed(argument) = argument else { return false };
            matches!(&*argument.ty, Type::Tuple(tuple) if !tuple.elems.is_empty())
        };
        if signature.inputs.iter().any(takes_tuple) {
            self.tuples.insert(format!("{path}::{name}"));
        }
        let declared = text(signature);
        let rest = declared.split_once(&format!("fn {name}")).map_or("", |(_, rest)| rest);
        self.lines.insert(format!("fn {path}::{name}{rest}"));
    }

    /// Adds the items of a public module, under the path that users write.
    fn module(&mut self, module: &[String], all: &[syn::File]) {
        let Some(file) = file_of(module) else { return };
        let path = [&["anyk".to_owned()], module].concat().join("::");
        for item in &file.items {
            match item {
                Item::Mod(inner) if is_public(&inner.vis) => {
                    self.lines.insert(format!("mod {path}::{}", inner.ident));
                    self.module(&[module, &[inner.ident.to_string()]].concat(), all);
                }
                Item::Use(used) if is_public(&used.vis) => self.used(&used.tree, module, &[], all),
                item => self.item(item, &path, all),
            }
        }
    }

    /// Adds the names in a `pub use`.
    fn used(&mut self, tree: &UseTree, module: &[String], from: &[String], all: &[syn::File]) {
        let path = [&["anyk".to_owned()], module].concat().join("::");
        match tree {
            UseTree::Path(inner) => {
                let from = [from, &[inner.ident.to_string()]].concat();
                self.used(&inner.tree, module, &from, all);
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.used(tree, module, from, all));
            }
            UseTree::Name(name) => {
                let name = name.ident.to_string();
                if from.first().is_some_and(|first| first == "crate") || module.is_empty() {
                    let from: Vec<&str> =
                        from.iter().map(String::as_str).filter(|part| *part != "crate").collect();
                    self.lines
                        .insert(format!("use {path}::{name} = anyk::{}::{name}", from.join("::")));
                    return;
                }
                let inner = [module, from].concat();
                let Some(file) = file_of(&inner) else { return };
                for item in &file.items {
                    if name_of(item).as_ref() == Some(&name) {
                        self.item(item, &path, all);
                    }
                }
            }
            _ => {}
        }
    }

    fn item(&mut self, item: &Item, path: &str, all: &[syn::File]) {
        match item {
            Item::Fn(one) if is_public(&one.vis) => self.function(path, &one.sig),
            Item::Const(one) if is_public(&one.vis) => {
                self.lines.insert(format!("const {path}::{}: {}", one.ident, text(&one.ty)));
            }
            Item::Static(one) if is_public(&one.vis) => {
                self.lines.insert(format!("static {path}::{}: {}", one.ident, text(&one.ty)));
            }
            Item::Type(one) if is_public(&one.vis) => {
                self.lines.insert(format!("type {path}::{} = {}", one.ident, text(&one.ty)));
            }
            Item::Struct(one) if is_public(&one.vis) => {
                let path = format!("{path}::{}", one.ident);
                self.lines.insert(format!("struct {path}{}", text(&one.generics)));
                self.fields(&path, &one.fields, false);
                self.methods(&one.ident.to_string(), &path, all);
            }
            Item::Enum(one) if is_public(&one.vis) => {
                let path = format!("{path}::{}", one.ident);
                self.lines.insert(format!("enum {path}"));
                for variant in &one.variants {
                    let path = format!("{path}::{}", variant.ident);
                    self.lines.insert(format!("variant {path}"));
                    self.fields(&path, &variant.fields, true);
                }
                self.methods(&one.ident.to_string(), &path, all);
            }
            Item::Trait(one) if is_public(&one.vis) => {
                let path = format!("{path}::{}", one.ident);
                self.lines.insert(format!("trait {path}"));
                for item in &one.items {
                    if let TraitItem::Fn(method) = item {
                        self.function(&path, &method.sig);
                    }
                }
                self.methods(&one.ident.to_string(), &path, all);
            }
            _ => {}
        }
    }

    fn fields(&mut self, path: &str, fields: &Fields, are_all_public: bool) {
        for (at, field) in fields.iter().enumerate() {
            if are_all_public || is_public(&field.vis) {
                let name = field.ident.as_ref().map_or_else(|| at.to_string(), ToString::to_string);
                self.lines.insert(format!("field {path}.{name}: {}", text(&field.ty)));
            }
        }
    }

    /// Adds the public methods of a type from all files.
    fn methods(&mut self, name: &str, path: &str, all: &[syn::File]) {
        let blocks = all.iter().flat_map(|file| &file.items);
        for item in blocks {
            let Item::Impl(block) = item else { continue };
            let own = text(&block.self_ty);
            let own = own.trim_start_matches("dyn ").split(['<', ' ']).next().unwrap_or_default();
            if block.trait_.is_some() || own != name {
                continue;
            }
            for item in &block.items {
                match item {
                    ImplItem::Fn(method) if is_public(&method.vis) => {
                        self.function(path, &method.sig);
                    }
                    ImplItem::Const(one) if is_public(&one.vis) => {
                        self.lines.insert(format!(
                            "const {path}::{}: {}",
                            one.ident,
                            text(&one.ty)
                        ));
                    }
                    _ => {}
                }
            }
        }
    }
}

fn name_of(item: &Item) -> Option<String> {
    Some(match item {
        Item::Fn(one) => one.sig.ident.to_string(),
        Item::Const(one) => one.ident.to_string(),
        Item::Static(one) => one.ident.to_string(),
        Item::Type(one) => one.ident.to_string(),
        Item::Struct(one) => one.ident.to_string(),
        Item::Enum(one) => one.ident.to_string(),
        Item::Trait(one) => one.ident.to_string(),
        _ => return None,
    })
}

fn files(folder: &Path, found: &mut Vec<syn::File>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            files(&entry.path(), found);
        } else if entry.path().extension().is_some_and(|end| end == "rs") {
            found.push(syn::parse_file(&fs::read_to_string(entry.path()).unwrap()).unwrap());
        }
    }
}

fn api() -> Api {
    let mut all = Vec::new();
    files(&source("src"), &mut all);
    let mut api = Api::default();
    api.module(&[], &all);
    api
}

#[test]
fn the_public_api_is_the_one_that_is_written_down() {
    let path = source("public-api.txt");
    let found: String = api().lines.iter().map(|line| format!("{line}\n")).collect();
    if std::env::var_os("ANYK_UPDATE_API").is_some() {
        fs::write(&path, &found).unwrap();
    }
    let known = fs::read_to_string(&path).unwrap_or_default();
    let (known, found): (BTreeSet<&str>, BTreeSet<&str>) =
        (known.lines().collect(), found.lines().collect());
    let gone: Vec<_> = known.difference(&found).map(|line| format!("- {line}")).collect();
    let new: Vec<_> = found.difference(&known).map(|line| format!("+ {line}")).collect();
    assert!(
        gone.is_empty() && new.is_empty(),
        "the public API has changed:\n{}\nIf that is meant, run ANYK_UPDATE_API=1 cargo test -p anyk --test library \
         public_api, commit crates/anyk/public-api.txt, and name the change in CHANGELOG.md",
        [gone, new].concat().join("\n")
    );
}

/// Functions that still take a tuple as an argument. The list may only get shorter.
const TUPLES: [&str; 11] = [
    "anyk::diagnosis::predict",
    "anyk::framework::Adam::new",
    "anyk::framework::TrainingContext::law",
    "anyk::math::over_others",
    "anyk::math::price_between",
    "anyk::network::Real::product",
    "anyk::problems::separable::Cost::from_batched",
    "anyk::problems::separable::Cost::from_fn",
    "anyk::problems::separable::SeparableSettings::new",
    "anyk::problems::urllc::finish",
    "anyk::problems::urllc::train_urllc",
];

#[test]
fn no_other_public_function_takes_a_tuple() {
    let tuples = api().tuples;
    assert!(tuples.iter().eq(&TUPLES), "{tuples:#?}");
}
