//! Expectations over fading of functions with a kink, by Gauss–Legendre panels that are split at the kink.

use crate::channel::fading::{FadingSource, support};

/// Number of nodes in a panel.
const NODES: usize = 16;
/// Width of a panel in steps of the trapezoidal rule. That rule is exact to rounding for smooth functions, so a panel
/// has four times as many nodes as smooth functions need.
const STEPS: usize = 4;

/// Fixed panels in `t = ln g` with the density at their nodes.
///
/// Panels away from the kink need no change. Inside the panel with the kink, both parts get separate nodes, at which
/// `ln p` is interpolated from the nodes of the panel. The density is smooth there, so it is not evaluated again.
#[derive(Debug, Clone)]
pub(crate) struct FadingPanels {
    start: f64,
    width: f64,
    rule: GaussLegendre,
    panels: Vec<Panel>,
}

#[derive(Debug, Clone)]
struct Panel {
    gains: [f64; NODES],
    weights: [f64; NODES],
    /// Logarithm of the density over `t`.
    ln_density: [f64; NODES],
    /// Probability of all states above the panel.
    above: f64,
}

/// States above a kink.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AboveKink {
    /// Probability of these states.
    pub(crate) probability: f64,
    /// Density over `t = ln g` at the kink; 0 outside the panels.
    pub(crate) density: f64,
}

impl FadingPanels {
    pub(crate) fn new(source: FadingSource) -> Self {
        let FadingSource { law, antennas, depth } = source;
        law.with_density(antennas, depth, |centres, step, ln_density| {
            let (start, steps) = support(centres, step, depth, ln_density);
            let (width, rule) = (STEPS as f64 * step, GaussLegendre::new());
            let mut panels: Vec<Panel> = (0..steps.div_ceil(STEPS).max(1))
                .map(|index| {
                    let t = rule.nodes.map(|x| start + width * (index as f64 + 0.5 * (x + 1.0)));
                    let ln_density = t.map(ln_density);
                    let mut weights = ln_density.map(|ln_density| 0.5 * width * ln_density.exp());
                    weights.iter_mut().zip(rule.weights).for_each(|(weight, of)| *weight *= of);
                    Panel { gains: t.map(f64::exp), weights, ln_density, above: 0.0 }
                })
                .collect();
            let total: f64 = panels.iter().flat_map(|panel| panel.weights).sum();
            let mut above = 0.0;
            for panel in panels.iter_mut().rev() {
                panel.weights = panel.weights.map(|weight| weight / total);
                panel.ln_density = panel.ln_density.map(|ln_density| ln_density - total.ln());
                panel.above = above;
                above += panel.weights.iter().sum::<f64>();
            }
            Self { start, width, rule, panels }
        })
    }

    /// Returns the smallest gain at which a state is evaluated.
    pub(crate) fn least_gain(&self) -> f64 {
        self.panels[0].gains[0]
    }

    /// Calls `below` with the weight and the gain of states below a kink at `t = ln g`.
    pub(crate) fn split(&self, kink: f64, mut below: impl FnMut(f64, f64)) -> AboveKink {
        let place = (kink - self.start) / self.width;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let whole = (place.max(0.0) as usize).min(self.panels.len());
        for panel in &self.panels[..whole] {
            for (&weight, &gain) in panel.weights.iter().zip(&panel.gains) {
                below(weight, gain);
            }
        }
        let Some(panel) = self.panels.get(whole).filter(|_| place > 0.0) else {
            let probability = if whole == 0 { 1.0 } else { 0.0 };
            return AboveKink { probability, density: 0.0 };
        };
        // Part of the panel on each side of the kink, and its position in the panel's own variable from −1 to 1.
        let lower = place - whole as f64;
        let (start, x) = (self.start + whole as f64 * self.width, 2.0 * lower - 1.0);
        let mut probability = panel.above;
        for (from, share, is_below) in [(-1.0, lower, true), (x, 1.0 - lower, false)] {
            for (node, of) in self.rule.nodes.iter().zip(self.rule.weights) {
                let x = from + share * (node + 1.0);
                let density = self.rule.interpolate(&panel.ln_density, x).exp();
                let weight = 0.5 * self.width * share * of * density;
                if is_below {
                    below(weight, (start + 0.5 * self.width * (x + 1.0)).exp());
                } else {
                    probability += weight;
                }
            }
        }
        AboveKink { probability, density: self.rule.interpolate(&panel.ln_density, x).exp() }
    }
}

