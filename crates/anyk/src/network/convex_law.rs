//! Learned required bandwidth that is decreasing and convex in the received power by construction.

use crate::network::Activation;

/// Learned bandwidth `ln b̂` as a function of `x = ln(u/u_0)`:
///
/// ```text
/// ln(b̂/10^5 Hz) = c + Σ_h e^(a_h)·softplus(e^(s_h)·(t_h − x))
/// ```
///
/// The network has one hidden layer, whose weights have fixed signs. So the sum φ is decreasing and convex in `x`. With
/// `φ' < 0 ≤ φ''`, `b̂ = e^φ(ln u)` is decreasing and convex in `u` too, like `b`. At a price of power, the best powers
/// for this function are therefore unique. Outside the training range, the function continues as a power law.
///
/// The parameters are `c`, then `a_h`, `s_h` and `t_h` of each unit.
///
/// ```
/// use anyk::network::ConvexLaw;
/// let law = ConvexLaw::new(1e-12, vec![0.3, -1.0, 0.5, 2.0]).unwrap();
/// let (near, far) = (law.at(1e-11), law.at(1e-13));
/// assert!(near.0 < far.0 && near.1 < 0.0);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ConvexLaw {
    unit_w: f64,
    parameters: Vec<f64>,
}

impl ConvexLaw {
    /// Creates the function from the received power `u_0` in W and the parameters. Returns `None` if a value is not
    /// finite, `u_0` is not positive, or the number of parameters is not `1 + 3·H`.
    pub fn new(unit_w: f64, parameters: Vec<f64>) -> Option<Self> {
        let sound = parameters.len() % 3 == 1
            && parameters.iter().all(|parameter| parameter.is_finite())
            && unit_w > 0.0
            && unit_w.is_finite();
        sound.then_some(Self { unit_w, parameters })
    }

    /// Returns initial parameters: kinks spread over `ln(u/u_0)` from 0 to beyond `range`, denser at the low end,
    /// where `b` bends most. The kinks beyond the range determine the slope at its upper end.
    pub(crate) fn start(unit_w: f64, range: f64, units: usize) -> Self {
        let mut parameters = vec![0.2];
        for unit in 0..units {
            let share = (unit as f64 + 0.5) / units as f64;
            // The slope of ln b with respect to ln u is about −0.1 overall, and steeper at the low end.
            let place = 1.5 * range * share.powf(1.7);
            let sharpness = (1.5 * units as f64 / (range * (0.3 + 2.0 * share))).ln();
            parameters.extend([(0.3 / units as f64).ln() - sharpness, sharpness, place]);
        }
        Self { unit_w, parameters }
    }

    /// Returns `u_0` in W.
    pub fn unit_w(&self) -> f64 {
        self.unit_w
    }

    /// Returns the parameters.
    pub fn parameters(&self) -> &[f64] {
        &self.parameters
    }

    pub(crate) fn parameters_mut(&mut self) -> &mut [f64] {
        &mut self.parameters
    }

    /// Returns `ln b̂` (Hz) and its derivative with respect to `ln u`, at `ln(u/u_0)`.
    pub(crate) fn at_scaled(&self, x: f64) -> (f64, f64) {
        let (mut value, mut slope) = (self.parameters[0], 0.0);
        for unit in self.parameters[1..].as_chunks::<3>().0 {
            let [size, sharpness] = [unit[0].exp(), unit[1].exp()];
            let pre = sharpness * (unit[2] - x);
            value += size * Activation::Softplus.value(pre);
            slope -= size * sharpness * Activation::Softplus.slope(pre);
        }
        (value + super::UNIT_HZ.ln(), slope)
    }

    /// Returns `b̂(u)` in Hz and its derivative in Hz/W, at a received power in W.
    pub fn at(&self, received_w: f64) -> (f64, f64) {
        let (ln_hz, slope) = self.at_scaled((received_w / self.unit_w).ln());
        let bandwidth_hz = ln_hz.exp();
        (bandwidth_hz, slope * bandwidth_hz / received_w)
    }

    /// Adds the derivative of `upstream·ln b̂` with respect to the parameters to `gradient`.
    pub(crate) fn add_gradient(&self, x: f64, upstream: f64, gradient: &mut [f64]) {
        gradient[0] += upstream;
        let units = self.parameters[1..].as_chunks::<3>().0;
        for (unit, gradient) in units.iter().zip(gradient[1..].as_chunks_mut::<3>().0) {
            let [size, sharpness] = [unit[0].exp(), unit[1].exp()];
            let pre = sharpness * (unit[2] - x);
            let by_pre = upstream * size * Activation::Softplus.slope(pre);
            gradient[0] += upstream * size * Activation::Softplus.value(pre);
            gradient[1] += by_pre * pre;
            gradient[2] += by_pre * sharpness;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradients_match_finite_differences() {
        let law = ConvexLaw::start(1e-14, 12.0, 5);
        for x in [-1.0, 0.1, 2.0, 7.0, 15.0] {
            let (_, slope) = law.at_scaled(x);
            let numeric = (law.at_scaled(x + 1e-6).0 - law.at_scaled(x - 1e-6).0) / 2e-6;
            assert!((slope - numeric).abs() < 1e-8 && slope < 0.0);
            let mut gradient = vec![0.0; law.parameters.len()];
            law.add_gradient(x, 0.7, &mut gradient);
            for (index, analytic) in gradient.iter().enumerate() {
                let shifted = |step: f64| {
                    let mut law = law.clone();
                    law.parameters[index] += step;
                    0.7 * law.at_scaled(x).0
                };
                let numeric = (shifted(1e-6) - shifted(-1e-6)) / 2e-6;
                assert!((analytic - numeric).abs() < 1e-8, "{index}: {analytic} {numeric}");
            }
        }
    }

    #[test]
    fn is_decreasing_and_convex_whatever_the_parameters() {
        let mut law = ConvexLaw::start(1e-14, 12.0, 4);
        for (index, parameter) in law.parameters.iter_mut().enumerate() {
            *parameter += (index as f64 * 1.7).sin();
        }
        let slopes: Vec<f64> =
            (0..200).map(|i| law.at(1e-14 * (0.07 * f64::from(i)).exp()).1).collect();
        assert!(slopes.iter().all(|&slope| slope < 0.0));
        assert!(slopes.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
