//! The agent of `examples/a2a-conformance`, served by the program, against the requirements of the official
//! compatibility kit of A2A and against clients of the official SDKs.

#![allow(
    clippy::expect_used,
    clippy::format_push_string,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "helpers of tests; the exemption in clippy.toml reaches test functions only"
)]

mod bridge;
mod calls;
mod kit;
mod peers;
mod sdk;
mod served;
mod signed;
mod webhook;
