//! The line at the prompt, edited by a person on a terminal.
//!
//! The read blocks, so it has a thread of its own. Nothing can call it back from there: a program that ends while a
//! line is edited puts the terminal back as it was and leaves the thread to the end of the process.

use std::{
    io,
    sync::{Arc, Mutex, mpsc as std_mpsc},
    time::Duration,
};

use mas_contracts::Env;
use rustyline::{
    Cmd, ConditionalEventHandler, Config, Event, EventContext, EventHandler, ExternalPrinter, KeyEvent,
    Movement, RepeatCount,
    config::BellStyle,
    error::ReadlineError,
    history::{History, MemHistory},
};
use tokio::sync::mpsc;

use crate::{
    console,
    history::{ENTRIES, HistoryFile},
};

/// How long the first sign of a prompt is waited for; a terminal that is held still draws nothing.
const DRAW: Duration = Duration::from_secs(1);

/// What came of a read.
#[derive(Debug)]
pub(crate) enum Typed {
    /// A line, or several pasted at once.
    Line(String),
    /// The end of input: Ctrl-D at an empty prompt.
    End,
    /// Ctrl-C at an empty prompt.
    Interrupted,
    /// The terminal cannot be read.
    Failed(io::Error),
}

/// A line editor on a thread of its own.
pub(crate) struct Editor {
    ask: std_mpsc::Sender<()>,
    drawn: std_mpsc::Receiver<()>,
    lines: mpsc::Receiver<Typed>,
    above: Option<console::Above>,
    reading: bool,
    mode: Mode,
}

impl Editor {
    /// Begins an editor on the terminal of stdin and stdout.
    ///
    /// # Errors
    /// Where the terminal cannot be used so.
    pub(crate) fn begin(prompt: &str, env: &Env) -> io::Result<Self> {
        let mode = Mode::take()?;
        let config = Config::builder()
            .max_history_size(ENTRIES)
            .and_then(|config| config.history_ignore_dups(true))
            .map_err(from_readline)?
            .bell_style(BellStyle::None)
            .auto_add_history(false)
            .build();
        let history = MemHistory::with_config(&config);
        let mut editor: LineEditor =
            rustyline::Editor::with_history(config, history).map_err(from_readline)?;
        editor.bind_sequence(KeyEvent::ctrl('C'), EventHandler::Conditional(Box::new(ClearFirst)));
        let above = editor.create_external_printer().ok().map(|mut printer| {
            let print = move |text: String| {
                // Nothing is left to tell it to when the terminal is gone.
                let _ = printer.print(text);
            };
            Arc::new(Mutex::new(print)) as console::Above
        });
        let (ask, asked) = std_mpsc::channel();
        let (sign, drawn) = std_mpsc::channel();
        let (sender, lines) = mpsc::channel(1);
        let reader =
            Reader { editor, prompt: Prompt { text: prompt.to_owned(), sign }, file: HistoryFile::of(env) };
        std::thread::Builder::new().name("editor".to_owned()).spawn(move || reader.run(&asked, &sender))?;
        Ok(Self { ask, drawn, lines, above, reading: false, mode })
    }

    /// Shows the prompt and waits for what a person types.
    pub(crate) async fn read(&mut self) -> Typed {
        if !self.reading {
            while self.drawn.try_recv().is_ok() {}
            if self.ask.send(()).is_err() {
                return Typed::Failed(io::Error::other("the line editor has ended"));
            }
            self.reading = true;
            console::echoed("…");
            // From here on the terminal is the editor's, so that whoever ends now knows to put it back.
            let _ = self.drawn.recv_timeout(DRAW);
            console::edited(self.above.clone());
        }
        let typed = self.lines.recv().await;
        console::edited(None);
        self.reading = false;
        // However a line ends, the editor goes to the next one.
        console::echoed("\n");
        typed.unwrap_or_else(|| Typed::Failed(io::Error::other("the line editor has ended")))
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        console::edited(None);
        if self.reading {
            self.mode.restore();
            console::fresh_line();
        }
    }
}

type LineEditor = rustyline::Editor<(), MemHistory>;

/// The thread's part.
struct Reader {
    editor: LineEditor,
    prompt: Prompt,
    file: Option<HistoryFile>,
}

impl Reader {
    fn run(mut self, asked: &std_mpsc::Receiver<()>, lines: &mpsc::Sender<Typed>) {
        let (entries, warning) = self.file.as_mut().map(HistoryFile::load).unwrap_or_default();
        if let Some(warning) = warning {
            console::err(&format!("warning: {warning}\n"));
        }
        for entry in entries {
            let _ = self.editor.add_history_entry(entry);
        }
        while asked.recv().is_ok() {
            let typed = self.read();
            // The prompt counts as drawn when the read is over, too.
            let _ = self.prompt.sign.send(());
            if lines.blocking_send(typed).is_err() {
                return;
            }
        }
    }

    fn read(&mut self) -> Typed {
        match self.editor.readline(&self.prompt) {
            Ok(line) => {
                if !line.trim().is_empty() {
                    self.remember(&line);
                }
                Typed::Line(line)
            }
            Err(ReadlineError::Eof) => Typed::End,
            Err(ReadlineError::Interrupted) => Typed::Interrupted,
            Err(error) => Typed::Failed(from_readline(error)),
        }
    }

    fn remember(&mut self, line: &str) {
        let _ = self.editor.history_mut().add(line);
        let Some(Err(warning)) = self.file.as_mut().map(|file| file.add(line)) else { return };
        // Told once: what cannot be written now cannot be written later.
        self.file = None;
        console::err(&format!("warning: {warning}; this session is not remembered\n"));
    }
}

/// The prompt, which says when it is drawn: the terminal is the editor's then.
struct Prompt {
    text: String,
    sign: std_mpsc::Sender<()>,
}

impl rustyline::Prompt for Prompt {
    fn raw(&self) -> &str {
        let _ = self.sign.send(());
        &self.text
    }
}

/// Ctrl-C with something typed clears it.
struct ClearFirst;

impl ConditionalEventHandler for ClearFirst {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext<'_>) -> Option<Cmd> {
        (!context.line().is_empty()).then_some(Cmd::Kill(Movement::WholeBuffer))
    }
}

fn from_readline(error: ReadlineError) -> io::Error {
    match error {
        ReadlineError::Io(error) => error,
        error => io::Error::other(error),
    }
}

/// How the terminal was set before the editor had it.
#[cfg(unix)]
struct Mode(nix::sys::termios::Termios);

#[cfg(unix)]
impl Mode {
    fn take() -> io::Result<Self> {
        Ok(Self(nix::sys::termios::tcgetattr(io::stdin())?))
    }

    fn restore(&self) {
        // What was pasted comes plain again; the editor switched it on.
        console::control("\u{1b}[?2004l");
        let _ = nix::sys::termios::tcsetattr(io::stdin(), nix::sys::termios::SetArg::TCSANOW, &self.0);
    }
}

/// How the terminal was set: nothing that we can keep here.
#[cfg(not(unix))]
struct Mode;

#[cfg(not(unix))]
impl Mode {
    #[allow(clippy::unnecessary_wraps, reason = "it fails elsewhere")]
    fn take() -> io::Result<Self> {
        Ok(Self)
    }

    #[allow(clippy::unused_self, reason = "it restores elsewhere")]
    fn restore(&self) {}
}
