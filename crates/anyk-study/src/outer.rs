//! P-GNN with other outer functions than `B^v`: the exact b, and equal power instead of the networks.

use anyk::System;
use anyk::core::{Allocation, Instance, Outcome, Policy, Status};
use anyk::framework::{Error, Method, Observer, Session, TrainError};
use anyk::network::BandwidthLaw;
use anyk::problems::urllc::{
    Algorithm1, CellPolicy as _, LearnedAllocator, LearnedPolicy, ModelMetrics, ModelRecord,
    TrainSettings, Urllc, UrllcAllocation,
};
use anyk::qos::{BandwidthTable, ServiceClass};

/// Outer function: the bandwidth of a user at equal power.
#[derive(Clone)]
pub(crate) enum OuterFunction {
    /// Pre-trained `B^v`.
    Pretrained(BandwidthLaw),
    /// Exact b at `ε_D`.
    Exact(Box<BandwidthTable>),
}

impl OuterFunction {
    /// Builds the exact b at a target.
    pub(crate) fn exact(system: &System, epsilon_d: f64) -> Result<Self, Error> {
        let service = ServiceClass { epsilon: epsilon_d, ..system.service() };
        Ok(Self::Exact(Box::new(BandwidthTable::new(system.qos(service)?))))
    }

    /// Returns the bandwidths of users with these gains in cells of a size, in Hz; 0 for a user that no bandwidth
    /// can serve at equal power.
    pub(crate) fn at_size(&self, gains: &[f64], size: usize, max_power_w: f64) -> Vec<f64> {
        let each_w = max_power_w / size as f64;
        match self {
            Self::Pretrained(law) => law.bandwidths_hz(gains, size),
            Self::Exact(table) => {
                let exact = |gain: &f64| table.at(gain * each_w).map_or(0.0, |at| at.bandwidth_hz);
                gains.iter().map(exact).collect()
            }
        }
    }
}

/// Policy with an outer function. Powers and factors come from networks, or are equal powers and factors of 1.
#[derive(Clone)]
pub(crate) struct WithOuter {
    pub(crate) outer: OuterFunction,
    /// Networks, whose bandwidths in units of 1 Hz are the factors.
    pub(crate) inner: Option<LearnedAllocator>,
}

impl Policy for WithOuter {
    fn allocate(&mut self, instance: &Instance, into: &mut Allocation) -> Result<Outcome, Error> {
        let problem: &Urllc = instance.formulation()?;
        let gains: Vec<f64> = problem.users().iter().map(|user| user.gain).collect();
        let outer_hz = self.outer.at_size(&gains, gains.len(), problem.max_power_w());
        UrllcAllocation::within(into, |typed| -> Result<(), Error> {
            if let Some(inner) = &mut self.inner {
                inner.serve(&gains, typed)?;
            } else {
                typed.power_w = vec![problem.max_power_w() / gains.len() as f64; gains.len()];
                typed.bandwidth_hz = vec![1.0; gains.len()];
            }
            typed.bandwidth_hz.iter_mut().zip(outer_hz).for_each(|(factor, hz)| *factor *= hz);
            Ok(())
        })?;
        Ok(Outcome::Served(Status::Learned))
    }

    fn fork(&self) -> Option<Box<dyn Policy>> {
        Some(Box::new(self.clone()))
    }
}

/// Trains a P-GNN whose outer function is the exact b. The seconds are those of Algorithm 1.
pub(crate) fn train_with_exact_law(
    system: &System,
    settings: &TrainSettings,
    observer: &dyn Observer,
) -> Result<(WithOuter, f64), TrainError> {
    let mut session = Session::new(observer);
    let mut objective = Algorithm1::with_exact_law(system, settings)?;
    let parameters = session.train("training", &objective.plan(), &mut objective)?;
    let parameters: Vec<f64> = parameters.into_iter().map(f64::from).collect();
    let count = parameters.len() / 3;
    // Without an outer function, the networks are those of an M-GNN.
    let record = ModelRecord {
        config: system.config().clone(),
        training: TrainSettings { method: Method::MGnn, ..settings.clone() },
        law: None,
        unit_hz: 1.0,
        metrics: ModelMetrics { availability: 0.0, gap_percent: 0.0 },
        guarantee: None,
    };
    let (power, rest) = parameters.split_at(count);
    let inner = LearnedPolicy::new(record, power.to_vec(), rest[..count].to_vec(), None)?;
    let outer = OuterFunction::exact(system, settings.epsilon_d)?;
    Ok((WithOuter { outer, inner: Some(inner.allocator()) }, session.seconds("training")))
}
