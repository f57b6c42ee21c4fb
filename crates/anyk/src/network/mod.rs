//! Networks for any number of users: permutation-equivariant by construction, with analytic gradients.
//!
//! A [`PriceResponse`] with a [`PowerSplit`] is equivariant as well: each user depends on the others only through one
//! multiplier.
//!
//! A [`Gnn`] is a stack of layers `h_k ← σ(U h_k + V·agg_{j≠k} h_j + c)` (paper, eq. (Out-hidd)) and an output layer
//! that may have its own size law. Forward and backward passes cost O(K). Parameters are plain slices, so that
//! optimizers, files and tests use the same numbers.

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
