//! The exact optimum of (P1) by dual decomposition on the one power constraint.
//!
//! With `b_k` eliminating the bandwidths, (P1) is `min Σ b_k(α_k P_k)` over `Σ P_k ≤ P_max`: convex,
//! separable, one coupling constraint. At a price `ν` (Hz/W) each user answers alone,
//! `−α_k b_k'(α_k P_k) = ν`, and the powers' sum falls with `ν`. One root in one variable is left.
//!
//! # The certificate
//!
//! With the whole budget used, the gap between the answer and the Lagrangian dual at `ν` is
//! `Σ [h_k(P_k) − min h_k]`, where `h_k(P) = b_k(α_k P) + νP`. Let `D_k = −db_k/dP_k` at the answer,
//! `P_k^min = u_min/α_k`, and let `P_k*` minimise `h_k`. By convexity
//!
//! ```text
//! h_k(P_k) − h_k(P_k*) ≤ |ν − D_k|·|P_k − P_k*| ≤ |ν − D_k|·(P_k − P_k^min).
//! ```
//!
//! The second step is plain where `P_k* < P_k`. Otherwise it says that twice the power over the
//! least would be too much: along the curve the price falls at least as fast as
//! `(P − P^min)^(−1/2)`, its law at the fold, so there it is at most `D_k/√2 < ν` as long as
//! `D_k < √2·ν`, which is checked. The error bounds of the tables are added.

use std::collections::HashMap;
use std::sync::Arc;

use rayon::prelude::*;

use crate::framework::Infeasibility;
use crate::problems::urllc::{Allocation, Urllc};
use crate::qos::BandwidthTable;
use crate::qos::{Qos, ServiceClass};
use crate::qos::{RequiredBandwidth, Response};
use crate::tolerance;

/// How a solve ended. Not meeting the tolerance is a status, not an error.
#[derive(Debug, Clone, PartialEq)]
pub enum Status {
    /// Solved, with a relative duality gap of at most [`tolerance::DUALITY_GAP`].
    Optimal,
    /// A feasible answer whose gap is larger than that: the budget is so tight that rounding shows.
    Inaccurate,
    /// The budget cannot serve every user.
    Infeasible(Infeasibility),
}

/// The answer to a [`Urllc`] problem.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// How the solve ended.
    pub status: Status,
    /// Powers and bandwidths; empty when infeasible. Bandwidths are rounded up by the table's error
    /// bound (about 1e-11), so that every user's QoS really holds.
    pub allocation: Allocation,
    /// Dual variable `ν` of the power constraint, Hz/W: what one more watt would save.
    pub price_hz_per_w: f64,
    /// Bound on `(total − optimum) / total`.
    pub duality_gap: f64,
    /// Trial prices.
    pub iterations: u32,
}

/// A solver, with the tables of the classes it has met. Reuse it: building a table takes
/// milliseconds, solving takes microseconds.
///
/// ```
/// use anyk::Config;
/// use anyk::problems::urllc::{Status, Urllc, UrllcSolver};
/// let system = Config::default().validate()?;
/// let gains = [60.0, 90.0, 120.0, 180.0, 240.0].map(|d| system.path_loss().gain(d));
/// let problem = Urllc::uniform(&system, gains)?;
/// let solution = UrllcSolver::default().solve(&problem);
/// assert_eq!(solution.status, Status::Optimal);
/// assert!((solution.allocation.total_bandwidth_hz() - 778_450.15).abs() < 0.01);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct UrllcSolver {
    tables: HashMap<ServiceClass, Arc<BandwidthTable>>,
    cell: CellByClass,
}

/// The users of the problem at hand, grouped by class; its buffers are kept between solves.
#[derive(Debug, Clone, Default)]
struct CellByClass {
    groups: Vec<Group>,
    /// Position of each user in the problem; groups follow each other.
    order: Vec<usize>,
    /// In that order: `ln α`, least power in W, power over the least in W.
    ln_gain: Vec<f64>,
    least_w: Vec<f64>,
    over_w: Vec<f64>,
}

