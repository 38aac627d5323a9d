//! What a message tells the agent elsewhere about where it comes from: the metadata of mas.
//!
//! | key | value |
//! | --- | --- |
//! | `mas.caller_call_id` | the call of the sender that the message is, such as `c12` |
//! | `mas.correlation_id` | the turn at the root of the sender's tree |
//! | `mas.path` | the agents that it came through, outermost first, the sender last |
//! | `mas.depth` | how many delegations led to it, 1 for the first |
//! | `mas.budget_ms` | how long the sender still waits, in milliseconds |
//!
//! [`write()`] and [`read`] are the two sides of it. What is read may only make limits tighter.

use std::{sync::Arc, time::Duration};

use mas_contracts::{CallContext, Error, Result, Scope};
use serde_json::{Map, Value, json};

/// The call of the sender.
pub const CALLER_CALL_ID: &str = "mas.caller_call_id";
/// The turn at the root of the sender's tree.
pub const CORRELATION_ID: &str = "mas.correlation_id";
/// The agents that a message came through.
pub const PATH: &str = "mas.path";
/// How many delegations led to a message.
pub const DEPTH: &str = "mas.depth";
/// How long the sender still waits.
pub const BUDGET_MS: &str = "mas.budget_ms";
/// On the message of a status: `true` if it is the answer although there are artifacts.
pub const ANSWER: &str = "mas.answer";
/// On the message of a status: the code of the error that a task ended in before anything was done for it, such as
/// `mas::delegation::loop`.
pub const ERROR: &str = "mas.error";

/// How many agents a path may name.
pub const LONGEST_PATH: usize = 64;

/// How many bytes a name or an id may have.
const LONGEST_NAME: usize = 256;

/// Where a message comes from, as its metadata says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The call of the sender.
    pub caller_call: Option<Arc<str>>,
    /// The turn at the root of the sender's tree.
    pub correlation: Option<Arc<str>>,
    /// The agents that it came through, outermost first, the sender last.
    pub path: Vec<Arc<str>>,
    /// How many delegations led to it: what it says, or the length of the path if that is more.
    pub depth: u16,
    /// How long the sender still waits.
    pub budget: Option<Duration>,
}

/// The metadata of a message that is sent by `cx`.
#[must_use]
pub fn write(cx: &CallContext) -> Map<String, Value> {
    let scope = cx.scope();
    let path: Vec<_> = scope.path().into_iter().map(|agent| Value::from(&*agent)).collect();
    let budget = u64::try_from(cx.remaining().as_millis()).unwrap_or(u64::MAX);
    let pairs = [
        (CALLER_CALL_ID, json!(cx.call().to_string())),
        (CORRELATION_ID, json!(*root(scope).turn)),
        (PATH, Value::Array(path)),
        (DEPTH, json!(scope.depth.saturating_add(1))),
        (BUDGET_MS, json!(budget)),
    ];
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn root(scope: &Scope) -> &Scope {
    let mut scope = scope;
    while let Some(above) = &scope.parent {
        scope = above;
    }
    scope
}

/// Reads where a message comes from. What is absent is not said; other metadata is passed over.
///
/// # Errors
/// [`ErrorKind::Invalid`](mas_contracts::ErrorKind::Invalid), with the key, for a value of the wrong type, a path of
/// more than 64 agents, an empty or overlong name, or a number that is no count.
pub fn read(metadata: &Map<String, Value>) -> Result<Origin> {
    let path = match metadata.get(PATH) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(path)) if path.len() > LONGEST_PATH => {
            let what = format!("names {} agents; the most are {LONGEST_PATH}", path.len());
            return Err(wrong(PATH, &what));
        }
        Some(Value::Array(path)) => path.iter().map(|agent| name(PATH, agent)).collect::<Result<_>>()?,
        Some(_) => return Err(wrong(PATH, "must be a list of agents")),
    };
    let text =
        |key| metadata.get(key).filter(|value| !value.is_null()).map(|value| name(key, value)).transpose();
    let depth = count(metadata, DEPTH)?.map_or(Ok(0), |depth| {
        u16::try_from(depth).map_err(|_| wrong(DEPTH, &format!("must be {} at most", u16::MAX)))
    })?;
    Ok(Origin {
        caller_call: text(CALLER_CALL_ID)?,
        correlation: text(CORRELATION_ID)?,
        depth: depth.max(u16::try_from(path.len()).unwrap_or(u16::MAX)),
        path,
        budget: count(metadata, BUDGET_MS)?.map(Duration::from_millis),
    })
}

