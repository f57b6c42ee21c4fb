//! Responses of all users in a cell to a price of power, each computed independently.

use crate::problems::urllc::{Urllc, UrllcAllocation};
use crate::qos::{CONVEX_UP_TO, Curve, Curves, Response};
use crate::tolerance;

/// Users of the current problem, grouped by class. Buffers are reused between solves.
#[derive(Debug, Clone, Default)]
pub(crate) struct CellByClass {
    groups: Vec<Group>,
    /// Index of each user in the problem, group by group.
    order: Vec<usize>,
    /// Values in this order: `ln α`, minimum power in W, and power above the minimum in W.
    ln_gain: Vec<f64>,
    least_w: Vec<f64>,
    over_w: Vec<f64>,
    /// Last responses of users whose curve is exact: first guesses for the next price.
    near: Vec<Option<Response>>,
    /// Difference that converts `ln ν` from Hz/W to the curves' own units.
    ln_noise: f64,
}

/// Curve of a class and the range of its users.
#[derive(Debug, Clone)]
struct Group {
    curve: Curve,
    start: usize,
    end: usize,
}

impl CellByClass {
    /// Groups the users by class and computes the minimum power of each.
    pub(crate) fn group(&mut self, problem: &Urllc, curves: &mut Curves) {
        let classes = problem.classes();
        let mut counts = vec![0; if classes.len() > 1 { classes.len() } else { 0 }];
        self.order.clear();
        self.groups.clear();
        if counts.is_empty() {
            self.order.extend(0..problem.users().len());
        } else {
            for user in problem.users() {
                counts[user.class] += 1;
            }
            let mut place = counts.clone();
            let mut total = 0;
            for place in &mut place {
                total += std::mem::replace(place, total);
            }
            self.order.resize(problem.users().len(), 0);
            for (index, user) in problem.users().iter().enumerate() {
                self.order[place[user.class]] = index;
                place[user.class] += 1;
            }
        }
        let count = |class: usize| counts.get(class).copied().unwrap_or(problem.users().len());
        let mut class = 0;
        let mut start = 0;
        let groups = &mut self.groups;
        curves.of_classes(classes, count, |curve| {
            let end = start + count(class);
            groups.push(Group { curve, start, end });
            (class, start) = (class + 1, end);
        });
        self.near.clear();
        self.near.resize(start, None);
        self.ln_gain.clear();
        self.least_w.clear();
        for group in &self.groups {
            // Bandwidths are taken from the curve at a received power that is lower by this share.
            let min_received_w = group.curve.exact().min_received_w() * (1.0 + tolerance::ROUNDING);
            for &index in &self.order[group.start..group.end] {
                let gain = problem.users()[index].gain;
                self.ln_gain.push(gain.ln());
                self.least_w.push(min_received_w / gain);
            }
        }
        self.over_w.resize(self.least_w.len(), 0.0);
        // Curves use channel uses and energies relative to the noise; prices are in Hz/W.
        self.ln_noise = self.groups.first().map_or(0.0, |group| {
            let qos = group.curve.exact().qos();
            qos.ln_uses_scale() - qos.ln_energy_scale()
        });
    }

    /// Returns the minimum total power that could serve every user, W.
    pub(crate) fn least_power_w(&self) -> f64 {
        self.least_w.iter().sum()
    }

    /// Returns the total power above the minimum at the last price, W.
    pub(crate) fn over_power_w(&self) -> f64 {
        self.over_w.iter().sum()
    }

    /// Returns the minimum power of each user, W, and the user's index in the problem.
    pub(crate) fn needs(&self) -> Vec<(f64, usize)> {
        self.least_w.iter().copied().zip(self.order.iter().copied()).collect()
    }

    /// Returns the indices of the users in the problem, in the order of the responses.
    pub(crate) fn positions(&self) -> &[usize] {
        &self.order
    }

    /// Returns the curves of the classes, and the number of users in each.
    pub(crate) fn classes(&self) -> impl Iterator<Item = (&Curve, usize)> {
        self.groups.iter().map(|group| (&group.curve, group.end - group.start))
    }

