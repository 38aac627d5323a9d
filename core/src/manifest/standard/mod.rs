//! Documents inside the program: `standard:NAME` and the flavours by name.

const INFRA: &[(&str, &str)] = &[
    ("openai", include_str!("openai.yaml")),
    ("ollama", include_str!("ollama.yaml")),
    ("mock-llm", include_str!("mock-llm.yaml")),
    ("llm-proxy", include_str!("llm-proxy.yaml")),
    ("llm-proxy-cached", include_str!("llm-proxy-cached.yaml")),
    ("llm-cache", include_str!("llm-cache.yaml")),
    ("chaos-lite", include_str!("chaos-lite.yaml")),
    ("development", include_str!("development.yaml")),
    ("production", include_str!("production.yaml")),
];

const FLAVOURS: &[(&str, &str)] = &[
    ("local", include_str!("flavour-local.yaml")),
    ("local-benchmark", include_str!("flavour-local-benchmark.yaml")),
    ("mock", include_str!("flavour-mock.yaml")),
];

/// Names that `standard:` knows.
pub fn infra_names() -> impl Iterator<Item = &'static str> {
    INFRA.iter().map(|(name, _)| *name)
}

/// Flavours known by name.
pub fn flavour_names() -> impl Iterator<Item = &'static str> {
    FLAVOURS.iter().map(|(name, _)| *name)
}

pub(crate) fn infra(name: &str) -> Option<&'static str> {
    INFRA.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

pub(crate) fn flavour(name: &str) -> Option<&'static str> {
    FLAVOURS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
