//! `anyk evaluate`: measures a model, or compares several policies, on random instances.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyk::Invalid;
use anyk::core::{
    About, Comparison, GapCurve, Model, NamedPolicy, Page, Problem, Rounds, Standing, Text,
    compare, gap_chart,
};
use anyk::diagnosis::Finding;
use anyk::exchange::{SampleRow, slip_of, write_atomically};
use anyk::framework::{Options, Share, Trials, Verb};
use anyk::problems;
use clap::ArgMatches;
use serde::Serialize;

use super::models::{named, note_beyond, opened};
use super::parsed;
use crate::arguments::{given, model_options};
use crate::cli::EvaluateArgs;
use crate::failure::Failure;
use crate::files;
use crate::program::{Program, end_with_us};
use crate::progress::Watcher;
use crate::rows::csv_line;
use crate::{output, report};

/// Prefix of a policy that is a command line.
const COMMAND: &str = "cmd:";

pub(super) fn run(matches: &ArgMatches, share: &Share) -> Result<ExitCode, Failure> {
    let args: EvaluateArgs = parsed(matches);
    args.policies.iter().try_for_each(|policy| refuse_slip(policy))?;
    let alone = args.policies.len() == 1
        && args.problem.is_none()
        && args.csv.is_none()
        && args.plot.is_none()
        && args.seeds.is_none();
    match args.policies.first() {
        Some(path) if alone && is_file(path) => one_model(&args, path, matches, share),
        _ => many(&args, matches, share),
    }
}

/// Returns whether a policy is a file, and not a baseline or a command.
fn is_file(policy: &str) -> bool {
    let mut rows = problems::all().into_iter().flat_map(|about| about.policies);
    let is_name = rows.any(|known| known.name == policy);
    !is_name && !policy.starts_with(COMMAND)
}

/// Returns an error if a policy is neither a file nor the name of a baseline, but resembles such a name.
fn refuse_slip(policy: &str) -> Result<(), Failure> {
    let names = problems::all().into_iter().flat_map(|about| about.policies).map(|row| row.name);
    match slip_of(policy, &names.collect::<Vec<_>>()) {
        Some(meant) if is_file(policy) && !Path::new(policy).exists() => {
            let expected = format!("a model file or the name of a baseline; did you mean {meant}?");
            Err(Invalid::value("policy", policy, expected).into())
        }
        _ => Ok(()),
    }
}

fn one_model(
    args: &EvaluateArgs,
    path: &str,
    matches: &ArgMatches,
    share: &Share,
) -> Result<ExitCode, Failure> {
    let (model, options) = opened(path, matches, Verb::Evaluate)?;
    let seed = args.seed.unwrap_or(7);
    let trials =
        Trials { sizes: args.k.0.clone(), samples: args.samples, seed, share: share.clone() };
    let watcher = Watcher::default();
    let report = model.evaluate(&options, &trials, &watcher).map_err(named(files::name(path)))?;
    note_sizes(path, &*model, &trials.sizes);
    output::page(&report, args.json)
}

/// Prints a note if a model is measured for more users than it was validated for.
fn note_sizes(path: &str, model: &dyn Model, sizes: &[usize]) {
    if let Some(note) = sizes.iter().max().and_then(|&most| model.beyond_validation(most)) {
        note_beyond(path, &note);
    }
}

/// Size law of a policy, estimated from its answers.
#[derive(Serialize)]
struct SizeLaw {
    policy: String,
    size_law: String,
    recommended: String,
}

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    comparison: Comparison,
    size_laws: Vec<SizeLaw>,
}

impl Report {
    fn text(&self) -> Text {
        let mut text = self.comparison.text();
        for SizeLaw { policy, size_law, recommended } in &self.size_laws {
            text.push(format!("{policy}: size law of the powers: {size_law}; {recommended}"));
        }
        text
    }
}

