//! The seam between a provider's wire form and what sends it.

use std::sync::Arc;

use mas_comm_kit::http::HeaderText;
use mas_contracts::{ChatRequest, Completion, Error, Result};
use serde_json::Value;

/// A provider's wire form: how a request is written and how an answer is read. Pure, no I/O.
pub(crate) trait Wire: Send + Sync {
    /// The request, for a stream of events or for one JSON body.
    ///
    /// # Errors
    /// What of it cannot be written.
    fn request(&self, request: &ChatRequest<'_>, stream: bool) -> Result<WireRequest>;

    /// A reader for one answer to that request.
    fn reader(&self) -> Box<dyn Reader>;

    /// The error for a status that is no success. `url` is that of the request as it may be shown, `body` an excerpt
    /// without secrets.
    fn refusal(&self, url: &str, status: u16, body: &str) -> Error;

    /// Takes a refusal as news of what the model takes. Whether the request, written anew, is worth one more try;
    /// what was learnt is kept. Default no.
    fn adapt(&self, _request: &ChatRequest<'_>, _status: u16, _body: &str) -> bool {
        false
    }
}

/// A request as it is sent: POST, JSON. It has no Debug, since the URL may be secret in parts.
#[derive(Clone)]
pub(crate) struct WireRequest {
    /// The whole URL.
    pub(crate) url: String,
    /// The headers, beside the content type and what is accepted.
    pub(crate) headers: Vec<(String, HeaderText)>,
    /// The body.
    pub(crate) body: Value,
}

/// Reads one answer: a stream of events, or one whole body.
pub(crate) trait Reader: Send {
    /// Takes one server-sent event: its name, if it has one, and its data. Returns the pieces to emit.
    ///
    /// # Errors
    /// What is wrong with it, or the error that it tells of.
    fn event(&mut self, name: Option<&str>, data: &str) -> Result<Vec<Piece>>;

    /// Takes a whole JSON body instead of a stream.
    ///
    /// # Errors
    /// What is wrong with it, or the error that it tells of.
    fn whole(&mut self, body: Value) -> Result<Vec<Piece>>;

    /// Whether the terminal marker was seen, so that the end of the bytes is an end.
    fn is_complete(&self) -> bool;

    /// Whether nothing more comes, so that the engine need not read on. Default no: it reads to the end of the bytes.
    fn is_over(&self) -> bool {
        false
    }

    /// The completion; called once, when `is_complete`, else the engine makes the error.
    ///
    /// # Errors
    /// What is missing although the answer has ended.
    fn finish(self: Box<Self>) -> Result<Completion>;
}

/// A piece of an answer, as it comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A piece of the text.
    Text(Arc<str>),
    /// A piece of the reasoning.
    Reasoning(Arc<str>),
    /// A part of a tool call: nothing to emit, but no retry after it.
    Call,
    /// Something that is passed over, and its kind as the server has it; a warning in the log.
    Passed(&'static str, Arc<str>),
}
