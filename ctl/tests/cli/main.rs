//! The program as its users run it: output, exit codes, JSON, signals.

mod bench;

mod config;
mod interrupt;
mod offline;
mod plan;
mod run;
mod validate;
