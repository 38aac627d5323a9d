//! The tools of one agent, and what a call of them asks for.

use std::{collections::HashMap, sync::Arc};

use mas_contracts::{
    Arguments, Conclusion, Delegation, Error, Part, PeerCard, Reply, Result, Surface, ToolCall, ToolOutput,
    ToolSpec,
};
use serde_json::{Map, Value, json};

use crate::conclude;

const TASK: &str = "task";
const CONTEXT: &str = "context_id";

/// The peers of one agent as tools.
pub(crate) struct DelegateSurface {
    tools: Vec<Arc<ToolSpec>>,
    peers: HashMap<Arc<str>, Arc<str>>,
}

impl DelegateSurface {
    pub(crate) fn new(bound: &[(Arc<str>, &PeerCard)]) -> Self {
        let parameters = parameters();
        let tool = |(name, peer): &(Arc<str>, &PeerCard)| {
            let description = match peer.description.trim() {
                "" => format!("Delegate a sub-task to agent {}.", peer.id).into(),
                _ => peer.description.clone(),
            };
            Arc::new(ToolSpec {
                name: name.clone(),
                description,
                parameters: parameters.clone(),
                idempotent: false,
                timeout: None,
            })
        };
        Self {
            tools: bound.iter().map(tool).collect(),
            peers: bound.iter().map(|(name, peer)| (name.clone(), peer.id.clone())).collect(),
        }
    }
}

impl Surface for DelegateSurface {
    fn tools(&self) -> &[Arc<ToolSpec>] {
        &self.tools
    }

    fn plan(&self, call: &ToolCall) -> Option<Result<Vec<Delegation>>> {
        let peer = self.peers.get(&call.name)?;
        Some(read(call).map(|(task, thread)| {
            vec![Delegation { to: peer.clone(), parts: vec![Part::text(task)], thread }]
        }))
    }

    fn conclude(&self, call: &ToolCall, replies: &[Result<Reply>]) -> Conclusion {
        let Some(peer) = self.peers.get(&call.name) else {
            return Conclusion::Done(ToolOutput::error(format!("`{}` is not a delegation tool", call.name)));
        };
        Conclusion::Done(match replies.first() {
            Some(Ok(reply)) => conclude::replied(peer, call, reply),
            Some(Err(error)) => conclude::failed(peer, error),
            None => ToolOutput::error(format!("delegation to `{peer}` failed: there is no reply")),
        })
    }
}

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            TASK: {
                "type": "string",
                "description": "What the agent has to do, with everything it needs to know.",
            },
            CONTEXT: {
                "type": "string",
                "description": "Names a conversation with the agent to begin or go on with. Leave it out to \
                                go on with the usual one.",
            },
        },
        "required": [TASK],
        "additionalProperties": false,
    })
}

/// The conversation that a call names, if it does.
pub(crate) fn context_of(call: &ToolCall) -> Option<&str> {
    call.arguments.as_object()?.get(CONTEXT)?.as_str().map(str::trim).filter(|name| !name.is_empty())
}

fn read(call: &ToolCall) -> Result<(Arc<str>, Option<Arc<str>>)> {
    let map = match &call.arguments {
        Arguments::Object(map) => map,
        Arguments::Malformed(text) => {
            return Err(wrong(call, &format!("the arguments are not a JSON object: {}", shown(text))));
        }
    };
    if let Some(other) = map.keys().find(|key| !matches!(key.as_str(), TASK | CONTEXT)) {
        return Err(wrong(call, &format!("there is no argument `{other}`{}", given(map))));
    }
    let task = match map.get(TASK) {
        Some(Value::String(task)) if task.trim().is_empty() => return Err(wrong(call, "`task` is blank")),
        Some(Value::String(task)) => Arc::from(task.as_str()),
        Some(other) => return Err(wrong(call, &format!("`task` must be text, not {}", type_of(other)))),
        None => return Err(wrong(call, &format!("`task` is missing{}", given(map)))),
    };
    match map.get(CONTEXT) {
        None | Some(Value::Null | Value::String(_)) => Ok((task, context_of(call).map(Arc::from))),
        Some(other) => Err(wrong(call, &format!("`context_id` must be text, not {}", type_of(other)))),
    }
}

fn wrong(call: &ToolCall, what: &str) -> Error {
    let how = format!("call `{}` again as {{\"task\": \"what the agent has to do\"}}", call.name);
    Error::invalid(format!("{what}; {how}")).with_code("mas::delegation::arguments")
}

fn given(map: &Map<String, Value>) -> String {
    match map.keys().take(8).map(|key| format!("`{key}`")).collect::<Vec<_>>() {
        keys if keys.is_empty() => String::new(),
        keys => format!(" (given: {})", keys.join(", ")),
    }
}

fn shown(text: &str) -> String {
    const LONGEST: usize = 120;
    let mut chars = text.chars();
    let head: String = chars.by_ref().take(LONGEST).collect();
    if chars.next().is_some() { format!("{head}…") } else { head }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
