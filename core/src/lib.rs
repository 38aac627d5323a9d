//! Registry, manifests, wiring, sessions and turns of mas.

pub mod blueprint;
pub mod clock;
pub mod config;
pub mod diagnostic;
pub mod manifest;
pub mod registry;
pub mod session;
pub mod team;
pub mod turn;
pub mod wiring;
