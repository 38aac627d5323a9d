//! Bytes of a file to text.

use std::path::Path;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Location, Source};

/// Largest file that is read, in bytes.
pub const MAX_FILE_BYTES: usize = 4 * 1024 * 1024;

/// Turns the bytes of a file into a source: UTF-8, byte order marks dropped, line ends made `\n`.
///
/// # Errors
/// A located diagnostic when the bytes are too many, binary or in another encoding.
pub fn decode_text(path: &Path, bytes: Vec<u8>, base: Option<&Path>) -> Result<Arc<Source>, Diagnostic> {
    let at_start = || Location::start_of(Source::new(path, "", base));
    if bytes.len() > MAX_FILE_BYTES {
        let message =
            format!("the file is too large: {} bytes, at most {MAX_FILE_BYTES} are read", bytes.len());
        return Err(Diagnostic::error("mas::file::too_large", &at_start(), message));
    }
    if let Some(what) = foreign(&bytes) {
        return Err(Diagnostic::error(
            "mas::file::encoding",
            &at_start(),
            format!("the file is {what}, not UTF-8 text"),
        )
        .help("save it as UTF-8"));
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let offset = error.utf8_error().valid_up_to();
            let byte = error.as_bytes().get(offset).copied().unwrap_or_default();
            // The text before the bad byte is intact, so the offset holds in the lossy text too.
            let source = Source::new(path, String::from_utf8_lossy(error.as_bytes()), base);
            let at = Location::new(source, offset..offset + '\u{fffd}'.len_utf8());
            let message = format!("the file is not UTF-8 text: byte 0x{byte:02X} at offset {offset}");
            return Err(Diagnostic::error("mas::file::encoding", &at, message)
                .help("save it as UTF-8; it may be Latin-1 or Windows-1252"));
        }
    };
    if let Some(offset) = text.find('\0') {
        let at = Location::new(Source::new(path, text.as_str(), base), offset..offset + 1);
        let message = format!("the file is binary: a NUL byte at offset {offset}");
        return Err(Diagnostic::error("mas::file::encoding", &at, message));
    }
    Ok(Source::new(path, tidy(text), base))
}

fn foreign(bytes: &[u8]) -> Option<&'static str> {
    const KNOWN: &[(&[u8], &str)] = &[
        (b"\x89PNG", "a PNG image"),
        (b"\xFF\xD8\xFF", "a JPEG image"),
        (b"GIF8", "a GIF image"),
        (b"%PDF", "a PDF document"),
        (b"PK\x03\x04", "a ZIP archive"),
        (b"\x1F\x8B", "a gzip archive"),
        (b"\x7FELF", "a program"),
        (b"\xFF\xFE", "UTF-16 (little-endian)"),
        (b"\xFE\xFF", "UTF-16 (big-endian)"),
    ];
    if let Some((_, what)) = KNOWN.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Some(what);
    }
    match bytes {
        [0, first, 0, second, ..] if first.is_ascii_graphic() && second.is_ascii() => {
            Some("UTF-16 (big-endian)")
        }
        [first, 0, second, 0, ..] if first.is_ascii_graphic() && second.is_ascii() => {
            Some("UTF-16 (little-endian)")
        }
        _ => None,
    }
}

// Lines and columns stay what an editor shows; only invisible characters go.
fn tidy(mut text: String) -> String {
    if text.contains('\r') {
        text = text.replace("\r\n", "\n").replace('\r', "\n");
    }
    if text.contains('\u{feff}') {
        text = text.replace("\n\u{feff}", "\n").replace("---\u{feff}", "---");
        if let Some(rest) = text.strip_prefix('\u{feff}') {
            text = rest.to_owned();
        }
    }
    text
}
