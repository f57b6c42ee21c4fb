//! Size laws of policies: remark 1 of the paper as a tool. The remark says that "a GNN can generalize to the size of a
//! PE policy if the size-scaling law of the GNN aligns with the size-scaling law of the PE policy".
//!
//! The input is [`Samples`] of a policy. They are drawn from a [`Subject`], which AnyK can call, or read from a file. A
//! [`Diagnosis`] holds the estimate of `f(x, K)` with its confidence intervals, the results of the tests, and the size
//! law. A [`Recommendation`] compares this size law with those of the networks. [`predict`] uses samples of small sizes
//! to predict the loss of a network at a large size.
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
pub use candidates::{Candidate, Layer, Recommendation};
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