/// One class and the range of its users.
#[derive(Debug, Clone)]
struct Group {
    curve: Curve,
    start: usize,
    end: usize,
}

/// With more classes than this in one problem, those of few users are solved without a table.
pub(crate) const MANY_CLASSES: usize = 32;
/// Users from which a table pays for itself.
pub(crate) const TABLE_USERS: usize = 128;
/// Tables kept, 25 kB each: a long-lived solver that meets ever new classes starts over here.
const MAX_TABLES: usize = 4096;

/// A class's `b(u)`: tabulated, or exact with each user's last response as the next first guess.
#[derive(Debug, Clone)]
enum Curve {
    Table(Arc<BandwidthTable>),
    Exact(Box<RequiredBandwidth>, Vec<Option<Response>>),
}

impl Curve {
    fn exact(&self) -> &RequiredBandwidth {
        match self {
            Curve::Table(table) => table.exact(),
            Curve::Exact(exact, _) => exact,
        }
    }

    /// A first guess of `ln price` where `u/u_min − 1` is `e^ln_excess`.
    fn price_near(&self, ln_excess: f64) -> f64 {
        match self {
            Curve::Table(table) => table.price_near(ln_excess),
            // Far from the fold the price falls about as 1/u, close to it as 1/√(u − u_min).
            Curve::Exact(exact, _) => {
                let fold = exact.fold();
                fold.ln_z - fold.ln_v - ln_excess.max(0.5 * ln_excess)
            }
        }
    }

    /// `w = √ln(u/u_min)`, `ln z` and the elasticity `−d ln z/d ln v` where `u/u_min − 1` is
    /// `excess`.
    #[inline]
    fn point(&self, excess: f64) -> (f64, f64, f64) {
        match self {
            Curve::Table(table) => table.point(excess),
            Curve::Exact(exact, _) => exact.point(excess),
        }
    }

    /// Relative error bounds of the bandwidth and of its slope.
    fn error_bounds(&self) -> (f64, f64) {
        match self {
            Curve::Table(table) => (table.error_bound(), table.slope_error_bound()),
            Curve::Exact(..) => (tolerance::EXACT_BANDWIDTH, tolerance::EXACT_BANDWIDTH),
        }
    }
}

impl UrllcSolver {
    /// The table of a class, built now unless it is there already.
    pub fn table(&mut self, qos: &Qos) -> Arc<BandwidthTable> {
        match self.tables.get(&qos.service()) {
            Some(table) if table.exact().qos().same_cell(qos) => Arc::clone(table),
            _ => {
                let table = Arc::new(BandwidthTable::new(qos.clone()));
                if self.tables.len() >= MAX_TABLES {
                    self.tables.clear();
                }
                self.tables.insert(qos.service(), Arc::clone(&table));
                table
            }
        }
    }

    /// Solves (P1).
    pub fn solve(&mut self, problem: &Urllc) -> Solution {
        let mut solution = Solution::default();
        self.solve_into(problem, &mut solution);
        solution
    }

    /// Solves (P1) into an existing solution, whose buffers are reused: for users of one class, with
    /// its table there and the size met before, nothing is allocated.
    pub fn solve_into(&mut self, problem: &Urllc, solution: &mut Solution) {
        self.group(problem);
        let required_power_w: f64 = self.cell.least_w.iter().sum();
        let slack_w = problem.max_power_w() - required_power_w;
        if slack_w < tolerance::POWER_SLACK * problem.max_power_w() {
            let least_w = self.cell.least_w.iter().copied();
            let needs = least_w.zip(self.cell.order.iter().copied()).collect();
            let why = Infeasibility::new(needs, problem.max_power_w());
            *solution = Solution::infeasible(why);
            return;
        }
        let (ln_price, iterations) = self.cell.find_price(slack_w);
        solution.iterations = iterations;
        solution.price_hz_per_w = ln_price.exp();
        solution.duality_gap =
            self.cell.allocate(slack_w, solution.price_hz_per_w, &mut solution.allocation);
        solution.status = if solution.duality_gap <= tolerance::DUALITY_GAP {
            Status::Optimal
        } else {
            Status::Inaccurate
        };
    }

