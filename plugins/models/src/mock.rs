//! `mock`: answers anything by a fixed algorithm.
//!
//! In this order:
//!
//! 1. A cache file, if there is one, that holds the request: the recorded reply.
//! 2. The running turn holds tool results: their texts, joined by newlines, trimmed, cut at 2000 characters.
//! 3. Tools are offered: one call. If the user's text contains arithmetic (a digit and one of `+ - * / %`) and
//!    a tool has the parameter `expression`, that tool; else the first tool with the parameter `query`; else
//!    the first tool. Only required parameters are given: the first of `examples`; else for `expression` the
//!    first run of numbers and operators of the text, or `1+1`; for `query` the text up to 200 characters, or
//!    `general knowledge`; for another string the text up to 120, or `test`; 0 for a number, false for a
//!    boolean. Beyond MAS Lab, so that the call passes the check of its schema: the first of `enum`, an empty
//!    list, an empty object.
//! 4. `[mock] ` and the user's text up to 500 characters, or `[mock] ready`.
//!
//! The cache file is `cache_path`, else `MAS_LLM_CACHE`, else `llm_cache.json` below `$XDG_CACHE_HOME/mas` or
//! `$HOME/.cache/mas`. It is read once and never written; where it does not exist, there is no cache. It is a
//! JSON object from keys to replies. A key is the SHA-256, in hexadecimal, of the JSON object of `messages`,
//! `model` and `tools` in the wire form of OpenAI, keys sorted, without white space. A reply is a text, an
//! assistant message (`content`, `tool_calls`), or a chat completion (`choices`, `usage`).

mod cache;
mod wire;

use std::{borrow::Cow, sync::Arc};

use async_trait::async_trait;
use mas_contracts::{
    Arguments, Build, BuildContext, Builder, CallContext, ChatRequest, Completion, Descriptor, Message,
    ModelContract, Result, ToolCall, ToolSpec, check_params, inventory, parse_params, schema_of,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::speech;
use cache::Cache;

const TOOL_TEXT_LIMIT: usize = 2000;
const ECHO_LIMIT: usize = 500;
const QUERY_LIMIT: usize = 200;
const STRING_LIMIT: usize = 120;
const OPERATORS: [char; 5] = ['+', '-', '*', '/', '%'];

/// Parameters of `mock`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// The cache file; default `MAS_LLM_CACHE`, else `llm_cache.json` in the cache folder of the user.
    #[serde(default)]
    cache_path: Option<String>,
}

inventory::submit! {
    Descriptor {
        name: Cow::Borrowed("mock"),
        aliases: Cow::Borrowed(&[]),
        origin: Cow::Borrowed(env!("CARGO_PKG_NAME")),
        version: Cow::Borrowed(env!("CARGO_PKG_VERSION")),
        summary: Cow::Borrowed("Answers anything by a fixed algorithm: no key, no network."),
        example: Cow::Borrowed("model_access: {provider: mock}\n"),
        schema: schema_of::<Params>,
        check: check_params::<Params>,
        builder: Builder::Model(Build::Linked(|cx, params| {
            let params: Params = parse_params(params)?;
            Ok(Arc::new(Mock::open(cx, params.cache_path.as_deref())?))
        })),
    }
}

/// The model `mock`.
#[derive(Debug, Default)]
pub struct Mock {
    cache: Cache,
}

impl Mock {
    /// The model with its cache file, if that exists.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](mas_contracts::ErrorKind::Invalid) for a cache file that is no cache.
    pub fn open(cx: &BuildContext, cache_path: Option<&str>) -> Result<Self> {
        Ok(Self { cache: Cache::open(cx, cache_path)? })
    }

    fn answer(&self, request: &ChatRequest<'_>) -> Completion {
        if let Some(recorded) = self.cache.find(request) {
            return recorded;
        }
        if let Some(text) = tool_texts(request) {
            return speech::completion(request, text, Vec::new());
        }
        let user = speech::user_text(request);
        if let Some(tool) = choose(request.tools, &user) {
            let id = format!("call_{}", speech::calls_before(request).saturating_add(1));
            let arguments = Arguments::object(fill(tool, &user));
            let call = ToolCall { id: id.into(), name: tool.name.clone(), arguments };
            return speech::completion(request, "", vec![call]);
        }
        let echo = if user.is_empty() { "ready" } else { speech::head(&user, ECHO_LIMIT) };
        speech::completion(request, format!("[mock] {echo}"), Vec::new())
    }
}

