//! `--shard i/n` and `anyk merge`: a run in several processes or on several machines.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyk::Invalid;
use anyk::exchange::{Origin, fingerprint, read_file};
use anyk::framework::{Error, Share};
use clap::ArgMatches;

use crate::cli::{self, MergeArgs};
use crate::failure::Failure;
use crate::output;
use crate::outputs::Outputs;
use crate::values::Shard;

/// Flags that belong to a shard and not to the run, and whether they have a value.
const OF_SHARD: [(&str, bool); 3] = [("--shard", true), ("--out", true), ("--force", false)];

/// Commands whose shards are merged.
const MERGED: [&str; 7] =
    ["evaluate", "diagnose", "reproduce", "sweep", "solve", "allocate", "assess"];

/// Commands whose merged run writes a report to the folder of the parts.
const WITH_REPORT: [&str; 2] = ["reproduce", "diagnose"];

/// Returns the shard that a command computes, with the folder for its part.
pub(super) fn requested(matches: &ArgMatches) -> Option<(Shard, PathBuf)> {
    let shard = matches.try_get_one::<Shard>("shard").ok().flatten()?;
    let out = matches.try_get_one::<PathBuf>("out").ok().flatten()?;
    Some((*shard, out.clone()))
}

/// Opens the part of a shard. Returns `None` if it is complete.
pub(super) fn open(
    shard: Shard,
    folder: &Path,
    outputs: &Outputs,
) -> Result<Option<Share>, Failure> {
    let arguments = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let origin = Origin {
        program: program(),
        arguments: of_run(arguments),
        files: fingerprints(outputs)?,
        shard: shard.number,
        of: shard.of,
    };
    let share = Share::part(folder, &origin)?;
    if share.is_none() {
        let (shard, of, folder) = (shard.number, shard.of, folder.display());
        output::note(&format!("shard {shard}/{of} is already complete in {folder}"));
    }
    Ok(share)
}

/// Version of this program, with the fingerprint of its sources.
fn program() -> String {
    format!("{} ({})", env!("CARGO_PKG_VERSION"), anyk_study::sources())
}

/// Removes the arguments of the shard from the arguments of a command.
fn of_run(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut kept = Vec::new();
    let mut skip = false;
    let mut words = words;
    while let Some(word) = words.next() {
        if std::mem::take(&mut skip) {
            continue;
        }
        // No flags follow.
        if word == "--" {
            kept.push(word);
            kept.extend(words);
            break;
        }
        let name = word.split('=').next().unwrap_or_default();
        match OF_SHARD.iter().find(|(flag, _)| *flag == name) {
            Some((_, has_value)) => skip = *has_value && !word.contains('='),
            None => kept.push(word),
        }
    }
    kept
}

/// Returns the fingerprints of the input files of a command. Standard input and pipes have none.
fn fingerprints(outputs: &Outputs) -> Result<BTreeMap<String, String>, Failure> {
    let mut found = BTreeMap::new();
    for path in outputs.inputs() {
        if path.is_file() {
            let bytes =
                read_file(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
            found.insert(path.display().to_string(), format!("{:016x}", fingerprint(bytes)));
        }
    }
    Ok(found)
}

/// Prints the result of a run from the parts of all its shards.
pub(super) fn merge(args: &MergeArgs) -> Result<ExitCode, Failure> {
    let (share, origin) = Share::parts(&args.dir)?;
    if origin.program != program() {
        let (parts, own) = (origin.program, program());
        let why = format!(
            "the parts in {} were computed by AnyK {parts}, and this is AnyK {own}; merge them with the same version",
            args.dir.display()
        );
        return Err(Error::Other(why.into()).into());
    }
    let name = origin.arguments.first().cloned().unwrap_or_default();
    // A part may come from anyone, so it cannot choose other commands or files to write.
    let is_plain = of_run(origin.arguments.iter().cloned()) == origin.arguments;
    if !is_plain || !MERGED.contains(&&*name) {
        let arguments = origin.arguments.join(" ");
        let why = format!("the parts belong to `anyk {arguments}`, which has no shards");
        return Err(Error::Other(why.into()).into());
    }
    let mut words = vec!["anyk".to_owned()];
    words.extend(origin.arguments);
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let rest = words.split_off(end);
    let is_stream = super::STREAMS.contains(&&*name);
    words.extend((args.force && !is_stream).then(|| "--force".to_owned()));
    let is_json = |pair: &[String]| pair[0] == "--format" && pair[1] == "json";
    let has_json = words.iter().any(|word| word == "--json" || word == "--format=json")
        || words.windows(2).any(is_json);
    if args.json && !has_json {
        if is_stream {
            let expected = "no --json: the shards computed another format; run them with --json";
            return Err(Invalid::value("json", "given", expected).into());
        }
        words.push("--json".to_owned());
    }
    if WITH_REPORT.contains(&&*name) {
        words.extend(["--out".to_owned(), args.dir.display().to_string()]);
    }
    words.extend(rest);
    let wrong = |error: clap::Error| {
        Error::Other(format!("the parts have arguments that AnyK does not know: {error}").into())
    };
    let matches = cli::command().try_get_matches_from(words).map_err(wrong)?;
    let Some((name, matches)) = matches.subcommand() else {
        return Err(Error::Other("the parts belong to no command".into()).into());
    };
    let outputs = Outputs::of(matches);
    // The answers of a stream are in the parts, so its inputs may be gone.
    if !super::STREAMS.contains(&name) {
        let now = fingerprints(&outputs)?;
        if let Some(path) =
            origin.files.keys().find(|path| now.get(*path) != origin.files.get(*path))
        {
            let why = format!(
                "{path} is missing or has changed since the shards were computed; merge them in the folder where they \
                 were computed, with the same files"
            );
            return Err(Error::Other(why.into()).into());
        }
    }
    super::dispatch(name, matches, &outputs, &share)
}

#[cfg(test)]
mod tests {
    use super::of_run;

    #[test]
    fn the_run_has_no_arguments_of_the_shard() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let kept = of_run(words("solve urllc --shard 1/2 -- --out").into_iter());
        assert_eq!(kept, words("solve urllc -- --out"));
        for text in [
            "evaluate p.safetensors --shard 2/4 --out parts --k 1,10",
            "evaluate --shard=2/4 p.safetensors --out=parts --force --k 1,10",
        ] {
            let kept = of_run(words(text).into_iter());
            assert_eq!(kept, words("evaluate p.safetensors --k 1,10"));
        }
    }
}