    /// Gives every user the same relative amount above the minimum power.
    pub(crate) fn share_over_least(&mut self, share: f64) {
        for (over_w, least_w) in self.over_w.iter_mut().zip(&self.least_w) {
            *over_w = share * least_w;
        }
    }

    /// Returns a first guess of `ln ν` (ν in Hz/W) at which every user is above its minimum power by the share
    /// `e^ln_excess`.
    pub(crate) fn price_at_share(&self, ln_excess: f64) -> f64 {
        let mut guess = 0.0;
        for Group { curve, start, end } in &self.groups {
            let users = (end - start) as f64;
            let ln_gain: f64 = self.ln_gain[*start..*end].iter().sum();
            guess += users * (curve.price_near(ln_excess) - self.ln_noise) + ln_gain;
        }
        guess / self.least_w.len() as f64
    }

    /// Gives every user the power above which more power saves no bandwidth. Returns `false` if a class has no such
    /// power; some powers are then not set.
    pub(crate) fn share_to_the_end(&mut self) -> bool {
        for Group { curve, start, end } in &self.groups {
            let Some(flat) = curve.exact().flat() else { return false };
            let excess = flat.rise.exp_m1();
            for (over_w, least_w) in
                self.over_w[*start..*end].iter_mut().zip(&self.least_w[*start..*end])
            {
                *over_w = excess * least_w;
            }
        }
        true
    }

    /// Computes `Σ (P_k − P_k^min)` at a price, and its derivative with respect to the logarithm of the price.
    pub(crate) fn power_over(&mut self, ln_price: f64) -> (f64, f64) {
        let (mut sum, mut slope) = (0.0, 0.0);
        self.respond(ln_price, |_, _, over_w, ln_slope| {
            sum += over_w;
            slope += over_w * ln_slope;
        });
        (sum, slope)
    }

    /// Computes each user's response to a price. Calls `f` with the user's curve, the minimum power, W, the power
    /// above the minimum, W, and the derivative of its logarithm with respect to the logarithm of the price.
    #[inline]
    pub(crate) fn respond(&mut self, ln_price: f64, mut f: impl FnMut(&Curve, f64, f64, f64)) {
        let ln_price = ln_price + self.ln_noise;
        for Group { curve, start, end } in &self.groups {
            let range = *start..*end;
            let rows = self.ln_gain[range.clone()]
                .iter()
                .zip(&self.least_w[range.clone()])
                .zip(&mut self.over_w[range.clone()])
                .zip(&mut self.near[range]);
            for (((&ln_gain, &least_w), over), near) in rows {
                let (ln_excess, ln_slope) = curve.respond(ln_price - ln_gain, near);
                *over = least_w * ln_excess.exp();
                f(curve, least_w, *over, ln_slope);
            }
        }
    }

    /// Writes powers and bandwidths of the last responses in the order of the problem; the amounts above the
    /// minimum are multiplied by `scale`. Returns the total bandwidth, Hz, and its excess over the Lagrangian
    /// bound at the price `ν`, Hz: `Σ [h_k(P_k) − min h_k]` of the certificate.
    pub(crate) fn allocate(
        &mut self,
        scale: f64,
        price: f64,
        allocation: &mut UrllcAllocation,
    ) -> (f64, f64) {
        let users = self.order.len();
        allocation.power_w.resize(users, 0.0);
        allocation.bandwidth_hz.resize(users, 0.0);
        let (mut total_hz, mut gap_hz) = (0.0, 0.0);
        for group in &self.groups {
            let terms = Terms::new(&group.curve, price);
            for i in group.start..group.end {
                let answer = self.answer(&group.curve, &terms, i, scale);
                gap_hz += answer.lost_hz;
                total_hz += answer.bandwidth_hz;
                let index = self.order[i];
                allocation.power_w[index] = answer.power_w;
                allocation.bandwidth_hz[index] = answer.bandwidth_hz;
            }
        }
        (total_hz, gap_hz)
    }

