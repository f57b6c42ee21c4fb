//! Remark 1 of the paper as a tool: "a GNN can generalize to the size of a PE policy if the size-scaling
//! law of the GNN aligns with the size-scaling law of the PE policy".
//!
//! A policy is known by [`Samples`] of it, drawn from a [`Subject`] that can be called or read from a file.
//! Its [`Diagnosis`] has `f(x, K)` with confidence, the tests, and the size law; a [`Recommendation`] puts
//! the law of every network beside it, and [`predict`] says from small sizes what a network will miss at
//! large ones.
//!
//! ```
//! use anyk::diagnosis::{Answer, Diagnosis, SizeLaw, Subject};
//! use anyk::framework::Options;
//! let subject = Subject::built_in("urllc-power", &Options::default());
//! let mut subject = subject.ok_or("no such policy")??;
//! let samples = subject.sample(&[2, 5, 10, 20, 40], 1000, 1)?;
//! let diagnosis = Diagnosis::of_subject(&mut subject, &samples, 1)?;
//! assert_eq!(diagnosis.order.equivariant, Answer::Yes);
//! assert!(matches!(diagnosis.law, SizeLaw::Normalised { .. }));      // powers share one budget
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod advice;
mod candidates;
mod estimate;
mod extrapolation;
mod finding;
mod law;
mod opinion;
mod order;
mod prediction;
mod residual;
mod samples;
mod selection;
mod subject;
mod tables;
mod toy;
mod verdict;

pub use advice::Ground;
pub use candidates::{Candidate, Recommendation, output_name};
pub use estimate::{Curve, Estimate, Point, QUANTILES};
pub use finding::Finding;
pub use law::Law;
pub use order::{Order, Pattern};
pub use prediction::{PROMISE_PERCENT, Prediction, SMALL_PERCENT, predict};
pub use samples::{FEWEST_INSTANCES, FEWEST_SAMPLES, Instance, Samples, SizeSamples, Support};
pub use selection::LawScore;
pub use subject::{Function, Subject, built_in, quantities};
pub use toy::{ToyPoint, ToyPolicy, toy_policies};
pub use verdict::{Answer, Diagnosis, Invariance, SizeLaw};
