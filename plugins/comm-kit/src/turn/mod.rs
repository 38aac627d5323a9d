//! A turn at an agent elsewhere, as tasks are spoken there.
//!
//! [`Upstream`] is the agent as a protocol reaches it: one call each, no second try. Which call follows which, and
//! what of it all is the reply, is not its business.

mod upstream;

pub use upstream::{Answer, Ask, Heard, Update, Updates, Upstream};
