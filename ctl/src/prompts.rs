//! Where prompts come from: flags, else stdin, one line a turn.

use std::{collections::VecDeque, io::IsTerminal};

use tokio::io::{AsyncBufReadExt, BufReader, Lines, Stdin};

use crate::{cli::RunArgs, console};

/// Prompts, in order.
pub(crate) enum Prompts {
    /// Given by flags.
    Given(VecDeque<String>),
    /// Read from stdin.
    Read(Lines<BufReader<Stdin>>),
}

impl Prompts {
    /// The prompts that the flags give; without any, stdin.
    pub(crate) fn new(args: &RunArgs) -> Self {
        let given: VecDeque<String> = args.prompt.iter().chain(&args.queries).cloned().collect();
        if given.is_empty() {
            Self::Read(BufReader::new(tokio::io::stdin()).lines())
        } else {
            Self::Given(given)
        }
    }

    /// The next prompt; `None` at the end. Blank lines are passed over.
    pub(crate) async fn next(&mut self) -> std::io::Result<Option<String>> {
        match self {
            Self::Given(prompts) => Ok(prompts.pop_front()),
            Self::Read(lines) => loop {
                if std::io::stdin().is_terminal() {
                    console::err("> ");
                }
                match lines.next_line().await? {
                    Some(line) if line.trim().is_empty() => {}
                    Some(line) => return Ok(Some(line.trim_end_matches('\r').to_owned())),
                    None => return Ok(None),
                }
            },
        }
    }
}
