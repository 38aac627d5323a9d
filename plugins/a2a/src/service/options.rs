//! What can be set about the tasks of an agent.

use std::time::Duration;

use crate::model::ResponseKind;

/// What CancelTask does to the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OnCancel {
    /// Stops it, and everything below it.
    #[default]
    Interrupt,
    /// Leaves it running; what it gives back is told to nobody.
    Detach,
}

/// The limits and choices of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// What CancelTask does; default `interrupt`.
    pub(crate) cancel: OnCancel,
    /// How long a cancelled turn may take to end before its task is told as canceled anyway; default 2 s.
    pub(crate) cancel_grace: Duration,
    /// Turns that run or wait at once; more are refused. Default 1,024.
    pub(crate) turns: usize,
    /// How long one turn may take; the host's own limit if that is less. Default 1 h.
    pub(crate) turn: Duration,
    /// Messages that wait for one task at work; more are refused. Default 16.
    pub(crate) queue: usize,
    /// Parts of a message. Default 100.
    pub(crate) parts: usize,
    /// Bytes of the metadata of a message, of one of its parts, and of a request, about. Default 64 KiB.
    pub(crate) metadata: usize,
    /// Tasks that wait for somebody at once; beyond it the one that waits longest fails. Default 1,024.
    pub(crate) waiting: usize,
    /// Open streams at once; more are refused. Default 20,000.
    pub(crate) streams: usize,
    /// Events of a task that those who read along can fall behind; default 4,096.
    pub(crate) events: usize,
    /// Bytes of those events, about; default 4 MiB.
    pub(crate) event_bytes: usize,
    /// Messages in the history of a task; older ones go. Default 1,000.
    pub(crate) history: usize,
    /// Bytes of the artifacts of a task, about; a turn that gives more fails. Default 64 MiB.
    pub(crate) artifact_bytes: usize,
    /// Message ids that are remembered, so that one that comes again runs nothing. Default 32,768.
    pub(crate) remembered: usize,
    /// The kinds of response that callers may ask for; default none.
    pub(crate) kinds: Vec<ResponseKind>,
    /// How long a turn may take that is answered with a message because its caller asks for one; default as long as
    /// any other.
    pub(crate) message_limit: Option<Duration>,
    /// How long the answer to a blocking message waits for its webhooks to be told; default 1 s.
    pub(crate) push_wait: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cancel: OnCancel::default(),
            cancel_grace: Duration::from_secs(2),
            turns: 1024,
            turn: Duration::from_secs(3600),
            queue: 16,
            parts: 100,
            metadata: 64 * 1024,
            waiting: 1024,
            streams: 20_000,
            events: 4096,
            event_bytes: 4 * 1024 * 1024,
            history: 1000,
            artifact_bytes: 64 * 1024 * 1024,
            remembered: 32_768,
            kinds: Vec::new(),
            message_limit: None,
            push_wait: Duration::from_secs(1),
        }
    }
}
