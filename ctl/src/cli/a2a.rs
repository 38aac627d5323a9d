//! The command line of `a2a`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use mas_a2a::client::{Binding, Version};

/// What to ask of an agent elsewhere.
#[derive(Debug, Subcommand)]
pub(crate) enum A2aCommand {
    /// Show the card of an agent.
    Card {
        #[command(subcommand)]
        command: RemoteCardCommand,
    },
    /// Say something and wait for what comes of it.
    Send(SendArgs),
    /// Say something and show what comes of it as it comes.
    Stream(SendArgs),
    /// Look at tasks, and end them.
    Task {
        #[command(subcommand)]
        command: TaskCommand,
    },
}

/// What to do with a card.
#[derive(Debug, Subcommand)]
pub(crate) enum RemoteCardCommand {
    /// Fetch it and print it as it is.
    Get(RemoteArgs),
}

/// What to do with tasks.
#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// Show a task.
    Get(TaskArgs),
    /// List tasks, newest first.
    List(ListArgs),
    /// End a task.
    Cancel(TaskArgs),
    /// Show what comes of a task from now on.
    Subscribe(TaskArgs),
}

/// How an agent elsewhere is reached.
#[derive(Debug, Args)]
pub(crate) struct RemoteArgs {
    /// The address of the agent, or of its card.
    #[arg(value_name = "URL", value_parser = super::address)]
    pub(crate) url: String,
    /// The binding: jsonrpc, rest or grpc; default the first of the card.
    #[arg(long, value_name = "NAME", value_parser = binding)]
    pub(crate) binding: Option<Binding>,
    /// The version of the protocol: 1.0 or 0.3; default the newest of the card.
    #[arg(long, value_name = "VERSION", value_parser = version)]
    pub(crate) protocol: Option<Version>,
    /// A header of every request, as `Name: value`, or `Name: env:VARIABLE` for a secret; repeat it for more.
    #[arg(short = 'H', long = "header", value_name = "HEADER", value_parser = header)]
    pub(crate) headers: Vec<String>,
    /// Trust the certificates of this file, too.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// How many seconds a call may take.
    #[arg(long, value_name = "SECONDS", default_value_t = 600.0, value_parser = seconds)]
    pub(crate) timeout: f64,
    /// Print JSON as A2A 1.0 has it: one document, or a line for each update of a stream.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `a2a send` and `a2a stream`.
#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
    /// What to say; `-` reads stdin.
    #[arg(value_name = "TEXT", value_parser = super::filled)]
    pub(crate) text: String,
    /// The conversation to go on with.
    #[arg(long, value_name = "ID", value_parser = super::filled)]
    pub(crate) context_id: Option<String>,
    /// The task to go on with, such as one that asks something.
    #[arg(long, value_name = "ID", value_parser = super::filled)]
    pub(crate) task_id: Option<String>,
    /// The id of the message; default a fresh one.
    #[arg(long, value_name = "ID", value_parser = super::filled)]
    pub(crate) message_id: Option<String>,
    /// How many of the latest messages of the history to return.
    #[arg(long, value_name = "COUNT")]
    pub(crate) history_length: Option<u32>,
    /// Return as soon as the task exists.
    #[arg(long)]
    pub(crate) return_immediately: bool,
}

/// Arguments about one task.
#[derive(Debug, Args)]
pub(crate) struct TaskArgs {
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
    /// The task.
    #[arg(value_name = "TASK", value_parser = super::filled)]
    pub(crate) id: String,
}

/// Arguments of `a2a task list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
    /// Only those of this conversation.
    #[arg(long, value_name = "ID", value_parser = super::filled)]
    pub(crate) context_id: Option<String>,
    /// Only those in this state, such as `working` or `input_required`.
    #[arg(long, value_name = "STATE", value_parser = super::filled)]
    pub(crate) state: Option<String>,
    /// How many on a page, 1 to 100.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) page_size: Option<u32>,
    /// Where the page begins, as the page before says.
    #[arg(long, value_name = "TOKEN", value_parser = super::filled)]
    pub(crate) page_token: Option<String>,
}

/// What it says is not shown where it is wrong: it may be a secret.
fn header(text: &str) -> Result<String, &'static str> {
    match text.split_once(':') {
        Some((name, _)) if !name.trim().is_empty() => Ok(text.to_owned()),
        _ => Err("a header is written `Name: value`"),
    }
}

fn binding(word: &str) -> Result<Binding, &'static str> {
    Binding::parse(word).ok_or("it is none of jsonrpc, rest and grpc")
}

fn version(word: &str) -> Result<Version, &'static str> {
    Version::parse(word).ok_or("it is neither 1.0 nor 0.3")
}

pub(super) fn seconds(text: &str) -> Result<f64, &'static str> {
    let seconds: f64 = text.parse().map_err(|_| "it is no number")?;
    // A year is as good as no limit, and far from where times overflow.
    if seconds > 0.0 && seconds <= 31_536_000.0 { Ok(seconds) } else { Err("it is not between 0 and a year") }
}
