//! Names that fit and come back, calls a model gets wrong, and failures that never read as answers.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "functions that tests share")]

use std::{collections::HashSet, sync::Arc, time::Duration};

use mas_contracts::{
    Arguments, Artifact, Conclusion, Content, DelegationContract, Delivery, End, Error, ErrorKind,
    Interruption, InterruptionKind, Part, PeerCard, Reply, Result, Retry, Surface, TaskState, ToolCall,
    ToolOutput,
};
use mas_delegation::{DelegateTools, tool_name};
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

fn peer(id: &str) -> PeerCard {
    PeerCard { id: id.into(), description: "".into() }
}

fn surface(ids: &[&str]) -> Arc<dyn Surface> {
    DelegateTools.bind(&ids.iter().map(|id| peer(id)).collect::<Vec<_>>()).unwrap()
}

fn call(name: &str, arguments: Value) -> ToolCall {
    ToolCall { id: "c1".into(), name: name.into(), arguments: Arguments::from_value(arguments) }
}

fn fits(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

fn reached(surface: &dyn Surface, tool: &str) -> String {
    let plan = surface.plan(&call(tool, json!({"task": "t"}))).unwrap().unwrap();
    assert_eq!(plan.len(), 1);
    plan[0].to.to_string()
}

#[test]
fn awkward_ids_become_valid_distinct_names_that_come_back() {
    let long = "a".repeat(79);
    let mut ids: Vec<String> =
        ["billing bot", "研究员", "研究", "a.b/c", "a.b", "a_b", "a b", "Émile", "-x", "A_b", " a_b", "🦀"]
            .map(str::to_owned)
            .to_vec();
    ids.extend([format!("{long}1"), format!("{long}2"), "b".repeat(52), "b".repeat(53)]);
    // Ids that are what others are mangled into.
    ids.extend(ids.clone().iter().map(|id| tool_name(id)["delegate_to_".len()..].to_owned()));
    ids.sort();
    ids.dedup();
    let bound = surface(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    let names: HashSet<_> = bound.tools().iter().map(|tool| tool.name.clone()).collect();
    assert_eq!(names.len(), ids.len());
    for (tool, id) in bound.tools().iter().zip(&ids) {
        assert!(fits(&tool.name), "{}", tool.name);
        assert_eq!(&reached(&*bound, &tool.name), id);
    }
}

#[test]
fn an_id_that_fits_is_kept() {
    assert_eq!(tool_name("fares"), "delegate_to_fares");
    assert_eq!(tool_name("-x"), "delegate_to_-x");
    assert_eq!(tool_name(&"b".repeat(52)).len(), 64);
}

proptest! {
    #[test]
    fn any_distinct_ids_get_valid_distinct_reversible_names(
        ids in prop::collection::hash_set("\\PC{1,90}|[ab_.]{1,12}|a{50,56}", 1..12)
    ) {
        let ids: Vec<_> = ids.iter().map(String::as_str).filter(|id| !id.trim().is_empty()).collect();
        let bound = surface(&ids);
        let names: HashSet<_> = bound.tools().iter().map(|tool| tool.name.clone()).collect();
        prop_assert_eq!(names.len(), ids.len());
        for (tool, id) in bound.tools().iter().zip(&ids) {
            prop_assert!(fits(&tool.name));
            prop_assert_eq!(&*tool.name, tool_name(id));
            prop_assert_eq!(reached(&*bound, &tool.name), *id);
        }
    }
}

#[test]
fn every_blank_and_duplicate_id_is_a_problem() {
    let problems = DelegateTools.bind(&[peer(""), peer("a"), peer(" "), peer("a")]).err().unwrap();
    let found: Vec<_> =
        problems.iter().map(|problem| format!("{} {}", problem.path, problem.message)).collect();
    assert_eq!(
        found,
        [
            "[0] an agent that is delegated to has a blank id",
            "[2] an agent that is delegated to has a blank id",
            "[3] agent `a` is delegated to twice",
        ]
    );
}

#[test]
fn a_tool_says_what_its_agent_does_and_takes_a_task() {
    let known = PeerCard { id: "b".into(), description: "Books fares.".into() };
    let bound = DelegateTools.bind(&[peer("a"), known]).unwrap();
    let described: Vec<_> = bound.tools().iter().map(|tool| tool.description.to_string()).collect();
    assert_eq!(described, ["Delegate a sub-task to agent a.", "Books fares."]);
    let schema = &bound.tools()[0].parameters;
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["required"], json!(["task"]));
    assert_eq!(schema["additionalProperties"], json!(false));
    assert_eq!(schema["properties"]["task"]["type"], "string");
    assert_eq!(schema["properties"]["context_id"]["type"], "string");
    assert!(bound.plan(&call("delegate_to_c", json!({"task": "t"}))).is_none());
    assert!(bound.plan(&call("search", json!({}))).is_none());
}

#[rstest]
#[case::plain(json!({"task": "find it"}), "find it", None)]
#[case::kept_as_it_is(json!({"task": " find\n"}), " find\n", None)]
#[case::named(json!({"task": "t", "context_id": "x"}), "t", Some("x"))]
#[case::null_context(json!({"task": "t", "context_id": null}), "t", None)]
#[case::blank_context(json!({"task": "t", "context_id": " "}), "t", None)]
fn plans(#[case] arguments: Value, #[case] task: &str, #[case] thread: Option<&str>) {
    let plan = surface(&["a"]).plan(&call("delegate_to_a", arguments)).unwrap().unwrap();
    assert_eq!(plan[0].parts, [Part::text(task)]);
    assert_eq!(plan[0].thread.as_deref(), thread);
}

#[rstest]
#[case::missing(json!({}), "`task` is missing")]
#[case::misnamed(json!({"message": "t"}), "there is no argument `message` (given: `message`)")]
#[case::blank(json!({"task": " \n"}), "`task` is blank")]
#[case::number(json!({"task": 7}), "`task` must be text, not a number")]
#[case::null(json!({"task": null}), "`task` must be text, not null")]
#[case::context(json!({"task": "t", "context_id": 1}), "`context_id` must be text, not a number")]
#[case::no_object(json!([1]), "the arguments are not a JSON object: [1]")]
#[case::broken(json!("{\"task\": \"t"), "the arguments are not a JSON object: {\"task\": \"t")]
fn a_wrong_call_tells_the_model_what_to_do(#[case] arguments: Value, #[case] what: &str) {
    let error = surface(&["a"]).plan(&call("delegate_to_a", arguments)).unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let how = r#"call `delegate_to_a` again as {"task": "what the agent has to do"}"#;
    assert_eq!(error.message(), format!("{what}; {how}"));
}

fn concluded(reply: Result<Reply>) -> (String, bool) {
    let call = call("delegate_to_fares", json!({"task": "t", "context_id": "trip"}));
    match surface(&["fares"]).conclude(&call, &[reply]) {
        Conclusion::Done(ToolOutput { parts, is_error }) => {
            assert_eq!(parts.len(), 1);
            (parts[0].as_text().unwrap().to_string(), is_error)
        }
        other => panic!("{other:?}"),
    }
}

fn reply(parts: Vec<Part>, end: End) -> Reply {
    Reply { end, ..Reply::done(parts) }
}

#[rstest]
#[case::text(vec![Part::text("42 EUR")], "42 EUR")]
#[case::data(vec![Part::text("see"), Part::data(json!({"eur": 42}))], "see\n{\"eur\":42}")]
#[case::file(vec![Part { content: Content::Url("http://x/f".into()), meta: None }], "[file: http://x/f]")]
#[case::raw(vec![Part { content: Content::Raw([1, 2].into()), meta: None }], "[file: 2 bytes]")]
#[case::nothing(vec![], "agent `fares` finished without output")]
#[case::blank(vec![Part::text(" \n")], "agent `fares` finished without output")]
fn an_answer_is_no_error(#[case] parts: Vec<Part>, #[case] text: &str) {
    assert_eq!(concluded(Ok(Reply::done(parts))), (text.to_owned(), false));
}

#[test]
fn artifacts_follow_the_answer() {
    let artifact = |text: &str| Artifact::new(text, vec![Part::text(text)]);
    let mut whole = Reply::done(vec![Part::text("answer")]);
    whole.artifacts = vec![artifact("one"), artifact(""), artifact("two")];
    assert_eq!(concluded(Ok(whole)), ("answer\none\ntwo".to_owned(), false));
}

#[rstest]
#[case(TaskState::Failed, "quota", "delegation to `fares` failed (state failed): quota")]
#[case(TaskState::Rejected, "no", "delegation to `fares` failed (state rejected): no")]
#[case(TaskState::Canceled, "", "delegation to `fares` failed (state canceled): the agent gave no reason")]
fn a_failed_end_is_an_error(#[case] state: TaskState, #[case] reason: &str, #[case] text: &str) {
    let ended = reply(vec![Part::text(reason)], End::Failed(state));
    assert_eq!(concluded(Ok(ended)), (text.to_owned(), true));
}

#[rstest]
#[case(
    Error::new(ErrorKind::Timeout, "no answer in 5 s").with_delivery(Delivery::Unknown).with_retry(Retry::Backoff),
    "delegation to `fares` failed (timeout): no answer in 5 s; the agent may have done some of the work; \
     it may work later"
)]
#[case(
    Error::new(ErrorKind::Unavailable, "cannot connect")
        .caused_by("connection refused")
        .with_retry(Retry::Never),
    "delegation to `fares` failed (unavailable): cannot connect: connection refused; do not repeat the same call"
)]
#[case(
    Error::new(ErrorKind::RateLimited, "too many requests").with_retry(Retry::After(Duration::from_millis(1500))),
    "delegation to `fares` failed (rate_limited): too many requests; it may work after 2 s"
)]
fn an_error_is_an_error(#[case] error: Error, #[case] text: &str) {
    assert_eq!(concluded(Err(error)), (text.to_owned(), true));
}

#[rstest]
#[case(
    InterruptionKind::Input,
    "agent `fares` is not done, it asks: Which day?\nSo far it said: Two fares.\n\
     To answer, call `delegate_to_fares` again with the answer as \"task\" and \"context_id\": \"trip\"."
)]
#[case(
    InterruptionKind::Auth,
    "agent `fares` is not done, it needs credentials: Which day?\nSo far it said: Two fares.\n\
     Only a person can give them; say so instead of calling it again."
)]
fn a_question_is_no_answer(#[case] kind: InterruptionKind, #[case] text: &str) {
    let question = Interruption { kind, question: "Which day?".into(), agent: "fares".into(), task: None };
    let asked = reply(vec![Part::text("Two fares.")], End::Interrupted(question));
    assert_eq!(concluded(Ok(asked)), (text.to_owned(), true));
}

#[test]
fn it_has_no_parameters() {
    let check = mas_delegation::descriptor().check;
    assert!(check(&Value::Null).is_empty() && check(&json!({})).is_empty());
    assert!(check(&json!({"on_question": "model"}))[0].message.contains("on_question"));
}
