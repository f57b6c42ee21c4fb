//! The paper's FNN: how many of its 5,000 epochs are done. All of them would take seven hours.

use crate::samples::Reached;
use crate::{Effort, Entry, Lab, paper_entries};
use anyk::framework::Error;

/// Passes of the FNN that are tried in full: until twice as many hardly improve it, the paper's own rule. Fewer than
/// the first have hardly moved it, and the rule would be met by that.
const EPOCHS: [u64; 5] = [8, 16, 32, 64, 128];

/// The trainings of table VI as the paper says, and what the budget of the FNN is, in a sentence.
pub(crate) fn paper_methods(lab: &mut Lab<'_>) -> Result<([Entry; 4], String), Error> {
    let mut entries = paper_entries(lab.effort);
    let fnn = &entries[3];
    let (samples, epochs) = (fnn.settings.samples, fnn.settings.recipe.epochs);
    let words = if lab.effort == Effort::Full {
        let (epochs, rule) = stopped(lab, fnn)?;
        entries[3].settings.recipe.epochs = epochs;
        format!(
            "The FNN has the paper's {samples} samples; of its 5,000 epochs {epochs} were done, {rule}. By default it has \
             2,000 samples and 8 epochs."
        )
    } else {
        format!(
            "The FNN has {samples} samples and {epochs} epochs, {} steps: a part of the paper's 100,000 samples and 5,000 \
             epochs, which take 7 hours. With `--full` it has all samples and as many epochs as the paper's own rule asks \
             for.",
            fnn.settings.steps()
        )
    };
    Ok((entries, words))
}

/// As many passes as the paper's rule asks for, and whether that was found.
fn stopped(lab: &mut Lab<'_>, fnn: &Entry) -> Result<(u64, &'static str), Error> {
    let size = fnn.settings.train_k[0];
    let mut before: Option<(u64, Reached)> = None;
    for epochs in EPOCHS {
        let mut entry = fnn.clone();
        entry.settings.recipe.epochs = epochs;
        let reached = Reached::of(&lab.results_to_choose(&entry)?, size);
        if let Some((enough, before)) = before
            && !before.is_improved_by(reached)
        {
            let rule = "after which twice as many improve neither availability nor bandwidth at K = 200 by 1 %";
            return Ok((enough, rule));
        }
        before = Some((epochs, reached));
    }
    let rule = "the most that are tried, though twice as many as half of them still improved something by 1 %";
    Ok((EPOCHS[EPOCHS.len() - 1], rule))
}
