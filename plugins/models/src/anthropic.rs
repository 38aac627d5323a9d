//! `anthropic`: the Messages API of Anthropic, as its own protocol.
//!
//! Sources: platform.claude.com/docs/en/api/messages (requests), /docs/en/build-with-claude/streaming (events),
//! /docs/en/api/errors, /docs/en/build-with-claude/handling-stop-reasons, /docs/en/build-with-claude/thinking,
//! /docs/en/build-with-claude/structured-outputs; `anthropic-version: 2023-06-01`.
//!
//! The URL: an `api_base` that ends in `/messages` is used exactly; one whose path ends in `/v1` gets `/messages`;
//! any other gets `/v1/messages`, as in `https://api.deepseek.com/anthropic`. A query is kept.
//!
//! What is sent:
//!
//! - `max_tokens` is what the manifest says, else 16384: the API wants a number.
//! - Neighbours of one role are one message; all results of one answer are one user message. Blank texts are left
//!   out, since the API refuses them.
//! - Files of the types JPEG, PNG, GIF, WebP and PDF are sent as they are, others by name.
//! - Arguments that were no object are sent back as the object `{"malformed": "<text>"}`.
//! - Reasoning (`thinking`, `redacted_thinking`) is sent back unchanged, with its signature and in its place, within
//!   the running turn.
//! - An output schema is `output_config.format`, narrowed to what that knows, also beside tools. One that it cannot
//!   say (an object with names that are not listed), and any schema for a model that refuses the field, is told in
//!   the system prompt; core checks the answer in each case.
//! - `temperature` is left out for a model that refuses it.
//!
//! Input tokens are those read, written to the cache and read from it, together.

mod reader;
mod request;
mod schema;

use std::{borrow::Cow, sync::Arc};

use mas_comm_kit::http::{HeaderText, Transport};
use mas_contracts::{
    Build, BuildContext, Builder, ChatRequest, Descriptor, Error, ModelContract, Result, inventory, schema_of,
};
use serde_json::{Map, Value};

use crate::{
    native::{self, Base, PerModel},
    params::Params,
    refusal,
    wire::{Reader, Wire, WireRequest},
};
use reader::Answer;
use request::Learnt;

/// The provider's name, also of its provider data.
const NAME: &str = "anthropic";

const USUAL_BASE: &str = "https://api.anthropic.com";
const USUAL_KEY: &str = "ANTHROPIC_API_KEY";

inventory::submit! {
    Descriptor {
        name: Cow::Borrowed(NAME),
        aliases: Cow::Borrowed(&[]),
        origin: Cow::Borrowed(env!("CARGO_PKG_NAME")),
        version: Cow::Borrowed(env!("CARGO_PKG_VERSION")),
        summary: Cow::Borrowed("Claude models, by the Messages API of Anthropic."),
        example: Cow::Borrowed("model_access: {provider: anthropic}\n"),
        schema: schema_of::<Params>,
        check: Params::check,
        builder: Builder::Model(Build::Linked(|cx, params| open(cx, params, None))),
    }
}

/// The provider, over the team's HTTP client unless a transport is given.
pub(crate) fn open(
    cx: &BuildContext,
    params: &Value,
    transport: Option<Arc<dyn Transport>>,
) -> Result<Arc<dyn ModelContract>> {
    native::open(cx, params, transport, |params| Messages::new(cx, params))
}

/// The wire form.
struct Messages {
    url: String,
    headers: Vec<(String, HeaderText)>,
    /// The variable that holds the key that is sent.
    key: Option<String>,
    extra: Map<String, Value>,
    learnt: PerModel<Learnt>,
}

impl Messages {
    fn new(cx: &BuildContext, params: &Params) -> Result<Self> {
        let key = params.key(cx, Some(USUAL_KEY))?;
        let mut own = vec![("anthropic-version".to_owned(), HeaderText::Plain("2023-06-01".to_owned()))];
        own.extend(key.as_ref().map(|key| ("x-api-key".to_owned(), HeaderText::Secret(key.secret.clone()))));
        Ok(Self {
            url: url(params.api_base.as_deref().unwrap_or(USUAL_BASE)),
            headers: native::headers(own, params.headers()),
            key: key.map(|key| key.variable),
            extra: params.body.clone(),
            learnt: PerModel::default(),
        })
    }
}

impl Wire for Messages {
    fn request(&self, request: &ChatRequest<'_>, stream: bool) -> Result<WireRequest> {
        let mut body = request::body(request, stream, self.learnt.of(request.model));
        native::extend(&mut body, &self.extra);
        Ok(WireRequest { url: self.url.clone(), headers: self.headers.clone(), body: Value::Object(body) })
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(Answer::default())
    }

    fn refusal(&self, url: &str, status: u16, body: &str) -> Error {
        refusal::refusal(NAME, url, self.key.as_deref(), status, body)
    }

    fn adapt(&self, request: &ChatRequest<'_>, status: u16, body: &str) -> bool {
        let told = refusal::Told::of(body);
        let names =
            |field: &str| status == 400 && told.message.contains(field) && !self.extra.contains_key(field);
        let unknown = told.message.contains("deprecated") || told.unsupported(&["temperature"]).is_some();
        if request.temperature.is_some() && names("temperature") && unknown {
            self.learnt.learn(request.model, |learnt| learnt.no_temperature = true);
            return true;
        }
        if request.output_schema.is_some() && names("output_config") {
            self.learnt.learn(request.model, |learnt| learnt.no_output_config = true);
            return true;
        }
        false
    }
}

fn url(api_base: &str) -> String {
    let base = Base::of(api_base);
    let path = base.path;
    if path.ends_with("/messages") {
        return base.url(path, None);
    }
    let more = if path.ends_with("/v1") { "/messages" } else { "/v1/messages" };
    base.url(&format!("{path}{more}"), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_follows_the_rule() {
        let cases = [
            ("https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
            ("http://h:8/", "http://h:8/v1/messages"),
            ("http://h/v1", "http://h/v1/messages"),
            ("http://h/v1/", "http://h/v1/messages"),
            ("http://h/anthropic", "http://h/anthropic/v1/messages"),
            ("http://h/v1/messages", "http://h/v1/messages"),
            ("http://h/x/messages?version=2#top", "http://h/x/messages?version=2"),
            ("http://h?version=2", "http://h/v1/messages?version=2"),
        ];
        for (base, expected) in cases {
            assert_eq!(url(base), expected, "{base}");
        }
    }
}
