//! Wiring: from a blueprint to a live team.
//!
//! ```text
//! Blueprint ──▶ routes      who reaches whom, over which backend, and why       pure
//!           ──▶ exposures   which endpoints this process listens on             pure
//!           ──▶ wire        names found, parameters checked: a Wiring           pure
//!                ├▶ live    agents elsewhere asked whether they are there       reads only
//!                └▶ connect backends built, tools listed: a Team                effects
//! ```
//!
//! Everything up to `connect` reports all problems at once, each at its place in the YAML.

mod connect;
mod exposures;
pub mod layers;
mod live;
mod models;
mod names;
mod routes;
mod wire;

pub(crate) use connect::failed;
pub use connect::{Connection, connect};
pub use exposures::{Hosting, PlannedExposure, plan_exposures};
pub use live::{Probed, probe_routes};
pub use models::build_provider;
pub use names::{check_defaults, check_infra, check_names};
pub use routes::{PlannedRoute, plan_routes};
pub(crate) use wire::refused_row;
pub use wire::{Wiring, check_routes, wire};
