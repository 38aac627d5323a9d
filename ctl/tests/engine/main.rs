//! Turns, sessions and delegation, with the real patterns and backends and scripted models.
//!
//! Time is paused: a wait costs nothing, and a limit is met to the millisecond.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests; the exemption in clippy.toml reaches test functions only"
)]

mod team;

mod cancel;
mod delegation;
mod ends;
mod model;
mod questions;
mod sessions;
mod turns;
