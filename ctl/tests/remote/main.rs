//! Agents elsewhere: one process serves, another delegates to it.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

#[allow(dead_code, reason = "the tests of the command line use the rest")]
#[path = "../cli/bench.rs"]
mod bench;
mod conversations;
mod docs;
mod foreign;
mod kit;
mod live;
mod loops;
mod neighbours;
mod questions;
mod restart;
#[path = "../a2a/sdk.rs"]
mod sdk;
#[allow(dead_code, reason = "the tests of the command line use the rest")]
#[path = "../cli/serving.rs"]
mod serving;
mod team;
mod wild;
