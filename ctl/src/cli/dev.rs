//! The command line of `dev`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::filled;

/// What to try things against.
#[derive(Debug, Subcommand)]
pub(crate) enum DevCommand {
    /// Be a managed platform with one agent and its session, on this machine only, until a signal ends it.
    Platform(DevPlatformArgs),
}

/// Arguments of `dev platform`.
#[derive(Debug, Args)]
pub(crate) struct DevPlatformArgs {
    /// The port of the platform; default any. The runtime has a port of its own.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,
    /// The token that callers of the platform show.
    #[arg(long, value_name = "TOKEN", default_value = "dev-token", value_parser = filled)]
    pub(crate) token: String,
    /// A JSON file with agents, sessions and scripts, as POST /_control/script takes it.
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
}
