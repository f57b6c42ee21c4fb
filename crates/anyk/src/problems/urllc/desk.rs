//! Where the cells of an input are answered: by the solver, or by a model beside it.

use std::sync::Arc;

use crate::channel::FadingLaw;
use crate::config::System;
use crate::exchange::{UserRecord, read_fading_samples, read_file};
use crate::framework::{
    Allocate, CellAnswer, Denied, Error, Infeasibility, OptionSpec, OptionValue, Options, Outcome,
    Problem as _, Refusal, Status,
};
use crate::invalid::Invalid;
use crate::problems::urllc::{
    Allocation, AnyAllocator, AnyPolicy, CellPolicy as _, Certificate, Certifier, Judge,
    LearnedAllocator, LearnedPolicy, Served, Unserved, Urllc, UrllcSolver,
};
use crate::tolerance;

/// The switch that leaves out what checks an answer.
pub(crate) const NO_CHECK: &str = "no-check";

/// Its option.
pub(crate) fn no_check() -> OptionSpec {
    OptionSpec::new(
        NO_CHECK,
        OptionValue::Switch,
        "Leave out the check of answers by quadrature: no packet losses, and of a model no optimum beside it",
    )
    .rare()
}

/// An answer for one cell.
pub type UrllcAnswer = CellAnswer<Served>;

/// The problem of the users of a cell.
pub(crate) fn problem_of(system: &System, records: &[UserRecord]) -> Result<Urllc, Invalid> {
    Urllc::new(system, records.iter().map(|record| (record.gain, record.service)))
}

/// Solves one cell exactly and puts the answer beside the users' ids; `checks` asks for each user's packet loss.
pub fn solve_cell(
    solver: &mut UrllcSolver,
    problem: &Urllc,
    records: &[UserRecord],
    checks: bool,
) -> Result<UrllcAnswer, Invalid> {
    let solution = solver.solve(problem);
    let Status::Infeasible(why) = &solution.status else {
        let served = Served::solved(problem, &solution, records.iter(), checks)?;
        return Ok(CellAnswer::Served(served));
    };
    let admissible = if why.admissible.is_empty() {
        None
    } else {
        let part = problem.subset(&why.admissible);
        let solution = solver.solve(&part);
        let records = why.admissible.iter().filter_map(|&index| records.get(index));
        Some(Served::solved(&part, &solution, records, checks)?)
    };
    Ok(CellAnswer::Denied(Denied::new(problem.max_power_w(), why, records, admissible)))
}

/// The optimum, Hz, if the budget serves everyone.
pub(super) fn optimum_hz(solver: &mut UrllcSolver, problem: &Urllc) -> Option<f64> {
    let solution = solver.solve(problem);
    let served = !matches!(solution.status, Status::Infeasible(_));
    served.then(|| solution.allocation.total_bandwidth_hz())
}

/// The fading that a model is to be judged by: a law by its name, or samples from a file.
pub(crate) fn judge(options: &Options, system: &System) -> Result<Option<Judge>, Error> {
    let Some(text) = options.text("fading") else { return Ok(None) };
    let error = match text.parse::<FadingLaw>() {
        Ok(law) => {
            return Ok(Some(Judge { name: law.to_string(), rule: system.fading_rule(&law) }));
        }
        Err(error) => error,
    };
    if !std::path::Path::new(text).exists() {
        let expected = format!("a law or a file that is there: {error}");
        return Err(Invalid::value("fading", text, expected).into());
    }
    let bytes =
        read_file(text.as_ref()).map_err(|source| Error::Read { path: text.into(), source })?;
    let samples = read_fading_samples(&bytes, text)?;
    let name = format!("{} samples", samples.as_slice().len());
    Ok(Some(Judge { name, rule: samples.compressed_rule() }))
}

/// What is done with a model's answers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct How {
    /// Bandwidths are raised to what is certified.
    pub(crate) certify: bool,
    /// Answers are judged, beside the optimum.
    pub(crate) checks: bool,
}

impl How {
    pub(crate) fn new(options: &Options) -> Self {
        Self { certify: options.has("certify"), checks: !options.has(NO_CHECK) }
    }
}