/// Gauss–Legendre rule on `[−1, 1]`, with the barycentric weights of its nodes.
#[derive(Debug, Clone)]
struct GaussLegendre {
    nodes: [f64; NODES],
    weights: [f64; NODES],
    barycentric: [f64; NODES],
}

impl GaussLegendre {
    fn new() -> Self {
        let count = NODES as f64;
        let (mut nodes, mut weights, mut barycentric) = ([0.0; NODES], [0.0; NODES], [0.0; NODES]);
        for i in 0..NODES {
            // Roots of the Legendre polynomial by Newton's method, from a first guess with an error below 1e-3.
            let mut x = -(std::f64::consts::PI * (i as f64 + 0.75) / (count + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..8 {
                let (mut before, mut value) = (1.0, x);
                for n in 2..=NODES {
                    let n = n as f64;
                    (before, value) =
                        (value, ((2.0 * n - 1.0) * x * value - (n - 1.0) * before) / n);
                }
                slope = count * (x * value - before) / (x * x - 1.0);
                x -= value / slope;
            }
            nodes[i] = x;
            weights[i] = 2.0 / ((1.0 - x * x) * slope * slope);
            let sign = if i % 2 == 0 { 1.0 } else { -1.0 };
            barycentric[i] = sign * ((1.0 - x * x) * weights[i]).sqrt();
        }
        Self { nodes, weights, barycentric }
    }

    /// Returns the value at `x` of the polynomial through values at the nodes.
    fn interpolate(&self, values: &[f64; NODES], x: f64) -> f64 {
        let (mut above, mut below) = (0.0, 0.0);
        for ((node, value), barycentric) in self.nodes.iter().zip(values).zip(self.barycentric) {
            let distance = x - node;
            if distance == 0.0 {
                return *value;
            }
            let factor = barycentric / distance;
            above += factor * value;
            below += factor;
        }
        above / below
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::FadingLaw;

    /// Compares expectations of functions with a kink with a trapezoidal rule of half a million steps.
    #[test]
    fn a_kink_anywhere_costs_no_accuracy() {
        for (law, antennas) in [
            ("rayleigh", 8),
            ("rayleigh", 1),
            ("rayleigh", 64),
            ("nakagami:m=0.5", 2),
            ("rician:k=3", 4),
            ("mixture:share=0.1,loss_db=20", 8),
        ] {
            let law: FadingLaw = law.parse().unwrap();
            let panels = FadingPanels::new(FadingSource { law, antennas, depth: 0.0 });
            let centre = f64::from(antennas).ln();
            for kink in [-6.0, -2.0, -0.5, -0.013, 0.0, 0.2, 0.37, 1.0, 2.0] {
                let kink = centre + kink;
                let slope = 0.7;
                let mut found = 0.0;
                let above = panels.split(kink, |weight, gain| {
                    found += weight * (slope * (gain.ln() - kink)).exp();
                });
                found += above.probability;
                let expected = law.with_density(antennas, 0.0, |centres, step, ln_density| {
                    let (start, steps) = support(centres, step, 0.0, ln_density);
                    let end = start + steps as f64 * step;
                    // The kink is a node of both parts.
                    let part = |from: f64, to: f64, slope: f64| {
                        let count = 20_000;
                        let h = (to - from).max(0.0) / f64::from(count);
                        let at = |i: i32| {
                            let t = from + f64::from(i) * h;
                            (ln_density(t) + slope * (t - kink)).exp()
                        };
                        // Simpson's rule.
                        let inner: f64 =
                            (1..count).map(|i| if i % 2 == 0 { 2.0 } else { 4.0 } * at(i)).sum();
                        (at(0) + at(count) + inner) * h / 3.0
                    };
                    let kink = kink.clamp(start, end);
                    part(start, kink, slope) + part(kink, end, 0.0)
                });
                let off = (found / expected - 1.0).abs();
                assert!(off < 1e-12, "{law}, {antennas} antennas, {kink}: {found} {expected}");
                if above.density > 0.0 {
                    let exact =
                        law.with_density(antennas, 0.0, |_, _, ln_density| ln_density(kink));
                    assert!((above.density.ln() - exact).abs() < 1e-11);
                }
            }
        }
    }
}
