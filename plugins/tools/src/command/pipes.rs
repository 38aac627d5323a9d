//! The pipes of a running program.

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    process::{Child, ChildStderr, ChildStdin, ChildStdout},
};

/// A program that writes more is stopped.
pub(super) const MOST_OUT: usize = 4 * 1024 * 1024;

/// How much of the end of stderr is told.
pub(super) const TAIL: usize = 2 * 1024;

/// How much of it is kept, so that a secret in what is told is whole.
const KEPT: usize = 8 * TAIL;

const CHUNK: usize = 16 * 1024;

/// The three pipes, served side by side: whichever is ready is.
pub(super) struct Pipes {
    feed: Feed,
    /// The result.
    pub(super) out: Reader<ChildStdout>,
    /// What else it says: the last bytes of it.
    pub(super) err: Reader<ChildStderr>,
}

impl Pipes {
    /// Takes the pipes of a child that is to read `input`.
    pub(super) fn of(child: &mut Child, input: Vec<u8>) -> Self {
        Self {
            feed: Feed { pipe: child.stdin.take(), input, written: 0 },
            out: Reader::new(child.stdout.take()),
            err: Reader::new(child.stderr.take()),
        }
    }

    /// Moves what can be moved; waits when nothing can be, and for ever once all pipes are at their ends. Safe to
    /// drop.
    pub(super) async fn step(&mut self) {
        tokio::select! {
            () = self.feed.step(), if self.feed.pipe.is_some() => {}
            () = self.out.step(), if self.out.pipe.is_some() => {}
            () = self.err.step(), if self.err.pipe.is_some() => self.err.keep_last(KEPT),
            else => std::future::pending().await,
        }
    }

    /// Reads stdout and stderr to their ends, or until there is too much. Safe to drop.
    pub(super) async fn drain(&mut self) {
        while !self.flooded() && (self.out.pipe.is_some() || self.err.pipe.is_some()) {
            self.step().await;
        }
    }

    /// Whether there is more on stdout than is read.
    pub(super) fn flooded(&self) -> bool {
        self.out.kept.len() > MOST_OUT
    }
}

/// Writes the input. A program need not read it.
struct Feed {
    pipe: Option<ChildStdin>,
    input: Vec<u8>,
    written: usize,
}

impl Feed {
    async fn step(&mut self) {
        let rest = self.input.get(self.written..).unwrap_or_default();
        let Some(pipe) = self.pipe.as_mut() else { return };
        match pipe.write(rest).await {
            Ok(count) if count > 0 && count < rest.len() => self.written += count,
            // All is written, or nobody reads any more.
            _ => self.pipe = None,
        }
    }
}

/// Reads a pipe.
pub(super) struct Reader<P> {
    pipe: Option<P>,
    chunk: Vec<u8>,
    /// What was read, or the end of it.
    pub(super) kept: Vec<u8>,
    /// Whether that is all.
    pub(super) whole: bool,
}

impl<P: AsyncRead + Unpin> Reader<P> {
    fn new(pipe: Option<P>) -> Self {
        Self { pipe, chunk: vec![0; CHUNK], kept: Vec::new(), whole: true }
    }

    async fn step(&mut self) {
        let Some(pipe) = self.pipe.as_mut() else { return };
        match pipe.read(&mut self.chunk).await {
            Ok(count) if count > 0 => {
                self.kept.extend_from_slice(self.chunk.get(..count).unwrap_or_default());
            }
            _ => self.pipe = None,
        }
    }

    fn keep_last(&mut self, most: usize) {
        let surplus = self.kept.len().saturating_sub(most);
        self.whole &= surplus == 0;
        self.kept.drain(..surplus);
    }
}
