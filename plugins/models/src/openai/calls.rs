//! Tool calls put together from their pieces, in every dialect that is out there.
//!
//! A piece belongs to the call of its `index`, where it has one and that call goes on. Otherwise: an id that is
//! new begins a call; a piece with a name begins one, unless it repeats the call that is still being written; a
//! piece with neither continues the last call. So a missing, drifting or repeated index, an empty or repeated id and
//! a repeated name lead to the same calls.

use mas_contracts::{Arguments, Result, ToolCall};
use serde_json::Value;

use super::reader::unreadable;
use crate::native;

/// Most calls in one answer.
const CALL_LIMIT: usize = 128;

/// Most bytes of the arguments of one call.
const ARGUMENT_LIMIT: usize = 4 * 1024 * 1024;

/// A piece of a call.
#[derive(Debug)]
pub(super) struct Delta<'a> {
    index: Option<i64>,
    id: &'a str,
    name: &'a str,
    arguments: Option<&'a Value>,
    extra: Option<&'a Value>,
}

impl<'a> Delta<'a> {
    /// The piece that a value is; `None` if it is none.
    pub(super) fn of(value: &'a Value) -> Option<Self> {
        let fields = value.as_object()?;
        let function = fields.get("function").and_then(Value::as_object).unwrap_or(fields);
        let text = |value: Option<&'a Value>| match value {
            None | Some(Value::Null) => Some(""),
            Some(value) => value.as_str(),
        };
        Some(Self {
            index: fields.get("index").and_then(Value::as_i64),
            id: text(fields.get("id"))?,
            name: text(function.get("name"))?,
            arguments: function.get("arguments").filter(|arguments| !arguments.is_null()),
            extra: fields.get("extra_content").filter(|extra| !extra.is_null()),
        })
    }
}

/// A call being written.
#[derive(Debug, Default)]
struct Draft {
    index: Option<i64>,
    id: String,
    name: String,
    arguments: String,
    extra: Option<Value>,
}

impl Draft {
    /// Whether its arguments are whole.
    fn is_whole(&self) -> bool {
        // A look at the end first, since a server may repeat the name with every piece.
        self.arguments.trim_end().ends_with('}')
            && serde_json::from_str::<serde_json::Map<String, Value>>(&self.arguments).is_ok()
    }

    /// Whether a piece goes on with this call, of which it has the index or the place.
    fn continues(&self, delta: &Delta<'_>) -> bool {
        if !delta.id.is_empty() && !self.id.is_empty() && delta.id != self.id {
            return false;
        }
        delta.name.is_empty() || !self.is_whole()
    }

    fn take(&mut self, delta: &Delta<'_>) -> Result<()> {
        if self.id.is_empty() {
            delta.id.clone_into(&mut self.id);
        }
        // A name comes once, or in pieces before any argument, or again and again.
        if !delta.name.is_empty() && self.arguments.is_empty() && self.name != delta.name {
            self.name.push_str(delta.name);
        }
        if let Some(extra) = delta.extra {
            self.extra = Some(extra.clone());
        }
        match delta.arguments {
            None => {}
            Some(Value::String(piece)) => self.arguments.push_str(piece),
            Some(object @ Value::Object(_)) if self.arguments.trim().is_empty() || self.is_whole() => {
                self.arguments = object.to_string();
            }
            Some(other) => return Err(unreadable("the arguments of a tool call", &other.to_string())),
        }
        if self.arguments.len() > ARGUMENT_LIMIT {
            return Err(native::limit(format!(
                "the arguments of `{}` are longer than {ARGUMENT_LIMIT} bytes",
                self.name
            )));
        }
        Ok(())
    }
}

/// The calls of one answer.
#[derive(Debug, Default)]
pub(super) struct Calls(Vec<Draft>);

impl Calls {
    /// Takes a piece.
    pub(super) fn take(&mut self, delta: &Delta<'_>) -> Result<()> {
        let at = self.place_of(delta);
        if let Some(draft) = at.and_then(|at| self.0.get_mut(at)) {
            return draft.take(delta);
        }
        if self.0.len() >= CALL_LIMIT {
            return Err(native::limit(format!("the model asks for more than {CALL_LIMIT} calls at once")));
        }
        let mut draft = Draft { index: delta.index, ..Draft::default() };
        draft.take(delta)?;
        self.0.push(draft);
        Ok(())
    }

    /// The call that a piece belongs to; `None` for a new one.
    fn place_of(&self, delta: &Delta<'_>) -> Option<usize> {
        let of_index =
            delta.index.and_then(|index| self.0.iter().rposition(|draft| draft.index == Some(index)));
        if let Some(at) = of_index {
            return self.0.get(at).filter(|draft| draft.continues(delta)).map(|_| at);
        }
        let last = self.0.len().checked_sub(1)?;
        let begins = !delta.name.is_empty();
        if !delta.id.is_empty() {
            let known = self.0.iter().rposition(|draft| draft.id == delta.id);
            return match known {
                // With an index of its own and a name it is another call, whatever its id.
                Some(_) if begins && delta.index.is_some() => None,
                Some(at) => {
                    let same = |draft: &&Draft| !begins || draft.name.is_empty() || draft.name == delta.name;
                    self.0.get(at).filter(same).filter(|draft| draft.continues(delta)).map(|_| at)
                }
                // The id came later than the call.
                None => self.0.get(last).filter(|draft| !begins && draft.id.is_empty()).map(|_| last),
            };
        }
        if !begins {
            return Some(last);
        }
        let goes_on = |draft: &&Draft| {
            delta.index.is_none()
                && draft.name == delta.name
                && !draft.is_whole()
                && !draft.arguments.is_empty()
        };
        self.0.get(last).filter(goes_on).map(|_| last)
    }

    /// The calls, and beside each what its provider wants to see again with it.
    pub(super) fn finish(self) -> Result<(Vec<ToolCall>, Vec<Value>)> {
        let mut calls = Vec::with_capacity(self.0.len());
        let mut extras = Vec::with_capacity(self.0.len());
        for draft in self.0 {
            if draft.name.is_empty() {
                return Err(unreadable("a tool call names no tool", &draft.arguments));
            }
            calls.push(ToolCall {
                id: draft.id.into(),
                name: draft.name.into(),
                arguments: Arguments::from_text(&draft.arguments),
            });
            extras.push(draft.extra.unwrap_or(Value::Null));
        }
        Ok((calls, extras))
    }
}
