//! Separable problems that you define with any gains, costs and budget, and those on which models are trained.

use std::sync::Arc;

use crate::core::{About, Column, Formulation, Instance, Need, PolicyRow, Problem, Record, Size};
use crate::framework::{Error, Options};
use crate::invalid::Invalid;
use crate::problems::separable::problem::OPTIMUM;
use crate::problems::separable::{Cost, EqualShares, Separable, SeparableSettings};

/// Registry row of problems with your own costs, which are functions rather than options.
pub static OWN_SEPARABLE: About = About {
    answer_fields: &[],
    user_fields: &["power_w", "snr", "cost"],
    ..About::new(
        "separable",
        "Minimize the sum of costs that you define",
        &[
            Column::each("gains"),
            Column::each("classes").need(Need::Default(0.0)),
            Column::each("weights").need(Need::Default(1.0)),
            Column::common("budget"),
        ],
        &[Column::each("x")],
        |_| Err(no_options()),
        &[
            OPTIMUM,
            PolicyRow {
                name: "equal-shares",
                line: "Minimum amount for each user plus an equal share of the rest",
                make: |_| Ok(Box::new(EqualShares)),
            },
        ],
    )
};

fn no_options() -> Error {
    Error::Refused("the costs of this problem are functions; options cannot name them".to_owned())
}

/// Separable problems with given costs, for users with any gains and any budget.
#[derive(Debug, Clone)]
pub struct OwnSeparable {
    costs: Vec<Arc<Cost>>,
    /// Settings of the training run whose random instances this problem draws, if any.
    training: Option<SeparableSettings>,
    options: Options,
}

impl OwnSeparable {
    /// Builds problems with these costs, one per class.
    pub fn new(costs: &[Arc<Cost>]) -> Self {
        Self { costs: costs.to_vec(), training: None, options: Options::default() }
    }

    /// Returns the problem with the random instances of a training run.
    #[must_use]
    pub fn drawn_as_in(mut self, training: &SeparableSettings) -> Self {
        self.training = Some(training.clone());
        self
    }
}

impl Problem for OwnSeparable {
    fn about(&self) -> &'static About {
        &OWN_SEPARABLE
    }

    fn options(&self) -> &Options {
        &self.options
    }

    fn formulate(&self, record: &Record) -> Result<Box<dyn Formulation>, Error> {
        let column = |name: &str| record.get(name).unwrap_or_default();
        let users = column("gains").iter().zip(column("classes")).enumerate();
        let users = users.map(|(user, (&gain, &class))| {
            let known =
                (0..self.costs.len()).find(|&known| class.total_cmp(&(known as f64)).is_eq());
            let expected = || format!("one of the {} costs, from 0", self.costs.len());
            let unknown = || Invalid::number("class", class, expected()).of_user(user);
            Ok((gain, known.ok_or_else(unknown)?))
        });
        let users = users.collect::<Result<Vec<(f64, usize)>, Invalid>>()?;
        let budget = column("budget").first().copied().unwrap_or_default();
        let problem = Separable::new(self.costs.clone(), users, budget)?;
        Ok(Box::new(problem.with_weights(column("weights").to_vec())?))
    }

    fn draw(&self, seed: u64, size: usize, index: u64) -> Result<Record, Error> {
        let Some(training) = &self.training else { return Err(no_options()) };
        let drawn = training.draw(&self.costs, seed, size, index)?;
        let classes = drawn.classes().iter().map(|&class| class as f64).collect();
        Ok(Record::new(OWN_SEPARABLE.inputs, Size::users(size))
            .with("gains", drawn.gains().to_vec())?
            .with("classes", classes)?
            .with("budget", vec![drawn.budget()])?)
    }
}

/// Builds an instance, with its judge, from a problem that you define.
///
/// ```
/// use std::sync::Arc;
/// use anyk::core::Allocation;
/// use anyk::problems::separable::{Cost, Separable, separable_instance};
/// let cost = Arc::new(Cost::from_fn((0.0, 100.0), |u| -u.ln_1p())?);
/// let instance = separable_instance(Separable::uniform(cost, [2.0, 1.0, 0.1], 1.0)?);
/// let mut found = Allocation::default();
/// instance.allocate(&mut *instance.problem.best()?, &mut found)?;
/// let x = &found.amounts[0];
/// assert!((x[0] - 0.75).abs() < 1e-6 && x[2] == 0.0);
/// assert!(instance.judge(&found, None)?.missed.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn separable_instance(problem: Separable) -> Instance {
    let of: Arc<dyn Problem> = Arc::new(OwnSeparable::new(problem.costs()));
    Instance::of(&of, problem.gains().len(), problem)
}
