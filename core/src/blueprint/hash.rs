//! The hash of a blueprint.

use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

use super::types::{AgentBlueprint, Blueprint, ToolBlueprint};
use crate::manifest::{Located, Selection};

impl Blueprint {
    /// Computes the hash anew, as after a change by hand.
    pub fn rehash(&mut self) {
        let digest = Sha256::digest(canonical(&self.to_canonical()).as_bytes());
        self.hash = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    }

    // Places stay out, so that a comment more changes nothing; secrets stay out, so that the hash tells nothing.
    fn to_canonical(&self) -> Json {
        let endpoints = self.endpoints.iter().map(|row| {
            let mut canonical = json!({
                "agent": row.agent.value,
                "protocol": row.protocol.value,
                "usage": row.usage.word(),
                "url": row.url.as_ref().map(shown),
                "headers": row.headers.iter().map(|(name, _)| name.value.as_str()).collect::<Vec<_>>(),
                "timeout": row.timeout_seconds.as_ref().map(|seconds| &seconds.value),
                "a2a": row.a2a.as_ref().map(crate::manifest::Params::public_value),
                "params": row.params.public_value(),
            });
            // Only where there are any: an endpoint without them is the one it was before there were layers.
            if let (Some(layers), Some(canonical)) = (&row.layers, canonical.as_object_mut()) {
                canonical.insert("layers".to_owned(), layers.public_value());
            }
            canonical
        });
        let comm = [&self.agent_comm.team, &self.agent_comm.flavour, &self.agent_comm.config];
        let comm = comm.map(|chosen| chosen.as_ref().map(selection));
        json!({
            "name": self.name.value,
            "intent": self.intent,
            "entry": self.entry.value,
            "agents": self.agents.iter().map(agent).collect::<Vec<_>>(),
            "endpoints": endpoints.collect::<Vec<_>>(),
            "agent_comm": comm,
            "llm": {
                "provider": shown(&self.llm.provider),
                "api_base": self.llm.api_base.as_ref().map(shown),
                "allowed": self.llm.allowed.iter().map(shown).collect::<Vec<_>>(),
                "mappings": self.llm.mappings.iter().map(|(from, to)| (shown(from), shown(to))).collect::<Vec<_>>(),
                "default_model": self.llm.default_model.as_ref().map(shown),
                "params": self.llm.params.public_value(),
                "connection": self.llm.connection.public_value(),
            },
            "observability": self.observability.iter().map(selection).collect::<Vec<_>>(),
            "store": self.store.as_ref().map(selection),
            "allow_cycles": self.allow_cycles,
            "limits": format!("{:?}", self.limits),
        })
    }
}

fn agent(agent: &AgentBlueprint) -> Json {
    json!({
        "id": agent.id.value,
        "name": shown(&agent.name),
        "version": shown(&agent.version),
        "description": shown(&agent.description),
        "external": agent.external,
        "system_prompt": shown(&agent.system_prompt),
        "model": {
            "id": shown(&agent.model.id),
            "provider": agent.model.provider.as_ref().map(shown),
            "temperature": agent.model.temperature,
            "max_tokens": agent.model.max_tokens,
        },
        "pattern": selection(&agent.pattern),
        "context_manager": selection(&agent.context_manager),
        "tools": agent.tools.iter().map(tool).collect::<Vec<_>>(),
        "delegates_to": agent.delegates_to.iter().map(shown).collect::<Vec<_>>(),
    })
}

fn tool(tool: &ToolBlueprint) -> Json {
    json!({
        "name": shown(&tool.name),
        "description": tool.description,
        "parameters": tool.parameters,
        "kind": shown(&tool.implementation.kind),
        "builtin": tool.implementation.name.as_ref().map(shown),
        "module": tool.implementation.module_path.as_ref().map(shown),
        "params": tool.implementation.params.public_value(),
        "idempotent": tool.idempotent,
        "timeout": tool.timeout_seconds,
    })
}

fn selection(chosen: &Selection) -> Json {
    json!({"name": shown(&chosen.name), "params": chosen.params.public_value()})
}

fn shown(text: &Located<String>) -> &str {
    text.shown()
}

// Keys sorted at every level: the order in a file is no difference.
fn canonical(value: &Json) -> String {
    match value {
        Json::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_unstable();
            let entry = |key: &&String| {
                let value = map.get(*key).map(canonical).unwrap_or_default();
                format!("{}:{value}", Json::from(key.as_str()))
            };
            format!("{{{}}}", keys.iter().map(entry).collect::<Vec<_>>().join(","))
        }
        Json::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}
