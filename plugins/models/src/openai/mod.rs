//! `openai`: any server that speaks the OpenAI chat completions, and `ollama`, which is one.
//!
//! The address of a call, from `api_base`: one that ends in `/chat/completions` is used as it is; one without a path
//! gets `/v1/chat/completions`; any other gets `/chat/completions`; a query stays. So `http://host`,
//! `http://host/v1` and Azure's `https://NAME.openai.azure.com/openai/deployments/ID?api-version=V` all work. The key
//! goes into `Authorization: Bearer`, for hosts of Azure into `api-key`.
//!
//! A field that a model turns out not to take (`max_tokens`, which newer models call `max_completion_tokens`, a
//! temperature, `stream_options`) is left out or renamed, the request is sent once more, and the provider remembers it
//! for the model. So it is with `response_format`: a schema is then told in the system prompt, and core checks the
//! answer as always.
//!
//! Source: the OpenAI API reference, "Chat Completions"; what other servers make of it is in the tests.

mod calls;
mod reader;
mod reasoning;
mod request;
mod url;

use std::{borrow::Cow, sync::Arc};

use mas_comm_kit::{
    Secret,
    http::{HeaderText, Transport},
};
use mas_contracts::{
    Build, BuildContext, Builder, ChatRequest, Descriptor, Error, ModelContract, Result, inventory, schema_of,
};
use serde_json::{Map, Value};

use crate::{
    native::{self, PerModel},
    params::Params,
    refusal,
    wire::{Reader, Wire, WireRequest},
};
use reader::ChatReader;
use request::Learnt;

/// Fields that a model may turn out not to take, the more telling names first.
const OPTIONAL: [&str; 4] = ["max_completion_tokens", "max_tokens", "stream_options", "temperature"];

inventory::submit! {
    Descriptor {
        name: Cow::Borrowed("openai"),
        aliases: Cow::Borrowed(&["openai-compatible"]),
        origin: Cow::Borrowed(env!("CARGO_PKG_NAME")),
        version: Cow::Borrowed(env!("CARGO_PKG_VERSION")),
        summary: Cow::Borrowed("Asks any server that speaks the OpenAI chat completions, streaming."),
        example: Cow::Borrowed(
            "proxy: {api_base: http://localhost:8000/v1, api_key_env: MY_KEY}\nmodel_access: {provider: openai}\n",
        ),
        schema: schema_of::<Params>,
        check: Params::check,
        builder: Builder::Model(Build::Linked(|cx, params| open(cx, params, None))),
    }
}

inventory::submit! {
    Descriptor {
        name: Cow::Borrowed("ollama"),
        aliases: Cow::Borrowed(&[]),
        origin: Cow::Borrowed(env!("CARGO_PKG_NAME")),
        version: Cow::Borrowed(env!("CARGO_PKG_VERSION")),
        summary: Cow::Borrowed("Asks Ollama by its OpenAI-compatible side, by default on this machine; no key."),
        example: Cow::Borrowed("model_access: {provider: ollama}\nmodels: {defaults: {llm: llama3.2}}\n"),
        schema: schema_of::<Params>,
        check: Params::check,
        builder: Builder::Model(Build::Linked(|cx, params| open_at(cx, params, &OLLAMA, None))),
    }
}

/// A provider that speaks this protocol.
#[derive(Debug)]
struct Provider {
    name: &'static str,
    /// Its address, where none is given.
    api_base: &'static str,
    /// The variable of its key at that address.
    key: Option<&'static str>,
}

const OPENAI: Provider =
    Provider { name: "openai", api_base: "https://api.openai.com/v1", key: Some("OPENAI_API_KEY") };

const OLLAMA: Provider = Provider { name: "ollama", api_base: "http://localhost:11434/v1", key: None };

/// The protocol at one address.
struct Chat {
    provider: &'static str,
    url: String,
    headers: Vec<(String, HeaderText)>,
    /// The variable of the key that is sent.
    key: Option<String>,
    extra: Map<String, Value>,
    learnt: PerModel<Learnt>,
}

/// The provider `openai`, over the team's HTTP client unless a transport is given.
pub(crate) fn open(
    cx: &BuildContext,
    params: &Value,
    transport: Option<Arc<dyn Transport>>,
) -> Result<Arc<dyn ModelContract>> {
    open_at(cx, params, &OPENAI, transport)
}

fn open_at(
    cx: &BuildContext,
    params: &Value,
    provider: &Provider,
    transport: Option<Arc<dyn Transport>>,
) -> Result<Arc<dyn ModelContract>> {
    native::open(cx, params, transport, |params| Chat::new(cx, params, provider))
}

impl Chat {
    fn new(cx: &BuildContext, params: &Params, provider: &Provider) -> Result<Self> {
        let url = url::chat_url(params.api_base.as_deref().unwrap_or(provider.api_base))?;
        let key = params.key(cx, provider.key)?;
        let own = key.as_ref().map(|key| {
            if url::is_azure(&url) {
                ("api-key".to_owned(), HeaderText::Secret(key.secret.clone()))
            } else {
                let bearer = Secret::new(format!("Bearer {}", key.secret.reveal()));
                ("authorization".to_owned(), HeaderText::Secret(bearer))
            }
        });
        Ok(Self {
            provider: provider.name,
            url,
            headers: native::headers(own.into_iter().collect(), params.headers()),
            key: key.map(|key| key.variable),
            extra: params.body.clone(),
            learnt: PerModel::default(),
        })
    }
}

impl Wire for Chat {
    fn request(&self, request: &ChatRequest<'_>, stream: bool) -> Result<WireRequest> {
        let learnt = self.learnt.of(request.model);
        let body = request::body(request, self.provider, stream, &learnt, &self.extra);
        Ok(WireRequest { url: self.url.clone(), headers: self.headers.clone(), body })
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(ChatReader::new(self.provider))
    }

    fn refusal(&self, url: &str, status: u16, body: &str) -> Error {
        refusal::refusal(self.provider, url, self.key.as_deref(), status, body)
    }

    fn adapt(&self, request: &ChatRequest<'_>, status: u16, body: &str) -> bool {
        if !matches!(status, 400 | 422) {
            return false;
        }
        let told = refusal::Told::of(body);
        let schema = || request.output_schema.and_then(|_| told.names(&["response_format", "json_schema"]));
        let Some(field) = told.unsupported(&OPTIONAL).or_else(schema) else { return false };
        // What the manifest adds to the body is its own affair.
        if self.extra.contains_key(field) {
            return false;
        }
        self.learnt.learn(request.model, |learnt| match field {
            "max_tokens" => learnt.completion_tokens = true,
            "response_format" | "json_schema" => learnt.told_schema = true,
            _ => {
                learnt.dropped.insert(field);
            }
        });
        tracing::debug!(model = &**request.model, field, "the model does not take a field");
        // Also where another call has learnt it meanwhile; the exchange bounds how often.
        true
    }
}
