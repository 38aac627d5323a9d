//! The command line of what shows how things are set.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::TeamArgs;

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
