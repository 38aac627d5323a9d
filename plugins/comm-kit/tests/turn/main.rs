//! A turn at an agent elsewhere, against a scripted one on a paused clock: the rules B3 of the turn engine, each a test.
#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "helpers of tests")]

mod bounds;
mod chaos;
mod continuity;
mod given_up;
mod hygiene;
mod interrupted;
mod kit;
mod ladder;
mod shapes;
mod ways;