#[async_trait]
impl ModelContract for Mock {
    async fn chat(&self, cx: &CallContext, request: ChatRequest<'_>) -> Result<Completion> {
        if let Some(reason) = cx.cancel().reason() {
            return Err(CallContext::stopped(reason));
        }
        let completion = self.answer(&request);
        speech::emit(cx, &request, &completion.text);
        Ok(completion)
    }
}

fn tool_texts(request: &ChatRequest<'_>) -> Option<String> {
    let texts: Vec<Arc<str>> = request
        .turn
        .iter()
        .filter(|message| matches!(***message, Message::Tool { .. }))
        .map(|message| message.text())
        .collect();
    if texts.is_empty() {
        return None;
    }
    Some(speech::head(texts.join("\n").trim(), TOOL_TEXT_LIMIT).to_owned())
}

fn choose<'a>(tools: &'a [Arc<ToolSpec>], user: &str) -> Option<&'a ToolSpec> {
    let with = |parameter: &str| tools.iter().find(|tool| property(tool, parameter).is_some());
    let arithmetic = user.contains(|c: char| c.is_ascii_digit()) && user.contains(OPERATORS);
    let calculator = if arithmetic { with("expression") } else { None };
    calculator.or_else(|| with("query")).or_else(|| tools.first()).map(|tool| &**tool)
}

fn property<'a>(tool: &'a ToolSpec, name: &str) -> Option<&'a Value> {
    tool.parameters.get("properties")?.get(name)
}

fn fill(tool: &ToolSpec, user: &str) -> Map<String, Value> {
    let required = tool.parameters.get("required").and_then(Value::as_array).into_iter().flatten();
    let names = required.filter_map(Value::as_str);
    names.map(|name| (name.to_owned(), value_for(name, property(tool, name), user))).collect()
}

fn value_for(name: &str, schema: Option<&Value>, user: &str) -> Value {
    let first = |key: &str| schema?.get(key)?.as_array()?.first().cloned();
    if let Some(given) = first("examples").or_else(|| first("enum")) {
        return given;
    }
    match schema.and_then(|schema| schema.get("type")).and_then(Value::as_str) {
        Some("number" | "integer") => json!(0),
        Some("boolean") => json!(false),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => Value::String(match name {
            "expression" => expression(user).unwrap_or_else(|| "1+1".to_owned()),
            "query" => or(speech::head(user, QUERY_LIMIT), "general knowledge"),
            _ => or(speech::head(user, STRING_LIMIT), "test"),
        }),
    }
}

fn or(text: &str, instead: &str) -> String {
    if text.is_empty() { instead.to_owned() } else { text.to_owned() }
}

/// The first number that an operator and a number follow, with all further operators and numbers.
fn expression(text: &str) -> Option<String> {
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (_, from) = rest.split_at(at);
        let mut end = number(from)?;
        let first = end;
        while let Some(longer) = operation(from, end) {
            end = longer;
        }
        if end > first {
            return Some(from.split_at(end).0.to_owned());
        }
        rest = from.split_at(first).1;
    }
    None
}

/// Where an operator and a number that begin at `at` end.
fn operation(text: &str, at: usize) -> Option<usize> {
    let after = text.get(at..)?.trim_start();
    let after = after.strip_prefix(OPERATORS)?.trim_start();
    let begins = text.len().checked_sub(after.len())?;
    Some(begins.saturating_add(number(after)?))
}

/// Where the number that a text begins with ends.
fn number(text: &str) -> Option<usize> {
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let whole = digits(text);
    if whole == 0 {
        return None;
    }
    let fraction = text.get(whole..).and_then(|rest| rest.strip_prefix('.')).map_or(0, digits);
    Some(if fraction == 0 { whole } else { whole.saturating_add(1).saturating_add(fraction) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_found() {
        let cases = [
            ("What is 2+2?", Some("2+2")),
            ("5*100", Some("5*100")),
            ("compute 1.5 + 2 * 3, please", Some("1.5 + 2 * 3")),
            ("a 3-day trip", None),
            ("in 2026 it was 7/2.", Some("7/2")),
            ("10 % 4 -", Some("10 % 4")),
            ("2 + x", None),
            ("", None),
        ];
        for (text, found) in cases {
            assert_eq!(expression(text).as_deref(), found, "{text}");
        }
    }
}
