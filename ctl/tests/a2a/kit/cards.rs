//! The card.

use serde_json::{Value, json};

use super::Kit;
use crate::calls::Binding;

const PATH: &str = "/.well-known/agent-card.json";

fn card(kit: &Kit) -> Value {
    let answer = kit.full.open("GET", PATH, &[], "");
    assert_eq!(answer.status, 200);
    answer.json()
}

pub(super) fn found(kit: &Kit, _: Binding) {
    assert_eq!(card(kit)["name"], "a2a-conformance");
}

pub(super) fn interfaces(kit: &Kit, _: Binding) {
    let card = card(kit);
    let interfaces = card["supportedInterfaces"].as_array().expect("interfaces");
    let bindings: Vec<_> = interfaces.iter().map(|one| one["protocolBinding"].clone()).collect();
    assert_eq!(bindings, ["JSONRPC", "HTTP+JSON", "GRPC"]);
    for one in interfaces {
        assert!(one["url"].as_str().is_some_and(|url| !url.is_empty()), "{one}");
        assert_eq!(one["protocolVersion"], "1.0");
    }
}

pub(super) fn fields(kit: &Kit, _: Binding) {
    let card = card(kit);
    let known = [
        "name",
        "description",
        "supportedInterfaces",
        "version",
        "capabilities",
        "defaultInputModes",
        "defaultOutputModes",
        "skills",
    ];
    let mut names: Vec<_> = card.as_object().expect("an object").keys().map(String::as_str).collect();
    let mut due = known.to_vec();
    names.sort_unstable();
    due.sort_unstable();
    assert_eq!(names, due);
    let capabilities = json!({"streaming": true, "pushNotifications": true, "extendedAgentCard": false});
    assert_eq!(card["capabilities"], capabilities);
    for skill in card["skills"].as_array().expect("skills") {
        assert!(["id", "name", "description", "tags"].iter().all(|field| !skill[field].is_null()), "{skill}");
    }
}

pub(super) fn caching(kit: &Kit, _: Binding) {
    let answer = kit.full.open("GET", PATH, &[], "");
    assert!(answer.header("cache-control").contains("max-age="));
    assert!(!answer.header("last-modified").is_empty());
    let tag = answer.header("etag").to_owned();
    assert!(tag.starts_with('"'), "{tag}");
    assert_eq!(kit.full.open("GET", PATH, &[("if-none-match", &tag)], "").status, 304);
}
