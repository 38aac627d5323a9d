//! What is said to a session, and whether its answer tells of a failure.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use mas_contracts::{Error, Part, Result};
use mas_platform::{Received, attachment};

use crate::cli::session::SessionSendArgs;

/// The longest text: 16 MiB.
const LONGEST: u64 = 16 * 1024 * 1024;

/// The media type of files that nothing is said of.
const PDF: &str = "application/pdf";

/// The text and the files.
///
/// # Errors
/// `mas::platform::request_invalid` for what cannot be read, is blank, too large or no UTF-8.
pub(super) fn parts(args: &SessionSendArgs, largest: usize) -> Result<Vec<Part>> {
    let text = match (&args.message, &args.message_file) {
        (Some(text), _) => text.clone(),
        (None, Some(file)) => text_of(file)?,
        (None, None) => String::new(),
    };
    if text.trim().is_empty() {
        return Err(invalid("the message is blank"));
    }
    let (files, types) = (&args.files, &args.media_types);
    if !types.is_empty() && types.len() != files.len() {
        return Err(invalid(&format!(
            "there are {} --file and {} --media-type: say one media type for each file, or none at all",
            files.len(),
            types.len()
        )));
    }
    let mut parts = vec![Part::text(text)];
    for (number, file) in files.iter().enumerate() {
        let media_type = types.get(number).map_or(PDF, String::as_str);
        parts.push(attachment(file, Some(media_type), None, largest)?);
    }
    Ok(parts)
}

fn text_of(file: &Path) -> Result<String> {
    let shown = file.display();
    let mut bytes = Vec::new();
    let read = if file == Path::new("-") {
        io::stdin().lock().take(LONGEST + 1).read_to_end(&mut bytes)
    } else {
        File::open(file).and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes))
    };
    let read =
        read.map_err(|error| invalid(&format!("the message file `{shown}` cannot be read: {error}")))?;
    if u64::try_from(read).unwrap_or(u64::MAX) > LONGEST {
        return Err(invalid(&format!("the message file `{shown}` is larger than 16 MiB")));
    }
    String::from_utf8(bytes).map_err(|_| invalid(&format!("the message file `{shown}` is no UTF-8")))
}

pub(super) fn invalid(what: &str) -> Error {
    Error::invalid(what).with_code("mas::platform::request_invalid")
}

/// Whether it is a task that ended in failure.
pub(super) fn has_failed(received: &Received) -> bool {
    let state = received.inner().pointer("/status/state").and_then(serde_json::Value::as_str);
    let state = state.map(|state| state.trim_start_matches("TASK_STATE_").to_ascii_lowercase());
    matches!(state.as_deref(), Some("failed" | "rejected"))
}
