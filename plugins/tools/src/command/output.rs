//! What a model is told of a run.

use std::{process::ExitStatus, time::Duration};

use super::pipes::{MOST_OUT, Pipes, TAIL};
use crate::{child::ending, secrets::Secrets, text::Output};

/// What stands for the output of a program that writes none; a model may not be sent an empty result.
const NOTHING: &str = "(no output)";

/// The result of a program that ended by itself, or why it is a failure.
pub(super) fn result(
    output: Output,
    status: ExitStatus,
    pipes: Pipes,
    secrets: &Secrets,
) -> Result<String, String> {
    if !status.success() {
        return Err(format!("the program {}{}", ending(status), said(&pipes, secrets)));
    }
    let size = pipes.out.kept.len();
    let text = String::from_utf8(pipes.out.kept).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("the program wrote {size} bytes that are not text in UTF-8: the first wrong one is at {at}")
    })?;
    let text = text.trim_end_matches(['\n', '\r']);
    if text.is_empty() && output != Output::Json {
        return Ok(NOTHING.to_owned());
    }
    output.read(text, text.trim_start().starts_with(['{', '['])).map_err(|error| {
        let said = secrets.tail(text.as_bytes(), true, TAIL);
        format!("the program did not write one JSON value ({error}), but: {said}")
    })
}

/// Of a program that was stopped because it wrote too much.
pub(super) fn flooded() -> String {
    format!("the program was stopped: it wrote more than {} MiB", MOST_OUT / 1024 / 1024)
}

/// Of a program that was stopped because it took too long.
pub(super) fn late(limit: Duration, pipes: &Pipes, secrets: &Secrets) -> String {
    format!("the program was stopped: no result within {} s{}", limit.as_secs_f64(), said(pipes, secrets))
}

/// The end of its stderr.
pub(super) fn words(pipes: &Pipes, secrets: &Secrets) -> String {
    secrets.tail(&pipes.err.kept, pipes.err.whole, TAIL)
}

/// The end of what it said, on stderr if there is anything.
fn said(pipes: &Pipes, secrets: &Secrets) -> String {
    let errors = words(pipes, secrets);
    let (place, text) = if errors.is_empty() {
        ("stdout", secrets.tail(&pipes.out.kept, pipes.out.whole, TAIL))
    } else {
        ("stderr", errors)
    };
    if text.is_empty() {
        return "; it wrote nothing".to_owned();
    }
    format!("; the end of its {place}:\n{text}")
}
