//! One user's link: what a service class asks of it, what a power and a bandwidth give, and the bandwidth
//! `b(u)` that a received power needs.

mod bandwidth_function;
mod bandwidth_table;
mod ceiling;
mod curve;
mod margin;
mod required_bandwidth;
mod service;

pub use bandwidth_function::{BandwidthFunction, KnownBandwidth};
pub use bandwidth_table::BandwidthTable;
pub(crate) use bandwidth_table::CONVEX_UP_TO;
pub(crate) use curve::{Curve, Curves};
pub use margin::{Margin, MarginCurvature, Qos};
pub(crate) use required_bandwidth::Response;
pub use required_bandwidth::{BandwidthPoint, RequiredBandwidth, TooWeak};
pub use service::ServiceClass;
