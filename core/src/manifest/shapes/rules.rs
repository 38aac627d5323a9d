//! Shapes and rules that several kinds share.

use crate::manifest::shape::{Field, Fields, Rule, Shape, closed, may, must, open};

pub(super) const COUNT: Shape = Shape::Int(1, i64::MAX);
pub(super) const COUNT_OR_ZERO: Shape = Shape::Int(0, i64::MAX);
pub(super) const POSITIVE: Shape = Shape::Number(0.000_001, f64::MAX);
pub(super) const NOT_NEGATIVE: Shape = Shape::Number(0.0, f64::MAX);
pub(super) const SHARE: Shape = Shape::Number(0.0, 1.0);
pub(super) const TEXTS: Shape = Shape::List(&Shape::Text);
pub(super) const FREE: Shape = Shape::MapOf(&Shape::Any);

pub(super) const VERSION: Shape = Shape::Ruled(Rule {
    what: "a version such as 1.0.0",
    fits: is_version,
    pattern: r"^[0-9]+\.[0-9]+\.[0-9]",
    plain: &[],
});
pub(super) const LOGICAL_NAME: Shape = Shape::Ruled(Rule {
    what: "a lower-case name of letters, digits, `-` and `_`",
    fits: is_logical_name,
    pattern: "^[a-z0-9][a-z0-9_-]*$",
    plain: &["integer"],
});
pub(super) const PARAMETER_NAME: Shape = Shape::Ruled(Rule {
    what: "a name of letters, digits and `_` that does not begin with a digit",
    fits: is_identifier,
    pattern: "^[A-Za-z_][A-Za-z0-9_]*$",
    plain: &["boolean"],
});

