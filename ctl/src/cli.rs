//! The command line.

pub(crate) mod a2a;
mod card;
pub(crate) mod dev;
mod run;
pub(crate) mod session;
mod show;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use mas_core::manifest::Binding;

pub(crate) use card::{CardCommand, CardShowArgs, CardSignArgs, CardVerifyArgs};
pub(crate) use run::{EventArgs, EventsFormat, RunArgs, ServeArgs};
pub(crate) use show::{
    ConfigCommand, FlavourCommand, InfraCommand, ModelsArgs, ModelsCommand, RegistryCommand, SchemasArgs,
};

/// How prompts are read.
const AT_THE_PROMPT: &str = "\
Prompts come from -p and -q, one turn each; else from stdin.
On a terminal they are edited lines, with a history. /quit, /exit and /q end, /reset begins anew, /help tells more;
//TEXT says /TEXT. Ctrl-C ends the turn first, and at an empty prompt the program, with 130; Ctrl-D ends with 0,
whatever became of single turns.
From a pipe, one line is one turn. Only a line that is exactly one of these commands is one, and //quit says /quit.";

/// Validate, plan and run teams of agents declared in YAML.
#[derive(Debug, Parser)]
#[command(name = "mas-ctl", version, arg_required_else_help = true, disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// Log more to stderr: -v information, -vv debugging, -vvv everything.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Read variables from this file; those of the real environment win. Else `mas_ctl.env` of config.yaml names it.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) env: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a team: prompts go to its entry agent, which delegates to the others.
    #[command(after_long_help = AT_THE_PROMPT)]
    RunMas(RunArgs),
    /// Talk to one agent.
    #[command(after_long_help = AT_THE_PROMPT)]
    Chat(RunArgs),
    /// Serve an agent over the network until a signal ends it: the entry agent, or every one.
    Serve(ServeArgs),
    /// Make a small agent or team that runs at once.
    New {
        #[command(subcommand)]
        command: NewCommand,
    },
    /// Check manifests: files, or directories with every manifest below them.
    Validate(ValidateArgs),
    /// Show how a team is wired: its agents, routes and listeners, and why.
    Plan(PlanArgs),
    /// Talk to an agent elsewhere over A2A: its card, messages, tasks.
    #[command(name = "a2a")]
    A2a {
        #[command(subcommand)]
        command: a2a::A2aCommand,
    },
    /// Send to an agent session that a managed platform owns: messages, tasks.
    Session {
        #[command(subcommand)]
        command: session::SessionCommand,
    },
    /// Try flows without what they need elsewhere.
    Dev {
        #[command(subcommand)]
        command: dev::DevCommand,
    },
    /// Show or try the models that the infra declares.
    Models {
        #[command(subcommand)]
        command: ModelsCommand,
    },
    /// Show, sign or verify the card by which agents are known over A2A.
    Card {
        #[command(subcommand)]
        command: CardCommand,
    },
    /// Show what can be selected by name.
    Registry {
        #[command(subcommand)]
        command: RegistryCommand,
    },
    /// Show the merged configuration and which layer set a value.
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Show infra: what `standard:` knows and what is chosen, or one file and what it provides.
    Infra {
        #[command(subcommand)]
        command: InfraCommand,
    },
    /// Show flavours: those known by name and the chosen one, or one file.
    Flavour {
        #[command(subcommand)]
        command: FlavourCommand,
    },
    /// List the kinds of documents, print the JSON Schema of one, or write them all for an editor.
    Schemas(SchemasArgs),
    /// Print what makes a shell complete this program's commands and flags.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

impl Command {
    /// The name of a command that reads neither manifests nor configuration, and so no variables.
    pub(crate) fn without_variables(&self) -> Option<&'static str> {
        match self {
            Self::New { .. } => Some("new"),
            Self::Dev { .. } => Some("dev"),
            Self::Registry { .. } => Some("registry"),
            Self::Schemas(_) => Some("schemas"),
            Self::Completions { .. } => Some("completions"),
            Self::RunMas(_)
            | Self::Chat(_)
            | Self::Serve(_)
            | Self::Validate(_)
            | Self::Plan(_)
            | Self::A2a { .. }
            | Self::Session { .. }
            | Self::Models { .. }
            | Self::Card { .. }
            | Self::Config { .. }
            | Self::Infra { .. }
            | Self::Flavour { .. } => None,
        }
    }
}

