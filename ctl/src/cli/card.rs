//! The command line of `card`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{TeamArgs, filled};

/// An address that is published over TLS.
fn https(text: &str) -> Result<String, &'static str> {
    if text.starts_with("https://") { Ok(text.to_owned()) } else { Err("expected an https address") }
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
