//! Pre-training of the outer function of (P6): the bandwidth of a user at equal power (paper, section IV-B1, for
//! the problem of section IV-A).

use crate::channel::sample_faded_gains;
use crate::config::System;
use crate::framework::{
    LawSample, LawSizes, PretrainLoss, PretrainSettings, Schedule, Session, TrainError, fit_law,
    square,
};
use crate::math::single;
use crate::network::{BandwidthLaw, LawShape, SizeScale};
use crate::problems::closed_forms::RateTarget;
use crate::problems::closed_forms::required_bandwidth_hz;

/// Unit of bandwidths in the networks, as a share of `s_0`: Hz per bit/s. A typical user has 5 bit/s/Hz.
const UNIT_SHARE: f64 = 0.2;
/// Minimum spectral efficiency of a label, bit/s/Hz. A user with a smaller efficiency at equal power, or one that
/// equal power cannot serve, gets this label, since the optimum gives it more than equal power.
const LEAST_EFFICIENCY: f64 = 0.1;

/// Returns the unit of the networks' bandwidth outputs, Hz.
pub(crate) fn common_unit_hz(rate_bps: f64) -> f64 {
    UNIT_SHARE * rate_bps
}

/// Returns the settings for pre-training the outer function of (P6). A user's bandwidth depends only on `ln g −
/// ln K`, so a small network with the input `ln K` suffices.
pub fn common_pretraining() -> PretrainSettings {
    PretrainSettings {
        loss: PretrainLoss::Supervised,
        shape: LawShape {
            hidden: vec![40, 40],
            scale: SizeScale::Logarithmic,
            ..LawShape::default()
        },
        sizes: LawSizes::Every { most: 1000 },
        samples_per_size: 8,
        epochs: 60,
        rate: Schedule::Cosine { rate: 3e-3, last: 0.0 },
        ..PretrainSettings::default()
    }
}

/// Pre-trains `B^v(g, K) ≈ F⁻¹(g P_max/K)`.
///
/// The outputs are in units of [`common_unit_hz`] instead of the network's own unit, so that one network fits any
/// rate.
pub(crate) fn pretrain_common_law(
    system: &System,
    rate_bps: f64,
    settings: &PretrainSettings,
    seed: u64,
    session: &mut Session<'_>,
) -> Result<BandwidthLaw, TrainError> {
    let target = RateTarget::new(system, rate_bps)?;
    let sizes = settings.sizes.list();
    let mut samples = Vec::with_capacity(sizes.len() * settings.samples_per_size);
    for size in sizes {
        // Separate cells: the training run draws its cells with the plain seed.
        let count = settings.samples_per_size;
        let gains =
            sample_faded_gains(&system.road(), &system.path_loss(), !seed, count, size as u64);
        samples.extend(gains.into_iter().map(|gain| LawSample {
            gain,
            size,
            received_w: gain * system.max_power_w() / size as f64,
        }));
    }
    let most_hz = rate_bps / LEAST_EFFICIENCY;
    let labels: Vec<f32> = samples
        .iter()
        .map(|sample| {
            let bandwidth_hz = required_bandwidth_hz(&target, sample.received_w);
            let bandwidth_hz = bandwidth_hz.map_or(most_hz, |hz| hz.min(most_hz));
            single(bandwidth_hz / common_unit_hz(rate_bps))
        })
        .collect();
    let loss_of = |index: usize, output: f32| square(output, labels[index], labels[index]);
    fit_law(session, settings, &samples, &loss_of, seed)
}
