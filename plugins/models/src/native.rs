//! What the providers over HTTP have in common.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use base64::{Engine, engine::general_purpose::STANDARD};
use mas_comm_kit::http::{HeaderText, Transport};
use mas_contracts::{
    Arguments, BuildContext, CallContext, ChatRequest, Completion, Content, Delivery, Error, ErrorKind,
    Message, ModelContract, Part, Result, Retry,
};
use serde_json::{Map, Value};

use crate::{exchange::Exchange, params::Params, wire::Wire};

/// A provider: its wire form, and what makes the calls.
struct Native<W> {
    wire: W,
    exchange: Exchange,
}

#[async_trait]
impl<W: Wire> ModelContract for Native<W> {
    async fn chat(&self, cx: &CallContext, request: ChatRequest<'_>) -> Result<Completion> {
        self.exchange.chat(&self.wire, cx, request).await
    }
}

/// A provider by its parameters, over the team's HTTP client unless a transport is given.
///
/// # Errors
/// Wrong parameters, a key that is missing, and those of the client.
pub(crate) fn open<W: Wire + 'static>(
    cx: &BuildContext,
    params: &Value,
    transport: Option<Arc<dyn Transport>>,
    wire: impl FnOnce(&Params) -> Result<W>,
) -> Result<Arc<dyn ModelContract>> {
    let params = Params::read(params)?;
    Ok(Arc::new(Native { wire: wire(&params)?, exchange: params.exchange(cx, transport)? }))
}

/// What was learnt of each model. It forgets all when it knows of too many.
#[derive(Default)]
pub(crate) struct PerModel<T>(Mutex<BTreeMap<Arc<str>, T>>);

impl<T: Clone + Default> PerModel<T> {
    /// Most models that are known.
    const LIMIT: usize = 256;

    /// What is known of a model.
    pub(crate) fn of(&self, model: &str) -> T {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(model).cloned().unwrap_or_default()
    }

    /// Adds to what is known of a model.
    pub(crate) fn learn(&self, model: &Arc<str>, lesson: impl FnOnce(&mut T)) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= Self::LIMIT && !known.contains_key(model) {
            known.clear();
        }
        lesson(known.entry(model.clone()).or_default());
    }
}

/// An `api_base` in its parts.
pub(crate) struct Base<'a> {
    /// Scheme and host.
    pub(crate) origin: &'a str,
    /// The path without a slash at its end; empty for none.
    pub(crate) path: &'a str,
    query: Option<&'a str>,
}

impl<'a> Base<'a> {
    /// Takes a URL apart.
    pub(crate) fn of(url: &'a str) -> Self {
        let url = url.split('#').next().unwrap_or(url);
        let (place, query) = match url.split_once('?') {
            Some((place, query)) => (place, Some(query)),
            None => (url, None),
        };
        let host = place.find("://").map_or(0, |at| at.saturating_add(3));
        let after = place.get(host..).unwrap_or_default();
        let path = after.find('/').map_or(place.len(), |at| host.saturating_add(at));
        let (origin, path) = place.split_at_checked(path).unwrap_or((place, ""));
        Self { origin, path: path.trim_end_matches('/'), query: query.filter(|query| !query.is_empty()) }
    }

    /// The URL with this path, and with `pair` added to its query.
    pub(crate) fn url(&self, path: &str, pair: Option<&str>) -> String {
        let query: Vec<&str> = self.query.into_iter().chain(pair).collect();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{}{path}{mark}{}", self.origin, query.join("&"))
    }
}

/// The provider's headers, with those that the user gives in their place or beside them.
pub(crate) fn headers(
    own: Vec<(String, HeaderText)>,
    given: Vec<(String, HeaderText)>,
) -> Vec<(String, HeaderText)> {
    let is_given = |name: &str| given.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
    let mut headers: Vec<_> = own.into_iter().filter(|(name, _)| !is_given(name)).collect();
    headers.extend(given);
    headers
}

/// Adds the fields that the user gives; in an object that both have, field by field.
pub(crate) fn extend(body: &mut Map<String, Value>, given: &Map<String, Value>) {
    for (field, value) in given {
        match (body.get_mut(field), value) {
            (Some(Value::Object(known)), Value::Object(given)) => extend(known, given),
            _ => put(body, field, value.clone()),
        }
    }
}

/// The messages, each with whether it belongs to the running turn or to what the pattern adds.
pub(crate) fn messages<'a>(request: &ChatRequest<'a>) -> impl Iterator<Item = (&'a Message, bool)> {
    let past = request.history.iter().map(|message| (&**message, false));
    let now = request.turn.iter().chain(request.prompt).map(|message| (&**message, true));
    past.chain(now)
}

