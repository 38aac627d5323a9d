use std::{
    borrow::Cow,
    path::PathBuf,
    sync::{Arc, Weak},
};

use async_trait::async_trait;
use mas_contracts::{
    AgentCommContract, Build, BuildContext, Builder, CallContext, Capability, Clock, Env, Error, ErrorKind,
    Ids, Outbound, PatternContract, Peer, Probe, Problem, Reply, Result, Run, Step, TurnInput, check_params,
};
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

struct Comm;

#[async_trait]
impl AgentCommContract for Comm {
    fn capability(&self) -> Capability {
        Capability { dedupes: true, ..Capability::default() }
    }
    async fn send(&self, _: &CallContext, _: &Peer, _: Outbound) -> Result<Reply> {
        Ok(Reply::done(Vec::new()))
    }
    async fn probe(&self, _: &CallContext, _: &Peer) -> Result<Probe> {
        Ok(Probe::default())
    }
}

struct Pattern;

impl PatternContract for Pattern {
    fn begin(&self, _: &TurnInput) -> (Box<dyn Run>, Step) {
        (Box::new(Pattern), Step::answer("begun"))
    }
}

impl Run for Pattern {
    fn on(&mut self, _: &mas_contracts::OpDone) -> Step {
        Step::answer("on")
    }
}

type NoParams = std::collections::BTreeMap<String, String>;

fn two_problems(_: &Value) -> Vec<Problem> {
    vec![Problem::new("is not a port").at("listen.port").help("use 1 to 65535"), Problem::new("needs a name")]
}

fn described(name: &'static str, aliases: &'static [&'static str], builder: Builder) -> Descriptor {
    Descriptor {
        name: name.into(),
        aliases: Cow::Borrowed(aliases),
        origin: format!("crate-{name}").into(),
        version: "0.1.0".into(),
        summary: "Does it.".into(),
        example: "{}".into(),
        schema: schema_of_map,
        check: check_params::<NoParams>,
        builder,
    }
}

fn schema_of_map() -> Value {
    json!({"type": "object"})
}

fn comm(name: &'static str, aliases: &'static [&'static str]) -> Descriptor {
    described(name, aliases, Builder::AgentComm(Build::Linked(|_, _| Ok(Arc::new(Comm)))))
}

fn pattern(name: &'static str, aliases: &'static [&'static str]) -> Descriptor {
    described(name, aliases, Builder::Pattern(Build::Linked(|_, _| Ok(Arc::new(Pattern)))))
}

fn from(origin: &'static str, descriptor: Descriptor) -> Descriptor {
    Descriptor { origin: origin.into(), ..descriptor }
}

fn team() -> Registry {
    Registry::new([
        pattern("react", &["re-act"]),
        comm("local", &["agent-local"]),
        comm("a2a", &[]),
        pattern("cot", &["chain_of_thought"]),
    ])
    .unwrap()
}

#[rstest]
#[case::name("local", "local")]
#[case::alias("agent-local", "local")]
#[case::version("local@v1", "local")]
#[case::long_version("a2a@1.0.2", "a2a")]
#[case::version_of_alias("agent-local@v1", "local")]
fn finds(#[case] asked: &str, #[case] found: &str) {
    assert_eq!(team().find(Category::AgentComm, asked).unwrap().name, found);
}

#[rstest]
#[case::slip("agent_comm", "locl", "unknown agent_comm `locl`; available: local, a2a; did you mean `local`?")]
#[case::case("agent_comm", "A2A", "unknown agent_comm `A2A`; available: local, a2a; did you mean `a2a`?")]
#[case::slip_of_alias(
    "agent_comm",
    "agentlocal",
    "unknown agent_comm `agentlocal`; available: local, a2a; did you mean `agent-local`?"
)]
#[case::versioned(
    "agent_comm",
    "locl@v1",
    "unknown agent_comm `locl@v1`; available: local, a2a; did you mean `local`?"
)]
#[case::other_category(
    "agent_comm",
    "react",
    "unknown agent_comm `react`; available: local, a2a; `react` is a design_pattern"
)]
#[case::stranger("agent_comm", "kafka", "unknown agent_comm `kafka`; available: local, a2a")]
#[case::no_version("agent_comm", "local@next", "unknown agent_comm `local@next`; available: local, a2a")]
#[case::blank("agent_comm", "", "unknown agent_comm ``; available: local, a2a")]
#[case::empty_category("store", "redis", "unknown store `redis`; none is registered")]
fn an_unknown_name_says_what_there_is(#[case] category: &str, #[case] name: &str, #[case] message: &str) {
    let error = team().find(Registry::category(category).unwrap(), name).unwrap_err();
    assert_eq!(error.to_string(), message);
    assert_eq!(Error::from(error).kind(), ErrorKind::NotFound);
}

