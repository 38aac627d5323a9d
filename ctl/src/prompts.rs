//! Where prompts come from: flags, a person at a terminal, or a pipe with one line a turn.

use std::{
    collections::VecDeque,
    io::{self, IsTerminal},
};

use mas_contracts::Env;
use tokio::io::{AsyncBufReadExt, BufReader, Lines, Stdin};

use crate::{
    cli::RunArgs,
    console,
    editor::{Editor, Typed},
    said::Said,
};

/// What stands before what a person types, and before each prompt in the transcript.
pub(crate) const YOU: &str = "You: ";

/// Prompts, in order.
pub(crate) struct Prompts {
    source: Source,
    /// Whether the terminal shows what is typed where the conversation is.
    shown: bool,
}

enum Source {
    Given(VecDeque<String>),
    Piped(Lines<BufReader<Stdin>>),
    /// A terminal that has no line editing.
    Plain(Lines<BufReader<Stdin>>),
    Edited(Box<Editor>),
}

/// What comes next.
#[derive(Debug)]
pub(crate) enum Next {
    /// Something was said.
    Said(Said),
    /// There is no more.
    End,
    /// A person pressed Ctrl-C at the prompt.
    Interrupted,
}

impl Prompts {
    /// The prompts that the flags give; without any, stdin.
    pub(crate) fn new(args: &RunArgs, env: &Env) -> Self {
        let given: VecDeque<String> = args.prompt.iter().chain(&args.queries).cloned().collect();
        if !given.is_empty() {
            return Self { source: Source::Given(given), shown: false };
        }
        let lines = || BufReader::new(tokio::io::stdin()).lines();
        if !io::stdin().is_terminal() {
            return Self { source: Source::Piped(lines()), shown: false };
        }
        let shown = io::stdout().is_terminal() && !args.json;
        let edits = shown && !matches!(env.get("TERM"), None | Some("" | "dumb" | "cons25" | "emacs"));
        let editor = edits.then(|| Editor::begin(YOU, env));
        let source = match editor {
            Some(Ok(editor)) => Source::Edited(Box::new(editor)),
            Some(Err(error)) => {
                console::err(&format!("warning: lines cannot be edited here: {error}\n"));
                Source::Plain(lines())
            }
            None => Source::Plain(lines()),
        };
        Self { source, shown }
    }

    /// Whether a person types them, who is asked again after whatever went wrong.
    pub(crate) fn are_typed(&self) -> bool {
        matches!(self.source, Source::Plain(_) | Source::Edited(_))
    }

    /// Whether what is said stands in the conversation already.
    pub(crate) fn are_shown(&self) -> bool {
        self.shown
    }

    /// The next prompt. Blank lines are passed over.
    ///
    /// # Errors
    /// What stdin says when it cannot be read.
    pub(crate) async fn next(&mut self) -> io::Result<Next> {
        loop {
            let said = match &mut self.source {
                Source::Given(prompts) => {
                    return Ok(prompts.pop_front().map_or(Next::End, |text| Next::Said(Said::Turn(text))));
                }
                Source::Piped(lines) => match lines.next_line().await? {
                    Some(line) => Said::piped(line.trim_end_matches('\r').to_owned()),
                    None => return Ok(Next::End),
                },
                Source::Plain(lines) => {
                    if self.shown {
                        console::out(YOU);
                    } else {
                        console::err("> ");
                    }
                    let line = lines.next_line().await?;
                    let Some(line) = line else { return Ok(Next::End) };
                    console::echoed("\n");
                    Said::typed(&line)
                }
                Source::Edited(editor) => match editor.read().await {
                    Typed::Line(line) => Said::typed(&line),
                    Typed::End => return Ok(Next::End),
                    Typed::Interrupted => return Ok(Next::Interrupted),
                    Typed::Failed(error) => return Err(error),
                },
            };
            match said {
                Said::Turn(text) if text.trim().is_empty() => {}
                said => return Ok(Next::Said(said)),
            }
        }
    }
}
