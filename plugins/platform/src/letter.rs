//! A message on its way to a session, and its body, which is written once.

use std::{fs::File, io::Read, path::Path, sync::Arc};

use bytes::Bytes;
use mas_contracts::{Content, Error, Ids, Part, PartMeta, Result};
use serde_json::{Map, Value, json};

use crate::{
    kind::{Output, ResponseKind},
    parts,
    terms::Terms,
};

/// The media type of a PDF, which needs not be said of a file whose name ends so.
const PDF: &str = "application/pdf";

/// A message for a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Letter {
    /// The content; its text must not be blank.
    pub parts: Vec<Part>,
    /// The id of the message, sent as it is: the same for a message that is sent again. A fresh one if absent or
    /// blank.
    pub message_id: Option<Arc<str>>,
    /// What it is answered with.
    pub kind: ResponseKind,
    /// What the answer is made of.
    pub output: Output,
    /// The waiting task that it answers, if it does.
    pub task: Option<Arc<str>>,
    /// Metadata of the message, sent as it is.
    pub metadata: Map<String, Value>,
}

impl Letter {
    /// A message of one text, answered with a message of text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self { parts: vec![Part::text(text)], ..Self::default() }
    }
}

/// Reads a file as a part. Without `media_type` the name must end in `.pdf`; without `filename` it is that of the path.
///
/// # Errors
/// `mas::platform::request_invalid` for one that cannot be read, has more than `largest` bytes, or needs a media type.
pub fn attachment(
    path: &Path,
    media_type: Option<&str>,
    filename: Option<&str>,
    largest: usize,
) -> Result<Part> {
    let shown = path.display();
    let own_name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let filename = filename.map(str::to_owned).or(own_name);
    let is_pdf = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("pdf"));
    let media_type = match media_type.map(str::trim) {
        Some("") => return Err(invalid(format!("the media type of the file `{shown}` is blank"))),
        Some(given) => given,
        None if is_pdf => PDF,
        None => return Err(invalid(format!("the file `{shown}` needs a media type, such as `text/plain`"))),
    };
    let limit = u64::try_from(largest).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes));
    read.map_err(|error| invalid(format!("the file `{shown}` cannot be read: {error}")))?;
    check_size(bytes.len(), &shown.to_string(), largest)?;
    let meta = PartMeta { media_type: Some(media_type.to_owned()), filename, metadata: Map::new() };
    Ok(Part { content: Content::Raw(bytes.into()), meta: Some(Box::new(meta)) })
}

fn check_size(bytes: usize, name: &str, largest: usize) -> Result<()> {
    if bytes <= largest {
        return Ok(());
    }
    Err(invalid(format!("the file `{name}` is larger than {largest} bytes, the most that is sent of one")))
}

/// A message as it is sent, each time with the same bytes.
#[derive(Clone, Debug)]
pub(crate) struct Envelope {
    pub(crate) kind: ResponseKind,
    pub(crate) body: Bytes,
}

/// The id of a message: the one that it has, else a fresh one.
pub(crate) fn id_of(letter: &Letter, terms: &Terms, ids: &dyn Ids) -> Arc<str> {
    let given = letter.message_id.as_ref().filter(|id| !id.trim().is_empty());
    given.cloned().unwrap_or_else(|| format!("{}{}", terms.message_id_prefix, ids.next_id()).into())
}