/// P-GNN, M-GNN or FNN in cells like its own: it knows one class, one budget and one number of antennas.
#[derive(Clone)]
pub(crate) struct OwnCells {
    allocator: LearnedAllocator,
    /// Raises bandwidths to what is certified, if asked for.
    certifier: Option<Certifier>,
    /// Answers the cells that cannot be certified.
    solver: UrllcSolver,
}

impl OwnCells {
    pub(crate) fn new(policy: &LearnedPolicy, certify: bool) -> Self {
        let certifier = certify.then(Certifier::default);
        Self { allocator: policy.allocator(), certifier, solver: UrllcSolver::default() }
    }

    /// Whether the budget reaches everyone, if answers are to be certified.
    fn can_serve(&mut self, problem: &Urllc) -> bool {
        let budget_w = (1.0 - tolerance::POWER_SLACK) * problem.max_power_w();
        self.certifier.as_mut().is_none_or(|certifier| certifier.least_power_w(problem) <= budget_w)
    }

    /// Writes the model's answer, with its certificate if asked for.
    fn serve(
        &mut self,
        problem: &Urllc,
        answer: &mut Allocation,
    ) -> Result<Option<Certificate>, Error> {
        self.allocator.check_size(problem.size())?;
        if let Outcome::Refused(why) = self.allocator.allocate(problem, answer) {
            return Err(Error::other(why));
        }
        let Some(certifier) = &mut self.certifier else { return Ok(None) };
        // A certificate must not hide an answer that is not valid.
        problem.check(answer)?;
        Ok(Some(certifier.certify(problem, answer)))
    }

    /// Why a cell is not like those of the training.
    fn refuse(&self, problem: &Urllc) -> Option<String> {
        let system = self.allocator.policy().system();
        let expected = system.service();
        let other = problem.classes().iter().find(|class| class.service() != expected);
        if let Some(other) = other {
            return Some(format!(
                "a user has {:?}, expected {expected:?}, which the model was trained for; any-gnn takes any",
                other.service()
            ));
        }
        let (own_w, here_w) = (system.max_power_w(), problem.max_power_w());
        if (own_w - here_w).abs() > 1e-9 * own_w {
            return Some(format!(
                "the budget is {here_w} W, expected {own_w} W, which the model was trained for; any-gnn takes any"
            ));
        }
        let (own, here) = (system.fading().antennas, problem.antennas());
        (own != here).then(|| {
            format!(
                "the cell has {here} antennas, expected {own}, which the model was trained for; any-gnn takes any"
            )
        })
    }
}

impl Allocate<Urllc> for OwnCells {
    fn allocate(&mut self, problem: &Urllc, answer: &mut Allocation) -> Outcome {
        if let Some(why) = self.refuse(problem) {
            return Outcome::Refused(Refusal(why));
        }
        if !self.can_serve(problem) {
            return self.solver.allocate(problem, answer);
        }
        match self.serve(problem, answer) {
            Ok(_) => Outcome::Learned,
            Err(error) => Outcome::Refused(Refusal(error.to_string())),
        }
    }
}

/// Answers the cells of a file by P-GNN, M-GNN or FNN.
#[derive(Clone)]
pub(crate) struct LearnedDesk {
    cells: OwnCells,
    checks: bool,
}

impl LearnedDesk {
    pub(crate) fn new(policy: &LearnedPolicy, How { certify, checks }: How) -> Self {
        Self { cells: OwnCells::new(policy, certify), checks }
    }

