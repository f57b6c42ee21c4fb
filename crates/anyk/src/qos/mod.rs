//! QoS of one user's link: the demand of its service class, the rate for a power and bandwidth, and the bandwidth
//! `b(u)` that a received power requires.

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
