//! Kind Overlay.

use super::agent::CONTEXT;
use super::rules::{
    COLLABORATION, CONTEXT_MANAGER, CONTROL, EXECUTION, FREE, GOVERNANCE, LLM_BINDING, MEMORY_SEEDS, NODES,
    OBSERVABILITY, PATTERN, TEXTS,
};
use crate::manifest::shape::{Shape, closed, may, must};

pub(in crate::manifest) const OVERLAY: Shape = Shape::Record(&closed(&[
    must("apiVersion", Shape::Text),
    must("kind", Shape::Text),
    must("metadata", Shape::Record(&closed(&[may("name", Shape::Text), may("description", Shape::Text)]))),
    must("spec", SPEC),
]));

const SPEC: Shape = Shape::Record(&closed(&[
    may("tools", TOOLS),
    may(
        "target",
        Shape::Record(&closed(&[
            may("kind", Shape::Word(&["MAS", "Agent", "Flavour", "any"])),
            may("name", Shape::Name),
        ])),
    ),
    must("patch", PATCH),
]));

const TOOLS: Shape =
    Shape::List(&Shape::Either(&[Shape::Name, Shape::Record(&closed(&[must("ref", Shape::Name)]))]));

const ROWS: Shape =
    Shape::List(&Shape::Record(&closed(&[must("id", Shape::Name), must("ref", Shape::Name)])));

// The patch of the whole document spells a pattern's options `config`; `params` is the manifest's word.
const WHOLE_PATTERN: Shape = Shape::Maybe(&Shape::Record(&closed(&[
    may("type", Shape::Name),
    may("ref", Shape::Name),
    may("config", FREE),
])));

const PATCH: Shape = Shape::Record(&closed(&[
    may("params", FREE),
    may("context", CONTEXT),
    may("memory", Shape::Text),
    may("memory_seed", MEMORY_SEEDS),
    may("tools", TOOLS),
    may("tools_remove", TEXTS),
    may("skills", TEXTS),
    may("context_manager", CONTEXT_MANAGER),
    may("context_policy", Shape::Maybe(&FREE)),
    may("llm", LLM_BINDING),
    may("execution", EXECUTION),
    may("infra_refs", TEXTS),
    may("infra_interceptors", TEXTS),
    may("agency", Shape::Record(&closed(&[may("agents", ROWS)]))),
    may("agents", Shape::Either(&[ROWS, Shape::MapOf(&AGENT_PATCH)])),
    may("agents_add", Shape::List(&FREE)),
    may("agents_remove", TEXTS),
    may("design_pattern", WHOLE_PATTERN),
    may("workflow", WORKFLOW),
    may("telemetry", Shape::Record(&closed(&[may("path", Shape::Text)]))),
    may("control", Shape::Maybe(&CONTROL)),
    may("governance", Shape::Maybe(&GOVERNANCE)),
    may("observability", Shape::Maybe(&OBSERVABILITY)),
]));

const AGENT_PATCH: Shape = Shape::Record(&closed(&[
    may("ref", Shape::Name),
    may("description", Shape::Text),
    may("design_pattern", PATTERN),
    may("collaboration", COLLABORATION),
    may("context_manager", CONTEXT_MANAGER),
    may("llm", LLM_BINDING),
    may("execution", EXECUTION),
    may("memory", Shape::Text),
    may("tools", TOOLS),
    may("skills", TEXTS),
    may("context", CONTEXT),
]));

const EDGES: Shape = Shape::List(&Shape::Record(&closed(&[
    must("from", Shape::Name),
    must("to", Shape::Either(&[Shape::Name, TEXTS])),
])));

const WORKFLOW: Shape = Shape::Record(&closed(&[
    may("type", Shape::Name),
    may("entry", Shape::Name),
    may("nodes", NODES),
    may("edges", EDGES),
]));
