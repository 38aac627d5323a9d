//! Registry, manifests, wiring, sessions and turns of mas.
//!
//! ```text
//! files ── manifest::load ── documents ─┐
//! flags, config ─────────── config ─────┴─ blueprint::resolve ── Blueprint
//!                                                                    │ wiring::wire      pure until here
//!                     registry ── names, builders ───────────────────┤
//!                                                                    │ wiring::connect
//!                          session ── turn ◄── host, turn, submit ── team
//! ```
//!
//! | module | is about |
//! |---|---|
//! | [`diagnostic`] | problems with a place in a file; every stage reports them all at once |
//! | [`manifest`] | files, read, checked and followed to typed documents |
//! | [`config`] | `config.yaml` in layers |
//! | [`blueprint`] | what documents, flags and configuration come to |
//! | [`registry`] | every implementation that the program knows, by category and name |
//! | [`wiring`] | names found, parameters checked, routes planned; then everything built |
//! | [`exposure`] | who listens where: sockets grouped, bound, drained |
//! | [`team`] | the live agents, and the host that exposures and backends are given |
//! | [`session`] | histories, queues of turns, what was admitted before |
//! | [`turn`] | a pattern's steps, carried out |
//! | [`clock`] | time and ids of a running program |
//!
//! There is no HTTP, no TLS, no provider and no terminal here: those are plugins, and the program above.

pub mod blueprint;
pub mod clock;
pub mod config;
pub mod diagnostic;
pub mod exposure;
pub mod manifest;
pub mod registry;
pub mod session;
pub mod team;
pub mod turn;
pub mod wiring;
