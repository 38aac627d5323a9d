//! The writer thread.

use std::{
    collections::VecDeque,
    io::{BufWriter, Write},
    sync::Arc,
};

use serde_json::{Map, Value};

use crate::{
    line::Lines,
    queue::{Item, Queue},
};

/// Writes until the queue is closed and empty.
pub(crate) fn run(queue: &Queue, out: Box<dyn Write + Send>, run: Arc<str>) {
    let mut writer = Writer { out: BufWriter::new(out), lines: Lines::new(run), failure: None };
    while let Some(items) = queue.take() {
        writer.write(items);
    }
    queue.end();
}

struct Writer {
    out: BufWriter<Box<dyn Write + Send>>,
    lines: Lines,
    failure: Option<String>,
}

impl Writer {
    fn write(&mut self, items: VecDeque<Item>) {
        for item in items {
            match item {
                Item::Event(event) => {
                    let line = self.lines.event(&event);
                    self.line(line);
                }
                Item::Dropped { ts, count } => {
                    let line = self.lines.dropped(ts, count);
                    self.line(line);
                }
                Item::Flush(done) => {
                    self.flush();
                    // The asker may have gone; nobody needs the answer then.
                    let _ = done.send(self.failure.take().map_or(Ok(()), Err));
                }
            }
        }
        self.flush();
    }

    fn line(&mut self, line: Map<String, Value>) {
        let mut text = Value::Object(line).to_string();
        text.push('\n');
        let written = self.out.write_all(text.as_bytes());
        self.note(written);
    }

    fn flush(&mut self) {
        let flushed = self.out.flush();
        self.note(flushed);
    }

    /// Keeps the first failure for the next flush.
    fn note(&mut self, done: std::io::Result<()>) {
        if let Err(error) = done {
            self.failure.get_or_insert_with(|| error.to_string());
        }
    }
}
