//! The command line.

pub(crate) mod a2a;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

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
            Self::Registry { .. } => Some("registry"),
            Self::Schemas(_) => Some("schemas"),
            Self::Completions { .. } => Some("completions"),
            Self::RunMas(_)
            | Self::Chat(_)
            | Self::Serve(_)
            | Self::Validate(_)
            | Self::Plan(_)
            | Self::A2a { .. }
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

/// A text that says something: what is empty is a variable of a script that is not set.
pub(crate) fn filled(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() { Err("it is empty") } else { Ok(text.to_owned()) }
}

/// An address that is published over TLS.
fn https(text: &str) -> Result<String, &'static str> {
    if text.starts_with("https://") { Ok(text.to_owned()) } else { Err("expected an https address") }
}

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
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) setup: SetupArgs,
}

/// Arguments of `plan`.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// The manifest of the team or agent.
    #[arg(value_name = "MANIFEST")]
    pub(crate) manifest: PathBuf,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) team: TeamArgs,
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

/// What to show of infra.
#[derive(Debug, Subcommand)]
pub(crate) enum InfraCommand {
    /// List every standard name, and what configuration and flags choose.
    #[command(alias = "list-bundles")]
    List {
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
        /// Add infra, by file or as standard:NAME; later ones win.
        #[arg(long = "infra-ref", value_name = "REF")]
        infra_refs: Vec<String>,
    },
    /// Show one, with everything it refers to and what that provides; values of the environment stay names.
    Show {
        /// A file, or standard:NAME; the name alone will do.
        #[arg(value_name = "NAME|FILE")]
        reference: String,
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
}

/// What to show of flavours.
#[derive(Debug, Subcommand)]
pub(crate) enum FlavourCommand {
    /// List every flavour that is known by name, and the chosen one.
    List {
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
        /// Choose a flavour: local, local-benchmark, mock, or a file.
        #[arg(long, value_name = "NAME")]
        flavour: Option<String>,
    },
    /// Show one and what it chooses.
    Show {
        /// A name or a file.
        #[arg(value_name = "NAME|FILE")]
        name: String,
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
}

/// Arguments of `schemas`.
#[derive(Debug, Args)]
pub(crate) struct SchemasArgs {
    /// The kind whose schema to print: `Agent`, …; `any` for all in one, `config` for config.yaml.
    #[arg(value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// Write one file a kind, and `mas.schema.json` for all of them, into this directory.
    #[arg(long, value_name = "DIR", conflicts_with = "kind")]
    pub(crate) write: Option<PathBuf>,
}

/// What to do with the models.
#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// List the provider, its key's variable and every model that is named for it.
    List(ModelsArgs),
    /// Ask each of them for one word, and tell how long it took. Costs a few tokens each.
    Test(ModelsArgs),
}

/// Arguments of `models list` and `models test`.
#[derive(Debug, Args)]
pub(crate) struct ModelsArgs {
    /// A manifest whose infra and models are looked at too.
    #[arg(value_name = "MANIFEST")]
    pub(crate) manifest: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) team: TeamArgs,
}

/// What to do with a card.
#[derive(Debug, Subcommand)]
pub(crate) enum CardCommand {
    /// Print the card that an agent is served with.
    Show(CardShowArgs),
    /// Print a card with a signature more.
    Sign(CardSignArgs),
    /// Check that a card is signed by a key that is trusted.
    Verify(CardVerifyArgs),
}

/// Arguments of `card show`.
#[derive(Debug, Args)]
pub(crate) struct CardShowArgs {
    /// The manifest of the team or agent.
    #[arg(value_name = "MANIFEST")]
    pub(crate) manifest: PathBuf,
    /// The agent; default the entry agent.
    #[arg(long, value_name = "ID", value_parser = filled)]
    pub(crate) agent: Option<String>,
    /// The address that the card tells, whatever the endpoint says.
    #[arg(long, value_name = "URL", value_parser = filled)]
    pub(crate) url: Option<String>,
    /// Print problems as one JSON document too; a card is one anyway.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) team: TeamArgs,
}

/// Arguments of `card sign`.
#[derive(Debug, Args)]
pub(crate) struct CardSignArgs {
    /// The card.
    #[arg(value_name = "FILE")]
    pub(crate) card: PathBuf,
    /// The private key: PEM (PKCS#8) or JWK, P-256 or Ed25519.
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,
    /// The name of the key; default that of the JWK, else its thumbprint.
    #[arg(long, value_name = "NAME", value_parser = filled)]
    pub(crate) kid: Option<String>,
    /// Where the public key is published as a JWK set.
    #[arg(long, value_name = "URL", value_parser = https)]
    pub(crate) jku: Option<String>,
    /// Print one JSON document with the card and the public key.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `card verify`.
#[derive(Debug, Args)]
pub(crate) struct CardVerifyArgs {
    /// The card: a file, the address of an agent, or that of its card.
    #[arg(value_name = "FILE|URL", value_parser = filled)]
    pub(crate) card: String,
    /// A public key that is trusted: a JWK set, a JWK, or PEM. Repeat it for more.
    #[arg(long = "key", value_name = "FILE", required = true)]
    pub(crate) keys: Vec<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to show of the registry.
#[derive(Debug, Subcommand)]
pub(crate) enum RegistryCommand {
    /// List everything, or one category.
    List {
        /// Only this category, such as `agent_comm`.
        #[arg(short = 'c', long, value_name = "CATEGORY")]
        category: Option<String>,
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
    /// Show what begins with this, with parameters and an example.
    Query {
        /// The beginning of a name.
        prefix: String,
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
}

/// What to show of the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show every value and where it comes from.
    Show {
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
    /// Show one value and where it comes from.
    Explain {
        /// The key, such as `defaults.model`.
        key: String,
        /// Print one JSON document.
        #[arg(long)]
        json: bool,
    },
}
