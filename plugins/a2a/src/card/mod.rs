//! The card of an agent (A2A v1.0, sections 4.4 and 8): made once, in the shapes of both versions, and served with
//! what caches need.

mod canonical;
mod document;
mod served;
mod shown;
pub(crate) mod signing;

use std::{sync::Arc, time::Duration};

use mas_contracts::{AgentProfile, Result};
use serde_json::Value;

use crate::{
    model::{Dialect, Failure, Reason},
    params::{Address, CardShape, Params},
};
use document::Card;

pub use shown::{LARGEST, Signed, Verified, agent_card, check_params, sign_card, verify_card};

pub(crate) use served::Document;
pub(crate) use signing::Signer;

/// What the parameters alone do not say of where an agent is found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// The address of the agent, without a slash at its end; JSON-RPC is there, REST below it.
    pub(crate) base: String,
    /// `host:port` of gRPC; none where it is not listened on.
    pub(crate) grpc: Option<String>,
    /// What tells this agent from others at the address of gRPC.
    pub(crate) tenant: Option<String>,
}

impl Place {
    /// Where parameters say that the agent is found, with gRPC where it is listened on (`foreground`). None if the
    /// port is known only after the bind.
    pub(crate) fn declared(params: &Params, foreground: bool) -> Option<Self> {
        let address = params.address().filter(|at| at.port != 0)?;
        let grpc = if foreground { params.grpc().and_then(|grpc| grpc.told) } else { None };
        Some(Self { base: address.url(), grpc, tenant: None })
    }

    /// The place of a socket that is bound.
    pub(crate) fn at(address: &Address) -> Self {
        Self { base: address.url(), ..Self::default() }
    }
}

/// The card of an agent as it is published, with what bindings take from it.
#[derive(Debug)]
pub(crate) struct Published {
    public: Document,
    extended: Option<(Arc<Value>, Arc<Value>)>,
    capabilities: Capabilities,
    required: Vec<Arc<str>>,
    extensions: Vec<Arc<str>>,
    input_modes: Vec<Arc<str>>,
}

/// What the card promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capabilities {
    pub(crate) streaming: bool,
    pub(crate) push_notifications: bool,
    pub(crate) extended_card: bool,
}

impl Published {
    /// Makes the card of an agent; `now` since the Unix epoch is when it was last modified.
    ///
    /// # Errors
    /// That it cannot be signed.
    pub(crate) fn new(
        profile: &AgentProfile,
        params: &Params,
        place: &Place,
        signer: Option<&Signer>,
        now: Duration,
    ) -> Result<Self> {
        let card = Card { profile, params, place, extended: None };
        let signed = |card: &Card<'_>| -> Result<Value> {
            let document = card.v1();
            match signer {
                Some(signer) => signer.sign(document),
                None => Ok(document),
            }
        };
        let v1 = signed(&card)?;
        let public = match params.a2a.card {
            CardShape::V1 => v1,
            CardShape::Union => document::union(v1, card.v03()),
        };
        let extended = match &params.a2a.extended_card {
            Some(extended) => {
                let card = Card { extended: Some(extended), ..card };
                Some((Arc::new(signed(&card)?), Arc::new(card.v03())))
            }
            None => None,
        };
        let declared = &params.a2a.capabilities;
        let extensions = declared.extensions.iter();
        let texts = |texts: Vec<String>| texts.into_iter().map(Arc::<str>::from).collect();
        Ok(Self {
            public: Document::new(&public, now),
            extended,
            capabilities: Capabilities {
                streaming: declared.streaming,
                push_notifications: declared.push_notifications,
                extended_card: declared.extended_agent_card,
            },
            required: extensions
                .clone()
                .filter(|one| one.required)
                .map(|one| one.uri.as_str().into())
                .collect(),
            extensions: extensions.map(|one| one.uri.as_str().into()).collect(),
            input_modes: texts(params.input_modes()),
        })
    }

    /// The document at the well-known paths.
    pub(crate) fn document(&self) -> &Document {
        &self.public
    }

    /// The card for callers who are authenticated (A2A v1.0, section 3.1.11).
    ///
    /// # Errors
    /// [`Reason::UnsupportedOperation`] where the card promises none, [`Reason::Unauthenticated`] for a caller
    /// without an owner, [`Reason::ExtendedAgentCardNotConfigured`] where nothing is declared.
    pub(crate) fn extended(&self, dialect: Dialect, owner: Option<&str>) -> Result<&Arc<Value>, Failure> {
        if !self.capabilities.extended_card {
            let message = "this agent has no extended card: `capabilities.extendedAgentCard` is false";
            return Err(Failure::new(Reason::UnsupportedOperation, message));
        }
        if owner.is_none() {
            return Err(Failure::new(
                Reason::Unauthenticated,
                "the extended card is for authenticated callers",
            ));
        }
        match (&self.extended, dialect) {
            (Some((v1, _)), Dialect::V1) => Ok(v1),
            (Some((_, v03)), Dialect::V03) => Ok(v03),
            (None, _) => {
                Err(Failure::new(Reason::ExtendedAgentCardNotConfigured, "no extended card is configured"))
            }
        }
    }

    /// What the card promises.
    pub(crate) fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// The extensions that callers must ask for.
    pub(crate) fn required_extensions(&self) -> &[Arc<str>] {
        &self.required
    }

    /// All extensions of the card.
    pub(crate) fn extensions(&self) -> &[Arc<str>] {
        &self.extensions
    }

    /// Media types that the agent takes, such as `text/plain`, `image/*` or `*/*`.
    pub(crate) fn input_modes(&self) -> &[Arc<str>] {
        &self.input_modes
    }
}

#[cfg(test)]
mod tests;
