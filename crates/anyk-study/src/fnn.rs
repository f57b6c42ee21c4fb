//! Budget of the paper's FNN: how many of its 5,000 epochs are run. All of them would take seven hours.

use crate::samples::Reached;
use crate::{Effort, Entry, Lab, paper_entries};
use anyk::framework::Error;

/// Numbers of epochs of the FNN, tried with full effort until doubling hardly improves it, as in the paper's own rule.
/// Fewer epochs than the first hardly change the network, so they would satisfy the rule at once.
const EPOCHS: [u64; 5] = [8, 16, 32, 64, 128];

/// Returns the entries of table VI with the preset paper, and a sentence about the budget of the FNN.
pub(crate) fn paper_methods(lab: &mut Lab<'_>) -> Result<([Entry; 4], String), Error> {
    let mut entries = paper_entries(lab.effort);
    let fnn = &entries[3];
    let (samples, epochs) = (fnn.settings.samples, fnn.settings.recipe.epochs);
    let words = if lab.effort == Effort::Full {
        let (epochs, rule) = stopped(lab, fnn)?;
        entries[3].settings.recipe.epochs = epochs;
        format!(
            "The FNN uses the paper's {samples} samples and {epochs} of its 5,000 epochs, {rule}. By default it uses \
             2,000 samples and 8 epochs."
        )
    } else {
        format!(
            "The FNN uses {samples} samples and {epochs} epochs ({} steps), a part of the paper's 100,000 samples and \
             5,000 epochs, which take 7 hours. With `--full` it uses all samples and as many epochs as the paper's own \
             rule requires.",
            fnn.settings.steps()
        )
    };
    Ok((entries, words))
}

/// Returns the number of epochs that the paper's rule requires, and words that say whether it was reached.
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
            let rule = "after which doubling the number improves neither availability nor bandwidth at K = 200 by 1 %";
            return Ok((enough, rule));
        }
        before = Some((epochs, reached));
    }
    let rule = "the maximum tried, although the last doubling still improved availability or bandwidth by 1 %";
    Ok((EPOCHS[EPOCHS.len() - 1], rule))
}