/// What every command that reads manifests takes.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SetupArgs {
    /// Add infra, by file or as standard:NAME; later ones win.
    #[arg(long = "infra-ref", value_name = "REF")]
    pub(crate) infra_refs: Vec<String>,
    /// Choose a flavour: local, local-benchmark, mock, or a file.
    #[arg(long, value_name = "NAME")]
    pub(crate) flavour: Option<String>,
}

/// What every command that resolves a manifest takes.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct TeamArgs {
    /// The model of every agent, whatever manifests say.
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) setup: SetupArgs,
}

/// What every command that reaches the agents of a team takes.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RouteArgs {
    /// Reach this agent at this address over A2A, in the place of any endpoint and of an agent of this process; nothing
    /// listens for it. a2a:// is HTTP, a2as:// HTTPS; a path may follow.
    #[arg(long = "bind", value_name = "NAME=a2a://HOST:PORT", value_parser = BindingParser)]
    pub(crate) bindings: Vec<Binding>,
    /// Replace one value of the infra, after everything else. VALUE is YAML; a key with dots or other signs is quoted:
    /// infra:spec.endpoints["researcher"].timeout=30. Items are picked by [0], [*] or [id=x].
    #[arg(long = "override", value_name = "infra:PATH=VALUE")]
    pub(crate) overrides: Vec<String>,
}

/// Reads a binding. A refusal does not repeat what was given, which may hold what nobody is to see.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BindingParser;

impl clap::builder::TypedValueParser for BindingParser {
    type Value = Binding;

    fn parse_ref(
        &self,
        command: &clap::Command,
        _: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<Binding, clap::Error> {
        let read = value.to_str().ok_or_else(|| "it is no text".to_owned()).and_then(Binding::parse);
        read.map_err(|problem| {
            let message = format!("--bind: {problem}\n");
            clap::Error::raw(clap::error::ErrorKind::ValueValidation, message).with_cmd(command)
        })
    }
}

impl RouteArgs {
    /// Whether they say nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.bindings.is_empty() && self.overrides.is_empty()
    }
}

/// A text that says something: what is empty is a variable of a script that is not set.
pub(crate) fn filled(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() { Err("it is empty") } else { Ok(text.to_owned()) }
}

/// The address of something elsewhere.
pub(crate) fn address(text: &str) -> Result<String, &'static str> {
    let text = filled(text)?;
    let rest = text.trim().strip_prefix("http://").or_else(|| text.trim().strip_prefix("https://"));
    match rest {
        Some(rest) if !rest.is_empty() && !rest.starts_with('/') => Ok(text),
        _ => Err("it has to begin with http:// or https://, and a host"),
    }
}

/// Arguments of `validate`.
#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// Manifests, and directories of manifests.
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Do not check references to other files.
    #[arg(long)]
    pub(crate) no_resolve_refs: bool,
    /// Take unknown keys as warnings.
    #[arg(long)]
    pub(crate) lenient: bool,
    /// Ask every agent elsewhere whether it is there and what would be used; one that cannot be used makes the exit
    /// code 3. Without this flag nothing is asked of the network.
    #[arg(long)]
    pub(crate) live: bool,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) setup: SetupArgs,
    #[command(flatten)]
    pub(crate) routes: RouteArgs,
}

/// Arguments of `plan`.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// The manifest of the team or agent.
    #[arg(value_name = "MANIFEST")]
    pub(crate) manifest: PathBuf,
    /// Ask every agent elsewhere whether it is there and what would be used; one that cannot be used makes the exit
    /// code 3. Without this flag nothing is asked of the network.
    #[arg(long)]
    pub(crate) live: bool,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) team: TeamArgs,
    #[command(flatten)]
    pub(crate) routes: RouteArgs,
}

/// What to make.
#[derive(Debug, Subcommand)]
pub(crate) enum NewCommand {
    /// One agent with a tool and a scripted model.
    Agent(NewArgs),
    /// A team of three that delegate, with a tool and a scripted model.
    Mas(NewArgs),
}

/// Arguments of `new`.
#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// Its name: letters, digits, `-` and `_`.
    pub(crate) name: String,
    /// The folder to make; NAME in the working directory if absent. One that is not empty is refused.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}