fn many(args: &EvaluateArgs, matches: &ArgMatches, share: &Share) -> Result<ExitCode, Failure> {
    let mut commands = args.policies.iter().filter_map(|policy| policy.strip_prefix(COMMAND));
    if commands.any(|command| command.trim().is_empty()) {
        return Err(Invalid::value("policy", COMMAND, "a command line after it").into());
    }
    let mut models: Vec<(String, Arc<dyn Model>)> = Vec::new();
    let mut about: Option<(&'static About, String)> = None;
    if let Some(name) = &args.problem {
        about = problems::named(name).map(|about| (about, format!("--problem {name}")));
    }
    for path in args.policies.iter().filter(|policy| is_file(policy)) {
        let model = files::model(path)?;
        let own = model.about();
        match &about {
            None => about = Some((own, files::name(path).to_owned())),
            Some((known, said)) if known.name != own.name => {
                let expected = format!("a model for {}, the problem of {said}", known.name);
                let value = format!("{path}, {}", model.describe());
                return Err(Invalid::value("policy", value, expected).into());
            }
            _ => {}
        }
        models.push((path.clone(), model));
    }
    let Some((about, _)) = about else {
        let names: Vec<&str> = problems::all().iter().map(|about| about.name).collect();
        let expected = format!("one of {}, since no model file is given", names.join(", "));
        return Err(Invalid::missing("problem", expected).into());
    };
    let problem = (about.make)(&instance_options(about, &models, matches)?)?;
    let mut named_policies = Vec::new();
    for policy in &args.policies {
        named_policies.push(named_policy(policy, &*problem, &models, args)?);
    }
    // The best policy and a baseline take part in every comparison.
    for row in about.policies.iter().take(2) {
        if !named_policies.iter().any(|named_policy| named_policy.name == row.name) {
            named_policies.push(named_policy(row.name, &*problem, &models, args)?);
        }
    }
    let seeds = match (&args.seeds, args.seed) {
        (Some(seeds), _) => seeds.0.clone(),
        (None, seed) => vec![seed.unwrap_or(7)],
    };
    end_with_us();
    let sizes = args.k.0.clone();
    let rounds = Rounds { sizes, samples: args.samples, seeds, share: share.clone() };
    let watcher = Watcher::default();
    let comparison = compare(&problem, &rounds, &mut named_policies, &watcher)?;
    for (path, model) in &models {
        note_sizes(path, &**model, &rounds.sizes);
    }
    let laws = comparison.samples_of.iter().filter(|(name, _)| name.starts_with(COMMAND));
    let size_laws = laws.map(|(name, rows)| size_law(name, rows)).collect();
    if let Some(path) = &args.csv {
        let bytes = csv(&comparison);
        write_atomically(path, &bytes).map_err(|error| Failure::write(path, error))?;
    }
    if let Some(path) = &args.plot {
        plot(path, &comparison)?;
    }
    let report = Report { comparison, size_laws };
    output::page(&Page::new(&report, report.text())?, args.json)
}

/// Returns the options of the instances: those that the user set, completed by the cell of the first model.
fn instance_options(
    about: &About,
    models: &[(String, Arc<dyn Model>)],
    matches: &ArgMatches,
) -> Result<Options, Failure> {
    let options = given(matches, &model_options(Verb::Evaluate))?;
    let verbs = [Verb::Evaluate, Verb::Assess, Verb::Sample];
    let known: Vec<_> = verbs.into_iter().flat_map(|verb| (about.flags)(verb)).collect();
    options.refuse_others(&known, &format!("policies for {}", about.name))?;
    // Only the evaluation of one model judges under another fading distribution.
    options.refuse(&["fading"], "a comparison of policies, only to a single model")?;
    Ok(match models.first() {
        Some((_, model)) => options.over_trained(&model.trained_options()),
        None => options,
    })
}

fn named_policy(
    policy: &str,
    problem: &dyn Problem,
    models: &[(String, Arc<dyn Model>)],
    args: &EvaluateArgs,
) -> Result<NamedPolicy, Failure> {
    if let Some(command) = policy.strip_prefix(COMMAND) {
        let program = Program::new(command, Duration::from_secs_f64(args.timeout));
        return Ok(NamedPolicy { name: policy.to_owned(), policy: Box::new(program) });
    }
    if let Some((path, model)) = models.iter().find(|(path, _)| path == policy) {
        return Ok(NamedPolicy::model(path, &**model, problem)?);
    }
    let found = NamedPolicy::built_in(policy, problem, policy);
    Ok(found.ok_or_else(|| {
        let about = problem.about();
        let names: Vec<&str> = about.policies.iter().map(|known| known.name).collect();
        let names = names.join(", ");
        let expected =
            format!("a model file, {COMMAND}COMMAND, or a baseline of {}: {names}", about.name);
        Failure::from(Invalid::value("policy", policy, expected))
    })??)
}

/// Finds the size law of a policy from its answers.
fn size_law(policy: &str, rows: &[SampleRow]) -> SizeLaw {
    let (size_law, recommended) = match Finding::law_of_rows(policy, rows) {
        Err(why) => {
            (format!("unknown: {why} (--k, --samples)"), "no recommended network".to_owned())
        }
        Ok((law, network)) => (law, format!("recommended network: {network}")),
    };
    SizeLaw { policy: policy.to_owned(), size_law, recommended }
}

fn csv(comparison: &Comparison) -> Vec<u8> {
    let header = [
        "policy",
        "k",
        "instances",
        "infeasible",
        "failed",
        "over_budget",
        "availability",
        "availability_low",
        "availability_high",
        "value",
        "standard_error",
        "reference",
        "gap_percent",
        "gap_standard_error",
        "worst_gap_percent",
        "reorder_change",
        "microseconds",
    ];
    let mut bytes = csv_line(header.into_iter());
    for row in &comparison.rows {
        let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let interval = row.availability_interval;
        let fields = [
            row.policy.clone(),
            row.k.to_string(),
            row.instances.to_string(),
            row.infeasible.to_string(),
            row.failed.to_string(),
            row.over_budget.to_string(),
            number(row.availability),
            number(interval.map(|interval| interval.0)),
            number(interval.map(|interval| interval.1)),
            number(row.value),
            number(row.standard_error),
            number(row.reference),
            number(row.gap_percent),
            number(row.gap_standard_error),
            number(row.worst_gap_percent),
            number(row.reorder_change),
            number(row.microseconds),
        ];
        bytes.extend(csv_line(fields.iter().map(String::as_str)));
    }
    bytes
}

/// Plots the gap to the reference against K, with a curve for each policy.
fn plot(path: &Path, comparison: &Comparison) -> Result<(), Failure> {
    let curves = comparison.rows.chunk_by(|one, other| one.policy == other.policy);
    let curve = |rows: &[Standing]| GapCurve {
        label: rows.first().map(|row| row.policy.clone()).unwrap_or_default(),
        standings: rows.to_vec(),
    };
    let Comparison { problem, objective, reference, .. } = comparison;
    let chart = gap_chart(problem, objective, reference, curves.map(curve).collect());
    let svg = report::svg(&chart);
    write_atomically(path, svg.as_bytes()).map_err(|error| Failure::write(path, error))
}