    /// Groups the users by class and finds each one's least power.
    fn group(&mut self, problem: &Urllc) {
        let classes = problem.classes();
        let mut counts = vec![0; if classes.len() > 1 { classes.len() } else { 0 }];
        let cell = &mut self.cell;
        cell.order.clear();
        cell.groups.clear();
        if counts.is_empty() {
            cell.order.extend(0..problem.size());
        } else {
            for user in problem.users() {
                counts[user.class] += 1;
            }
            let mut place = counts.clone();
            let mut total = 0;
            for place in &mut place {
                total += std::mem::replace(place, total);
            }
            cell.order.resize(problem.size(), 0);
            for (index, user) in problem.users().iter().enumerate() {
                cell.order[place[user.class]] = index;
                place[user.class] += 1;
            }
        }
        let count = |class: usize| counts.get(class).copied().unwrap_or(problem.size());
        let few_classes = classes.len() <= MANY_CLASSES;
        // Thousands of classes (a hostile file, or one class for each user) are worth the cores.
        let exact: Vec<Option<RequiredBandwidth>> = if few_classes {
            Vec::new()
        } else {
            let small = |class| count(class) < TABLE_USERS;
            let classes = classes.par_iter().enumerate();
            classes
                .map(|(class, qos)| small(class).then(|| RequiredBandwidth::new(qos.clone())))
                .collect()
        };
        let mut exact = exact.into_iter();
        let mut start = 0;
        for (class, qos) in classes.iter().enumerate() {
            let end = start + count(class);
            let curve = match exact.next().flatten() {
                Some(exact) => Curve::Exact(Box::new(exact), vec![None; end - start]),
                None => {
                    let table = self.table(qos);
                    if table.is_sound() {
                        Curve::Table(table)
                    } else {
                        // A class that the table cannot follow: exact, at a hundred times the cost.
                        Curve::Exact(Box::new(table.exact().clone()), vec![None; end - start])
                    }
                }
            };
            self.cell.groups.push(Group { curve, start, end });
            start = end;
        }
        let cell = &mut self.cell;
        cell.ln_gain.clear();
        cell.least_w.clear();
        for group in &cell.groups {
            // Bandwidths are taken from the curve at a received power lower by this share.
            let min_received_w = group.curve.exact().min_received_w() * (1.0 + tolerance::ROUNDING);
            for &index in &cell.order[group.start..group.end] {
                let gain = problem.users()[index].gain;
                cell.ln_gain.push(gain.ln());
                cell.least_w.push(min_received_w / gain);
            }
        }
    }
}

impl CellByClass {
    /// The price of power at which the users' powers over their least add up to `slack_w`: returns
    /// `ln ν` (ν in Hz/W) and the number of trials, and leaves the powers in `over_w`.
    fn find_price(&mut self, slack_w: f64) -> (f64, u32) {
        self.over_w.resize(self.least_w.len(), 0.0);
        let ln_noise = self.groups.first().map_or(0.0, |group| {
            let qos = group.curve.exact().qos();
            qos.ln_uses_scale() - qos.ln_energy_scale()
        });
        // First guess: everyone the same share over the least.
        let least_w: f64 = self.least_w.iter().sum();
        let mut guess = 0.0;
        for Group { curve, start, end } in &self.groups {
            let users = (end - start) as f64;
            let ln_gain: f64 = self.ln_gain[*start..*end].iter().sum();
            guess += users * (curve.price_near((slack_w / least_w).ln()) - ln_noise) + ln_gain;
        }
        let mut ln_price = guess / self.least_w.len() as f64;
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        // The sum of powers is log–log close to linear in the price (slope between −2, at the
        // fold, and −1): Newton in logarithms, kept inside the bracket found so far.
        for iteration in 1..=100 {
            let (sum, slope) = self.total_over(ln_price + ln_noise);
            let miss = (sum / slack_w).ln();
            if miss.abs() < 1e-12 || high - low < tolerance::ROOT * ln_price.abs() {
                return (ln_price, iteration);
            }
            if miss > 0.0 {
                low = ln_price;
            } else {
                high = ln_price;
            }
            let next = ln_price - miss * sum / slope;
            ln_price = if next > low && next < high {
                next
            } else if low.is_finite() && high.is_finite() {
                0.5 * (low + high)
            } else {
                ln_price + miss.clamp(-20.0, 20.0)
            };
        }
        (ln_price, 100)
    }

