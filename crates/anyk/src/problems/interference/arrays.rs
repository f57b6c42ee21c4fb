//! Interference networks as arrays.

use std::sync::Arc;

use crate::channel::GainMatrix;
use crate::exchange::{Input, LinkField, NetworkRecord, Parameters, read_networks};
use crate::framework::{
    Allocate, Amount, ArrayView, Arrays, Error, Instance, Instances, JudgeColumns, NamedArray,
    Outcome, Proof, Stated,
};
use crate::problems::interference::assess::features;
use crate::problems::interference::links_input::LinkFlags;
use crate::problems::interference::{Interference, LinkSolver};

impl Arrays for Interference {
    const AMOUNTS: &'static [Amount] = &[Amount::each("power")];

    fn write(&self, shares: &Vec<f64>, columns: &mut [&mut [f64]]) {
        for ((slot, share), most) in columns[0].iter_mut().zip(shares).zip(self.max_power()) {
            *slot = share * most;
        }
    }

    fn inputs(&self) -> Vec<NamedArray> {
        let size = self.size();
        let mut values = Vec::with_capacity(size * size);
        for (row, noise) in self.noise().iter().enumerate() {
            let normalised = self.normalised().row(row).iter().zip(self.max_power());
            values.extend(normalised.map(|(gain, most)| gain * (noise / most)));
        }
        let weights: Vec<f64> = (0..size).map(|link| self.weight(link)).collect();
        vec![
            NamedArray { name: "gains", shape: vec![size, size], values },
            NamedArray::each("max_power", self.max_power().to_vec()),
            NamedArray::each("noise", self.noise().to_vec()),
            NamedArray::each("weights", weights),
        ]
    }

    fn features(&self) -> Vec<f64> {
        features(self)
    }

    fn work(&self) -> usize {
        self.size() * self.size()
    }
}

/// What makes networks of arrays; `judge` gets the powers.
pub(super) struct NetworkInstances {
    pub(super) flags: LinkFlags,
    pub(super) judge: Arc<JudgeColumns<Interference>>,
}

impl NetworkInstances {
    fn stated(&self, network: NetworkRecord) -> Result<Box<dyn Instance>, Error> {
        let problem = self.flags.problem(network, 0)?;
        Ok(Stated::boxed(problem, &self.judge))
    }
}

impl Instances for NetworkInstances {
    fn of_arrays(&self, given: &[(&str, ArrayView<'_>)]) -> Result<Box<dyn Instance>, Error> {
        let field = |name: &str| LinkField::ALL.into_iter().find(|field| field.name() == name);
        let stray = given.iter().find(|(name, _)| *name != "gains" && field(name).is_none());
        if let Some((name, _)) = stray {
            let known = LinkField::ALL.map(LinkField::name).join(", ");
            return Err(Error::Array(format!("{name} is not known, expected gains, or {known}")));
        }
        let Some((_, gains)) = given.iter().find(|(name, _)| *name == "gains") else {
            return Err(Error::Array("gains are missing, expected a matrix, K×K".to_owned()));
        };
        let size = match gains.shape {
            [rows, columns] if rows == columns => *rows,
            shape => {
                return Err(Error::Array(format!(
                    "gains have the shape {shape:?}, expected [K, K]: row k is what receiver k hears"
                )));
            }
        };
        let matrix = GainMatrix::new(size, gains.values.to_vec())?;
        let mut values = LinkField::ALL.map(|_| None);
        for (slot, field) in values.iter_mut().zip(LinkField::ALL) {
            let Some((name, view)) = given.iter().find(|(name, _)| *name == field.name()) else {
                continue;
            };
            *slot = Some(match view.values {
                [one] => vec![*one; size],
                each if each.len() == size => each.to_vec(),
                each => {
                    return Err(Error::Array(format!(
                        "{name} has {} numbers, expected {size}: one for each link, or one for all",
                        each.len()
                    )));
                }
            });
        }
        let [weights, noise, max_power] = values;
        self.stated(NetworkRecord { weights, noise, max_power, ..matrix.into() })
    }

    fn of_document(&self, input: Input<'_>) -> Vec<Result<Box<dyn Instance>, Error>> {
        match read_networks(input) {
            Ok(networks) => networks.into_iter().map(|network| self.stated(network)).collect(),
            Err(error) => vec![Err(error.into())],
        }
    }

    fn parameters(&self) -> &Parameters {
        Parameters::of_links()
    }
}

/// The best schedule, by trying all of them: where powers are to be a schedule, nothing is better.
pub(super) struct BestSchedule(pub(super) LinkSolver);

impl Allocate<Interference> for BestSchedule {
    fn allocate(&mut self, problem: &Interference, shares: &mut Vec<f64>) -> Outcome {
        let outcome = self.0.allocate(problem, shares);
        if outcome.is_served() {
            Outcome::Optimal(Proof { duality_gap: 0.0, price: 0.0, iterations: 0 })
        } else {
            outcome
        }
    }
}

/// Every link at full power.
pub(super) struct FullPower;

impl Allocate<Interference> for FullPower {
    fn allocate(&mut self, problem: &Interference, shares: &mut Vec<f64>) -> Outcome {
        shares.clear();
        shares.resize(problem.size(), 1.0);
        Outcome::Heuristic
    }
}