/// Checks what does not depend on the session.
///
/// # Errors
/// `mas::platform::request_invalid` for blank text, a file that is too large or has no media type, and no repairs.
pub(crate) fn check(letter: &Letter, terms: &Terms) -> Result<()> {
    let texts = letter.parts.iter().filter_map(Part::as_text);
    if texts.clone().all(|text| text.trim().is_empty()) {
        return Err(invalid("the message has no text".to_owned()));
    }
    for part in &letter.parts {
        if let Content::Raw(bytes) = &part.content {
            let meta = part.meta.as_deref();
            let name = meta.and_then(|meta| meta.filename.as_deref()).unwrap_or("without a name");
            check_size(bytes.len(), name, terms.max_file_bytes)?;
            if meta.and_then(|meta| meta.media_type.as_deref()).is_none_or(|it| it.trim().is_empty()) {
                return Err(invalid(format!("the file `{name}` needs a media type, such as `text/plain`")));
            }
        }
    }
    if letter.output == (Output::Dictionary { repairs: 0 }) {
        return Err(invalid("a dictionary is repaired at least once (json_repair_attempts)".to_owned()));
    }
    Ok(())
}

/// Writes a message for a session.
///
/// # Errors
/// As [`check`].
pub(crate) fn write(letter: &Letter, message_id: &str, session: &str, terms: &Terms) -> Result<Envelope> {
    check(letter, terms)?;
    // Text comes first, and files behind it.
    let (texts, others): (Vec<&Part>, Vec<&Part>) =
        letter.parts.iter().partition(|part| part.as_text().is_some());
    let mut message = json!({
        "messageId": message_id,
        "role": "ROLE_USER",
        "contextId": session,
        "parts": Value::from_iter(texts.into_iter().chain(others).map(parts::write)),
    });
    if let Some(fields) = message.as_object_mut() {
        if let Some(task) = &letter.task {
            fields.insert("taskId".to_owned(), (&**task).into());
        }
        if !letter.metadata.is_empty() {
            fields.insert("metadata".to_owned(), letter.metadata.clone().into());
        }
    }
    let (mode, contract) = match letter.output {
        Output::Text => ("text/plain", None),
        Output::Dictionary { repairs } => {
            let format = json!({"type": "dictionary", "strict": true});
            ("application/json", Some(json!({"response_format": format, "jsonRepairAttempts": repairs})))
        }
    };
    let configuration = json!({"acceptedOutputModes": [mode], "responseKind": letter.kind.as_str()});
    let mut body = json!({"message": message, "configuration": configuration});
    if let (Some(contract), Some(fields)) = (contract, body.as_object_mut()) {
        fields.insert("metadata".to_owned(), Map::from_iter([(terms.output_contract(), contract)]).into());
    }
    Ok(Envelope { kind: letter.kind, body: body.to_string().into() })
}

/// The error for a message that cannot be sent.
pub(crate) fn invalid(what: String) -> Error {
    Error::invalid(what).with_code("mas::platform::request_invalid")
}

#[cfg(test)]
mod tests {
    use mas_testkit::SeqIds;

    use super::*;

    fn written(letter: &Letter) -> Result<String> {
        let terms = Terms::default();
        let id = id_of(letter, &terms, &SeqIds::new("id"));
        write(letter, &id, "session-1", &terms).map(|envelope| {
            let body: Value = serde_json::from_slice(&envelope.body).unwrap();
            serde_json::to_string_pretty(&body).unwrap()
        })
    }

