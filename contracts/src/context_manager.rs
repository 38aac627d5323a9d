//! `context_manager`: which part of a conversation's past a model sees.

use std::{borrow::Cow, sync::Arc};

use crate::Message;

/// The past that is sent: a slice where nothing is rewritten.
pub type View<'a> = Cow<'a, [Arc<Message>]>;

/// A way of choosing the past.
///
/// Rules: a tool call and its result stay together, the view begins with a user message, and the messages of
/// the running turn are not its business (core sends them whole).
pub trait ContextManagerContract: Send + Sync {
    /// The view of `history`, oldest first.
    fn view<'a>(&self, history: &'a [Arc<Message>]) -> View<'a>;
}
