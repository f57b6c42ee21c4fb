//! `anyk assess`: checks allocations that the user already has.

use std::fs::File;
use std::io::Read;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyk::Invalid;
use anyk::framework::{Error, Share, Verb};
use anyk::problems::assessing;
use clap::ArgMatches;

use super::answers::{self, Rest};
use super::parsed;
use super::problems::chosen;
use crate::cli::AssessArgs;
use crate::failure::{Failure, Fault};
use crate::files;

pub(super) fn run(matches: &ArgMatches, share: &Share) -> Result<ExitCode, Failure> {
    let Some((about, matches, options)) = chosen(matches, Verb::Assess)? else {
        return Ok(ExitCode::SUCCESS);
    };
    let args: AssessArgs = parsed(matches);
    if args.allocations == "-" && args.solve.input() == "-" {
        let expected = "a file, since the cells come from standard input";
        return Err(Invalid::value("allocations", "-", expected).into());
    }
    let (path, name) = (&args.allocations, files::name(&args.allocations));
    let unreadable = |source| Error::Read { path: name.into(), source };
    let reader: Box<dyn Read + Send> = if path == "-" {
        Box::new(std::io::stdin())
    } else {
        Box::new(File::open(path).map_err(unreadable)?)
    };
    let answering = assessing(about, &options, reader, name)?;
    let unread = AtomicUsize::new(0);
    answers::run(
        &args.solve,
        share,
        || answering.fork(),
        |worker, input| {
            let verdicts = worker.answer_share(input, share);
            let all = verdicts.0.iter().flat_map(|(_, verdicts)| verdicts);
            let errors = all.filter_map(|verdict| verdict.as_ref().err());
            let count = errors.filter(|error| error.unjudged().is_none()).count();
            unread.fetch_add(count, Ordering::Relaxed);
            verdicts
        },
        || {
            let repeated = answering.left(usize::MAX).err();
            let surplus = answering.left(0).err();
            let fault = |error: Option<Error>| error.map(|error| Fault::of(&error));
            Ok(Rest {
                file: name.to_owned(),
                waiting: answering.waiting(),
                unread: unread.load(Ordering::Relaxed),
                repeated: fault(repeated),
                surplus: fault(surplus),
            })
        },
    )
}
