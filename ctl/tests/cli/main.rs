//! The program as its users run it: output, exit codes, JSON, signals.

#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod bench;

mod card;
mod completions;
mod config;
mod dotenv;
mod help;
mod infra;
mod interrupt;
mod layers;
mod models;
mod new;
mod offline;
mod plan;
mod routes;
mod run;
mod schemas;
mod secrets;
mod serve;
mod serving;
mod session;
mod terminal;
mod validate;
