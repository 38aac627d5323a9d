//! The machines, driven by hand, and replayed.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)] // a test may stop short

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use mas_contracts::{
    Arguments, Audience, Builder, Completion, Content, Descriptor, End, Error, ErrorKind, Form,
    InterruptionKind, Message, Op, OpDone, OpId, Outcome, Part, PatternContract, Reply, Step, TaskState,
    ToolCall, ToolOutput, TurnInput, inventory, text_of,
};
use mas_patterns::{React, SinglePass};
use serde_json::{Value, json};

fn input(turn: &str, text: &str) -> TurnInput {
    TurnInput { turn: turn.into(), message: Arc::new(Message::user(text)) }
}

fn done(op: OpId, outcome: Outcome) -> OpDone {
    OpDone { op, outcome }
}

fn call(name: &str) -> ToolCall {
    ToolCall { id: "".into(), name: name.into(), arguments: Arguments::from_text("") }
}

fn said(text: &str, calls: Vec<ToolCall>) -> Outcome {
    Outcome::Model(Arc::new(Completion { text: text.into(), calls, ..Completion::default() }))
}

fn result(name: &str) -> Outcome {
    let output = ToolOutput::text("42");
    Outcome::Tools(vec![Arc::new(Message::Tool { call: "c".into(), name: name.into(), output })])
}

fn only(step: &Step) -> (OpId, Op) {
    match step {
        Step::Do(ops) => {
            assert_eq!(ops.len(), 1);
            ops[0].clone()
        }
        other => panic!("expected one operation, got {other:?}"),
    }
}

fn failure(step: Step) -> Error {
    match step {
        Step::Fail(error) => error,
        other => panic!("expected a failure, got {other:?}"),
    }
}

fn descriptor(name: &str) -> &'static Descriptor {
    inventory::iter::<Descriptor>()
        .find(|d| d.name == name || d.aliases.contains(&name))
        .unwrap_or_else(|| panic!("{name} is not registered"))
}

fn build(name: &str, params: &Value) -> Result<Arc<dyn PatternContract>, Error> {
    match &descriptor(name).builder {
        Builder::Pattern(build) => {
            build.build(&mas_testkit::build_context(std::path::Path::new("."), &[]), params)
        }
        other => panic!("{name} builds {}", other.category()),
    }
}

/// Drives a machine with these outcomes and returns every step.
fn steps(pattern: &dyn PatternContract, input: &TurnInput, outcomes: &[Outcome]) -> Vec<Step> {
    let (mut run, first) = pattern.begin(input);
    let mut steps = vec![first];
    for outcome in outcomes {
        let op = only(steps.last().unwrap()).0;
        steps.push(run.on(&done(op, outcome.clone())));
    }
    steps
}

#[test]
fn names_and_aliases_are_registered() {
    for name in
        ["react", "react@v1", "analyst", "planner", "single_pass", "linear", "linear@v1", "scripted_response"]
    {
        assert_eq!(descriptor(name).origin, "mas-patterns");
    }
    for d in inventory::iter::<Descriptor>() {
        assert!((d.schema)().is_object());
    }
}

