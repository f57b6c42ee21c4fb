//! The verdict on anyone's powers of the links of a network.

use crate::exchange::{Input, read_networks};
use crate::framework::{AssessDesk, Assessor, Error, Found, GivenTo, Goal, Unjudged, Verdict};
use crate::problems::interference::links_input::LinkFlags;
use crate::problems::interference::{Interference, LinkSolver};

const GOAL: Goal = Goal { name: "sum rate", unit: "bit/s/Hz", larger_is_better: true };
const WEIGHTED: Goal = Goal { name: "weighted sum rate", ..GOAL };
/// Powers up to so many times the largest are judged; beyond, they are no powers.
const ABSURD: f64 = 1e9;

/// What a diagnosis knows of links: `ln` of their own gains, in units of the noise.
pub(super) fn features(problem: &Interference) -> Vec<f64> {
    let direct = |link| problem.normalised().direct(link).max(f64::MIN_POSITIVE).ln();
    (0..problem.size()).map(direct).collect()
}

/// Judges powers beside those of a solver.
pub(super) struct NetworkAssessor {
    pub(super) flags: LinkFlags,
    /// Powers are to be 0 or the largest.
    pub(super) schedules: bool,
    pub(super) solver: LinkSolver,
}

impl Assessor for NetworkAssessor {
    fn desk(&self) -> Result<Box<dyn AssessDesk + '_>, Error> {
        Ok(Box::new(NetworkDesk { assessor: self, solver: self.solver.clone() }))
    }
}

struct NetworkDesk<'a> {
    assessor: &'a NetworkAssessor,
    solver: LinkSolver,
}

/// What somebody gives a network.
enum Given {
    Powers(Vec<f64>),
    /// What is said instead.
    Nothing(String),
}

impl NetworkDesk<'_> {
    /// The verdict on no power at all.
    fn nothing(&mut self, problem: &Interference) -> Result<Verdict, Error> {
        self.verdict(problem, &vec![0.0; problem.size()])
    }

    fn verdict(&mut self, problem: &Interference, powers: &[f64]) -> Result<Verdict, Error> {
        let reference = best(&mut self.solver, problem)?;
        self.assessor.verdict(problem, powers, reference)
    }
}

/// The sum rate of a solver's powers.
pub(super) fn best(solver: &mut LinkSolver, problem: &Interference) -> Result<Option<f64>, Error> {
    Ok(Some(solver.solve(problem)?.sum_rate_bits))
}

impl NetworkAssessor {
    /// Judges powers beside the best that are known.
    pub(super) fn verdict(
        &self,
        problem: &Interference,
        powers: &[f64],
        reference: Option<f64>,
    ) -> Result<Verdict, Error> {
        let size = problem.size();
        if powers.len() != size {
            return Err(Error::Allocation(format!(
                "{} powers, expected {size}: one for each link",
                powers.len()
            )));
        }
        let pairs = || powers.iter().zip(problem.max_power()).enumerate();
        let unfit =
            |(_, (power, most)): &(usize, (&f64, &f64))| !(0.0..=ABSURD * **most).contains(*power);
        if let Some((link, (power, most))) = pairs().find(unfit) {
            return Err(Error::Allocation(format!(
                "the power of link {link} is {power:e}, expected a number from 0 to its largest of {most:e}"
            )));
        }
        let judged = problem.assess(powers)?;
        if self.schedules && !judged.binary {
            return Err(Error::Allocation(
                "a power is neither 0 nor the largest, expected a schedule".to_owned(),
            ));
        }
        let used = powers.iter().zip(problem.max_power()).map(|(power, most)| power / most);
        let most = used.fold(0.0, f64::max);
        Ok(Verdict::new(Found {
            goal: if judged.weighted_sum_rate_bits.is_some() { WEIGHTED } else { GOAL },
            value: judged.weighted_sum_rate_bits.unwrap_or(judged.sum_rate_bits),
            reference,
            missed: None,
            budget_used: Some(most),
            kkt_residual: judged.kkt_residual,
            pairs: (features(problem), powers.to_vec()),
        }))
    }
}

impl AssessDesk for NetworkDesk<'_> {
    fn assess(&mut self, input: Input<'_>, allocation: GivenTo<'_>) -> Vec<Result<Verdict, Error>> {
        let networks = match read_networks(input) {
            Ok(networks) => networks,
            Err(error) => return vec![Err(error.into())],
        };
        // One allocation for all networks of a document, in the form of `solve`, or one for each.
        let mut powers = Vec::new().into_iter();
        let mut judged = Vec::new();
        let count = networks.len();
        for (index, network) in networks.into_iter().enumerate() {
            let one = || -> Result<Verdict, Error> {
                let extra = network.extra.clone().apart_from(&Verdict::FIELDS);
                let mut given = || -> Result<Given, Error> {
                    if let Some(given) = powers.next() {
                        return Ok(Given::Powers(given));
                    }
                    let found = allocation(index, extra.cell().as_deref())?;
                    if let Some(reason) = found.absent {
                        return Ok(Given::Nothing(reason));
                    }
                    let (powers_of, left) = (found.powers.len(), count - index);
                    if powers_of > left {
                        let message = format!("it is for {powers_of} networks, expected {left}");
                        return Err(Error::Allocation(message));
                    }
                    powers = found.powers.into_iter();
                    let missing = || Error::Allocation("there are no powers of links".into());
                    powers.next().map(Given::Powers).ok_or_else(missing)
                };
                let given = given();
                let flags = &self.assessor.flags;
                let problem = flags.problem(network, input.part + index)?;
                let judged = match given {
                    Ok(Given::Nothing(reason)) => {
                        Ok(Verdict::absent(self.nothing(&problem)?, reason))
                    }
                    Ok(Given::Powers(powers)) => self.verdict(&problem, &powers),
                    Err(error) => Err(error),
                };
                match judged {
                    Ok(verdict) => Ok(Verdict { extra, ..verdict }),
                    Err(error) => Err(Unjudged::error(error, &self.nothing(&problem)?)),
                }
            };
            let place = format!("instance {}", input.part + index);
            judged.push(one().map_err(|error| error.in_file(place)));
        }
        judged
    }
}
