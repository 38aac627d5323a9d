//! Kinds of `infra/v1`.

use super::rules::{COUNT, FREE, POSITIVE, SHARE, TEXTS};
use crate::manifest::shape::{Field, Shape, closed, may, must, open};

const METADATA: Shape = Shape::Record(&closed(&[
    must("name", Shape::Name),
    may("description", Shape::Text),
    may("version", Shape::Text),
]));

macro_rules! infra {
    ($spec:expr) => {
        Shape::Record(&closed(&[
            must("apiVersion", Shape::Text),
            must("kind", Shape::Text),
            must("metadata", METADATA),
            must("spec", $spec),
        ]))
    };
}

pub(in crate::manifest) const LLM: Shape = infra!(Shape::Record(&closed(&[
    may("proxy", ADDRESS),
    may("server", ADDRESS),
    may("protocol", Shape::Text),
    may("models", MODELS),
    may("defaults", Shape::Record(&open(&[may("llm", Shape::Text), may("embed", Shape::Text)]))),
    may("model_access", MODEL_ACCESS),
    may("provider", Shape::Name),
    may("params", FREE),
])));

const ADDRESS: Shape = Shape::Record(&open(&[
    may("api_base", Shape::Text),
    may("api_key_env", Shape::Text),
    may("timeout", POSITIVE),
    may("retry", FREE),
    may("headers", Shape::MapOf(&Shape::Text)),
]));

const MODELS: Shape = Shape::Record(&open(&[
    may("allowed", TEXTS),
    may("available", TEXTS),
    may("mappings", Shape::MapOf(&Shape::Text)),
    may("defaults", Shape::Record(&open(&[may("llm", Shape::Text), may("embed", Shape::Text)]))),
]));

const MODEL_ACCESS: Shape = Shape::Record(&closed(&[
    may("provider", Shape::Name),
    may("module_path", Shape::Text),
    may("class_name", Shape::Text),
    may("params", FREE),
]));

const MIDDLEWARE_PARAMS: Shape = Shape::Record(&open(&[
    may("enabled", Shape::Flag),
    may("cache_path", Shape::Maybe(&Shape::Text)),
    may("path", Shape::Text),
    may("rate", SHARE),
    may("failure_rate", SHARE),
    may("status_codes", Shape::List(&COUNT)),
    may("errors", Shape::List(&COUNT)),
    may("message", Shape::Text),
]));

const STAGES: Shape = Shape::List(&Shape::Either(&[
    Shape::Name,
    Shape::Record(&closed(&[
        may("ref", Shape::Name),
        may("middleware", Shape::Name),
        may("params", MIDDLEWARE_PARAMS),
    ])),
]));

pub(in crate::manifest) const INFRA_BUNDLE: Shape = infra!(Shape::Record(&closed(&[
    may("entries", Shape::List(&ENTRY)),
    may("includes", TEXTS),
    may("interceptors", STAGES),
])));

const ENTRY_TYPES: &[&str] = &[
    "llm_provider",
    "llm_local",
    "tool_provider",
    "tool_registry",
    "tool_server_registry",
    "otel_collector",
    "datastore",
    "secrets_provider",
    "application",
    "infra_middleware",
];

const ENTRY: Shape = Shape::Record(&closed(&[
    must("id", Shape::Name),
    must("type", Shape::Word(ENTRY_TYPES)),
    must("ref", Shape::Name),
    may("pipeline", STAGES),
    may("applies_to", TEXTS),
]));

pub(in crate::manifest) const INFRA_MIDDLEWARE: Shape = infra!(Shape::Record(&closed(&[
    must("middleware", Shape::Name),
    may("applies_to", TEXTS),
    may("params", MIDDLEWARE_PARAMS),
])));

pub(in crate::manifest) const APPLICATION: Shape =
    infra!(Shape::Record(&open(&[must("endpoints", ENDPOINTS)])));

const ENDPOINTS: Shape = Shape::MapOf(&Shape::Record(&open(ENDPOINT)));

// Open: parameters of other protocols stand beside these and are checked by their backend.
const ENDPOINT: &[Field] = &[
    must("protocol", Shape::Name),
    may("usage", Shape::Word(&["use", "deploy", "use-and-deploy"])),
    may("expose", Shape::Flag),
    may("url", Shape::Text),
    may("headers", Shape::MapOf(&Shape::Text)),
    may("timeout", Shape::Either(&[POSITIVE, Shape::List(&POSITIVE)])),
    may("a2a", FREE),
    may("layers", LAYERS),
];

const LAYERS: Shape = Shape::Record(&closed(&[
    may("retry", Shape::Either(&[Shape::Flag, RETRY])),
    may("tracing", Shape::Flag),
    may("circuit_breaker", Shape::Either(&[Shape::Flag, CIRCUIT_BREAKER])),
    may("rate_limit", RATE_LIMIT),
    may("timeout", POSITIVE),
]));

const RETRY: Shape = Shape::Record(&closed(&[
    may("attempts", Shape::Int(2, 20)),
    may("backoff", Shape::Either(&[POSITIVE, Shape::List(&POSITIVE)])),
]));

const CIRCUIT_BREAKER: Shape =
    Shape::Record(&closed(&[may("failure_threshold", Shape::Int(1, 1000)), may("reset_timeout", POSITIVE)]));

const RATE_LIMIT: Shape =
    Shape::Record(&closed(&[must("requests_per_minute", POSITIVE), may("burst", Shape::Int(1, 10_000))]));

pub(in crate::manifest) const TOOL_PROVIDER: Shape =
    infra!(Shape::Record(&closed(&[must("tools", Shape::MapOf(&TOOL_BINDING))])));

const TOOL_BINDING: Shape = Shape::Record(&closed(&[
    must("kind", Shape::Name),
    may("name", Shape::Name),
    may("module", Shape::Name),
    may("module_path", Shape::Name),
    may("class_name", Shape::Text),
    may("url", Shape::Text),
    may("description", Shape::Text),
    may("params", FREE),
]));
