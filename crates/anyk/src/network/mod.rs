//! Networks that run at any number of users: permutation-equivariant by construction, with analytic
//! gradients.
//!
//! A [`PriceResponse`] with a [`PowerSplit`] is another way to be so: every user sees the others through
//! one multiplier.
//!
//! A [`Gnn`] is a stack of layers `h_k ← σ(U h_k + V·agg_{j≠k} h_j + c)` (paper, eq. (Out-hidd)) and an
//! output that may carry a size law of its own. Forward and backward cost O(K). Parameters are plain
//! slices, so that an optimizer, a file and a test see the same numbers.

mod activation;
mod aggregator;
mod convex_law;
mod dense;
mod edge_gnn;
mod gnn;
mod law;
mod output;
mod power_split;
mod price_response;

pub use activation::Activation;
pub use aggregator::Aggregator;
pub use convex_law::ConvexLaw;
pub use dense::{Dense, DenseTape, Real};
pub use edge_gnn::{EdgeGnn, EdgeTape, LinkGraph};
pub use gnn::{Gnn, Tape};
pub(crate) use law::UNIT_HZ;
pub use law::{BandwidthLaw, CompiledLaw, LawShape, SizeScale, scaled_gain};
pub use output::Output;
pub use power_split::{PowerSplit, SplitRule};
pub use price_response::{CONTEXT, ClassResponse, ContextScaling, PriceResponse, ResponseGradient};