    /// `Σ (P_k − P_k^min)` at a price, and its derivative by the price's logarithm.
    fn total_over(&mut self, ln_price: f64) -> (f64, f64) {
        let (mut sum, mut slope) = (0.0, 0.0);
        for Group { curve, start, end } in &mut self.groups {
            let range = *start..*end;
            let rows = self.ln_gain[range.clone()]
                .iter()
                .zip(&self.least_w[range.clone()])
                .zip(&mut self.over_w[range]);
            let mut add = |(ln_excess, ln_slope): (f64, f64), least_w: f64, over: &mut f64| {
                *over = least_w * ln_excess.exp();
                sum += *over;
                slope += *over * ln_slope;
            };
            match curve {
                Curve::Table(table) => {
                    for ((&ln_gain, &least_w), over) in rows {
                        add(table.respond(ln_price - ln_gain), least_w, over);
                    }
                }
                Curve::Exact(exact, memory) => {
                    for (((&ln_gain, &least_w), over), last) in rows.zip(memory) {
                        let response = exact.respond(ln_price - ln_gain, last.as_ref());
                        *last = Some(response);
                        add((response.ln_excess, response.slope), least_w, over);
                    }
                }
            }
        }
        (sum, slope)
    }

    /// Powers (the whole budget, to rounding) and bandwidths from `over_w`, in the problem's order;
    /// returns the relative duality gap at the price `ν`.
    fn allocate(&mut self, slack_w: f64, price: f64, allocation: &mut Allocation) -> f64 {
        let users = self.order.len();
        allocation.power_w.resize(users, 0.0);
        allocation.bandwidth_hz.resize(users, 0.0);
        let scale = slack_w / self.over_w.iter().sum::<f64>();
        let (mut total_hz, mut gap_hz) = (0.0, 0.0);
        for Group { curve, start, end } in &self.groups {
            let ln_uses_scale = curve.exact().qos().ln_uses_scale();
            let (error, slope_error) = curve.error_bounds();
            for i in *start..*end {
                let over_w = self.over_w[i] * scale;
                let power_w = self.least_w[i] + over_w;
                let (w, ln_z, elasticity) = curve.point(over_w / self.least_w[i]);
                let bandwidth_hz = (ln_z - ln_uses_scale).exp() * (1.0 + error);
                // D_k, and how far it may be off.
                let own_price = bandwidth_hz / power_w * elasticity;
                let uncertain = slope_error / w.min(1.0) * own_price;
                let valid = own_price < 1.4 * price;
                gap_hz += if valid {
                    ((price - own_price).abs() + uncertain) * over_w
                } else {
                    f64::INFINITY
                };
                gap_hz += 2.0 * error * bandwidth_hz;
                total_hz += bandwidth_hz;
                let index = self.order[i];
                allocation.power_w[index] = power_w;
                allocation.bandwidth_hz[index] = bandwidth_hz;
            }
        }
        gap_hz / total_hz
    }
}

impl Solution {
    fn infeasible(infeasibility: Infeasibility) -> Self {
        Self { status: Status::Infeasible(infeasibility), ..Self::default() }
    }
}

impl Default for Solution {
    /// An empty answer, to solve into.
    fn default() -> Self {
        Self {
            status: Status::Inaccurate,
            allocation: Allocation::default(),
            price_hz_per_w: 0.0,
            duality_gap: f64::INFINITY,
            iterations: 0,
        }
    }
}
