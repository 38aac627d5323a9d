//! `stack`: the whole history.

use std::{borrow::Cow, sync::Arc};

use mas_contracts::{
    Build, Builder, ContextManagerContract, Descriptor, Message, View, inventory, parse_params, schema_of,
};
use schemars::JsonSchema;
use serde::Deserialize;

/// `stack` has no parameters.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {}

inventory::submit! {
    Descriptor {
        name: Cow::Borrowed("stack"),
        aliases: Cow::Borrowed(&["stack@v1", "full-history", "full-history@v1"]),
        origin: Cow::Borrowed(env!("CARGO_PKG_NAME")),
        version: Cow::Borrowed(env!("CARGO_PKG_VERSION")),
        summary: Cow::Borrowed("Sends the whole history."),
        example: Cow::Borrowed("context_manager: {type: stack}\n"),
        schema: schema_of::<Params>,
        check: |params| {
            let help = "it sends the whole history; `sliding-window` bounds it";
            crate::check::<Params>(params, "stack", &[], help)
        },
        builder: Builder::ContextManager(Build::Linked(|_, params| {
            let Params {} = parse_params(params)?;
            Ok(Arc::new(Stack))
        })),
    }
}

/// The context manager `stack`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stack;

impl ContextManagerContract for Stack {
    fn view<'a>(&self, history: &'a [Arc<Message>]) -> View<'a> {
        let first = history.iter().position(|message| matches!(**message, Message::User { .. }));
        Cow::Borrowed(first.and_then(|first| history.get(first..)).unwrap_or_default())
    }
}
