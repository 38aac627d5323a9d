//! Turns, sessions and delegation, with the real patterns and backends and scripted models.
//!
//! Time is paused: a wait costs nothing, and a limit is met to the millisecond.

mod team;

mod cancel;
mod delegation;
mod questions;
mod sessions;
mod turns;