/// Whether the message of a status is the answer although there are artifacts.
#[must_use]
pub fn is_answer(metadata: &Map<String, Value>) -> bool {
    metadata.get(ANSWER) == Some(&Value::Bool(true))
}

fn name(key: &str, value: &Value) -> Result<Arc<str>> {
    match value.as_str() {
        Some("") => Err(wrong(key, "must not be empty")),
        Some(name) if name.len() > LONGEST_NAME => {
            Err(wrong(key, &format!("must have {LONGEST_NAME} bytes at most")))
        }
        Some(name) => Ok(name.into()),
        None => Err(wrong(key, "must be text")),
    }
}

/// A whole number that is not negative; some bindings know numbers with a fraction only.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
fn count(metadata: &Map<String, Value>, key: &str) -> Result<Option<u64>> {
    /// Up to here every whole number is its own.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match metadata.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value
            .as_u64()
            .or_else(|| {
                value.as_f64().filter(|n| (0.0..=EXACT).contains(n) && n.fract() == 0.0).map(|n| n as u64)
            })
            .map(Some)
            .ok_or_else(|| wrong(key, "must be a whole number that is not negative")),
    }
}

fn wrong(key: &str, what: &str) -> Error {
    Error::invalid(format!("the metadata `{key}` {what}")).with_code("mas::turn::metadata")
}

#[cfg(test)]
mod tests {
    use mas_contracts::ErrorKind;
    use mas_testkit::CallContextBuilder;

    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(map) => map,
            other => panic!("{other}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_written_is_read_again() {
        let root = CallContextBuilder::new("root").turn("t-root").ancestry(["far"]).build();
        let cx = CallContextBuilder::new("desk")
            .turn("t-desk")
            .below(&root)
            .timeout(Duration::from_secs(7))
            .build();
        let written = write(&cx);
        insta::assert_snapshot!(Value::Object(written.clone()), @r#"{"mas.caller_call_id":"c2","mas.correlation_id":"t-root","mas.path":["far","root","desk"],"mas.depth":3,"mas.budget_ms":7000}"#);
        let read = read(&written).unwrap();
        assert_eq!(
            read,
            Origin {
                caller_call: Some("c2".into()),
                correlation: Some("t-root".into()),
                path: vec!["far".into(), "root".into(), "desk".into()],
                depth: 3,
                budget: Some(Duration::from_secs(7)),
            }
        );
    }

    #[test]
    fn what_is_absent_is_not_said_and_numbers_may_have_a_fraction_of_nothing() {
        assert_eq!(read(&object(json!({"other": 1}))).unwrap(), Origin::default());
        let told =
            read(&object(json!({"mas.depth": 2.0, "mas.budget_ms": 1500.0, "mas.path": null}))).unwrap();
        assert_eq!((told.depth, told.budget), (2, Some(Duration::from_millis(1500))));
        let told = read(&object(json!({"mas.depth": 0, "mas.path": ["a", "b"]}))).unwrap();
        assert_eq!(told.depth, 2, "a path is no shorter than its depth says");
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_key() {
        let long = vec!["a"; LONGEST_PATH + 1];
        let cases = [
            (json!({"mas.path": "a"}), "the metadata `mas.path` must be a list of agents"),
            (json!({"mas.path": ["a", 1]}), "the metadata `mas.path` must be text"),
            (json!({"mas.path": [""]}), "the metadata `mas.path` must not be empty"),
            (json!({"mas.path": long}), "the metadata `mas.path` names 65 agents; the most are 64"),
            (json!({"mas.path": ["x".repeat(257)]}), "the metadata `mas.path` must have 256 bytes at most"),
            (
                json!({"mas.depth": -1}),
                "the metadata `mas.depth` must be a whole number that is not negative",
            ),
            (
                json!({"mas.depth": 1.5}),
                "the metadata `mas.depth` must be a whole number that is not negative",
            ),
            (json!({"mas.depth": 70000}), "the metadata `mas.depth` must be 65535 at most"),
            (
                json!({"mas.budget_ms": "1"}),
                "the metadata `mas.budget_ms` must be a whole number that is not negative",
            ),
            (
                json!({"mas.budget_ms": 1e300}),
                "the metadata `mas.budget_ms` must be a whole number that is not negative",
            ),
            (json!({"mas.correlation_id": {}}), "the metadata `mas.correlation_id` must be text"),
        ];
        for (metadata, wanted) in cases {
            let error = read(&object(metadata)).unwrap_err();
            assert_eq!((error.kind(), error.message()), (ErrorKind::Invalid, wanted));
        }
    }
}
