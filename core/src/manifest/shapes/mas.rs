//! Kinds MAS and Flavour.

use super::rules::{
    AGENT_COMM, CONTROL, COUNT, FREE, LOGICAL_NAME, LOOSE_METADATA, MODEL_FIELDS, NODES, OBSERVABILITY,
    TEXTS, VERSION,
};
use crate::manifest::shape::{Shape, closed, may, must, open};

pub(in crate::manifest) const MAS: Shape = Shape::Record(&closed(&[
    must("apiVersion", Shape::Text),
    must("kind", Shape::Text),
    must("metadata", METADATA),
    must("spec", SPEC),
    may("intent", Shape::Record(&closed(&[may("summary", Shape::Text)]))),
    may("x-mas-allow-cycles", Shape::Flag),
    may("x-mas-limits", LIMITS),
]));

const LIMITS: Shape = Shape::Record(&closed(&[
    may("depth", COUNT),
    may("calls_at_once", COUNT),
    may("delegations_per_answer", COUNT),
    may("delegation_seconds", COUNT),
    may("model_calls", COUNT),
    may("tokens", COUNT),
    may("run_seconds", COUNT),
    may("on_question", Shape::Word(&["root", "model"])),
]));

const METADATA: Shape = Shape::Record(&closed(&[
    must("name", Shape::Name),
    may("description", Shape::Text),
    may("version", VERSION),
    may("tags", TEXTS),
    may("default_flavour", Shape::Name),
    may("x-mas-allow-cycles", Shape::Flag),
]));

// A row is `{id, ref}`, `{id}` for an agent that runs elsewhere, or a whole Agent document, which is checked as one.
const AGENCY_ROWS: Shape = Shape::List(&Shape::Record(&closed(&[
    may("id", Shape::Name),
    may("ref", Shape::Name),
    may("apiVersion", Shape::Text),
    may("kind", Shape::Word(&["Agent"])),
    may("metadata", FREE),
    may("spec", FREE),
])));

const SPEC: Shape = Shape::Record(&closed(&[
    may("agents", AGENCY_ROWS),
    may("agency", Shape::Record(&closed(&[may("agents", AGENCY_ROWS)]))),
    may("workflow", WORKFLOW),
    may("agent_comm", AGENT_COMM),
    may("transport", TRANSPORT),
    may(
        "framework",
        Shape::Record(&closed(&[may(
            "default_adapter",
            Shape::Word(&["native", "langgraph", "autogen", "crewai"]),
        )])),
    ),
    may("tools_ref", Shape::Maybe(&LOGICAL_NAME)),
    may("infra_refs", TEXTS),
    may("middleware", Shape::Any),
    may(
        "memory_stores",
        Shape::Record(&closed(&[
            may("episodic_ref", Shape::Text),
            may("semantic_ref", Shape::Text),
            may("procedural_ref", Shape::Text),
        ])),
    ),
    may("telemetry", Shape::Record(&closed(&[may("path", Shape::Text)]))),
    may("models", Shape::List(&Shape::Record(&closed(MODEL_FIELDS)))),
    may("params", FREE),
    may("capabilities", Shape::Any),
    may("x-mas-allow-cycles", Shape::Flag),
]));

const WORKFLOW: Shape = Shape::Record(&closed(&[
    may("type", Shape::Word(&["dynamic", "sequential", "hybrid", "single"])),
    may("plugin", Shape::Text),
    may("entry", Shape::Name),
    may("max_rounds", COUNT),
    may("nodes", NODES),
]));

const TRANSPORT: Shape = Shape::Record(&closed(&[
    may("type", Shape::Word(&["local", "agent-remote", "agent-local"])),
    may("mode", Shape::Word(&["local", "remote"])),
    may("emulation", Shape::Flag),
]));

pub(in crate::manifest) const FLAVOUR: Shape = Shape::Record(&closed(&[
    must("apiVersion", Shape::Text),
    must("kind", Shape::Text),
    must("metadata", LOOSE_METADATA),
    must("spec", FLAVOUR_SPEC),
]));

const FLAVOUR_SPEC: Shape = Shape::Record(&closed(&[
    may(
        "agent_comm",
        Shape::Record(&closed(&[
            may("type", Shape::Name),
            may("protocol", Shape::Name),
            may("mode", Shape::Text),
            may("emulation", Shape::Flag),
            may("params", FREE),
            may("agents", Shape::MapOf(&Shape::Text)),
        ])),
    ),
    may("tools", Shape::Record(&open(&[may("remote_tools_enabled", Shape::Flag), may("allowed", TEXTS)]))),
    may("telemetry", Shape::Record(&open(&[may("backend", Shape::Text), may("path", Shape::Text)]))),
    may("observability", Shape::Maybe(&OBSERVABILITY)),
    may("control", Shape::Maybe(&CONTROL)),
    may("capabilities", FREE),
    may("config", FREE),
    may("operator", FREE),
]));
