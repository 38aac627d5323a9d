//! `completions`: the script of a shell.

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::{cli::Cli, console, exit::Exit};

/// Prints the script.
pub(crate) fn run(shell: Shell) -> Exit {
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "mas-ctl", &mut script);
    console::out(&String::from_utf8_lossy(&script));
    Exit::Done
}
