//! `gemini`: the Generative Language API of Google, as its own protocol.
//!
//! Sources: ai.google.dev/api/generate-content (requests and answers), ai.google.dev/gemini-api/docs/function-calling,
//! /docs/thought-signatures, /docs/structured-output, /docs/troubleshooting.
//!
//! The URL: `…/models/{model}:streamGenerateContent?alt=sse`, or `…:generateContent` where no stream is asked for.
//! An `api_base` without a path gets `/v1beta` before it; another path is kept as it is, such as `/v1beta`, or
//! `/v1/projects/p/locations/l/publishers/google` of Vertex AI; one that ends in `/models` is not given it again. A
//! query is kept. A model `models/x` is the model `x`; `tunedModels/x` stays as it is. The key is a header, never a
//! part of the URL.
//!
//! What is sent:
//!
//! - Results of one answer are one content, in the order of the calls, with the ids that the provider gave, if it
//!   gave any. A failure is `{"error": …}`, any other result `{"output": …}`. Files of results follow them.
//! - Files that are images, sound, video or PDF are sent as they are, others by name.
//! - Arguments that were no object are sent back as the object `{"malformed": "<text>"}`.
//! - Signatures of thoughts are sent back with the part that they came with, in every turn.
//! - An output schema is `responseJsonSchema`. Models before Gemini 3 refuse that beside tools; after such a refusal
//!   the schema is told in the system instruction of calls with tools, and core checks the answer.
//!
//! Thoughts count as output tokens. An answer is whole when it gives its reason to end; a prompt that is blocked is
//! an answer without text, [`Filtered`](mas_contracts::FinishReason::Filtered).

mod reader;
mod refusal;
mod request;

use std::{borrow::Cow, sync::Arc};

use mas_comm_kit::http::{HeaderText, Transport};
use mas_contracts::{
    Build, BuildContext, Builder, ChatRequest, Descriptor, Error, ModelContract, Result, Retry, inventory,
    schema_of,
};
use serde_json::{Map, Value};

use crate::{
    native::{self, Base, PerModel},
    params::Params,
    wire::{Reader, Wire, WireRequest},
};
use reader::Answer;

/// The provider's name, also of its provider data.
const NAME: &str = "gemini";

const USUAL_BASE: &str = "https://generativelanguage.googleapis.com";
/// The variables of the key; the first that is set counts.
const USUAL_KEYS: [&str; 2] = ["GEMINI_API_KEY", "GOOGLE_API_KEY"];

inventory::submit! {
    Descriptor {
        name: Cow::Borrowed(NAME),
        aliases: Cow::Borrowed(&["google"]),
        origin: Cow::Borrowed(env!("CARGO_PKG_NAME")),
        version: Cow::Borrowed(env!("CARGO_PKG_VERSION")),
        summary: Cow::Borrowed("Gemini models, by the Generative Language API of Google."),
        example: Cow::Borrowed("model_access: {provider: gemini}\n"),
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
    native::open(cx, params, transport, |params| Contents::new(cx, params))
}

/// The wire form.
struct Contents {
    base: String,
    headers: Vec<(String, HeaderText)>,
    /// The variable that holds the key that is sent.
    key: Option<String>,
    extra: Map<String, Value>,
    /// Whether a schema beside tools is told.
    told: PerModel<bool>,
}

impl Contents {
    fn new(cx: &BuildContext, params: &Params) -> Result<Self> {
        let [usual, _] = USUAL_KEYS;
        let usual = USUAL_KEYS.into_iter().find(|name| cx.env.get(name).is_some()).unwrap_or(usual);
        let key = params.key(cx, Some(usual))?;
        let own =
            key.as_ref().map(|key| ("x-goog-api-key".to_owned(), HeaderText::Secret(key.secret.clone())));
        Ok(Self {
            headers: native::headers(own.into_iter().collect(), params.headers()),
            base: params.api_base.as_deref().unwrap_or(USUAL_BASE).to_owned(),
            key: key.map(|key| key.variable),
            extra: params.body.clone(),
            told: PerModel::default(),
        })
    }
}

impl Wire for Contents {
    fn request(&self, request: &ChatRequest<'_>, stream: bool) -> Result<WireRequest> {
        let mut body = request::body(request, self.told.of(request.model));
        native::extend(&mut body, &self.extra);
        let url = url(&self.base, request.model, stream)?;
        Ok(WireRequest { url, headers: self.headers.clone(), body: Value::Object(body) })
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(Answer::default())
    }

    fn refusal(&self, url: &str, status: u16, body: &str) -> Error {
        refusal::refused(status, body, url, self.key.as_deref())
    }

    fn adapt(&self, request: &ChatRequest<'_>, status: u16, body: &str) -> bool {
        let both = request.output_schema.is_some() && !request.tools.is_empty();
        let refused = status == 400 && body.contains("mime type") && body.contains("unsupported");
        if both && refused {
            self.told.learn(request.model, |told| *told = true);
        }
        both && refused
    }
}

fn url(api_base: &str, model: &str, stream: bool) -> Result<String> {
    let base = Base::of(api_base);
    let name = model.strip_prefix("models/").unwrap_or(model);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._@".contains(c);
    let is_name = |name: &str| !matches!(name, "" | "." | "..") && name.chars().all(plain);
    let (folder, name) = match name.strip_prefix("tunedModels/") {
        Some(tuned) => ("/tunedModels", tuned),
        None => ("/models", name),
    };
    if !is_name(name) {
        return Err(Error::invalid(format!(
            "`{model}` is no name of a Gemini model, such as `gemini-2.5-flash`"
        ))
        .with_code("mas::llm::model")
        .with_retry(Retry::Never));
    }
    let path = match base.path {
        "" => format!("/v1beta{folder}"),
        path if path.ends_with(folder) => path.to_owned(),
        path => format!("{path}{folder}"),
    };
    let (method, pair) =
        if stream { ("streamGenerateContent", Some("alt=sse")) } else { ("generateContent", None) };
    Ok(base.url(&format!("{path}/{name}:{method}"), pair))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_follows_the_rule() {
        let stream = ":streamGenerateContent?alt=sse";
        let cases = [
            ("http://h", "m-1.5", "http://h/v1beta/models/m-1.5"),
            ("http://h:8/", "models/m", "http://h:8/v1beta/models/m"),
            ("http://h/v1", "m", "http://h/v1/models/m"),
            ("http://h/v1beta/models/", "m", "http://h/v1beta/models/m"),
            ("http://h", "tunedModels/m", "http://h/v1beta/tunedModels/m"),
            ("http://h/v1/publishers/google", "m@001", "http://h/v1/publishers/google/models/m@001"),
        ];
        for (base, model, expected) in cases {
            assert_eq!(url(base, model, true).unwrap(), format!("{expected}{stream}"), "{base} {model}");
        }
        let one = url("http://h/v1?x=1", "m", true).unwrap();
        assert_eq!(one, "http://h/v1/models/m:streamGenerateContent?x=1&alt=sse");
        assert_eq!(url("http://h/v1?x=1", "m", false).unwrap(), "http://h/v1/models/m:generateContent?x=1");
        for model in ["", "..", "a/b", "a?b", "a#b", "a b", "models/", "tunedModels/..", "mödel"] {
            assert_eq!(url("http://h", model, true).unwrap_err().code(), "mas::llm::model", "{model}");
        }
    }
}
