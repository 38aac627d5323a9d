//! The program `mas-ctl`: validate, plan and run teams of agents declared in YAML.
//!
//! ```text
//! main ─ cli ─ commands ─┬─ validate, plan, registry, config, infra, …  print and end
//!                        ├─ run-mas, chat ─ setup ─ conversation ─ turns      streamed
//!                        └─ serve ───────── setup ─ exposing                  until a signal
//! ```
//!
//! stdout is the conversation, the listing or one JSON document; everything else goes to stderr.

mod built_ins;
mod cli;
mod commands;
mod console;
mod conversation;
mod cursor;
mod dotenv;
mod editor;
mod exit;
mod exposing;
mod harmless;
mod history;
mod prompts;
mod report;
mod said;
mod screen;
mod setup;
mod stop;
mod surroundings;
mod trace;
mod turns;

use std::process::ExitCode;

use clap::Parser;

use crate::{cli::Cli, exit::Exit};

/// Runs the program on the arguments of the process.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are answers, not mistakes. A closed pipe leaves nobody to tell.
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() };
        }
    };
    console::log_to_stderr(cli.verbose);
    commands::run(cli).into()
}

/// The registry of everything that is linked in.
///
/// # Errors
/// Names that are claimed twice.
pub fn linked_registry() -> Result<mas_core::registry::Registry, Vec<mas_core::registry::RegistryError>> {
    mas_core::registry::Registry::linked()
}
