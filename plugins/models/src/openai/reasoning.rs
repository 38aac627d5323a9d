//! Reasoning, in whichever field a server sends it, and what the server wants to see of it again.
//!
//! A plain text is `reasoning_content` or `reasoning`, and goes back in the field that it came in. `reasoning_details`
//! is a list of blocks, some of them signed or encrypted; it goes back as it came, the pieces of one block put
//! together (openrouter.ai/docs, "Preserving reasoning"). A server that sends both means one text.

use mas_contracts::Result;
use serde_json::{Map, Value, json};

use super::reader::{TEXT_LIMIT, too_long, unreadable};

/// Most blocks of one answer.
const BLOCKS: usize = 4096;

const DETAILS: &str = "reasoning_details";

/// What is known of an answer's reasoning beside its text.
#[derive(Debug, Default)]
pub(super) struct Reasoning {
    /// The field of the plain text.
    field: Option<&'static str>,
    blocks: Vec<Map<String, Value>>,
    bytes: usize,
}

impl Reasoning {
    /// Takes what a delta or, if `whole`, a message has of it; returns the text.
    pub(super) fn take(&mut self, delta: &Map<String, Value>, whole: bool) -> Result<String> {
        let details = match delta.get(DETAILS) {
            None | Some(Value::Null) => &[][..],
            Some(Value::Array(details)) => details,
            Some(other) => return Err(unreadable("`reasoning_details` is no list", &other.to_string())),
        };
        let mut told = String::new();
        for detail in details.iter().filter(|detail| !detail.is_null()) {
            let Some(block) = detail.as_object() else {
                return Err(unreadable("a part of `reasoning_details` is no object", &detail.to_string()));
            };
            self.bytes = self.bytes.saturating_add(detail.to_string().len());
            let text = block.get("text").or_else(|| block.get("summary"));
            told.push_str(text.and_then(Value::as_str).unwrap_or_default());
            self.add(block, whole);
        }
        if self.bytes > TEXT_LIMIT || self.blocks.len() > BLOCKS {
            return Err(too_long());
        }
        let plain = ["reasoning_content", "reasoning"].into_iter().find_map(|field| {
            let text = delta.get(field)?.as_str().filter(|text| !text.is_empty())?;
            Some((field, text))
        });
        Ok(plain.map_or(told, |(field, text)| {
            self.field.get_or_insert(field);
            text.to_owned()
        }))
    }

    fn add(&mut self, piece: &Map<String, Value>, whole: bool) {
        let known = self.blocks.iter_mut().rev().enumerate();
        let begun =
            known.filter(|(back, block)| continues(block, piece, *back)).map(|(_, block)| block).next();
        let Some(block) = begun.filter(|_| !whole) else {
            self.blocks.push(piece.clone());
            return;
        };
        for (field, value) in piece {
            match (block.get_mut(field), value) {
                (_, Value::Null) => {}
                (Some(Value::String(before)), Value::String(more)) if is_text(field) => before.push_str(more),
                _ => {
                    block.insert(field.clone(), value.clone());
                }
            }
        }
    }

    /// The fields by which it goes back; none for no reasoning.
    pub(super) fn replay(self, text: &str) -> Option<Value> {
        let mut fields = Map::new();
        if let Some(field) = self.field {
            fields.insert(field.to_owned(), json!(text));
        }
        if !self.blocks.is_empty() {
            fields.insert(DETAILS.to_owned(), self.blocks.into_iter().map(Value::Object).collect());
        }
        (!fields.is_empty()).then_some(Value::Object(fields))
    }
}

/// Whether a piece goes on with a block: one of its kind and index or, without an index, the last one. What is
/// encrypted comes whole.
fn continues(block: &Map<String, Value>, piece: &Map<String, Value>, back: usize) -> bool {
    let set = |map: &Map<String, Value>, key: &str| map.get(key).filter(|value| !value.is_null()).cloned();
    let kind = set(piece, "type");
    let grows = kind.as_ref().and_then(Value::as_str) != Some("reasoning.encrypted");
    let index = set(piece, "index");
    let id = set(piece, "id");
    grows
        && set(block, "type") == kind
        && set(block, "index") == index
        && (index.is_some() || back == 0)
        && (id.is_none() || set(block, "id").is_none_or(|known| Some(known) == id))
}

fn is_text(field: &str) -> bool {
    matches!(field, "text" | "summary")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(deltas: &[Value], whole: bool) -> (String, Option<Value>) {
        let (mut reasoning, mut text) = (Reasoning::default(), String::new());
        for delta in deltas {
            text.push_str(&reasoning.take(delta.as_object().unwrap(), whole).unwrap());
        }
        let replay = reasoning.replay(&text);
        (text, replay)
    }

    #[test]
    fn blocks_are_put_together_from_their_pieces() {
        let details = |detail: Value| json!({"reasoning": detail["text"], "reasoning_details": [detail]});
        let deltas = [
            json!({"reasoning_details": null}),
            details(json!({"type": "reasoning.text", "text": "One, ", "index": 0, "signature": null})),
            details(json!({"type": "reasoning.text", "text": "two", "index": 0})),
            details(json!({"type": "reasoning.text", "text": "", "index": 0, "signature": "c2ln"})),
            details(json!({"type": "reasoning.encrypted", "data": "Zm9v", "index": 1, "id": "r1"})),
            details(json!({"type": "reasoning.encrypted", "data": "YmFy", "index": 1, "id": "r1"})),
            details(json!({"type": "reasoning.text", "text": "!", "index": 2})),
        ];
        let (text, replay) = read(&deltas, false);
        assert_eq!(text, "One, two!");
        let blocks = json!([
            {"type": "reasoning.text", "text": "One, two", "index": 0, "signature": "c2ln"},
            {"type": "reasoning.encrypted", "data": "Zm9v", "index": 1, "id": "r1"},
            {"type": "reasoning.encrypted", "data": "YmFy", "index": 1, "id": "r1"},
            {"type": "reasoning.text", "text": "!", "index": 2},
        ]);
        assert_eq!(replay, Some(json!({"reasoning": "One, two!", "reasoning_details": blocks})));
    }

    #[test]
    fn without_an_index_the_last_block_goes_on_and_whole_blocks_stay_apart() {
        let summary = |text: &str| json!({"type": "reasoning.summary", "summary": text});
        let pieces = [json!({"reasoning_details": [summary("a"), summary("b")]})];
        let joined = json!({"reasoning_details": [summary("ab")]});
        assert_eq!(read(&pieces, false), ("ab".to_owned(), Some(joined)));
        assert_eq!(read(&pieces, true), ("ab".to_owned(), Some(pieces[0].clone())));
    }

    #[test]
    fn plain_reasoning_goes_back_in_its_field() {
        let both = [json!({"reasoning_content": "hm", "reasoning": "hm"})];
        assert_eq!(read(&both, false), ("hm".to_owned(), Some(json!({"reasoning_content": "hm"}))));
        assert_eq!(read(&[json!({"content": "x", "reasoning": ""})], false), (String::new(), None));
    }

    #[test]
    fn what_is_no_list_of_blocks_is_an_error() {
        for wrong in [json!("hm"), json!([7]), json!({})] {
            let delta = json!({"reasoning_details": wrong});
            let error = Reasoning::default().take(delta.as_object().unwrap(), false).unwrap_err();
            assert_eq!(error.code(), "mas::llm::unreadable", "{delta}");
        }
    }
}
