//! The card of an agent elsewhere: where it can be reached, and how.

use mas_contracts::{Error, ErrorKind, Result};
use serde_json::Value;

use super::{Binding, Version};

/// A way to reach an agent (A2A v1.0, `AgentInterface`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The address; for gRPC `host:port`, or with a scheme.
    pub url: String,
    /// The binding.
    pub binding: Binding,
    /// The version.
    pub version: Version,
    /// What has to be named in every request, if anything.
    pub tenant: Option<String>,
}

/// The ways that a card names, in its order; those of bindings and versions that are not known are left out.
pub(super) fn interfaces(card: &Value) -> Vec<Interface> {
    let mut found: Vec<Interface> = Vec::new();
    let mut add = |url: Option<&str>, binding: Option<&str>, version: Option<&str>, tenant: Option<&str>| {
        let Some(url) = url.filter(|url| !url.is_empty()) else { return };
        let (Some(binding), Some(version)) =
            (Binding::parse(binding.unwrap_or("JSONRPC")), Version::of_card(version))
        else {
            return;
        };
        let tenant = tenant.filter(|tenant| !tenant.is_empty()).map(str::to_owned);
        let interface = Interface { url: url.to_owned(), binding, version, tenant };
        if !found.contains(&interface) {
            found.push(interface);
        }
    };
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    for one in list(card, "supportedInterfaces") {
        add(
            text(one, "url").as_deref(),
            text(one, "protocolBinding").as_deref(),
            text(one, "protocolVersion").as_deref(),
            text(one, "tenant").as_deref(),
        );
    }
    // The members of v0.3; in a card of both versions they repeat what is known.
    let version = Some("0.3");
    add(text(card, "url").as_deref(), text(card, "preferredTransport").as_deref(), version, None);
    for one in list(card, "additionalInterfaces") {
        add(text(one, "url").as_deref(), text(one, "transport").as_deref(), version, None);
    }
    found
}

/// The way to take: of the wanted binding and version, v1.0 before v0.3, else in the card's order.
///
/// # Errors
/// [`ErrorKind::Unsupported`] where the card has no such way, with those that it has.
pub(super) fn choose(card: &Value, binding: Option<Binding>, version: Option<Version>) -> Result<Interface> {
    let all = interfaces(card);
    let wanted = |one: &&Interface| {
        binding.is_none_or(|it| it == one.binding) && version.is_none_or(|it| it == one.version)
    };
    let best = all.iter().filter(wanted).min_by_key(|one| one.version);
    best.cloned().ok_or_else(|| {
        let known: Vec<String> =
            all.iter().map(|one| format!("{} {}", one.binding.as_str(), one.version.as_str())).collect();
        let known = match known.as_slice() {
            [] => "none that is spoken here".to_owned(),
            some => some.join(", "),
        };
        Error::new(
            ErrorKind::Unsupported,
            format!("the agent cannot be reached that way; its card names {known}"),
        )
        .with_code("mas::a2a::interface")
    })
}

fn list<'a>(card: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    card.get(name).and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ways_are_read_from_the_cards_of_both_versions() {
        let union = json!({
            "supportedInterfaces": [
                {"url": "http://h/", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
                {"url": "http://h/rest", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0", "tenant": "t"},
                {"url": "http://h/x", "protocolBinding": "CARRIER-PIGEON", "protocolVersion": "1.0"},
            ],
            "url": "http://h/", "preferredTransport": "JSONRPC",
            "additionalInterfaces": [{"url": "h:1", "transport": "GRPC"}],
        });
        let ways: Vec<_> =
            interfaces(&union).into_iter().map(|it| (it.url, it.binding, it.version)).collect();
        assert_eq!(
            ways,
            [
                ("http://h/".to_owned(), Binding::JsonRpc, Version::V03),
                ("http://h/rest".to_owned(), Binding::Rest, Version::V1),
                ("h:1".to_owned(), Binding::Grpc, Version::V03),
            ]
        );
        let best = choose(&union, None, None).expect("a way");
        assert_eq!((best.url.as_str(), best.tenant.as_deref()), ("http://h/rest", Some("t")));
        let error = choose(&union, Some(Binding::Grpc), Some(Version::V1)).expect_err("no such way");
        assert_eq!(
            error.to_string(),
            "the agent cannot be reached that way; its card names JSONRPC 0.3, HTTP+JSON 1.0, GRPC 0.3"
        );
        let old = json!({"url": "http://h/old"});
        assert_eq!(choose(&old, None, None).expect("a way").version, Version::V03);
    }
}
