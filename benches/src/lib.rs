//! Benches of mas, each beside a floor measured in the same run.
//!
//! ```text
//!   floor ── what any framework does at the least ─┐
//!                                                  ├─ measure: interleaved pairs, CPU, memory ── ratio
//!   team  ── the same work done by mas ────────────┘
//! ```
//!
//! A ratio holds on any machine; a time does not. The work is the same on both sides: a plain turn is one model
//! call, a delegation is three (the parent asks, the child answers, the parent answers), and a fan-out of n is
//! n + 2. The models are mocks in the process which answer at once or after a fixed sleep, and both sides count
//! their calls, so that a side which drops work is found out.

pub mod floor;
pub mod generate;
pub mod measure;
pub mod team;
pub mod work;

/// Why a bench cannot be run, or that what it ran went wrong.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Something outside the bench.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// A turn failed, or answered wrongly.
    #[error("{0}")]
    Wrong(String),
}

impl From<mas_contracts::Error> for Failure {
    fn from(error: mas_contracts::Error) -> Self {
        Self::Wrong(format!("{error:#}"))
    }
}

/// The result of a bench.
pub type Result<T> = std::result::Result<T, Failure>;
