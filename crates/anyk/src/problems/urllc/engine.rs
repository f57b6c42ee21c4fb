//! Gradients of a batch: the fused kernel if the networks have its architecture, otherwise the reference.

use crate::framework::Method;
use crate::math::single;
use crate::network::Aggregator;
use crate::problems::urllc::dataset::{Pick, TrainingSet};
use crate::problems::urllc::fully_connected::FullyConnected;
use crate::problems::urllc::lagrangian::{
    self, Batch, LossConstants, LossUnits, PARAMETERS, Parameters, Scratch,
};
use crate::problems::urllc::reference::{self, Networks, Sample, Tapes};
use crate::problems::urllc::{TrainSettings, UserInputs};
use crate::qos::Qos;

/// Gradient computation with its buffers.
pub(crate) enum Engine {
    Fused(Box<Fused>),
    Reference(Box<Reference>),
    Dense(Box<FullyConnected>),
}

pub(crate) struct Fused {
    constants: LossConstants,
    batch: Batch,
    /// Number of samples for which `batch` was allocated.
    samples: usize,
    scratch: Scratch,
    parameters: Parameters,
    gradient: Parameters,
}

pub(crate) struct Reference {
    networks: Networks,
    inputs: UserInputs,
    qos: Qos,
    units: LossUnits,
    tapes: Tapes,
    batch: Batch,
}

impl Engine {
    pub(crate) fn new(qos: &Qos, units: LossUnits, settings: &TrainSettings) -> Self {
        let (widths, aggregator) = (settings.gnn_widths(), settings.aggregator);
        if settings.method == Method::Fnn {
            return Self::Dense(Box::new(FullyConnected::new(qos, units, settings)));
        }
        if settings.is_of_kernel_shape() && aggregator != Aggregator::Max {
            Self::Fused(Box::new(Fused {
                constants: LossConstants::new(qos, units, aggregator),
                batch: Batch::default(),
                samples: 0,
                scratch: Scratch::default(),
                parameters: [[0.0; PARAMETERS]; 3],
                gradient: [[0.0; PARAMETERS]; 3],
            }))
        } else {
            Self::Reference(Box::new(Reference {
                networks: Networks::new(&widths, aggregator),
                inputs: settings.inputs,
                qos: qos.clone(),
                units,
                tapes: Tapes::default(),
                batch: Batch::default(),
            }))
        }
    }

    /// Computes the gradient of the mean loss over the picked samples and returns that loss.
    pub(crate) fn gradient(
        &mut self,
        parameters: &[f32],
        set: &TrainingSet,
        picks: &[Pick],
        draws: usize,
        gradient: &mut [f32],
    ) -> f32 {
        match self {
            Self::Fused(fused) => fused.gradient(parameters, set, picks, draws, gradient),
            Self::Reference(reference) => {
                reference.gradient(parameters, set, picks, draws, gradient)
            }
            Self::Dense(dense) => dense.gradient(parameters, set, picks, draws, gradient),
        }
    }
}

impl Fused {
    fn gradient(
        &mut self,
        parameters: &[f32],
        set: &TrainingSet,
        picks: &[Pick],
        draws: usize,
        gradient: &mut [f32],
    ) -> f32 {
        // The shape changes only for the last batch of an epoch or for another number of users.
        if (self.samples, self.batch.size, self.batch.draws) != (picks.len(), set.size, draws) {
            self.batch = Batch::new(picks.len(), set.size, draws);
            self.samples = picks.len();
        }
        set.gather(picks, &mut self.batch);
        for (to, from) in self.parameters.iter_mut().zip(parameters.as_chunks::<PARAMETERS>().0) {
            *to = *from;
        }
        let loss = lagrangian::gradient(
            &self.parameters,
            &self.batch,
            &self.constants,
            &mut self.scratch,
            &mut self.gradient,
        );
        gradient.copy_from_slice(self.gradient.as_flattened());
        loss
    }
}

impl Reference {
    fn gradient(
        &mut self,
        parameters: &[f32],
        set: &TrainingSet,
        picks: &[Pick],
        draws: usize,
        gradient: &mut [f32],
    ) -> f32 {
        let count = self.networks.power.parameter_count();
        let double = |values: &[f32]| values.iter().map(|&v| f64::from(v)).collect::<Vec<f64>>();
        let parameters = double(parameters);
        let mut sums = vec![0.0; 3 * count];
        let mut loss = 0.0;
        for &pick in picks {
            // A batch of one sample, which is in its first lane.
            self.batch = Batch::new(1, set.size, draws);
            set.gather(&[pick], &mut self.batch);
            let lane = |rows: &[crate::math::lanes::Lanes]| {
                rows.iter().map(|row| f64::from(row[0])).collect::<Vec<f64>>()
            };
            let mut x = Vec::new();
            self.inputs.of_users(&lane(&self.batch.x), &mut x);
            let energy = lane(&self.batch.energy);
            let (uses, fading) = (lane(&self.batch.uses), lane(&self.batch.fading));
            let (first, rest) = sums.split_at_mut(count);
            let (second, third) = rest.split_at_mut(count);
            loss += reference::add_gradient(
                &self.networks,
                [&parameters[..count], &parameters[count..2 * count], &parameters[2 * count..]],
                &Sample { x: &x, energy: &energy, uses: &uses, fading: &fading },
                &self.qos,
                self.units,
                &mut self.tapes,
                [first, second, third],
            );
        }
        let samples = picks.len() as f64;
        for (to, from) in gradient.iter_mut().zip(&sums) {
            *to = single(from / samples);
        }
        single(loss / samples)
    }
}
