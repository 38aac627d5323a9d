//! What is wrong with a message beside its shape: lengths, sizes, and media types that the agent does not take.

use std::sync::Arc;

use mas_comm_kit::turn::weight_of_metadata;
use mas_contracts::{Part, TaskMessage};
use serde_json::{Map, Value};

use super::options::Options;
use crate::model::{Failure, Reason, SendMessage, Violation};

/// The longest id that a caller may give, in bytes.
const LONGEST_ID: usize = 1024;

/// Checks what a caller says against the limits and the modes of the card.
///
/// # Errors
/// [`Reason::InvalidParams`] with every field that is too long or too large, else
/// [`Reason::ContentTypeNotSupported`] for the first part that is not taken.
pub(super) fn check(request: &SendMessage, modes: &[Arc<str>], options: &Options) -> Result<(), Failure> {
    let SendMessage { message, metadata, .. } = request;
    let mut wrong = of_ids(message);
    let most = options.parts;
    if message.parts.len() > most {
        let text = format!("has {} parts, and {most} are taken at most", message.parts.len());
        wrong.push(Violation::new("message.parts", text));
    }
    wrong.extend(of_metadata("metadata", metadata, options));
    wrong.extend(of_metadata("message.metadata", &message.metadata, options));
    for (at, part) in message.parts.iter().enumerate() {
        let Some(meta) = &part.meta else { continue };
        let larger = of_metadata("", &meta.metadata, options);
        wrong.extend(larger.map(|it| Violation { field: format!("message.parts[{at}].metadata"), ..it }));
    }
    if !wrong.is_empty() {
        return Err(Failure::invalid(wrong));
    }
    for (at, part) in message.parts.iter().enumerate() {
        if let Some(media_type) = media_type(part)
            && !modes.is_empty()
            && !modes.iter().any(|mode| takes(mode, media_type))
        {
            let text = format!("part {at} is `{media_type}`, and this agent takes {}", modes.join(", "));
            return Err(Failure::new(Reason::ContentTypeNotSupported, text).with("mediaType", media_type));
        }
    }
    Ok(())
}

/// What is wrong with metadata at a place, if it is too large.
pub(super) fn of_metadata(
    place: &str,
    metadata: &Map<String, Value>,
    options: &Options,
) -> Option<Violation> {
    let most = options.metadata;
    let larger = !metadata.is_empty() && weight_of_metadata(metadata) > most;
    larger.then(|| Violation::new(place, format!("is larger than {most} bytes")))
}

fn of_ids(message: &TaskMessage) -> Vec<Violation> {
    let ids = [
        ("message.messageId", Some(&message.id)),
        ("message.contextId", message.context.as_ref()),
        ("message.taskId", message.task.as_ref()),
    ];
    let long = ids.into_iter().filter(|(_, id)| id.is_some_and(|id| id.len() > LONGEST_ID));
    long.map(|(field, _)| Violation::new(field, format!("is longer than {LONGEST_ID} bytes"))).collect()
}

fn media_type(part: &Part) -> Option<&str> {
    part.meta.as_ref()?.media_type.as_deref().filter(|media_type| !media_type.is_empty())
}

/// Whether a mode, which may end in `*`, covers a media type; parameters do not count.
fn takes(mode: &str, media_type: &str) -> bool {
    let bare = |text: &str| text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let (mode, media_type) = (bare(mode), bare(media_type));
    match mode.strip_suffix('*') {
        Some(range) => range == "*/" || media_type.starts_with(range),
        None => mode == media_type,
    }
}