/// What an instruction says where the API cannot hold an answer to its schema.
pub(crate) fn told_schema(schema: &Value) -> String {
    format!(
        "When you give your final answer, write one JSON value and nothing else, without code fences. \
         It must fit this JSON schema: {schema}"
    )
}

/// The system prompt and, if there is one, the instruction about the schema; empty for neither.
pub(crate) fn system(request: &ChatRequest<'_>, told: Option<&Value>) -> String {
    let told = told.map(told_schema);
    match (request.system.trim().is_empty(), told) {
        (true, None) => String::new(),
        (true, Some(told)) => told,
        (false, None) => request.system.to_owned(),
        (false, Some(told)) => format!("{}\n\n{told}", request.system),
    }
}

/// The arguments of a call as an object; those that are none are its only value, `malformed`, so that the API takes
/// them and the model sees what it wrote.
pub(crate) fn object_of(arguments: &Arguments) -> Map<String, Value> {
    match arguments {
        Arguments::Object(map) => (**map).clone(),
        Arguments::Malformed(text) => Map::from_iter([("malformed".to_owned(), Value::from(&**text))]),
    }
}

/// A part that is a file of a kind that a model can look at.
pub(crate) enum File<'a> {
    /// Media type and base64 text.
    Bytes(&'a str, String),
    /// Media type and URL.
    Url(&'a str, &'a str),
}

/// The file that a part is, if its media type is one of those that `known` accepts.
pub(crate) fn file(part: &Part, known: impl Fn(&str) -> bool) -> Option<File<'_>> {
    let media_type = part.meta.as_ref()?.media_type.as_deref().filter(|media_type| known(media_type))?;
    match &part.content {
        Content::Raw(bytes) => Some(File::Bytes(media_type, STANDARD.encode(bytes))),
        Content::Url(url) => Some(File::Url(media_type, url)),
        Content::Text(_) | Content::Data(_) => None,
    }
}

/// Sets a field.
pub(crate) fn put(object: &mut Map<String, Value>, field: &str, value: impl Into<Value>) {
    object.insert(field.to_owned(), value.into());
}

/// Something in an answer that is not as the protocol says.
pub(crate) fn unreadable(what: &str) -> Error {
    Error::new(ErrorKind::Failed, format!("{what}; is `api_base` the URL of this provider?"))
        .with_code("mas::llm::unreadable")
        .with_delivery(Delivery::Answered)
        .with_retry(Retry::Never)
}

/// A bound that an answer went over.
pub(crate) fn limit(what: String) -> Error {
    Error::new(ErrorKind::Limit, what)
        .with_code("mas::llm::answer_too_large")
        .with_delivery(Delivery::Answered)
        .with_retry(Retry::Never)
}

#[cfg(test)]
pub(crate) mod testing {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop short")]

    use mas_comm_kit::sse::{self, Decoder};
    use mas_contracts::{Completion, Result};

    use crate::wire::{Piece, Reader};

    /// Reads a stream that arrives in these pieces.
    pub(crate) fn read(mut reader: Box<dyn Reader>, arrivals: &[&[u8]]) -> Result<(Vec<Piece>, Completion)> {
        let (mut decoder, mut pieces) = (Decoder::new(sse::EVENT_LIMIT), Vec::new());
        for bytes in arrivals {
            let mut events = Vec::new();
            decoder.push(bytes, &mut events)?;
            for event in events {
                pieces.extend(reader.event(event.name.as_deref(), &event.data)?);
            }
        }
        assert!(reader.is_complete(), "the stream has no end");
        Ok((pieces, reader.finish()?))
    }

    /// Reads a stream cut at every place, and byte by byte: each time the same. Returns what it is.
    pub(crate) fn read_split(new: impl Fn() -> Box<dyn Reader>, stream: &str) -> (Vec<Piece>, Completion) {
        let bytes = stream.as_bytes();
        let whole = read(new(), &[bytes]).unwrap();
        for at in 0..=bytes.len() {
            let (one, two) = bytes.split_at(at);
            assert_eq!(read(new(), &[one, two]).unwrap(), whole, "cut at {at}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(read(new(), &single).unwrap(), whole);
        let text: String = whole.0.iter().filter_map(text).collect();
        assert_eq!(text, *whole.1.text, "the pieces together are the text");
        whole
    }

    /// Reads a stream that tells of a failure.
    pub(crate) fn fail(reader: Box<dyn Reader>, stream: &str) -> mas_contracts::Error {
        match read(reader, &[stream.as_bytes()]) {
            Err(error) => error,
            Ok(read) => panic!("no failure: {read:?}"),
        }
    }

    fn text(piece: &Piece) -> Option<&str> {
        match piece {
            Piece::Text(text) => Some(text),
            _ => None,
        }
    }
}
