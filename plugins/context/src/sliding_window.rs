//! `sliding-window`: the last turns of the history.

use std::{borrow::Cow, sync::Arc};

use mas_contracts::{
    Build, Builder, ContextManagerContract, Descriptor, Message, View, inventory, parse_params, schema_of,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::cuts;

const DEFAULT_TURNS: usize = 10;
const TAKEN: [&str; 3] = ["max_turns", "window_size", "max_messages"];

/// Parameters of `sliding-window`; where several are given, all hold.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Past turns that are sent at most; default 10 unless another limit is given.
    #[serde(default)]
    max_turns: Option<usize>,
    /// Past messages that are sent at most, in whole turns; default no limit.
    #[serde(default)]
    max_messages: Option<usize>,
    /// Another name of `max_messages`.
    #[serde(default)]
    window_size: Option<usize>,
}

inventory::submit! {
    Descriptor {
        name: Cow::Borrowed("sliding-window"),
        aliases: Cow::Borrowed(&["sliding-window@v1", "sliding_window"]),
        origin: Cow::Borrowed(env!("CARGO_PKG_NAME")),
        version: Cow::Borrowed(env!("CARGO_PKG_VERSION")),
        summary: Cow::Borrowed("Sends the last turns of the history, each of them whole."),
        example: Cow::Borrowed("context_manager: {type: sliding-window, params: {max_turns: 10}}\n"),
        schema: schema_of::<Params>,
        check: |params| {
            let help = "it counts turns (`max_turns`) or messages (`max_messages`)";
            crate::check::<Params>(params, "sliding-window", &TAKEN, help)
        },
        builder: Builder::ContextManager(Build::Linked(|_, params| {
            let params: Params = parse_params(params)?;
            let messages = params.max_messages.into_iter().chain(params.window_size).min();
            Ok(Arc::new(SlidingWindow::new(params.max_turns, messages)))
        })),
    }
}

/// The context manager `sliding-window`.
#[derive(Clone, Copy, Debug)]
pub struct SlidingWindow {
    turns: usize,
    messages: usize,
}

impl SlidingWindow {
    /// The window of at most so many turns and messages; 10 turns if neither is limited.
    #[must_use]
    pub fn new(turns: Option<usize>, messages: Option<usize>) -> Self {
        let turns = turns.unwrap_or(if messages.is_some() { usize::MAX } else { DEFAULT_TURNS });
        Self { turns, messages: messages.unwrap_or(usize::MAX) }
    }
}

impl Default for SlidingWindow {
    fn default() -> Self {
        Self::new(None, None)
    }
}

impl ContextManagerContract for SlidingWindow {
    fn view<'a>(&self, history: &'a [Arc<Message>]) -> View<'a> {
        let cuts = cuts(history);
        let fits = |at: &usize| history.len().saturating_sub(*at) <= self.messages;
        let start = cuts.iter().rev().take(self.turns).take_while(|at| fits(at)).last();
        Cow::Borrowed(start.and_then(|start| history.get(*start..)).unwrap_or_default())
    }
}