    /// Returns whether each user's last response is proved to minimize `P + b(αP)/ν` up to a relative error of
    /// `share`.
    pub(crate) fn is_cheapest(&self, price: f64, share: f64) -> bool {
        self.groups.iter().all(|group| {
            let terms = Terms::new(&group.curve, price);
            (group.start..group.end).all(|i| {
                let answer = self.answer(&group.curve, &terms, i, 1.0);
                answer.lost_hz <= share * (answer.bandwidth_hz + price * answer.power_w)
            })
        })
    }

    /// Computes one user's power and bandwidth from the last response, and a bound on the loss at the price in
    /// `terms`.
    #[inline(always)]
    fn answer(&self, curve: &Curve, terms: &Terms, i: usize, scale: f64) -> UserAnswer {
        let (price, least_w) = (terms.price, self.least_w[i]);
        let over_w = self.over_w[i] * scale;
        let power_w = least_w + over_w;
        let (w, ln_z, elasticity) = curve.point(over_w / least_w);
        let bandwidth_hz = (ln_z - terms.ln_uses_scale).exp() * (1.0 + terms.error);
        // D_k and a bound on its error.
        let own_price = bandwidth_hz / power_w * elasticity;
        let uncertain = (terms.slope_error / w.min(1.0) + terms.twice_error) * own_price;
        // Bound on the distance to the best power.
        let distance_w = match terms.fall_at_double {
            Some(fall) if own_price + uncertain < fall * price && w < CONVEX_UP_TO => over_w,
            Some(_) => f64::INFINITY,
            None if price <= 0.0 => f64::INFINITY,
            None => {
                let ln_price = price.ln() + self.ln_noise - self.ln_gain[i];
                let share = curve.exact().distance_at(w * w, ln_z, ln_price);
                share * bandwidth_hz / price
            }
        };
        let mut slope_hz = ((price - own_price).abs() + uncertain) * distance_w;
        // If power costs less than it saves here, a convex `b` has its minimum at a larger power, and no power needs
        // less than the least bandwidth.
        let is_convex = terms.fall_at_double.map_or(distance_w.is_finite(), |fall| fall > 1.0);
        if terms.least_hz > 0.0 && (price <= 0.0 || is_convex && price <= own_price) {
            slope_hz = slope_hz.min(bandwidth_hz - terms.least_hz + uncertain * over_w);
        }
        let lost_hz = slope_hz + terms.twice_error * bandwidth_hz + terms.held_back * power_w;
        UserAnswer { power_w, bandwidth_hz, lost_hz }
    }
}

/// Values that are common to all users of a class at one price.
struct Terms {
    price: f64,
    ln_uses_scale: f64,
    error: f64,
    twice_error: f64,
    slope_error: f64,
    /// Minimum factor by which the price falls when the excess power doubles; `None` without a table: `answer` then
    /// evaluates each user's curve.
    fall_at_double: Option<f64>,
    /// Value of the held-back power, Hz per W.
    held_back: f64,
    /// Minimum bandwidth at any power, Hz; 0 without a largest spectral efficiency.
    least_hz: f64,
}

impl Terms {
    fn new(curve: &Curve, price: f64) -> Self {
        let (error, slope_error) = curve.error_bounds();
        Self {
            price,
            ln_uses_scale: curve.exact().qos().ln_uses_scale(),
            error,
            twice_error: 2.0 * error,
            slope_error,
            fall_at_double: curve.fall_at_double(),
            held_back: HELD_BACK * price,
            least_hz: (curve.exact().ln_least_uses() - curve.exact().qos().ln_uses_scale()).exp(),
        }
    }
}

/// Share of power that bandwidths do not use, plus a tenth of it for rounding.
const HELD_BACK: f64 = 1.1 * tolerance::ROUNDING;

/// Power and bandwidth of one user, and a bound on `h_k(P_k) − min h_k` of the certificate.
struct UserAnswer {
    power_w: f64,
    bandwidth_hz: f64,
    lost_hz: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::problems::urllc::UrllcSolver;
    use crate::qos::ServiceClass;

