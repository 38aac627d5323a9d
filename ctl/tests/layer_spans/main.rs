//! What a log holds of layers: a program of its own, because what is logged is decided once for all threads of one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests; the exemption in clippy.toml reaches test functions only"
)]

#[allow(dead_code, reason = "the peers of the other tests of layers, of which few are needed here")]
#[path = "../layers/peer.rs"]
mod peer;
mod spans;
