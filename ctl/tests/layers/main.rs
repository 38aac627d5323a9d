//! Layers around backends of `agent_comm`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests; the exemption in clippy.toml reaches test functions only"
)]

mod conformance;
mod limits;
mod peer;
mod resending;
