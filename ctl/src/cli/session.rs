//! The command line of `session`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};
use mas_platform::ResponseKind;

use super::{a2a::seconds, address, filled};

/// What to ask of a session of a platform.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// Send a message and print what the session answers, as JSON.
    Send(Box<SessionSendArgs>),
    /// Look at a task of a session, wait for it, end it.
    Task {
        #[command(subcommand)]
        command: SessionTaskCommand,
    },
}

/// What to do with a task.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionTaskCommand {
    /// Print a task as it is.
    Get(Box<SessionTaskArgs>),
    /// Wait until a task is over or asks something, and print it.
    Wait(Box<SessionTaskArgs>),
    /// End a task, and print it.
    Cancel(Box<SessionTaskArgs>),
}

/// Which platform, and which session of it.
#[derive(Clone, Debug, Args)]
#[command(
    group(ArgGroup::new("place").args(["platform_url", "endpoint"]).required(true).multiple(true)),
    group(ArgGroup::new("bearer").args(["platform_token_env", "endpoint"]).multiple(true)),
)]
pub(crate) struct PlatformArgs {
    /// The session: its uid, or a handle.
    #[arg(value_name = "SESSION_OR_HANDLE", value_parser = filled)]
    pub(crate) session: String,
    /// The address of the platform.
    #[arg(long, value_name = "URL", value_parser = address, requires = "bearer")]
    pub(crate) platform_url: Option<String>,
    /// The variable that holds the token for the platform.
    #[arg(long, value_name = "NAME", value_parser = filled)]
    pub(crate) platform_token_env: Option<String>,
    /// Take both from this endpoint of the infra, whose protocol is `platform`; what is said here wins.
    #[arg(long, value_name = "NAME", value_parser = filled)]
    pub(crate) endpoint: Option<String>,
    /// Add infra, by file or as standard:NAME; later ones win.
    #[arg(long = "infra-ref", value_name = "REF", requires = "endpoint")]
    pub(crate) infra_refs: Vec<String>,
    /// The agent of the session; a handle needs it when it is used for the first time.
    #[arg(long, value_name = "UID", value_parser = filled)]
    pub(crate) target_agent_uid: Option<String>,
    /// What a session is called that is made for a handle.
    #[arg(long, value_name = "NAME", value_parser = filled)]
    pub(crate) name: Option<String>,
    /// The session that one belongs to which is made for a handle.
    #[arg(long, value_name = "UID", value_parser = filled)]
    pub(crate) parent_session_uid: Option<String>,
    /// How many seconds all of it may take; default what the endpoint says, else 905.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<f64>,
}

/// Arguments of `session send`.
#[derive(Clone, Debug, Args)]
#[command(group(ArgGroup::new("said").args(["message", "message_file"]).required(true)))]
pub(crate) struct SessionSendArgs {
    #[command(flatten)]
    pub(crate) platform: PlatformArgs,
    /// What to say.
    #[arg(long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// A file with what to say, as UTF-8; `-` reads stdin.
    #[arg(long, value_name = "FILE")]
    pub(crate) message_file: Option<PathBuf>,
    /// A file to send with it; repeat it for more.
    #[arg(long = "file", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The media type of a file, one for each, in their order; default application/pdf for all.
    #[arg(long = "media-type", value_name = "TYPE")]
    pub(crate) media_types: Vec<String>,
    /// Have the answer be one JSON object, strictly.
    #[arg(long)]
    pub(crate) strict_dictionary: bool,
    /// How often an answer that is none is repaired, 1 at least.
    #[arg(long, value_name = "COUNT", default_value_t = mas_platform::REPAIRS, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) json_repair_attempts: u32,
    /// The id of the message, sent as it is: that of a message that is sent again. Default a fresh one.
    #[arg(long, value_name = "ID", value_parser = filled)]
    pub(crate) message_id: Option<String>,
    /// What it is answered with: message or task.
    #[arg(long, value_name = "KIND", default_value_t = ResponseKind::Message)]
    pub(crate) response_kind: ResponseKind,
}

/// Arguments about one task.
#[derive(Debug, Args)]
pub(crate) struct SessionTaskArgs {
    #[command(flatten)]
    pub(crate) platform: PlatformArgs,
    /// The task.
    #[arg(value_name = "TASK", value_parser = filled)]
    pub(crate) task: String,
}