    /// Compares the certificate with its definition, `Σ |ν − D_k|·(P_k − P_k^min)` with slopes by quadrature, at
    /// allocations that are not optimal; it must be at least the actual loss.
    #[test]
    fn the_gap_is_as_defined_and_bounds_what_is_lost() {
        let system = Config::default().validate().unwrap();
        let usual = system.service();
        let strict = ServiceClass { epsilon: 1e-7, ..usual };
        let users = (0..12u32).map(|i| {
            let gain = system.path_loss().gain(50.0 + 15.0 * f64::from(i));
            (gain, if i % 3 == 0 { strict } else { usual })
        });
        let problem = Urllc::new(&system, users).unwrap();
        let (mut cell, mut curves) = (CellByClass::default(), Curves::default());
        cell.group(&problem, &mut curves);
        let least_w = cell.least_power_w();
        for load in [1.0001, 1.01, 2.0, 1000.0] {
            let problem = problem.clone().with_max_power_w(load * least_w).unwrap();
            let best = UrllcSolver::default().solve(&problem);
            let (best_hz, price) = (best.allocation.total_bandwidth_hz(), best.price_hz_per_w);
            cell.power_over(price.ln());
            for (i, over_w) in cell.over_w.iter_mut().enumerate() {
                *over_w *= 1.0 + 0.03 * f64::from(u32::try_from(i).unwrap() % 5);
            }
            let scale = (problem.max_power_w() - least_w) / cell.over_power_w();
            let mut found = UrllcAllocation::default();
            let (total_hz, gap_hz) = cell.allocate(scale, price, &mut found);
            let sums = (found.total_bandwidth_hz(), found.total_power_w());
            assert!((total_hz / sums.0 - 1.0).abs() < 1e-12);
            assert!((sums.1 / problem.max_power_w() - 1.0).abs() < 1e-12);
            let lost_hz = total_hz - best_hz;
            assert!(lost_hz > 1e-6 * best_hz && gap_hz >= lost_hz, "{load}: {lost_hz} {gap_hz}");
            let mut expected_hz = 0.0;
            for (user, &power_w) in problem.users().iter().zip(&found.power_w) {
                let exact = cell.groups[user.class].curve.exact();
                let own = -user.gain * exact.at(user.gain * power_w).unwrap().slope_hz_per_w;
                let over_w = power_w - exact.min_received_w() / user.gain;
                expected_hz += (price - own).abs() * over_w;
            }
            assert!((gap_hz / expected_hz - 1.0).abs() < 1e-5, "{load}: {gap_hz} {expected_hz}");
            // At the optimum only the error of the tables remains. It is larger next to the fold, where the slope
            // is a function of w = √ln(u/u_min).
            cell.power_over(price.ln());
            let (_, gap_hz) = cell.allocate(1.0, price, &mut found);
            let (mut rounded_hz, mut expected_hz) = (0.0, 0.0);
            for Group { curve, start, end } in &cell.groups {
                let (error, slope_error) = curve.error_bounds();
                for i in *start..*end {
                    let (w, _, elasticity) = curve.point(cell.over_w[i] / cell.least_w[i]);
                    let (power_w, bandwidth_hz) =
                        (found.power_w[cell.order[i]], found.bandwidth_hz[cell.order[i]]);
                    let own = elasticity * bandwidth_hz / power_w;
                    let off = (price - own).abs() + own * (slope_error / w.min(1.0) + 2.0 * error);
                    expected_hz += off * cell.over_w[i];
                    rounded_hz += 2.0 * error * bandwidth_hz;
                    rounded_hz += HELD_BACK * price * power_w;
                }
            }
            let rest = (gap_hz - rounded_hz) / expected_hz;
            assert!(rounded_hz > 0.0 && (rest - 1.0).abs() < 1e-3, "{load}: {rest}");
            // If the proof does not apply, there is no bound.
            let (_, gap_hz) = cell.allocate(scale, price / 2.0, &mut found);
            assert!(gap_hz.is_infinite());
        }
    }
}
