//! Problems with a place: what every stage from reading a file to wiring a team reports.
//!
//! A [`Diagnostic`] has a stable code, a sentence, labelled [`Location`]s and a help line. A [`Report`] collects them,
//! so that every problem shows at once. Rendering with source lines and carets is the caller's: both implement what
//! `miette` needs ([`Diagnostic::rendered`]); the plain form is one line each, and [`Record`] is the JSON form.

mod mask;
mod nearest;
mod render;
mod report;
mod source;

pub(crate) use mask::starred;
pub use nearest::{nearest, one_of};
pub use render::Rendered;
pub use report::{Diagnostic, Label, Record, Report, Severity};
pub use source::{Location, Source};
pub(crate) use source::{fold, shown_name};