#[test]
fn react_answers_at_once_without_calls() {
    let steps = steps(&React::default(), &input("t", "hi"), &[said("hello", vec![])]);
    match only(&steps[0]).1 {
        Op::Model(op) => {
            assert_eq!(op.audience, Audience::Answer);
            assert!(op.tools);
            assert!(op.prompt.is_empty());
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(steps[1], Step::answer("hello"));
}

#[test]
fn react_runs_the_calls_of_one_message_together_then_asks_again() {
    let calls = vec![call("calc"), call("calc")];
    let outcomes = [said("let me see", calls.clone()), result("calc"), said("42", vec![])];
    let steps = steps(&React::default(), &input("t", "hi"), &outcomes);
    assert_eq!(only(&steps[1]), (1, Op::Tools(calls)), "ids are core's to fix; the calls pass unchanged");
    assert!(matches!(only(&steps[2]), (2, Op::Model(_))));
    assert_eq!(steps[3], Step::answer("42"));
}

#[test]
fn react_stops_at_max_steps_and_names_the_number() {
    let two = React::new(NonZeroU32::new(2).unwrap());
    let outcomes = [said("", vec![call("calc")]), result("calc"), said("", vec![call("calc"), call("find")])];
    let steps = steps(&two, &input("t", "hi"), &outcomes);
    let error = failure(steps.last().unwrap().clone());
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert_eq!(error.code(), "mas::pattern::max_steps");
    assert_eq!(
        error.message(),
        "the turn used up its 2 model calls (max_steps) and still asks for calc, find"
    );
}

#[test]
fn react_answers_on_its_last_step() {
    let one = React::new(NonZeroU32::MIN);
    let steps = steps(&one, &input("t", "hi"), &[said("fine", vec![])]);
    assert_eq!(steps[1], Step::answer("fine"));
}

#[test]
fn failures_pass_through_and_foreign_outcomes_are_defects() {
    let broken = Error::new(ErrorKind::Unavailable, "no model");
    let (mut run, _) = React::default().begin(&input("t", "hi"));
    assert_eq!(failure(run.on(&done(0, Outcome::Failed(broken.clone())))), broken);
    let (mut run, _) = React::default().begin(&input("t", "hi"));
    assert_eq!(failure(run.on(&done(0, Outcome::Unit))).kind(), ErrorKind::Internal);
    let (mut run, _) = React::default().begin(&input("t", "hi"));
    assert_eq!(failure(run.on(&done(7, said("x", vec![])))).kind(), ErrorKind::Internal);
}

#[test]
fn react_params_are_checked() {
    let check = descriptor("react").check;
    assert!(check(&Value::Null).is_empty());
    assert!(check(&json!({"max_steps": 3})).is_empty());
    assert_eq!(check(&json!({"max_steps": 0}))[0].path, "max_steps");
    assert!(check(&json!({"max_step": 3}))[0].message.contains("unknown field `max_step`"));
}

#[test]
fn single_pass_offers_no_tools_and_takes_none() {
    let steps_ = steps(&SinglePass::default(), &input("t", "hi"), &[said("hello", vec![])]);
    match only(&steps_[0]).1 {
        Op::Model(op) => assert!(!op.tools),
        other => panic!("{other:?}"),
    }
    assert_eq!(steps_[1], Step::answer("hello"));
    let steps = steps(&SinglePass::default(), &input("t", "hi"), &[said("", vec![call("calc")])]);
    assert_eq!(failure(steps[1].clone()).code(), "mas::pattern::tools_not_offered");
}

#[test]
fn scripted_plays_chunks_artifacts_and_delay_in_order() {
    let params = json!({"rules": [{"turn_id_prefix": "tck-stream", "response": {
        "stream_chunks": ["Hello", " world"],
        "artifacts": [
            {"kind": "file", "text": "content", "filename": "output.txt", "media_type": "text/plain"},
            {"kind": "data", "data": {"key": "value"}, "name": "result"},
        ],
        "task_state": "working", "delay_ms": 4000,
    }}]});
    let pattern = build("scripted_response", &params).unwrap();
    let outcomes = vec![Outcome::Unit; 5];
    let steps = steps(&*pattern, &input("tck-stream-001", "x"), &outcomes);
    let says = |step: &Step| match only(step).1 {
        Op::Say { text, .. } => text,
        other => panic!("{other:?}"),
    };
    assert_eq!((&*says(&steps[0]), &*says(&steps[1])), ("Hello", " world"));
    match only(&steps[2]).1 {
        Op::Artifact(artifact) => {
            assert_eq!(&*artifact.id, "artifact-1");
            assert_eq!(artifact.parts[0].content, Content::Raw(b"content".as_slice().into()));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(only(&steps[4]), (4, Op::Wait(Duration::from_secs(4))));
    match &steps[5] {
        Step::Finish(reply) => {
            assert_eq!(reply.end, End::Done);
            assert_eq!(reply.parts, vec![Part::text("Hello world")]);
            assert_eq!(reply.artifacts.len(), 2);
        }
        other => panic!("{other:?}"),
    }
}

/// An answer that is a text alone.
fn message(text: &str) -> Step {
    Step::Finish(Box::new(Reply { form: Form::Message, ..Reply::done(vec![Part::text(text)]) }))
}

#[test]
fn scripted_text_is_a_message_a_status_or_a_result() {
    let reply = |response: Value, outcomes: &[Outcome]| {
        let pattern = build("scripted_response", &json!({"default": response})).unwrap();
        match steps(&*pattern, &input("t", "said"), outcomes).pop() {
            Some(Step::Finish(reply)) => (reply.form, text_of(&reply.parts).to_string()),
            other => panic!("{other:?}"),
        }
    };
    let unit = [Outcome::Unit];
    assert_eq!(reply(json!({"text": "x"}), &[]), (Form::Message, "x".into()));
    assert_eq!(reply(json!({"echo": true}), &[]), (Form::Message, "said".into()));
    assert_eq!(reply(json!({"text": "x", "task_state": "completed"}), &[]), (Form::Status, "x".into()));
    assert_eq!(reply(json!({"stream_chunks": ["x"]}), &unit), (Form::Artifact, "x".into()));
    assert_eq!(reply(json!({"stream_chunks": ["x"], "text": "y"}), &unit), (Form::Status, "y".into()));
    let artifacts = json!([{"kind": "text", "text": "a"}]);
    assert_eq!(reply(json!({"artifacts": artifacts}), &unit), (Form::Artifact, String::new()));
    assert_eq!(reply(json!({"artifacts": artifacts, "text": "y"}), &unit), (Form::Status, "y".into()));

    let both = build("scripted_response", &json!({"default": {"text": "x", "echo": true}}));
    assert!(both.is_err_and(|error| error.message().contains("`text` or `echo`, not both")));
}

#[test]
fn scripted_first_match_wins_and_prompt_is_exact() {
    let params = json!({
        "rules": [
            {"prompt": "ping", "response": {"text": "pong"}},
            {"turn_id_prefix": "a-", "prompt": "ping2", "response": {"text": "both"}},
            {"turn_id_prefix": "a-", "response": {"text": "prefix"}},
        ],
        "default": {"text": "default"},
    });
    let pattern = build("scripted_response", &params).unwrap();
    let answer = |turn: &str, prompt: &str| pattern.begin(&input(turn, prompt)).1;
    assert_eq!(answer("a-1", "ping"), message("pong"));
    assert_eq!(answer("a-1", "ping2"), message("both"));
    assert_eq!(answer("a-1", "Ping"), message("prefix"));
    assert_eq!(answer("b-1", "ping "), message("default"));
}

#[test]
fn scripted_states_map_to_ends() {
    let end = |response: Value| {
        let pattern = build("scripted_response", &json!({"default": response})).unwrap();
        match pattern.begin(&input("t", "x")).1 {
            Step::Finish(reply) => reply.end,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(end(json!({"text": "x", "task_state": "completed"})), End::Done);
    assert_eq!(end(json!({"text": "x", "task_state": "working"})), End::Done);
    assert_eq!(end(json!({"text": "x", "task_state": "rejected"})), End::Failed(TaskState::Rejected));
    assert_eq!(end(json!({"text": "x", "task_state": "failed"})), End::Failed(TaskState::Failed));
    assert_eq!(end(json!({"text": "x", "finish_reason": "error"})), End::Failed(TaskState::Failed));
    assert_eq!(end(json!({"text": "x", "finish_reason": "cancelled"})), End::Failed(TaskState::Canceled));
    assert_eq!(end(json!({"finish_reason": "error", "task_state": "completed"})), End::Done);
    match end(json!({"text": "log in", "task_state": "auth_required"})) {
        End::Interrupted(it) => {
            assert_eq!(it.kind, InterruptionKind::Auth);
            assert_eq!(&*it.question, "log in");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn scripted_asks_and_goes_on_with_the_answer() {
    let params = json!({
        "rules": [
            {"turn_id_prefix": "ask", "prompt": "tomorrow", "response": {"text": "Booked for tomorrow."}},
            {"turn_id_prefix": "ask", "response": {"text": "When?", "task_state": "input_required"}},
        ],
    });
    let pattern = build("scripted_response", &params).unwrap();
    let steps_ =
        steps(&*pattern, &input("ask-1", "book"), &[Outcome::Answered(vec![Part::text("tomorrow")])]);
    assert_eq!(only(&steps_[0]), (0, Op::Ask("When?".into())));
    assert_eq!(steps_[1], message("Booked for tomorrow."));
    let steps = steps(&*pattern, &input("ask-1", "book"), &[Outcome::Answered(vec![Part::text("later")])]);
    assert_eq!(steps[1], Step::end(vec![], vec![], End::Done));
}

#[test]
fn scripted_without_a_match_fails() {
    let params = json!({"rules": [{"prompt": "a", "response": {"text": "b"}}]});
    let pattern = build("scripted_response", &params).unwrap();
    assert_eq!(failure(pattern.begin(&input("t", "x")).1).code(), "mas::pattern::no_rule");
}

#[test]
fn scripted_params_are_strict() {
    let check = descriptor("scripted_response").check;
    assert!(check(&Value::Null)[0].message.contains("needs `rules`"));
    let typo = json!({"default": {"text": "x", "task_stat": "failed"}});
    assert!(check(&typo)[0].message.contains("unknown field `task_stat`"));
    let state = json!({"default": {"text": "x", "task_state": "canceled"}});
    assert_eq!(check(&state)[0].path, "default.task_state");
    let artifact = json!({"rules": [{"response": {"artifacts": [{"kind": "url"}]}}]});
    assert_eq!(check(&artifact)[0].path, "rules[0].response.artifacts[0].url");
    assert!(build("scripted_response", &artifact).is_err());
}

#[test]
fn the_same_outcomes_lead_to_the_same_steps() {
    let scripted = build(
        "scripted_response",
        &json!({"default": {"stream_chunks": ["a", "b"], "delay_ms": 5, "artifacts": [{"kind": "text", "text": "t"}]}}),
    )
    .unwrap();
    let tools = [
        said("", vec![call("calc")]),
        result("calc"),
        said("", vec![call("calc"), call("find")]),
        result("find"),
        said("done", vec![]),
    ];
    let cases: [(&dyn PatternContract, &[Outcome]); 3] = [
        (&React::default(), &tools),
        (&SinglePass::default(), &[said("done", vec![])]),
        (&*scripted, &[Outcome::Unit, Outcome::Unit, Outcome::Unit, Outcome::Unit]),
    ];
    for (pattern, outcomes) in cases {
        let first = steps(pattern, &input("t", "hi"), outcomes);
        // Through the record: what a store keeps and gives back leads to the same steps.
        let kept: Vec<Outcome> = outcomes
            .iter()
            .map(|it| serde_json::from_str(&serde_json::to_string(it).unwrap()).unwrap())
            .collect();
        assert_eq!(first, steps(pattern, &input("t", "hi"), &kept));
        assert!(matches!(first.last(), Some(Step::Finish(_))));
    }
}
