//! The content of messages and artifacts as A2A v1.0 writes it.

use base64::{Engine, engine::general_purpose::STANDARD};
use mas_contracts::{Content, Part, PartMeta};
use serde_json::{Map, Value};

/// A part as it is written.
pub(crate) fn write(part: &Part) -> Value {
    let mut map = Map::new();
    match &part.content {
        Content::Text(text) => map.insert("text".into(), (&**text).into()),
        Content::Data(data) => map.insert("data".into(), data.clone()),
        Content::Raw(bytes) => map.insert("raw".into(), STANDARD.encode(bytes).into()),
        Content::Url(url) => map.insert("url".into(), (&**url).into()),
    };
    if let Some(meta) = &part.meta {
        for (name, text) in [("filename", &meta.filename), ("mediaType", &meta.media_type)] {
            if let Some(text) = text {
                map.insert(name.into(), text.clone().into());
            }
        }
        if !meta.metadata.is_empty() {
            map.insert("metadata".into(), meta.metadata.clone().into());
        }
    }
    map.into()
}

/// The parts of a list. What is no part that is known here is data as it came, so that nothing is lost.
pub(crate) fn read_all(list: Option<&Value>) -> Vec<Part> {
    list.and_then(Value::as_array).map_or(&[][..], Vec::as_slice).iter().map(read).collect()
}

fn read(part: &Value) -> Part {
    let text = |name: &str| part.get(name).and_then(Value::as_str);
    let content = if let Some(text) = text("text") {
        Content::Text(text.into())
    } else if let Some(data) = part.get("data") {
        Content::Data(data.clone())
    } else if let Some(bytes) = text("raw").and_then(|raw| STANDARD.decode(raw).ok()) {
        Content::Raw(bytes.into())
    } else if let Some(url) = text("url") {
        Content::Url(url.into())
    } else {
        return Part::data(part.clone());
    };
    let metadata = part.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let owned = |name| text(name).filter(|text| !text.is_empty()).map(str::to_owned);
    let meta = PartMeta { media_type: owned("mediaType"), filename: owned("filename"), metadata };
    Part { content, meta: (meta != PartMeta::default()).then(|| Box::new(meta)) }
}

/// The texts of a list of parts, one after the other.
pub(crate) fn text_of(list: Option<&Value>) -> String {
    let parts = list.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    parts.iter().filter_map(|part| part.get("text")?.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parts_are_written_and_read_again() {
        let list = json!([
            {"text": "a"},
            {"data": {"b": [1]}, "mediaType": "application/json"},
            {"raw": "aGk=", "filename": "f.bin", "mediaType": "application/octet-stream", "metadata": {"x": 1}},
            {"url": "https://h/f", "filename": "f"},
        ]);
        let parts = read_all(Some(&list));
        assert_eq!(Value::from_iter(parts.iter().map(write)), list);
        assert_eq!(text_of(Some(&json!([{"text": "a"}, {"data": 1}, {"text": "b"}]))), "ab");
    }

    #[test]
    fn what_is_no_known_part_is_kept_as_data() {
        for odd in [json!({"raw": "not base64!"}), json!({"video": 1}), json!("text"), json!({"text": 1})] {
            assert_eq!(read_all(Some(&json!([odd]))), [Part::data(odd)]);
        }
        assert_eq!(read_all(Some(&json!("no list"))), []);
    }
}
