//! `config.yaml`.

use super::rules::{FREE, TEXTS};
use crate::manifest::shape::{Shape, closed, may, open};

const NAMES: Shape = Shape::Either(&[Shape::Name, TEXTS]);
const CHOICE: Shape = Shape::Either(&[
    Shape::Name,
    Shape::Record(&closed(&[
        may("type", Shape::Name),
        may("ref", Shape::Name),
        may("protocol", Shape::Name),
        may("params", FREE),
    ])),
]);

pub(in crate::manifest) const CONFIG: Shape = Shape::Record(&closed(&[
    may(
        "mas_ctl",
        Shape::Record(&open(&[
            may("flavour", Shape::Name),
            may("env", Shape::Text),
            may("deployment", Shape::Text),
            may("runtime_id", Shape::Text),
            may("runtime_profile", Shape::Text),
        ])),
    ),
    may("mas_lab", FREE),
    may("infra_refs", NAMES),
    may("infra_interceptors", NAMES),
    may("manifest_libraries", Shape::MapOf(&Shape::Text)),
    may("aliases", Shape::MapOf(&Shape::Text)),
    may(
        "defaults",
        Shape::Record(&closed(&[
            may("model", Shape::Name),
            may("design_pattern", CHOICE),
            may("context_manager", CHOICE),
            may("agent_comm", CHOICE),
            may("store", CHOICE),
            // Chosen by newer files; each is a warning, for nothing here falls back to it.
            may("agent_expose", CHOICE),
            may("assembler", CHOICE),
            may("circuit_breaker", CHOICE),
            may("engine_tool_provider", CHOICE),
            may("execute_sandbox", CHOICE),
            may("governance", CHOICE),
            may("hitl_contract", CHOICE),
            may("hitl_responder", CHOICE),
            may("infra_middleware", CHOICE),
            may("llm_provider", CHOICE),
            may("memory", CHOICE),
            may("observability", CHOICE),
            may("related_state", CHOICE),
            may("skill_impl", CHOICE),
            may("summarizer", CHOICE),
            may("system_tool", CHOICE),
            may("tool_provider", CHOICE),
            may("user_io_contract", CHOICE),
            may("webserver", CHOICE),
        ])),
    ),
    may("paths", Shape::MapOf(&Shape::Text)),
]));
