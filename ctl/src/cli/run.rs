//! The command line of `run-mas`, `chat` and `serve`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{RouteArgs, TeamArgs, filled};

/// Arguments of `run-mas` and `chat`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The manifest of the team or agent.
    #[arg(value_name = "MANIFEST")]
    pub(crate) manifest: PathBuf,
    /// The first prompt.
    #[arg(short, long, value_name = "TEXT", value_parser = filled)]
    pub(crate) prompt: Option<String>,
    /// A prompt; repeat it for one turn each, in the same session.
    #[arg(short, long = "query", value_name = "TEXT", value_parser = filled)]
    pub(crate) queries: Vec<String>,
    /// End after the first turn.
    #[arg(long)]
    pub(crate) single_turn: bool,
    /// Keep the conversation under this id, and continue it if it is there.
    #[arg(long, value_name = "ID", value_parser = filled)]
    pub(crate) session: Option<String>,
    /// Print one JSON document instead of the conversation.
    #[arg(long)]
    pub(crate) json: bool,
    /// Show each step on stderr.
    #[arg(long)]
    pub(crate) trace: bool,
    #[command(flatten)]
    pub(crate) events: EventArgs,
    #[command(flatten)]
    pub(crate) team: TeamArgs,
    #[command(flatten)]
    pub(crate) routes: RouteArgs,
}

/// Arguments of `serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The manifest of the team or agent.
    #[arg(value_name = "MANIFEST")]
    pub(crate) manifest: PathBuf,
    /// Serve every agent: the entry agent at the root, each one below /agents/.
    #[arg(long)]
    pub(crate) all: bool,
    /// Listen here, whatever the endpoint says; port 0 lets the system choose. Default: what the endpoint says, else
    /// 127.0.0.1:8080.
    #[arg(long, value_name = "HOST:PORT", value_parser = socket)]
    pub(crate) listen: Option<ListenAddress>,
    #[command(flatten)]
    pub(crate) events: EventArgs,
    #[command(flatten)]
    pub(crate) team: TeamArgs,
    #[command(flatten)]
    pub(crate) routes: RouteArgs,
}

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListenAddress {
    /// Host name or address, an IPv6 address without its brackets.
    pub(crate) host: String,
    /// Port.
    pub(crate) port: u16,
}

fn socket(text: &str) -> Result<ListenAddress, &'static str> {
    const EXPECTED: &str = "write it as HOST:PORT, such as 127.0.0.1:8080, 0.0.0.0:8080 or [::1]:8080";
    let (host, port) = text.trim().rsplit_once(':').ok_or(EXPECTED)?;
    let port = port.parse().map_err(|_| EXPECTED)?;
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let valid = match inner {
        Some(inner) => inner.parse::<std::net::Ipv6Addr>().is_ok(),
        None => !host.is_empty() && !host.contains([':', '/', '@', ' ', '[', ']']),
    };
    if !valid {
        return Err(EXPECTED);
    }
    Ok(ListenAddress { host: inner.unwrap_or(host).to_owned(), port })
}

/// Where events go.
#[derive(Debug, Args)]
pub(crate) struct EventArgs {
    /// Write the event log, whatever the manifest says.
    #[arg(long = "events", overrides_with = "no_events")]
    pub(crate) events: bool,
    /// Write no event log, whatever the manifest says.
    #[arg(long, overrides_with = "events")]
    pub(crate) no_events: bool,
    /// Write the event log to this file.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["no_events", "events_stderr"])]
    pub(crate) events_file: Option<PathBuf>,
    /// Write the event log to stderr.
    #[arg(long, conflicts_with = "no_events")]
    pub(crate) events_stderr: bool,
    /// The format of the event log.
    #[arg(long, value_name = "FORMAT", default_value = "native")]
    pub(crate) events_format: EventsFormat,
}

/// Formats of the event log.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum EventsFormat {
    /// JSON Lines, one object per event.
    Native,
}
