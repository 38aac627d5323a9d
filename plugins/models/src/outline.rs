//! What a provider wants to see again with an answer of its own: blocks such as signed reasoning, and marks on
//! pieces of the text and on calls.
//!
//! It travels as the provider data of a message, `{"<provider>": [entry, …]}`, the entries in the order of the
//! answer:
//!
//! - `{"own": block}`: a block that is sent back exactly as it came.
//! - `{"text": {"bytes": n, "mark": {…}}}`: the next n bytes of the text, and what belongs beside them.
//! - `{"call": {"mark": {…}}}`: the next call, and what belongs beside it. Calls are known by their place, since core
//!   may give them other ids.

use std::sync::Arc;

use mas_contracts::ToolCall;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// What belongs beside a piece of text or a call; empty for nothing.
pub(crate) type Mark = Map<String, Value>;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Entry {
    Own(Value),
    Text {
        bytes: usize,
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        mark: Mark,
    },
    Call {
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        mark: Mark,
    },
}

/// The order of an answer's blocks, with what the provider wants back. Empty for an answer of no interest.
#[derive(Debug, Default)]
pub(crate) struct Outline(Vec<Entry>);

/// A piece of an answer that is sent back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Segment<'a> {
    /// A block as it came.
    Own(&'a Value),
    /// A piece of the text, never empty unless it is marked.
    Text(&'a str, Option<&'a Mark>),
    /// A call.
    Call(&'a ToolCall, Option<&'a Mark>),
}

impl Outline {
    /// Adds a block of the provider's own.
    pub(crate) fn own(&mut self, block: Value) {
        self.0.push(Entry::Own(block));
    }

    /// Adds the next `more` bytes of the text. Unmarked neighbours are one.
    pub(crate) fn text(&mut self, more: usize, mark: Mark) {
        match self.0.last_mut() {
            Some(Entry::Text { bytes, mark: before }) if before.is_empty() && mark.is_empty() => {
                *bytes = bytes.saturating_add(more);
            }
            _ if more == 0 && mark.is_empty() => {}
            _ => self.0.push(Entry::Text { bytes: more, mark }),
        }
    }

    /// Adds the next call.
    pub(crate) fn call(&mut self, mark: Mark) {
        self.0.push(Entry::Call { mark });
    }

    /// The provider data for the message; none if there is nothing that the message itself does not say.
    pub(crate) fn into_data(self, provider: &str) -> Option<Arc<Value>> {
        let wanted = self.0.iter().any(|entry| match entry {
            Entry::Own(_) => true,
            Entry::Text { mark, .. } | Entry::Call { mark } => !mark.is_empty(),
        });
        let entries = serde_json::to_value(self.0).ok().filter(|_| wanted)?;
        Some(Arc::new(json!({ provider: entries })))
    }

    /// Reads the provider data of a message; empty if it is another provider's, or none.
    pub(crate) fn of(data: Option<&Value>, provider: &str) -> Self {
        let entries = data.and_then(|data| data.get(provider));
        Self(entries.and_then(|entries| Vec::deserialize(entries).ok()).unwrap_or_default())
    }

    /// The blocks, the text and the calls of a message in the order in which they came. Where the message is no
    /// longer what it was, blocks come first, then the text, then the calls with their marks.
    pub(crate) fn arrange<'a>(&'a self, text: &'a str, calls: &'a [ToolCall]) -> Vec<Segment<'a>> {
        self.exact(text, calls).unwrap_or_else(|| self.rough(text, calls))
    }

    fn exact<'a>(&'a self, text: &'a str, calls: &'a [ToolCall]) -> Option<Vec<Segment<'a>>> {
        let (mut rest, mut calls) = (text, calls.iter());
        let mut segments = Vec::with_capacity(self.0.len());
        for entry in &self.0 {
            segments.push(match entry {
                Entry::Own(block) => Segment::Own(block),
                Entry::Text { bytes, mark } => {
                    let (piece, after) = rest.split_at_checked(*bytes)?;
                    rest = after;
                    Segment::Text(piece, marked(mark))
                }
                Entry::Call { mark } => Segment::Call(calls.next()?, marked(mark)),
            });
        }
        (rest.is_empty() && calls.next().is_none()).then_some(segments)
    }

    fn rough<'a>(&'a self, text: &'a str, calls: &'a [ToolCall]) -> Vec<Segment<'a>> {
        let own = self.0.iter().filter_map(|entry| match entry {
            Entry::Own(block) => Some(Segment::Own(block)),
            _ => None,
        });
        let marks = self.0.iter().filter_map(|entry| match entry {
            Entry::Call { mark } => Some(marked(mark)),
            _ => None,
        });
        let text = (!text.is_empty()).then_some(Segment::Text(text, None));
        let calls = calls.iter().zip(marks.chain(std::iter::repeat(None)));
        own.chain(text).chain(calls.map(|(call, mark)| Segment::Call(call, mark))).collect()
    }
}

