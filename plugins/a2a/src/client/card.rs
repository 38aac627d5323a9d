//! The card of an agent elsewhere: where it can be reached, and how.

use mas_comm_kit::http::shown;
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

impl Interface {
    /// As a card at this address means it: `host:port` of gRPC says nothing of TLS, and has it where the card has it.
    pub(crate) fn beside(mut self, card: &str) -> Self {
        let secure = card.get(..8).is_some_and(|begin| begin.eq_ignore_ascii_case("https://"));
        if secure && self.binding == Binding::Grpc && !self.url.contains("://") {
            self.url = format!("https://{}", self.url);
        }
        self
    }
}

/// Which ways may be taken, and which first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// The bindings that may be taken, the best first; none for any, in the card's order.
    pub(crate) bindings: Vec<Binding>,
    /// The only version that may be taken; else the newest.
    pub(crate) version: Option<Version>,
}

impl Wanted {
    /// Only this binding and this version, where they are given.
    pub(super) fn only(binding: Option<Binding>, version: Option<Version>) -> Self {
        Self { bindings: binding.into_iter().collect(), version }
    }

    /// How much an interface is wanted, the most first; none where it is not.
    fn rank(&self, interface: &Interface) -> Option<(Version, usize)> {
        if self.version.is_some_and(|version| version != interface.version) {
            return None;
        }
        let at = match self.bindings.as_slice() {
            [] => 0,
            some => some.iter().position(|binding| *binding == interface.binding)?,
        };
        Some((interface.version, at))
    }
}

/// The way that was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// The way.
    pub(crate) interface: Interface,
    /// Why this one, for a person.
    pub(crate) because: String,
}

/// The ways that a card names, in its order; those of bindings and versions that are not known are left out.
pub(super) fn interfaces(card: &Value) -> Vec<Interface> {
    let mut found: Vec<Interface> = Vec::new();
    let mut add = |url: Option<&str>, binding: &str, version: Option<Version>, tenant: Option<&str>| {
        let Some(url) = url.map(str::trim).filter(|url| !url.is_empty()) else { return };
        let (Some(binding), Some(version)) = (Binding::parse(binding), version) else { return };
        let tenant = tenant.filter(|tenant| !tenant.is_empty()).map(str::to_owned);
        let interface = Interface { url: url.to_owned(), binding, version, tenant };
        if !found.contains(&interface) {
            found.push(interface);
        }
    };
    fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
        value.get(name).and_then(Value::as_str)
    }
    for one in list(card, "supportedInterfaces") {
        // The list came with 1.0.
        let version = text(one, "protocolVersion").map_or(Some(Version::V1), Version::of_card);
        let binding = text(one, "protocolBinding").unwrap_or("JSONRPC");
        add(text(one, "url"), binding, version, text(one, "tenant"));
    }
    // The members of v0.3; in a card of both versions they repeat what is known.
    let version = text(card, "protocolVersion").and_then(Version::of_card).or(Some(Version::V03));
    add(text(card, "url"), text(card, "preferredTransport").unwrap_or("JSONRPC"), version, None);
    for one in list(card, "additionalInterfaces") {
        add(text(one, "url"), text(one, "transport").unwrap_or("JSONRPC"), version, None);
    }
    found
}

/// The way to take: the newest version, then the binding that is wanted most, then the first of the card, which stands
/// at `place`.
///
/// # Errors
/// [`ErrorKind::Unsupported`] where the card has no such way, with those that it has.
pub(crate) fn choose(card: &Value, place: &str, wanted: &Wanted) -> Result<Chosen> {
    let all = interfaces(card);
    let ranked = all.iter().filter_map(|one| Some((wanted.rank(one)?, one)));
    if let Some((_, best)) = ranked.min_by_key(|(rank, _)| *rank) {
        return Ok(Chosen { interface: best.clone(), because: because(best, &all, wanted) });
    }
    let known: Vec<String> =
        all.iter().map(|one| format!("{} {}", one.binding.as_str(), one.version.as_str())).collect();
    let place = shown(place);
    let what = match known.as_slice() {
        [] => format!(
            "the card at {place} names no way to the agent that is spoken here: JSONRPC, HTTP+JSON or GRPC, in version \
             1.0 or 0.3"
        ),
        some => {
            format!("the agent cannot be reached that way; the card at {place} names {}", some.join(", "))
        }
    };
    Err(Error::new(ErrorKind::Unsupported, what).with_code("mas::a2a::interface"))
}

