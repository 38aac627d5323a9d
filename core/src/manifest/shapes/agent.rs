//! Kind Agent.

use super::rules::{
    COLLABORATION, CONTEXT_MANAGER, CONTROL, COUNT, COUNT_OR_ZERO, EXECUTION, FREE, GOVERNANCE, LLM_BINDING,
    LOGICAL_NAME, MEMORY_SEEDS, METADATA, MODEL_FIELDS, NOT_NEGATIVE, OBSERVABILITY, PATTERN, SHARE, TEXTS,
};
use crate::manifest::shape::{Shape, closed, may, must};

pub(in crate::manifest) const AGENT: Shape = Shape::Record(&closed(&[
    must("apiVersion", Shape::Text),
    must("kind", Shape::Text),
    must("metadata", METADATA),
    must("spec", SPEC),
]));

const SPEC: Shape = Shape::Record(&closed(&[
    must("description", Shape::Name),
    may("context", CONTEXT),
    may("models", Shape::List(&Shape::Record(&closed(MODEL_FIELDS)))),
    may("llm", LLM_BINDING),
    may("design_pattern", PATTERN),
    may("collaboration", COLLABORATION),
    may("context_manager", CONTEXT_MANAGER),
    may("tools", TOOLS),
    may("tools_ref", Shape::Maybe(&LOGICAL_NAME)),
    may("skills", SKILLS),
    may("memory", MEMORY),
    may("memory_seed", MEMORY_SEEDS),
    may("plugins", PLUGINS),
    may("behavior", BEHAVIOR),
    may("execution", EXECUTION),
    may("control", CONTROL),
    may("budget", BUDGET),
    may("governance", GOVERNANCE),
    may("observability", Shape::Maybe(&OBSERVABILITY)),
    may("infra_refs", TEXTS),
    may("infra_interceptors", TEXTS),
    may("provider", PROVIDER),
]));

pub(super) const CONTEXT: Shape =
    Shape::MapOf(&Shape::Either(&[Shape::Text, Shape::Record(&closed(&[must("ref", Shape::Name)]))]));

const PROVIDER: Shape = Shape::Record(&closed(&[may("organization", Shape::Text), may("url", Shape::Text)]));

pub(super) const SKILLS: Shape = Shape::List(&Shape::Either(&[
    Shape::Name,
    Shape::Record(&closed(&[
        must("name", Shape::Name),
        may("id", Shape::Name),
        may("description", Shape::Text),
    ])),
]));

// Which of the keys go together (ref, inline, native) is checked where the tool is read.
pub(super) const TOOLS: Shape = Shape::List(&Shape::Either(&[
    Shape::Name,
    Shape::Record(&closed(&[
        may("ref", Shape::Name),
        may("kind", Shape::Name),
        may("name", Shape::Name),
        may("module_path", Shape::Name),
        may("class_name", Shape::Maybe(&Shape::Text)),
        may("priority", Shape::Int(i64::MIN, i64::MAX)),
        may("params", FREE),
    ])),
]));

const PLUGINS: Shape = Shape::List(&Shape::Record(&closed(&[
    may("name", Shape::Text),
    must("module_path", Shape::Name),
    must("class_name", Shape::Name),
    may("config", FREE),
    may("params", FREE),
    may("priority", Shape::Int(i64::MIN, i64::MAX)),
    may("enabled", Shape::Flag),
])));

const BEHAVIOR: Shape = Shape::Record(&closed(&[
    may("share_reasoning", Shape::Flag),
    may("delegation_style", Shape::Word(&["typed"])),
]));

const BUDGET: Shape =
    Shape::Record(&closed(&[may("max_tool_calls", COUNT_OR_ZERO), may("max_llm_calls", COUNT_OR_ZERO)]));

const MEMORY: Shape = Shape::Either(&[Shape::Text, TEXTS, MEMORY_FULL]);

const SWITCH: Shape = Shape::Flag;

const MEMORY_FULL: Shape = Shape::Record(&closed(&[
    may("enabled", SWITCH),
    may(
        "types",
        Shape::List(&Shape::Record(&closed(&[
            must("name", Shape::Name),
            may("backend", Shape::Name),
            may("params", FREE),
        ]))),
    ),
    may("compaction", COMPACTION),
    may(
        "persistence",
        Shape::Record(&closed(&[
            may("backend", Shape::Text),
            may("path", Shape::Text),
            may("auto_save", SWITCH),
            may("auto_load", SWITCH),
        ])),
    ),
    may("search", SEARCH),
    may(
        "citations",
        Shape::Record(&closed(&[
            may("mode", Shape::Word(&["auto", "on", "off"])),
            may("max_snippet_chars", COUNT),
        ])),
    ),
    may("sync", SYNC),
    may(
        "overflow_retry",
        Shape::Record(&closed(&[
            may("enabled", SWITCH),
            may("max_retries", COUNT_OR_ZERO),
            may("aggregate_timeout_seconds", NOT_NEGATIVE),
            may("budget_reduction_factor", SHARE),
        ])),
    ),
    may(
        "qmd",
        Shape::Record(&closed(&[
            may("enabled", SWITCH),
            may("binary_path", Shape::Text),
            may("index_path", Shape::Text),
            may("search_mode", Shape::Text),
            may("max_snippet_chars", COUNT),
            may("timeout_seconds", NOT_NEGATIVE),
        ])),
    ),
]));

const COMPACTION: Shape = Shape::Record(&closed(&[
    may("strategy", Shape::Text),
    may("reserve_tokens", COUNT_OR_ZERO),
    may("keep_recent_ratio", SHARE),
    may("min_chunk_ratio", SHARE),
    may("safety_margin", NOT_NEGATIVE),
    may("identifier_preservation", SWITCH),
    may("summarize_instructions", Shape::Text),
]));

const SEARCH: Shape = Shape::Record(&closed(&[
    may("enabled", SWITCH),
    may("max_results", COUNT),
    may("min_score", NOT_NEGATIVE),
    may("chunking", Shape::Record(&closed(&[may("tokens", COUNT), may("overlap", COUNT_OR_ZERO)]))),
    may(
        "hybrid",
        Shape::Record(&closed(&[
            may("enabled", SWITCH),
            may("vector_weight", NOT_NEGATIVE),
            may("text_weight", NOT_NEGATIVE),
            may("mmr_enabled", SWITCH),
            may("mmr_lambda", NOT_NEGATIVE),
            may("temporal_decay_enabled", SWITCH),
            may("temporal_decay_half_life_days", COUNT_OR_ZERO),
        ])),
    ),
    may("cache", Shape::Record(&closed(&[may("enabled", SWITCH), may("max_entries", COUNT_OR_ZERO)]))),
]));

const SYNC: Shape = Shape::Record(&closed(&[
    may("on_session_start", SWITCH),
    may("on_search", SWITCH),
    may("interval_seconds", COUNT_OR_ZERO),
    may("delta_messages", COUNT_OR_ZERO),
    may("delta_bytes", COUNT_OR_ZERO),
    may("post_compaction_force", SWITCH),
    may(
        "file_watch",
        Shape::Record(&closed(&[
            may("enabled", SWITCH),
            may("patterns", TEXTS),
            may("debounce_ms", COUNT_OR_ZERO),
        ])),
    ),
]));
