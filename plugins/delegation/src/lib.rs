//! The `delegate_to_<agent>` tools that a model sees.
//!
//! ```text
//!   peers ── bind ──┬─ names ── one tool per peer, and the table back to the peer
//!                   └─ Surface ── plan: call ── task for the peer
//!                              └─ conclude: reply ── result that the model reads
//! ```
//!
//! A failure is always marked as one: a peer that failed, refused, asked or could not be reached never reads
//! as an answer.

mod conclude;
mod name;
mod surface;

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use mas_contracts::{
    Build, BuildContext, Builder, DelegationContract, Descriptor, PeerCard, Problem, Result, Surface,
    check_params, inventory, parse_params, schema_of,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub use name::tool_name;

use surface::DelegateSurface;

/// The name by which manifests select it.
pub const NAME: &str = "delegate_tools";

/// The parameters: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelegateToolsParams {}

/// Offers each peer as a tool of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct DelegateTools;

impl DelegationContract for DelegateTools {
    fn bind(&self, peers: &[PeerCard]) -> std::result::Result<Arc<dyn Surface>, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut first_of: HashMap<&str, usize> = HashMap::new();
        let mut taken: HashMap<Arc<str>, &str> = HashMap::new();
        let mut bound = Vec::with_capacity(peers.len());
        for (index, peer) in peers.iter().enumerate() {
            let here = |problem: Problem| problem.at(format!("[{index}]"));
            if peer.id.trim().is_empty() {
                let problem = Problem::new("an agent that is delegated to has a blank id");
                problems.push(here(problem).help("give the agent an id"));
                continue;
            }
            if let Some(first) = first_of.get(&*peer.id) {
                let problem = Problem::new(format!("agent `{}` is delegated to twice", peer.id));
                problems.push(here(problem).help(format!("remove one; the first is entry {}", first + 1)));
                continue;
            }
            first_of.insert(&peer.id, index);
            let name: Arc<str> = tool_name(&peer.id).into();
            if let Some(other) = taken.get(&name) {
                let message = format!("agents `{other}` and `{}` have the same tool name `{name}`", peer.id);
                problems.push(here(Problem::new(message)).help("rename one of them"));
                continue;
            }
            taken.insert(name.clone(), &peer.id);
            bound.push((name, peer));
        }
        if problems.is_empty() { Ok(Arc::new(DelegateSurface::new(&bound))) } else { Err(problems) }
    }
}

fn build(_cx: &BuildContext, params: &Value) -> Result<Arc<dyn DelegationContract>> {
    let DelegateToolsParams {} = parse_params(params)?;
    Ok(Arc::new(DelegateTools))
}

/// How the surface is found, documented and built.
#[must_use]
pub const fn descriptor() -> Descriptor {
    Descriptor {
        name: Cow::Borrowed(NAME),
        aliases: Cow::Borrowed(&[]),
        origin: Cow::Borrowed(env!("CARGO_PKG_NAME")),
        version: Cow::Borrowed(env!("CARGO_PKG_VERSION")),
        summary: Cow::Borrowed("Offers each peer to the model as a tool `delegate_to_<agent>`."),
        example: Cow::Borrowed("delegation: {type: delegate_tools}"),
        schema: schema_of::<DelegateToolsParams>,
        check: check_params::<DelegateToolsParams>,
        builder: Builder::Delegation(Build::Linked(build)),
    }
}

inventory::submit! { descriptor() }