    /// Answers a cell of the model's own system.
    pub(crate) fn answer(
        &mut self,
        system: &System,
        records: &[UserRecord],
    ) -> Result<UrllcAnswer, Error> {
        if let Some(user) = records.iter().find(|record| record.service != system.service()) {
            return Err(Error::OwnClass {
                user: user.id.clone(),
                expected: format!(
                    "the one that the model was trained for ({:?}); `anyk solve` and any-gnn take any",
                    system.service()
                ),
            });
        }
        let problem = problem_of(system, records)?;
        let Self { cells, checks } = self;
        if !cells.can_serve(&problem) {
            return Ok(solve_cell(&mut cells.solver, &problem, records, *checks)?);
        }
        let mut allocation = Allocation::default();
        let certificate = cells.serve(&problem, &mut allocation)?;
        problem.check(&allocation)?;
        let mut served = if *checks {
            let optimum_hz = optimum_hz(&mut cells.solver, &problem);
            Served::learned(&problem, &allocation, optimum_hz, records)?
        } else {
            Served::unjudged(&allocation, records.iter())
        };
        let policy = cells.allocator.policy();
        served.guarantee = policy.guarantee().cloned();
        if let Some(certificate) = &certificate {
            served.flag(policy.out_of_range(&problem));
            served.certify(&problem, certificate);
        }
        Ok(CellAnswer::Served(served))
    }
}

/// Answers cells by any-gnn.
#[derive(Clone)]
pub(crate) struct AnyDesk {
    how: How,
    judge: Option<Arc<Judge>>,
    allocator: AnyAllocator,
    solver: UrllcSolver,
    allocation: Allocation,
}

impl AnyDesk {
    pub(crate) fn new(policy: &AnyPolicy, judge: Option<Judge>, how: How) -> Self {
        Self {
            how,
            judge: judge.map(Arc::new),
            allocator: policy.allocator(),
            solver: UrllcSolver::default(),
            allocation: Allocation::default(),
        }
    }

    pub(crate) fn answer(
        &mut self,
        system: &System,
        records: &[UserRecord],
    ) -> Result<UrllcAnswer, Error> {
        let mut problem = problem_of(system, records)?;
        if let Some(judge) = &self.judge {
            problem = problem.with_fading(&judge.rule);
        }
        let why = match self.serve(&problem, records)? {
            Ok(served) => return Ok(CellAnswer::Served(served)),
            Err(unfit @ Unserved::Class { .. }) => return Err(Error::other(unfit)),
            Err(Unserved::Infeasible(why)) => why,
        };
        if self.allocator.policy().bandwidth().is_none() {
            return Ok(solve_cell(&mut self.solver, &problem, records, self.how.checks)?);
        }
        let admissible = self.admissible(&problem, records, &why)?;
        Ok(CellAnswer::Denied(Denied::new(problem.max_power_w(), &why, records, admissible)))
    }

    /// The answer for those whom the learned bandwidth can serve.
    fn admissible(
        &mut self,
        problem: &Urllc,
        records: &[UserRecord],
        why: &Infeasibility,
    ) -> Result<Option<Served>, Error> {
        let part: Vec<UserRecord> =
            why.admissible.iter().filter_map(|&index| records.get(index).cloned()).collect();
        if part.is_empty() {
            return Ok(None);
        }
        Ok(self.serve(&problem.subset(&why.admissible), &part)?.ok())
    }

    fn serve(
        &mut self,
        problem: &Urllc,
        records: &[UserRecord],
    ) -> Result<Result<Served, Unserved>, Error> {
        if let Err(unserved) = self.allocator.serve(problem, &mut self.allocation) {
            return Ok(Err(unserved));
        }
        problem.check(&self.allocation)?;
        let least_power_w = self.allocator.least_power_w();
        let How { certify, checks } = self.how;
        let certificate =
            certify.then(|| self.allocator.certifier().certify(problem, &mut self.allocation));
        // Without a law and without a judge, nothing can be said of losses and of the optimum.
        let policy = self.allocator.policy();
        let judged = policy.knows_fading() || self.judge.is_some();
        let mut served = if judged && checks {
            let optimum_hz = optimum_hz(&mut self.solver, problem);
            Served::learned(problem, &self.allocation, optimum_hz, records)?
        } else {
            Served::unjudged(&self.allocation, records.iter())
        };
        served.flag(policy.out_of_range(problem, least_power_w));
        served.guarantee = policy.guarantee().cloned();
        if let Some(certificate) = &certificate {
            served.certify(problem, certificate);
        }
        Ok(Ok(served))
    }
}
