//! Server-sent events: bytes in, events out.
//!
//! Every form that the WHATWG standard allows is read: lines that end in CR, LF or both, a byte order mark, comments,
//! fields without the space after the colon or without a colon, data over several lines. An event without data is
//! none, as the standard has it; so is one whose data is empty, which servers send to keep a connection open. An
//! event that the bytes end within is not given out.

use mas_contracts::{Delivery, Error, ErrorKind, Result};

/// The limit of one event where nothing else is said: 16 MiB.
pub const EVENT_LIMIT: usize = 16 * 1024 * 1024;

/// The code of the error for an event over the limit.
pub const TOO_LARGE: &str = "mas::sse::too_large";

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Its type, if one is given.
    pub name: Option<String>,
    /// Its data, lines joined by a newline.
    pub data: String,
}

/// Reads a stream of events. It looks at every byte once, and holds one event at most.
#[derive(Debug)]
pub struct Decoder {
    limit: usize,
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    last_id: Option<String>,
    retry: Option<u64>,
    begun: bool,
    after_cr: bool,
    over: bool,
    #[cfg(test)]
    work: usize,
}

impl Decoder {
    /// A decoder that refuses an event, or a line, of more than `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            event: Event::default(),
            has_data: false,
            last_id: None,
            retry: None,
            begun: false,
            after_cr: false,
            over: false,
            #[cfg(test)]
            work: 0,
        }
    }

    /// Takes the next bytes, split anywhere, and adds the events that they complete to `events`.
    ///
    /// # Errors
    /// [`TOO_LARGE`] for an event over the limit, and for whatever comes after it. The events before it are added.
    pub fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.over {
                return Err(self.too_large());
            }
            if std::mem::take(&mut self.after_cr)
                && let Some(after) = rest.strip_prefix(b"\n")
            {
                rest = after;
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let (part, after) = rest.split_at(end.unwrap_or(rest.len()));
            #[cfg(test)]
            {
                self.work += part.len() + 1;
            }
            if self.line.len().saturating_add(self.event.data.len()).saturating_add(part.len()) > self.limit {
                self.over = true;
                self.line = Vec::new();
                self.event = Event::default();
                return Err(self.too_large());
            }
            self.line.extend_from_slice(part);
            rest = match after.split_first() {
                Some((ending, after)) => {
                    self.after_cr = *ending == b'\r';
                    self.end_line(events);
                    after
                }
                None => after,
            };
        }
        Ok(())
    }

    /// Whether bytes of an event that has not ended are left: at the end of the stream, that it was cut.
    #[must_use]
    pub fn has_rest(&self) -> bool {
        self.has_data || !self.line.is_empty()
    }

    /// Takes out the event that the bytes end within, if there is one: at the end of the stream one that a server did
    /// not end with a blank line, or a piece of one.
    pub fn rest(&mut self) -> Option<Event> {
        let mut events = Vec::new();
        if !self.line.is_empty() {
            self.end_line(&mut events);
        }
        self.end_event(&mut events);
        events.pop()
    }

    /// The last id that an event carried; what `Last-Event-ID` wants to see.
    #[must_use]
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// How many milliseconds to wait before connecting again, as the server last said.
    #[must_use]
    pub fn retry(&self) -> Option<u64> {
        self.retry
    }

    fn too_large(&self) -> Error {
        Error::new(ErrorKind::Limit, format!("an event of the stream is larger than {} bytes", self.limit))
            .with_code(TOO_LARGE)
            .with_delivery(Delivery::Unknown)
    }

    fn end_line(&mut self, events: &mut Vec<Event>) {
        let bytes = std::mem::take(&mut self.line);
        let mut line = bytes.as_slice();
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            self.end_event(events);
        } else {
            self.field(&String::from_utf8_lossy(line));
        }
        self.line = bytes;
        self.line.clear();
    }

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            "event" => self.event.name = Some(value.to_owned()).filter(|name| !name.is_empty()),
            "id" if !value.contains('\0') => self.last_id = Some(value.to_owned()),
            "retry" if value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.retry = value.parse().ok().or(self.retry);
            }
            _ => {}
        }
    }

    fn end_event(&mut self, events: &mut Vec<Event>) {
        let event = std::mem::take(&mut self.event);
        self.has_data = false;
        if !event.data.is_empty() {
            events.push(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&[u8]]) -> (Vec<Event>, Decoder) {
        let (mut decoder, mut events) = (Decoder::new(EVENT_LIMIT), Vec::new());
        for piece in pieces {
            decoder.push(piece, &mut events).unwrap();
        }
        (events, decoder)
    }

    fn event(name: Option<&str>, data: &str) -> Event {
        Event { name: name.map(str::to_owned), data: data.to_owned() }
    }

    #[test]
    fn every_legal_form_is_read() {
        let one = |data: &str| vec![event(None, data)];
        let cases: &[(&str, Vec<Event>)] = &[
            ("data: a\n\n", one("a")),
            ("data: a\r\n\r\n", one("a")),
            ("data: a\r\r", one("a")),
            ("data:a\n\n", one("a")),
            ("data:  a\n\n", one(" a")),
            ("\u{feff}data: a\n\n", one("a")),
            (
                "data: a\n\ndata: b\r\n\r\ndata: c\r\r",
                vec![event(None, "a"), event(None, "b"), event(None, "c")],
            ),
            ("data: a\ndata: b\ndata:\ndata\n\n", one("a\nb\n\n")),
            ("event: ping\ndata: {}\n\n", vec![event(Some("ping"), "{}")]),
            ("event:\ndata: a\n\n", one("a")),
            // R13: comments and events without data are no events, and their name is not kept.
            (": ping\n\n:\n\ndata:\n\nevent: gone\n\ndata: a\n\n", one("a")),
            // R14: the other fields, and pretty JSON over several lines.
            (
                "id: 7\nevent: message\nretry: 3000\ndata: {\ndata:   \"a\": 1\ndata:}\n\n",
                vec![event(Some("message"), "{\n  \"a\": 1\n}")],
            ),
            ("unknown: x\nnonsense\ndata: a\n\n", one("a")),
            ("\n\n\ndata: a\n\n\n\n", one("a")),
            // The end is missing.
            ("data: a\n", vec![]),
            ("data: a", vec![]),
        ];
        for (text, expected) in cases {
            assert_eq!(&read(&[text.as_bytes()]).0, expected, "{text:?}");
        }
    }

    #[test]
    fn ids_and_pauses_are_kept() {
        let (_, decoder) = read(&[b"id: 7\nretry: 3000\n\nid: a\0b\nretry: soon\nretry:\n\n"]);
        assert_eq!((decoder.last_id(), decoder.retry()), (Some("7"), Some(3000)));
    }

    #[test]
    fn what_is_left_at_the_end_can_be_told() {
        for (bytes, left) in
            [("data: a\n\n", false), ("data: a\n\ndata: b\n", true), ("dat", true), ("", false)]
        {
            assert_eq!(read(&[bytes.as_bytes()]).1.has_rest(), left, "{bytes:?}");
        }
    }

    #[test]
    fn what_is_left_at_the_end_can_be_had() {
        for (bytes, left) in [
            ("data: a\n\n", None),
            ("data: a\n\ndata: b\ndata: c", Some("b\nc")),
            ("data: b\n", Some("b")),
            ("dat", None),
        ] {
            let (_, mut decoder) = read(&[bytes.as_bytes()]);
            assert_eq!(decoder.rest().map(|event| event.data).as_deref(), left, "{bytes:?}");
            assert!(!decoder.has_rest(), "{bytes:?}");
        }
    }

    #[test]
    fn an_event_over_the_limit_is_an_error_and_memory_is_bounded() {
        let cases: [&[u8]; 3] = [&[b'x'; 200], &b"data: 1234567890\n".repeat(12), &[b':'; 200]];
        for bytes in cases {
            for size in [1, 7, 200] {
                let (mut decoder, mut events) = (Decoder::new(100), Vec::new());
                decoder.push(b"data: before\n\n", &mut events).unwrap();
                let error =
                    bytes.chunks(size).find_map(|piece| decoder.push(piece, &mut events).err()).unwrap();
                assert_eq!((error.code(), error.kind()), (TOO_LARGE.into(), ErrorKind::Limit));
                assert_eq!(error.message(), "an event of the stream is larger than 100 bytes");
                assert_eq!((events.len(), decoder.line.capacity()), (1, 0));
                assert!(decoder.push(b"\n\ndata: after\n\n", &mut events).is_err());
                assert_eq!(events.len(), 1);
            }
        }
    }

    // R15: what is done is counted, since time is not.
    #[test]
    fn large_events_are_read_in_linear_time_however_small_the_pieces() {
        let data = "x".repeat(2 * 1024 * 1024);
        let bytes = format!("data: {data}\n\n").into_bytes();
        for size in [1, 16 * 1024] {
            let (mut decoder, mut events) = (Decoder::new(EVENT_LIMIT), Vec::new());
            for piece in bytes.chunks(size) {
                decoder.push(piece, &mut events).unwrap();
            }
            assert_eq!(events.len(), 1);
            assert_eq!(events[0].data, data);
            assert!(decoder.work <= 2 * bytes.len(), "{} for {}", decoder.work, bytes.len());
        }
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_events(
            lines in prop::collection::vec("(data|event|id|retry|)(:| :|: )[a-zé:\u{feff}]{0,3}", 0..12),
            ends in prop::collection::vec(prop::sample::select(vec!["\n", "\r", "\r\n", "\n\n", "\r\n\r\n"]), 12),
            mut cuts in prop::collection::vec(0usize..200, 0..8),
            mark in any::<bool>(),
        ) {
            let mut text = String::from(if mark { "\u{feff}" } else { "" });
            for (line, end) in lines.iter().zip(&ends) {
                text.push_str(line);
                text.push_str(end);
            }
            let bytes = text.as_bytes();
            let (whole, all) = read(&[bytes]);
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for cut in cuts.into_iter().chain([bytes.len()]) {
                let cut = cut.min(bytes.len());
                pieces.push(&bytes[from..cut]);
                from = cut;
            }
            let (split, rest) = read(&pieces);
            prop_assert_eq!(&whole, &split);
            prop_assert_eq!((all.last_id(), all.retry(), all.has_rest()), (rest.last_id(), rest.retry(), rest.has_rest()));
            let (single, _) = read(&bytes.chunks(1).collect::<Vec<_>>());
            prop_assert_eq!(&whole, &single);
        }
    }
}