fn because(best: &Interface, all: &[Interface], wanted: &Wanted) -> String {
    if all.len() == 1 {
        return "the card names no other that is spoken here".to_owned();
    }
    let of_version = |one: &&Interface| one.version == best.version;
    let mut reasons = Vec::new();
    if wanted.version.is_some() {
        reasons.push(format!("{} is asked for", best.version.as_str()));
    } else if !all.iter().all(|one| of_version(&one)) {
        reasons.push(format!("{} is the newest version of the card", best.version.as_str()));
    }
    let rivals = || all.iter().filter(of_version);
    if rivals().any(|one| one.binding != best.binding) && !wanted.bindings.is_empty() {
        reasons.push(format!("{} is the binding that is wanted most", best.binding.as_str()));
    }
    let first = rivals().filter(|one| one.binding == best.binding || wanted.bindings.is_empty());
    if first.count() > 1 {
        reasons.push("the card names it first".to_owned());
    }
    reasons.join(", and ")
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
        let choose = |card: &Value, binding, version| {
            super::choose(card, "http://h/card", &Wanted::only(binding, version))
        };
        let best = choose(&union, None, None).expect("a way").interface;
        assert_eq!((best.url.as_str(), best.tenant.as_deref()), ("http://h/rest", Some("t")));
        let error = choose(&union, Some(Binding::Grpc), Some(Version::V1)).expect_err("no such way");
        assert_eq!(
            error.to_string(),
            "the agent cannot be reached that way; the card at http://h/card names JSONRPC 0.3, HTTP+JSON 1.0, GRPC 0.3"
        );
    }

    fn one(binding: &str, version: &str, url: &str) -> Value {
        json!({"url": url, "protocolBinding": binding, "protocolVersion": version})
    }

    /// What is chosen of a card by default, as `url binding version`.
    fn chosen(card: &Value) -> String {
        let bindings = vec![Binding::JsonRpc, Binding::Rest, Binding::Grpc];
        match choose(card, "http://h/card", &Wanted { bindings, version: None }) {
            Ok(Chosen { interface: it, .. }) => {
                format!("{} {} {}", it.url, it.binding.as_str(), it.version.as_str())
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn b4_the_newest_version_goes_before_the_binding_and_the_binding_before_the_order() {
        let card = json!({"supportedInterfaces": [
            one("JSONRPC", "0.3", "http://h/old"),
            one("GRPC", "1.0", "h:1"),
            one("HTTP+JSON", "1.0", "http://h/rest"),
            one("HTTP+JSON", "1.0", "http://h/second"),
        ]});
        assert_eq!(chosen(&card), "http://h/rest HTTP+JSON 1.0");
        let because =
            |wanted: &Wanted| choose(&card, "http://h/card", wanted).map(|it| it.because).unwrap_or_default();
        let bindings = vec![Binding::Rest, Binding::Grpc];
        assert_eq!(
            because(&Wanted { bindings, version: None }),
            "1.0 is the newest version of the card, and HTTP+JSON is the binding that is wanted most, and the card names it first"
        );
        assert_eq!(because(&Wanted::only(None, Some(Version::V03))), "0.3 is asked for");
    }

    #[test]
    fn b4_a_card_of_v03_without_a_transport_is_json_rpc() {
        assert_eq!(chosen(&json!({"url": "http://h/old"})), "http://h/old JSONRPC 0.3");
        assert_eq!(chosen(&json!({"url": "http://h/", "protocolVersion": "0.2.6"})), "http://h/ JSONRPC 0.3");
    }

    #[test]
    fn b4_an_interface_without_a_version_is_of_v1() {
        let card = json!({"supportedInterfaces": [{"url": "http://h/", "protocolBinding": "HTTP+JSON"}]});
        assert_eq!(chosen(&card), "http://h/ HTTP+JSON 1.0");
        let later = json!({"supportedInterfaces": [one("JSONRPC", "1.7.2", "http://h/"), one("JSONRPC", "2.0", "x")]});
        assert_eq!(chosen(&later), "http://h/ JSONRPC 1.0");
    }

    #[test]
    fn b4_other_transports_at_the_main_address_are_kept() {
        let card = json!({
            "url": "http://h/", "preferredTransport": "GRPC",
            "additionalInterfaces": [
                {"url": "http://h/", "transport": "GRPC"}, {"url": "http://h/", "transport": "HTTP+JSON"},
            ],
        });
        assert_eq!(interfaces(&card).len(), 2);
        assert_eq!(chosen(&card), "http://h/ HTTP+JSON 0.3");
    }

    #[test]
    fn cards_with_nulls_and_without_lists_are_read() {
        let card = json!({
            "url": "http://h/", "supportedInterfaces": null, "additionalInterfaces": null, "skills": null,
            "preferredTransport": null, "capabilities": null, "protocolVersion": null,
        });
        assert_eq!(chosen(&card), "http://h/ JSONRPC 0.3");
        assert_eq!(
            chosen(&json!({"supportedInterfaces": [{"url": 5}, 7, {}]})),
            "the card at http://h/card names no way to the agent that is spoken here: JSONRPC, HTTP+JSON or GRPC, in version \
             1.0 or 0.3"
        );
    }
}
