//! About how much memory a task takes.

use mas_contracts::{Content, Part, Task, TaskMessage};
use serde_json::{Map, Value};

/// What a task, a message or artifact, a part, and a JSON value take beside their content.
const TASK: usize = 512;
const ITEM: usize = 256;
const PART: usize = 64;
const VALUE: usize = 80;

pub(super) fn weigh(task: &Task) -> usize {
    let history = task.history.iter().chain(&task.status.message).map(|message| of_message(message));
    let artifacts = task.artifacts.iter().map(|artifact| {
        let texts = artifact.name.iter().chain(&artifact.description).chain(&artifact.extensions);
        sum([ITEM, of_parts(&artifact.parts), of_map(&artifact.metadata), of_texts(texts)])
    });
    sum([TASK, of_map(&task.metadata)].into_iter().chain(history).chain(artifacts))
}

fn of_message(message: &TaskMessage) -> usize {
    let texts = message.extensions.iter().chain(&message.references);
    sum([ITEM, of_parts(&message.parts), of_map(&message.metadata), of_texts(texts)])
}

fn of_parts(parts: &[Part]) -> usize {
    sum(parts.iter().map(|part| {
        let content = match &part.content {
            Content::Text(text) | Content::Url(text) => text.len(),
            Content::Raw(bytes) => bytes.len(),
            Content::Data(data) => of_value(data),
        };
        let meta = part.meta.as_ref().map_or(0, |meta| {
            let names = meta.media_type.iter().chain(&meta.filename).map(String::len);
            sum(names.chain([of_map(&meta.metadata)]))
        });
        sum([PART, content, meta])
    }))
}

fn of_texts<'a>(texts: impl Iterator<Item = &'a std::sync::Arc<str>>) -> usize {
    sum(texts.map(|text| text.len()))
}

fn of_map(map: &Map<String, Value>) -> usize {
    sum(map.iter().map(|(name, value)| name.len().saturating_add(of_value(value))))
}

fn of_value(value: &Value) -> usize {
    let content = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => sum(items.iter().map(of_value)),
        Value::Object(map) => of_map(map),
    };
    content.saturating_add(VALUE)
}

fn sum(weights: impl IntoIterator<Item = usize>) -> usize {
    weights.into_iter().fold(0, usize::saturating_add)
}
