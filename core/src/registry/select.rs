//! Which comm backend carries a route.

use std::fmt;

/// What the layers say about the comm backend of one route; absent layers say nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choices<'a> {
    /// `protocol` of the endpoint that the peer resolves to.
    pub endpoint: Option<&'a str>,
    /// `spec.agent_comm.{type|protocol}` of the manifest.
    pub spec: Option<&'a str>,
    /// `spec.agent_comm.protocol` of the flavour.
    pub flavour: Option<&'a str>,
    /// `defaults.agent_comm` of the configuration.
    pub defaults: Option<&'a str>,
}

/// The layer that chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The endpoint's `protocol`.
    Endpoint,
    /// The manifest's `spec.agent_comm`.
    Spec,
    /// The flavour.
    Flavour,
    /// `defaults.agent_comm`.
    Defaults,
    /// The registry's own default.
    Registry,
}

impl Source {
    /// The words used in messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Endpoint => "the endpoint's `protocol`",
            Self::Spec => "`spec.agent_comm`",
            Self::Flavour => "the flavour",
            Self::Defaults => "`defaults.agent_comm`",
            Self::Registry => "the built-in default",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The backend chosen and the layer that chose it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection<'a> {
    /// The name, as the layer spells it.
    pub name: &'a str,
    /// The layer.
    pub source: Source,
}

/// Chooses the comm backend of one route: the endpoint, then the manifest, then the flavour, then the
/// configured default, then the registry's.
#[must_use]
pub fn select_agent_comm<'a>(choices: &Choices<'a>, registry_default: &'a str) -> Selection<'a> {
    let layers = [
        (choices.endpoint, Source::Endpoint),
        (choices.spec, Source::Spec),
        (choices.flavour, Source::Flavour),
        (choices.defaults, Source::Defaults),
    ];
    layers
        .into_iter()
        .find_map(|(name, source)| name.map(|name| Selection { name, source }))
        .unwrap_or(Selection { name: registry_default, source: Source::Registry })
}
