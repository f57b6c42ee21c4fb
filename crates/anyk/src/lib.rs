//! Resource allocation for wireless networks, exact and learned, at any number of users.
//!
//! # The problem
//!
//! A base station serves `K` users. User `k` has large-scale gain `α_k`, gets power `P_k` and
//! bandwidth `B_k`, and must lose at most a share `ε` of its packets, those that come late included.
//! Bandwidth is what is scarce:
//!
//! ```text
//! min  Σ_k B_k     s.t.   C^E_k(α_k P_k, B_k) ≥ S^E_k  for each user k,     Σ_k P_k ≤ P_max
//! P,B
//! ```
//!
//! `C^E` is the effective capacity of the fading link at finite blocklength, `S^E` the effective
//! bandwidth of the arrivals. See `docs/notation.md` for all symbols.
//!
//! The paper's other problems stand beside it: two with closed forms, [`problem::QosPower`] (P5) and
//! [`problem::EqualBandwidth`] (P6), and [`problem::Interference`], in which links share a band and powers
//! are controlled, or links scheduled, for the largest sum rate.
//!
//! # In ten lines
//!
//! ```
//! use anyk::Config;
//! use anyk::problems::urllc::{Status, Urllc, UrllcSolver};
//!
//! let system = Config::default().validate()?;                  // the paper's cell
//! let gains = [60.0, 90.0, 120.0].map(|distance_m| system.path_loss().gain(distance_m));
//! let problem = Urllc::uniform(&system, gains)?;
//! let solution = UrllcSolver::default().solve(&problem);
//! assert_eq!(solution.status, Status::Optimal);
//! assert!(solution.duality_gap < 1e-8);                        // the proof of optimality
//! let judged = problem.assess(&solution.allocation)?;          // an independent judge agrees
//! assert!(judged.is_feasible() && judged.kkt_residual < 1e-8);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The pipeline
//!
//! The modules are the way the data flows; each uses only those before it.
//!
//! | module | from | to |
//! | --- | --- | --- |
//! | [`units`] | dBm, dB | W, ratios |
//! | [`channel`] | places on a road or a field | gains, fading |
//! | [`problem`] | gains, service classes | objective, constraints, the judge of any answer |
//! | [`solver`] | a problem | its exact optimum, with a certificate |
//! | [`network`] | features of K users | outputs, at any K; gradients |
//! | [`training`] | samples at one K | parameters |
//! | [`policy`] | the gains of any K users | an allocation, without searching for the optimum |
//! | [`evaluation`] | many random cells | availability, bandwidth, the gap to the optimum |
//! | [`paper`] | the paper's settings | its tables and figures, measured |
//! | [`exchange`] | files | users, models, checkpoints; and answers, as JSON |
//! | [`diagnosis`] | a policy, or samples of one | its size law, and the networks that follow it |
//!
//! [`Config`] holds every parameter and is checked once, into a [`System`]; all tolerances are in
//! [`tolerance`].

pub mod channel;
mod config;
pub mod diagnosis;
pub mod exchange;
pub mod framework;
pub mod math;
pub mod network;
pub mod problems;
pub mod qos;
pub mod study;
pub mod tolerance;
pub mod units;

pub use config::{
    CellConfig, Config, ConfigError, FrameConfig, PathLossConfig, RoadConfig, System,
};

/// Names the sources that this library was built from: 16 hexadecimal digits. Results that are kept carry it, so
/// that new code never takes old results for its own.
pub const SOURCES: &str = env!("ANYK_SOURCES");

/// The code in README.md runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