#[test]
fn versions_registered_apart_are_not_confused() {
    let registry = Registry::new([pattern("react", &[]), pattern("react@v2", &[])]).unwrap();
    let find = |name| registry.find(Category::DesignPattern, name).map(|found| found.name.to_string());
    assert_eq!(find("react").unwrap(), "react");
    assert_eq!(find("react@v2").unwrap(), "react@v2");
    assert_eq!(
        find("react@v1").unwrap_err().to_string(),
        "unknown design_pattern `react@v1`; available: react, react@v2; did you mean `react`?"
    );
}

#[test]
fn every_duplicate_is_reported_with_both_origins() {
    let errors = Registry::new([
        comm("a2a", &[]),
        from("/opt/liba2a.so", comm("a2a", &["local"])),
        comm("local", &["near"]),
        from("/opt/libnear.so", comm("far", &["near", "near", " "])),
        pattern("a2a", &[]),
    ])
    .unwrap_err();
    let messages: Vec<_> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        messages,
        [
            "agent_comm `a2a` is claimed by /opt/liba2a.so and by crate-a2a",
            "agent_comm `local` is claimed by crate-local and by /opt/liba2a.so",
            "agent_comm `near` is claimed twice by /opt/libnear.so",
            "/opt/libnear.so registers a blank name as agent_comm",
            "agent_comm `near` is claimed by /opt/libnear.so and by crate-local",
        ]
    );
}

#[test]
fn the_first_claim_holds_whatever_the_order() {
    let both = [from("b", comm("x", &["y"])), from("a", comm("x", &["z"]))];
    let mut reversed = both.clone();
    reversed.reverse();
    for descriptors in [both, reversed] {
        let (registry, errors) = Registry::collect(descriptors);
        assert_eq!(errors.len(), 1);
        let origin = |name| registry.find(Category::AgentComm, name).unwrap().origin.to_string();
        assert_eq!([origin("x"), origin("y"), origin("z")], ["a", "b", "a"]);
    }
}

#[test]
fn listings_are_sorted_whatever_the_order_of_registration() {
    let names = |rows: Vec<Row>| rows.into_iter().map(|row| row.name).collect::<Vec<_>>();
    let registry = team();
    assert_eq!(names(registry.list(None)), ["a2a", "local", "cot", "react"]);
    assert_eq!(names(registry.list(Some(Category::DesignPattern))), ["cot", "react"]);
    assert_eq!(names(registry.query("c")), ["cot"]);
    assert_eq!(names(registry.query("chain")), ["cot"]);
    assert_eq!(names(registry.query("agent_")), ["a2a", "local"]);
    assert_eq!(names(registry.query("agent_comm/l")), ["local"]);
    assert_eq!(names(registry.query("nothing")), Vec::<String>::new());
    let default = |row: &Row| row.default.then(|| row.name.clone());
    assert_eq!(registry.list(None).iter().filter_map(default).collect::<Vec<_>>(), ["local", "react"]);
    assert_eq!(
        serde_json::to_value(registry.query("local")).unwrap(),
        json!([{
            "category": "agent_comm", "name": "local", "aliases": ["agent-local"], "default": true,
            "version": "0.1.0", "origin": "crate-local", "summary": "Does it.", "example": "{}",
            "parameters": {"type": "object"},
        }])
    );
}

#[test]
fn an_unknown_category_says_what_there_is() {
    let error = Registry::category("agent_com").unwrap_err();
    assert!(
        error.to_string().ends_with("store, observability, control_protocol; did you mean `agent_comm`?"),
        "{error}"
    );
}

#[test]
fn a_configured_default_wins_over_the_built_in_one() {
    assert_eq!(team().default_name(Category::AgentComm), Some("local"));
    assert_eq!(team().default_name(Category::Observability), None);
    let registry = team().with_default(Category::AgentComm, "a2a");
    assert_eq!(registry.default_name(Category::AgentComm), Some("a2a"));
    assert!(
        registry.find(Category::AgentComm, "x").unwrap_err().to_string().contains("available: a2a, local")
    );
}

