//! Where the cells of an input are answered: by the solver, or by a model beside it.

use crate::channel::FadingLaw;
use crate::config::System;
use crate::exchange::{UserRecord, read_fading_samples, read_file};
use crate::framework::{
    CellAnswer, Denied, Error, Infeasibility, OptionError, Options, Problem as _, ProblemError,
    Status,
};
use crate::problems::urllc::{
    Allocation, AnyAllocator, AnyPolicy, CellPolicy, Certifier, Judge, LearnedPolicy, Served,
    SizedPolicy, Unserved, Urllc, UrllcSolver,
};
use crate::tolerance;

/// An answer for one cell.
pub type UrllcAnswer = CellAnswer<Served>;

/// The problem of the users of a cell.
pub(crate) fn problem_of(system: &System, records: &[UserRecord]) -> Result<Urllc, ProblemError> {
    Urllc::new(system, records.iter().map(|record| (record.gain, record.service)))
}

/// Solves one cell exactly and puts the answer beside the users' ids.
pub fn solve_cell(
    solver: &mut UrllcSolver,
    problem: &Urllc,
    records: &[UserRecord],
) -> Result<UrllcAnswer, ProblemError> {
    let solution = solver.solve(problem);
    let Status::Infeasible(why) = &solution.status else {
        return Ok(CellAnswer::Served(Served::solved(problem, &solution, records.iter())?));
    };
    let admissible = if why.admissible.is_empty() {
        None
    } else {
        let part = problem.subset(&why.admissible);
        let solution = solver.solve(&part);
        let records = why.admissible.iter().filter_map(|&index| records.get(index));
        Some(Served::solved(&part, &solution, records)?)
    };
    Ok(CellAnswer::Denied(Denied::new(problem.max_power_w(), why, records, admissible)))
}

/// The optimum, Hz, if the budget serves everyone.
fn optimum_hz(solver: &mut UrllcSolver, problem: &Urllc) -> Option<f64> {
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
        return Err(OptionError::value("fading", text, expected).into());
    }
    let bytes =
        read_file(text.as_ref()).map_err(|source| Error::Read { path: text.into(), source })?;
    let samples = read_fading_samples(&bytes, text)?;
    let name = format!("{} samples", samples.as_slice().len());
    Ok(Some(Judge { name, rule: samples.compressed_rule() }))
}

/// Answers cells by P-GNN, M-GNN or FNN.
pub(crate) struct LearnedDesk<'a> {
    policy: &'a LearnedPolicy,
    certify: bool,
    /// Made ready for the size of the last cell: neighbours mostly share it.
    sized: Option<SizedPolicy<'a>>,
    solver: UrllcSolver,
    certifier: Certifier,
}

impl<'a> LearnedDesk<'a> {
    pub(crate) fn new(policy: &'a LearnedPolicy, certify: bool) -> Self {
        let (solver, certifier) = (UrllcSolver::default(), Certifier::default());
        Self { policy, certify, sized: None, solver, certifier }
    }

    pub(crate) fn answer(&mut self, records: &[UserRecord]) -> Result<UrllcAnswer, Error> {
        let system = CellPolicy::system(self.policy);
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
        let budget_w = (1.0 - tolerance::POWER_SLACK) * problem.max_power_w();
        if self.certify && self.certifier.least_power_w(&problem) > budget_w {
            return Ok(solve_cell(&mut self.solver, &problem, records)?);
        }
        let gains: Vec<f64> = records.iter().map(|record| record.gain).collect();
        let sized = match self.sized.take().filter(|sized| sized.size() == gains.len()) {
            Some(sized) => sized,
            None => self.policy.at_size(gains.len())?,
        };
        let mut allocation = Allocation::default();
        self.sized.insert(sized).allocate(&gains, &mut allocation);
        problem.check(&allocation)?;
        let certificate = self.certify.then(|| self.certifier.certify(&problem, &mut allocation));
        let optimum_hz = optimum_hz(&mut self.solver, &problem);
        let mut served = Served::learned(&problem, &allocation, optimum_hz, records)?;
        served.guarantee = self.policy.guarantee().cloned();
        if let Some(certificate) = &certificate {
            served.flag(self.policy.out_of_range(&problem));
            served.certify(&problem, certificate);
        }
        Ok(CellAnswer::Served(served))
    }
}

/// Answers cells by any-gnn.
pub(crate) struct AnyDesk<'a> {
    policy: &'a AnyPolicy,
    system: &'a System,
    certify: bool,
    judge: Option<Judge>,
    allocator: AnyAllocator<'a>,
    solver: UrllcSolver,
    allocation: Allocation,
}

impl<'a> AnyDesk<'a> {
    pub(crate) fn new(
        policy: &'a AnyPolicy,
        system: &'a System,
        judge: Option<Judge>,
        certify: bool,
    ) -> Self {
        Self {
            policy,
            system,
            certify,
            judge,
            allocator: policy.allocator(),
            solver: UrllcSolver::default(),
            allocation: Allocation::default(),
        }
    }

    pub(crate) fn answer(&mut self, records: &[UserRecord]) -> Result<UrllcAnswer, Error> {
        let mut problem = problem_of(self.system, records)?;
        if let Some(judge) = &self.judge {
            problem = problem.with_fading(&judge.rule);
        }
        let why = match self.serve(&problem, records)? {
            Ok(served) => return Ok(CellAnswer::Served(served)),
            Err(unfit @ Unserved::Class { .. }) => return Err(Error::other(unfit)),
            Err(Unserved::Infeasible(why)) => why,
        };
        if self.policy.bandwidth().is_none() {
            return Ok(solve_cell(&mut self.solver, &problem, records)?);
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
        let certify = self.certify;
        let certificate =
            certify.then(|| self.allocator.certifier().certify(problem, &mut self.allocation));
        // Without a law and without a judge, nothing can be said of losses and of the optimum.
        let mut served = if self.policy.knows_fading() || self.judge.is_some() {
            let optimum_hz = optimum_hz(&mut self.solver, problem);
            Served::learned(problem, &self.allocation, optimum_hz, records)?
        } else {
            Served::unjudged(&self.allocation, records.iter())
        };
        served.flag(self.policy.out_of_range(problem, least_power_w));
        served.guarantee = self.policy.guarantee().cloned();
        if let Some(certificate) = &certificate {
            served.certify(problem, certificate);
        }
        Ok(Ok(served))
    }
}
