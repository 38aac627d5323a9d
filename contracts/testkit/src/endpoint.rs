//! Endpoints of scripted agents.

use std::{path::Path, sync::Arc};

use mas_contracts::{AgentHost, AgentProfile, HostedEndpoint};
use serde_json::{Value, json};

use crate::ScriptedHost;

impl ScriptedHost {
    /// An endpoint that deploys each agent, with these parameters under `a2a`; the agent `peer` is the entry agent.
    #[must_use]
    pub fn endpoints(&self, a2a: &Value, base: &Path) -> Vec<HostedEndpoint> {
        let endpoint = |agent: Arc<str>| HostedEndpoint {
            entry: *agent == *"peer",
            profile: AgentProfile {
                id: agent.clone(),
                name: agent.clone(),
                version: "1.0.0".into(),
                description: "Does what it does.".into(),
                ..AgentProfile::default()
            },
            params: json!({"usage": "deploy", "a2a": a2a}),
            agent,
            base: base.into(),
        };
        self.agents().into_iter().map(endpoint).collect()
    }
}