fn marked(mark: &Mark) -> Option<&Mark> {
    (!mark.is_empty()).then_some(mark)
}

#[cfg(test)]
mod tests {
    use mas_contracts::Arguments;

    use super::*;

    fn call(id: &str) -> ToolCall {
        ToolCall { id: id.into(), name: "t".into(), arguments: Arguments::object(Map::new()) }
    }

    fn mark(value: &str) -> Mark {
        Map::from_iter([("sig".to_owned(), json!(value))])
    }

    fn signed() -> Outline {
        let mut outline = Outline::default();
        outline.own(json!({"thinking": "a"}));
        outline.text(2, Mark::new());
        outline.text(1, Mark::new());
        outline.call(mark("1"));
        outline.text(0, Mark::new());
        outline.text(0, mark("t"));
        outline.call(Mark::new());
        outline
    }

    #[test]
    fn an_answer_comes_back_in_its_order() {
        let data = signed().into_data("mine").unwrap();
        let expected = json!({"mine": [
            {"own": {"thinking": "a"}}, {"text": {"bytes": 3}}, {"call": {"mark": {"sig": "1"}}},
            {"text": {"bytes": 0, "mark": {"sig": "t"}}}, {"call": {}},
        ]});
        assert_eq!(*data, expected);
        let outline = Outline::of(Some(&data), "mine");
        let calls = [call("renamed"), call("y")];
        let (thinking, one, text) = (json!({"thinking": "a"}), mark("1"), mark("t"));
        let expected = [
            Segment::Own(&thinking),
            Segment::Text("abc", None),
            Segment::Call(&calls[0], Some(&one)),
            Segment::Text("", Some(&text)),
            Segment::Call(&calls[1], None),
        ];
        assert_eq!(outline.arrange("abc", &calls), expected);
    }

    #[test]
    fn a_message_that_was_changed_keeps_what_still_fits() {
        let outline = signed();
        let (thinking, one) = (json!({"thinking": "a"}), mark("1"));
        for (text, calls) in [("abcd", 2), ("ab", 2), ("éé", 2), ("abc", 1), ("abc", 3)] {
            let calls: Vec<ToolCall> = (0..calls).map(|_| call("x")).collect();
            let segments = outline.arrange(text, &calls);
            assert_eq!(segments[..2], [Segment::Own(&thinking), Segment::Text(text, None)]);
            assert_eq!(segments[2], Segment::Call(&calls[0], Some(&one)));
            assert_eq!(segments.len(), 2 + calls.len());
        }
    }

    #[test]
    fn what_is_not_wanted_back_is_not_kept() {
        let mut plain = Outline::default();
        plain.text(3, Mark::new());
        plain.call(Mark::new());
        assert_eq!(plain.into_data("mine"), None);
        let foreign = json!({"other": [{"own": 1}]});
        for data in [None, Some(&foreign), Some(&json!({"mine": "junk"})), Some(&Value::Null)] {
            let outline = Outline::of(data, "mine");
            assert_eq!(outline.arrange("a", &[]), [Segment::Text("a", None)]);
            assert_eq!(outline.arrange("", &[]), []);
        }
    }
}
