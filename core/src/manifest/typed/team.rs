//! Teams and flavours.

use crate::diagnostic::Location;
use crate::manifest::checks;
use crate::manifest::document::Document;
use crate::manifest::located::{Located, Selection};
use crate::manifest::read;
use crate::manifest::yaml::Node;

/// A MAS document.
#[derive(Clone, Debug)]
pub struct TeamDocument {
    /// The checked document.
    pub document: Document,
    /// `metadata.name`.
    pub name: Located<String>,
    /// `intent.summary`.
    pub intent: Option<String>,
    /// Whether it says which agents it has; without, it is a fragment that cannot run.
    pub has_agency: bool,
    /// `spec.workflow.entry`.
    pub entry: Option<Located<String>>,
    /// `spec.workflow.nodes`.
    pub nodes: Vec<TeamNode>,
    /// `spec.agent_comm`.
    pub agent_comm: Option<Selection>,
    /// Whether delegation may go in circles: `x-mas-allow-cycles`.
    pub allow_cycles: bool,
}

/// One node of a workflow.
#[derive(Clone, Debug)]
pub struct TeamNode {
    /// The agent it stands for: `agent`, else `id`.
    pub id: Located<String>,
    /// Its role in words.
    pub role: Option<String>,
    /// The agents it may delegate to.
    pub delegates_to: Vec<Located<String>>,
}

impl TeamDocument {
    pub(crate) fn of(document: Document) -> Self {
        let nodes = document.get("spec.workflow.nodes").map_or(&[][..], Node::items);
        let node = |node: &Node| {
            Some(TeamNode {
                id: read::filled(node.get("agent")).or_else(|| read::filled(node.get("id")))?,
                role: read::filled(node.get("role")).map(|role| role.value),
                delegates_to: read::texts(node.get("delegates_to")),
            })
        };
        Self {
            name: document.name(),
            intent: read::filled(document.get("intent.summary")).map(|summary| summary.value),
            has_agency: checks::has_agency(&document.node),
            entry: read::filled(document.get("spec.workflow.entry")),
            nodes: nodes.iter().filter_map(node).collect(),
            agent_comm: read::selection(document.get("spec.agent_comm")),
            allow_cycles: checks::allows_cycles(&document.node),
            document,
        }
    }
}

/// A Flavour document.
#[derive(Clone, Debug)]
pub struct FlavourDocument {
    /// The checked document.
    pub document: Document,
    /// Its name.
    pub name: Located<String>,
    /// `spec.agent_comm`; the protocol `agent-local` reads as `local`.
    pub agent_comm: Option<Selection>,
}

impl FlavourDocument {
    pub(crate) fn of(document: Document) -> Self {
        let agent_comm = read::selection(document.get("spec.agent_comm")).map(|mut chosen| {
            if chosen.name.value == "agent-local" {
                chosen.name.value = "local".to_owned();
            }
            chosen
        });
        Self { name: document.name(), agent_comm, document }
    }

    /// Where it stands.
    pub fn at(&self) -> Location {
        self.document.at()
    }
}