#[derive(Debug)]
struct Still;

impl Clock for Still {
    fn now(&self) -> std::time::Instant {
        std::time::Instant::now()
    }
    fn unix_time(&self) -> std::time::Duration {
        std::time::Duration::ZERO
    }
    fn sleep_until(&self, _: std::time::Instant) -> mas_contracts::BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

impl Ids for Still {
    fn next_id(&self) -> Arc<str> {
        Arc::from("id")
    }
}

/// A host type that no test makes a value of: the context holds a dead reference.
struct Nobody;

#[async_trait]
impl mas_contracts::AgentHost for Nobody {
    async fn run(&self, _: &CallContext, _: &str, _: Outbound) -> Result<Reply> {
        Err(Error::internal("nobody"))
    }
    fn submit(&self, _: mas_contracts::TurnRequest) -> Result<mas_contracts::TurnTicket> {
        Err(Error::internal("nobody"))
    }
    fn begin(
        &self,
        _: mas_contracts::TurnRequest,
        _: Arc<dyn mas_contracts::EventSink>,
    ) -> Result<mas_contracts::TurnTicket> {
        Err(Error::internal("nobody"))
    }
    fn cancel(&self, _: &mas_contracts::TurnKey, _: mas_contracts::CancelReason) -> bool {
        false
    }
    fn subscribe(&self, _: &mas_contracts::TurnKey, _: u64) -> Option<mas_contracts::EventStream> {
        None
    }
    fn describe(&self, _: &str) -> Option<mas_contracts::AgentProfile> {
        None
    }
    fn agents(&self) -> Vec<Arc<str>> {
        Vec::new()
    }
}

fn build_context() -> BuildContext {
    BuildContext {
        host: Weak::<Nobody>::new(),
        env: Env::default(),
        clock: Arc::new(Still),
        ids: Arc::new(Still),
        base: PathBuf::new(),
        shared: mas_contracts::Shared::default(),
    }
}

#[test]
fn builds_by_name_after_the_check_of_the_parameters() {
    let bad = Descriptor { check: two_problems, ..comm("bad", &[]) };
    let registry = Registry::new([comm("local", &["agent-local"]), bad, pattern("react", &[])]).unwrap();
    let cx = build_context();
    let built = registry.build_agent_comm("agent-local", &cx, &Value::Null).unwrap();
    assert!(built.capability().dedupes);
    assert!(registry.build_pattern("react@v1", &cx, &json!({})).is_ok());

    let error = registry.build_agent_comm("bad", &cx, &json!({})).err().unwrap();
    assert_eq!(error.code(), "mas::params::invalid");
    assert_eq!(
        error.message(),
        "parameters of agent_comm `bad`: `listen.port`: is not a port (use 1 to 65535); needs a name"
    );
    assert_eq!(registry.check(Category::AgentComm, "bad", &json!({})).unwrap().len(), 2);

    let error = registry.build_agent_comm("react", &cx, &json!({})).err().unwrap();
    assert_eq!((error.kind(), error.code().as_ref()), (ErrorKind::NotFound, "mas::registry::unknown_name"));
}

#[rstest]
#[case::endpoint(Some("a"), Some("b"), Some("c"), Some("d"), "a", Source::Endpoint)]
#[case::endpoint_alone(Some("a"), None, None, None, "a", Source::Endpoint)]
#[case::spec(None, Some("b"), Some("c"), Some("d"), "b", Source::Spec)]
#[case::spec_over_defaults(None, Some("b"), None, Some("d"), "b", Source::Spec)]
#[case::flavour(None, None, Some("c"), Some("d"), "c", Source::Flavour)]
#[case::defaults(None, None, None, Some("d"), "d", Source::Defaults)]
#[case::registry(None, None, None, None, "local", Source::Registry)]
fn the_first_layer_that_speaks_selects(
    #[case] endpoint: Option<&str>,
    #[case] spec: Option<&str>,
    #[case] flavour: Option<&str>,
    #[case] defaults: Option<&str>,
    #[case] name: &str,
    #[case] source: Source,
) {
    let choices = Choices { endpoint, spec, flavour, defaults };
    assert_eq!(select_agent_comm(&choices, "local"), Selection { name, source });
}