fn is_version(text: &str) -> bool {
    let mut parts = text.splitn(3, '.');
    let number = |part: Option<&str>| {
        part.is_some_and(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
    };
    number(parts.next())
        && number(parts.next())
        && parts.next().is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

fn is_logical_name(text: &str) -> bool {
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    text.bytes().next().is_some_and(fits) && text.bytes().all(|b| fits(b) || matches!(b, b'-' | b'_'))
}

fn is_identifier(text: &str) -> bool {
    let letter = |b: u8| b.is_ascii_alphabetic() || b == b'_';
    text.bytes().next().is_some_and(letter) && text.bytes().all(|b| letter(b) || b.is_ascii_digit())
}

pub(super) const METADATA: Shape = Shape::Record(&closed(&[
    must("name", Shape::Name),
    may("description", Shape::Text),
    may("version", VERSION),
    may("tags", TEXTS),
]));

pub(super) const LOOSE_METADATA: Shape = Shape::Record(&open(&[may("name", Shape::Text)]));

pub(super) const PATTERN: Shape = Shape::Record(&closed(&[
    may("type", Shape::Name),
    may("ref", Shape::Name),
    may("params", FREE),
    may("config", FREE),
]));

pub(super) const COLLABORATION: Shape = Shape::Record(&closed(&[
    may("type", Shape::Word(&["none"])),
    may(
        "params",
        Shape::Record(&closed(&[may("max_delegations", COUNT_OR_ZERO), may("allow_parallel", Shape::Flag)])),
    ),
]));

pub(super) const CONTEXT_MANAGER_FIELDS: Fields = closed(&[
    may("type", Shape::Name),
    may("ref", Shape::Name),
    may("params", CONTEXT_MANAGER_PARAMS),
    may("skills", TEXTS),
    may("memory", TEXTS),
]);
pub(super) const CONTEXT_MANAGER: Shape = Shape::Record(&CONTEXT_MANAGER_FIELDS);

// Other managers bring parameters of their own, so the list is open; these have bounds.
const CONTEXT_MANAGER_PARAMS: Shape = Shape::Record(&open(&[
    may("max_turns", COUNT),
    may("window_size", COUNT),
    may("max_messages", COUNT),
    may("working_memory_messages", COUNT),
    may("token_budget", COUNT),
    may("max_tokens", COUNT),
    may("reserve_tokens", COUNT_OR_ZERO),
    may("summary_threshold", COUNT),
    may("keep_turns", COUNT),
]));

pub(super) const MODEL_FIELDS: &[Field] = &[
    may("id", Shape::Name),
    must("model", Shape::Name),
    may("temperature", TEMPERATURE),
    may("max_tokens", COUNT),
];
const TEMPERATURE: Shape = Shape::Number(0.0, 2.0);

pub(super) const LLM_BINDING: Shape = Shape::Record(&closed(&[
    may("provider", Shape::Name),
    may("model", Shape::Name),
    may("temperature", TEMPERATURE),
    may("max_tokens", COUNT),
]));

pub(super) const EXECUTION: Shape = Shape::Record(&closed(&[
    may("mocking", Shape::Record(&closed(&[may("enabled", Shape::Flag)]))),
    may("cache", Shape::Record(&closed(&[may("enabled", Shape::Flag)]))),
    may("parallel", Shape::Flag),
    may("live", Shape::Flag),
    may("timeout", NOT_NEGATIVE),
]));

pub(super) const CONTROL: Shape = Shape::Record(&closed(&[
    may(
        "budget",
        Shape::Maybe(&Shape::Record(&closed(&[
            may("max_tokens", COUNT_OR_ZERO),
            may("max_cost_usd", NOT_NEGATIVE),
        ]))),
    ),
    may(
        "circuit_breaker",
        Shape::Maybe(&Shape::Record(&closed(&[
            may("failure_threshold", COUNT),
            may("reset_timeout_s", NOT_NEGATIVE),
        ]))),
    ),
    may("rate_limiter", Shape::Maybe(&Shape::Record(&closed(&[may("requests_per_minute", COUNT)])))),
]));

pub(super) const OBSERVABILITY: Shape = Shape::List(&Shape::Either(&[
    Shape::Name,
    Shape::Record(&open(&[
        may(
            "native",
            Shape::Maybe(&Shape::Record(&closed(&[
                may("path", Shape::Text),
                may("events_file", Shape::Text),
            ]))),
        ),
        may(
            "otel",
            Shape::Maybe(&Shape::Record(&closed(&[
                may("output_path", Shape::Text),
                may("otel_file", Shape::Text),
            ]))),
        ),
    ])),
]));

const POLICY: Shape = Shape::Record(&closed(&[
    must("name", Shape::Name),
    may("enabled", Shape::Flag),
    must(
        "action",
        Shape::Word(&["hitl", "block", "terminate", "log", "modify", "skip", "retry", "blacklist"]),
    ),
    must(
        "trigger",
        Shape::Record(&closed(&[
            must(
                "on",
                Shape::Word(&[
                    "tool_input",
                    "tool_output",
                    "llm_output",
                    "delegation_output",
                    "budget_threshold",
                    "event",
                    "tool_failure_streak",
                ]),
            ),
            may("tool", Shape::Text),
            may("condition", Shape::Text),
            may("evaluation", Shape::Text),
            may("threshold", COUNT),
            may("reset_on", Shape::Text),
        ])),
    ),
    may("params", FREE),
    may("recovery", FREE),
]));

const SAMPLE_GOVERNANCE: Shape = Shape::Maybe(&Shape::Record(&closed(&[
    may("hitl_on_tool", Shape::Flag),
    may("hitl_on_tool_result", Shape::Flag),
    may("hitl_once_per_turn", Shape::Flag),
    may("hitl_mode", Shape::Word(&["interactive", "auto-approve", "auto-deny", "off"])),
    may("gov_policy_profile", Shape::Text),
    may("gov_block_destructive", Shape::Flag),
    may("gov_trigger_destructive", Shape::Flag),
    may("gov_ingress_profile", Shape::Text),
    may("max_cot_pass", COUNT_OR_ZERO),
    may("max_gov_retries", COUNT_OR_ZERO),
    may("policies", Shape::List(&POLICY)),
])));

// A list of plugins; the map form is the older spelling, of which only the empty map means something.
pub(super) const GOVERNANCE: Shape = Shape::Either(&[
    Shape::List(&Shape::Either(&[
        Shape::Name,
        Shape::Record(&open(&[
            may("sample_governance", SAMPLE_GOVERNANCE),
            may("sample_governance@v1", SAMPLE_GOVERNANCE),
        ])),
    ])),
    FREE,
]);

pub(super) const MEMORY_SEEDS: Shape = Shape::List(&Shape::Record(&closed(&[
    may("key", Shape::Text),
    may("source", Shape::Text),
    may("id", Shape::Text),
    must("content", Shape::Text),
    may("text", Shape::Text),
])));

pub(super) const AGENT_COMM: Shape =
    Shape::Record(&closed(&[may("type", Shape::Name), may("protocol", Shape::Name), may("params", FREE)]));

pub(super) const NODES: Shape = Shape::List(&Shape::Record(&closed(&[
    must("id", Shape::Name),
    may("role", Shape::Text),
    may("agent", Shape::Text),
    may("delegates_to", Shape::List(&Shape::Name)),
    may("dispatch", Shape::Text),
    may("config", FREE),
    may("description", Shape::Text),
])));