    #[test]
    fn a_text_is_written_as_the_contract_has_it() {
        insta::assert_snapshot!(written(&Letter::text("hello")).unwrap(), @r#"
        {
          "message": {
            "messageId": "msg-id-1",
            "role": "ROLE_USER",
            "contextId": "session-1",
            "parts": [
              {
                "text": "hello"
              }
            ]
          },
          "configuration": {
            "acceptedOutputModes": [
              "text/plain"
            ],
            "responseKind": "message"
          }
        }
        "#);
    }

    #[test]
    fn a_strict_dictionary_and_files_are_written_as_the_contract_has_them() {
        let meta = PartMeta {
            media_type: Some(PDF.to_owned()),
            filename: Some("a.pdf".to_owned()),
            metadata: Map::new(),
        };
        let file = Part { content: Content::Raw(b"%PDF".as_slice().into()), meta: Some(Box::new(meta)) };
        let letter = Letter {
            parts: vec![file, Part::text("read this")],
            message_id: Some("own id".into()),
            kind: ResponseKind::Task,
            output: Output::Dictionary { repairs: 3 },
            ..Letter::default()
        };
        insta::assert_snapshot!(written(&letter).unwrap(), @r#"
        {
          "message": {
            "messageId": "own id",
            "role": "ROLE_USER",
            "contextId": "session-1",
            "parts": [
              {
                "text": "read this"
              },
              {
                "raw": "JVBERg==",
                "filename": "a.pdf",
                "mediaType": "application/pdf"
              }
            ]
          },
          "configuration": {
            "acceptedOutputModes": [
              "application/json"
            ],
            "responseKind": "task"
          },
          "metadata": {
            "https://mainsequence.ai/a2a/extensions/output-contract/v1": {
              "response_format": {
                "type": "dictionary",
                "strict": true
              },
              "jsonRepairAttempts": 3
            }
          }
        }
        "#);
    }

    #[test]
    fn a_blank_id_is_replaced_and_any_other_kept() {
        let terms = Terms::default();
        for (given, id) in [(None, "msg-id-1"), (Some(" "), "msg-id-1"), (Some(" x "), " x ")] {
            let letter = Letter { message_id: given.map(Into::into), ..Letter::text("a") };
            assert_eq!(&*id_of(&letter, &terms, &SeqIds::new("id")), id);
        }
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        let raw = |media_type: Option<&str>, length: usize| Part {
            content: Content::Raw(vec![0; length].into()),
            meta: Some(Box::new(PartMeta {
                media_type: media_type.map(str::to_owned),
                filename: Some("f".to_owned()),
                metadata: Map::new(),
            })),
        };
        let with = |part: Part| Letter { parts: vec![Part::text("a"), part], ..Letter::default() };
        let limit = 15 * 1024 * 1024;
        let cases = [
            (Letter::text(" \n"), "the message has no text"),
            (Letter { parts: vec![raw(Some("a/b"), 1)], ..Letter::default() }, "the message has no text"),
            (with(raw(None, 1)), "the file `f` needs a media type, such as `text/plain`"),
            (
                with(raw(Some("a/b"), limit + 1)),
                "the file `f` is larger than 15728640 bytes, the most that is sent of one",
            ),
            (
                Letter { output: Output::Dictionary { repairs: 0 }, ..Letter::text("a") },
                "a dictionary is repaired at least once (json_repair_attempts)",
            ),
        ];
        for (letter, wanted) in cases {
            let error = written(&letter).unwrap_err();
            assert_eq!((error.message(), error.code()), (wanted, "mas::platform::request_invalid".into()));
        }
        assert!(written(&with(raw(Some("a/b"), limit))).is_ok());
    }

    #[test]
    fn files_are_read_with_their_name_and_type() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["a.PDF", "b.txt"] {
            std::fs::write(path(name), "12345").unwrap();
        }
        let meta = |part: Part| {
            let meta = part.meta.unwrap();
            (meta.filename.unwrap(), meta.media_type.unwrap())
        };
        let read = |name: &str, media_type, filename| attachment(&path(name), media_type, filename, 5);
        assert_eq!(meta(read("a.PDF", None, None).unwrap()), ("a.PDF".to_owned(), PDF.to_owned()));
        let given = meta(read("b.txt", Some("text/plain"), Some("c")).unwrap());
        assert_eq!(given, ("c".to_owned(), "text/plain".to_owned()));
        for (name, media_type, largest, wanted) in [
            ("b.txt", None, 5, "needs a media type"),
            ("b.txt", Some(" "), 5, "is blank"),
            ("b.txt", Some("text/plain"), 4, "is larger than 4 bytes"),
            ("none.pdf", None, 5, "cannot be read"),
            (".", Some("text/plain"), 5, "cannot be read"),
        ] {
            let error = attachment(&path(name), media_type, None, largest).unwrap_err();
            assert!(error.message().contains(wanted), "{error}");
        }
    }
}
