//! Price policy for a fixed band: the responses of [`urllc`](crate::problems::urllc) at the price of power at
//! which the bandwidths fill the band. Every allocation is certified.

use std::sync::Arc;

use crate::config::System;
use crate::core::{Allocation, Instance, Outcome, Policy, Status};
use crate::exchange::Tensor;
use crate::framework::{Error, ModelError, Session, Stored, Tensors, TrainError};
use crate::network::ClassResponse;
use crate::problems::urllc::{
    CellPolicy as _, Certifier, PricePolicy, PriceRecord, PriceSettings, UrllcAllocation,
    add_outside, train_price,
};
use crate::problems::urllc_power::evaluation::validated;
use crate::problems::urllc_power::price_of_band::PriceOfBand;
use crate::problems::urllc_power::{BandSolver, UrllcPower};
use crate::tolerance;
use crate::units::Decibel;

/// Price policy of [`UrllcPower`] for any number of users, any service classes and any band.
#[derive(Debug, Clone)]
pub struct BandPricePolicy(PricePolicy);

impl BandPricePolicy {
    /// Trains the policy for the system's own fading distribution, and measures it on cells of the training
    /// sizes.
    pub fn train(
        system: &System,
        settings: &PriceSettings,
        session: &mut Session<'_>,
    ) -> Result<Self, TrainError> {
        let trained = train_price(system, settings, session)?;
        let policy = Self(PricePolicy::from_training(system, settings, trained, None)?);
        let (metrics, _) = validated(&policy)?;
        Ok(Self(policy.0.with_metrics(metrics)))
    }

    /// Returns the cell for which the policy was trained.
    pub fn system(&self) -> &System {
        self.0.system()
    }

    /// Returns an allocator for instances of any size, with its own buffers. Clones of it share the parameters.
    pub fn allocator(&self) -> BandPriceAllocator {
        BandPriceAllocator {
            policy: Arc::new(self.clone()),
            certifier: Certifier::default(),
            responses: Vec::new(),
            price: PriceOfBand::default(),
            solver: BandSolver::default(),
            explains: false,
        }
    }
}

impl Stored for BandPricePolicy {
    type Record = PriceRecord;
    const PROBLEMS: &'static [&'static str] = &["urllc-power"];

    fn method(&self) -> &'static str {
        self.0.method()
    }

    fn record(&self) -> &PriceRecord {
        self.0.record()
    }

    fn tensors(&self) -> Vec<Tensor> {
        self.0.tensors()
    }

    fn from_parts(record: PriceRecord, tensors: &mut Tensors) -> Result<Self, ModelError> {
        if record.sampled.is_some() || record.training.fixed_price().is_some() {
            let message = "the model is for urllc: it was learned from samples of fading, or has a fixed price";
            return Err(ModelError::Content(message.to_owned()));
        }
        PricePolicy::from_parts(record, tensors).map(Self)
    }
}

/// Allocator that runs a [`BandPricePolicy`], with the bandwidth functions and responses of the last cell's
/// classes. As a [`Policy`], it passes cells that the budgets cannot serve to the solver.
#[derive(Debug, Clone)]
pub struct BandPriceAllocator {
    policy: Arc<BandPricePolicy>,
    certifier: Certifier,
    responses: Vec<ClassResponse>,
    price: PriceOfBand,
    solver: BandSolver,
    /// Whether answers list values outside the training ranges.
    explains: bool,
}

/// Share of the band that is kept free, so that rounding cannot exceed the budget.
const KEPT_FREE: f64 = 2e-12;

impl BandPriceAllocator {
    /// Sets whether answers list values outside the training ranges.
    pub(super) fn explaining(self, explains: bool) -> Self {
        Self { explains, ..self }
    }

    /// Writes the powers and bandwidths, or returns an error that says why there are none.
    pub fn serve(
        &mut self,
        problem: &UrllcPower,
        answer: &mut UrllcAllocation,
    ) -> Result<(), &'static str> {
        let cell = problem.cell();
        if self.certifier.prepare(cell) {
            self.responses = self.policy.0.responses(cell);
        }
        let bandwidths = self.certifier.bandwidths();
        let users = cell.users().iter().map(|user| (user.class, user.gain));
        let target_hz = problem.max_bandwidth_hz() * (1.0 - KEPT_FREE);
        if !self.price.split(&self.responses, bandwidths, users, target_hz) {
            return Err("no power is sufficient, since the band is too narrow");
        }
        let split = self.price.split_of();
        answer.power_w.clear();
        answer.power_w.extend((0..cell.users().len()).map(|user| split.power_w(user)));
        answer.bandwidth_hz.clear();
        answer.bandwidth_hz.extend_from_slice(self.price.bandwidth_hz());
        let most_w = problem.max_power_w().unwrap_or(f64::INFINITY);
        if answer.total_power_w() > most_w * (1.0 + tolerance::BUDGET) {
            return Err("the users need more power than the budget");
        }
        Ok(())
    }

    /// Describes the values of the last instance that are outside the training ranges. Returns an empty list if there
    /// are none.
    pub fn out_of_range(&self, problem: &UrllcPower) -> Vec<String> {
        let (cell, seen) = (problem.cell(), &self.policy.record().ranges);
        let gains = cell.users().iter().map(|user| Decibel::from_ratio(user.gain).0);
        let each_hz = problem.max_bandwidth_hz() / cell.users().len() as f64;
        let mut found =
            seen.outside_of_cell(self.policy.system(), cell, self.price.split_of().excess());
        found.extend(seen.outside("gain_db", gains));
        found.extend(seen.outside("bandwidth_per_user_hz", [each_hz]));
        found
    }
}

impl Policy for BandPriceAllocator {
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        let problem = instance.formulation()?;
        if UrllcAllocation::within(into, |typed| self.serve(problem, typed)).is_err() {
            return self.solver.allocate(instance, into);
        }
        if self.explains {
            add_outside(self.out_of_range(problem), &mut into.facts);
        }
        Ok(Outcome::Served(Status::Learned))
    }

    fn fork(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}
