//! Routes and exposures: tables of what reaches what, and what is said when it does not.

#![allow(
    clippy::panic,
    clippy::expect_used,
    reason = "helpers of tests; clippy.toml reaches test functions only"
)]

use mas_contracts::{Build, Builder, Category, Descriptor, Error};
use mas_core::{
    blueprint::{AgentBlueprint, Blueprint, CommSelections, EndpointBlueprint},
    diagnostic::{Location, Report},
    manifest::{Located, Params, Selection, Usage},
    registry::Registry,
    wiring::{Hosting, plan_exposures, plan_routes},
};
use rstest::rstest;
use serde_json::{Value, json};

/// A registry in which these comm backends are found; nothing of it is ever built.
fn registry(comms: &[&'static str]) -> Registry {
    let descriptors = comms.iter().map(|name| Descriptor {
        name: (*name).into(),
        aliases: (&[][..]).into(),
        origin: "test".into(),
        version: "1.0.0".into(),
        summary: "".into(),
        example: "".into(),
        schema: || Value::Null,
        check: |_| Vec::new(),
        builder: Builder::AgentComm(Build::Linked(|_, _| Err(Error::internal("never built")))),
    });
    Registry::new(descriptors).expect("no name is claimed twice")
}

fn agent(id: &str, delegates_to: &[&str]) -> AgentBlueprint {
    AgentBlueprint {
        delegates_to: delegates_to.iter().map(|to| Located::unplaced(*to)).collect(),
        ..AgentBlueprint::named(id)
    }
}

fn external(id: &str) -> AgentBlueprint {
    AgentBlueprint { external: true, ..AgentBlueprint::named(id) }
}

fn endpoint(id: &str, usage: Usage) -> EndpointBlueprint {
    let at = Location::named("infra.yaml");
    EndpointBlueprint {
        agent: Located::unplaced(id),
        protocol: Located::unplaced("a2a"),
        usage: Located::new(usage, at.clone()),
        url: Some(Located::unplaced("http://127.0.0.1:9006")),
        headers: Vec::new(),
        timeout_seconds: None,
        a2a: None,
        layers: None,
        params: Params::none(at.clone()),
        dir: std::path::PathBuf::new(),
        missing: Vec::new(),
        at,
    }
}

fn team(agents: Vec<AgentBlueprint>, endpoints: Vec<EndpointBlueprint>) -> Blueprint {
    Blueprint { endpoints, ..Blueprint::of_agents("team", agents) }
}

/// Each route as `from>to over (why)`, or each problem as its code.
fn routes(blueprint: &Blueprint, hosting: Hosting<'_>) -> Vec<String> {
    let mut report = Report::new();
    let exposures = plan_exposures(blueprint, hosting);
    let routes = plan_routes(blueprint, &registry(&["local", "a2a"]), &exposures, &mut report);
    let routes = routes.iter().map(|r| format!("{}>{} {} ({})", r.from, r.to.value, r.comm, r.why));
    routes.chain(report.iter().map(|problem| problem.code.to_owned())).collect()
}

#[rstest]
#[case::hosted(vec![agent("b", &[])], vec![], "a>b local (hosted in this process)")]
#[case::remote(vec![external("b")], vec![endpoint("b", Usage::Use)], "a>b a2a (its endpoint)")]
#[case::undeclared(vec![], vec![endpoint("b", Usage::Use)], "a>b a2a (its endpoint)")]
#[case::both(vec![agent("b", &[])], vec![endpoint("b", Usage::Use)], "a>b a2a (its endpoint wins over the local agent)")]
#[case::deployed(vec![agent("b", &[])], vec![endpoint("b", Usage::Deploy)], "a>b local (hosted in this process)")]
#[case::exposed_elsewhere(
    vec![agent("b", &[])],
    vec![endpoint("b", Usage::UseAndDeploy)],
    "a>b a2a (its endpoint wins over the local agent)"
)]
#[case::deploy_only(vec![external("b")], vec![endpoint("b", Usage::Deploy)], "mas::route::deploy_only")]
#[case::unreachable(vec![external("b")], vec![], "mas::route::unreachable")]
#[case::unknown(vec![agent("c", &[])], vec![], "mas::route::unknown_target")]
fn a_delegate_is_reached(
    #[case] others: Vec<AgentBlueprint>,
    #[case] endpoints: Vec<EndpointBlueprint>,
    #[case] expected: &str,
) {
    let mut agents = vec![agent("a", &["b"])];
    agents.extend(others);
    assert_eq!(routes(&team(agents, endpoints), Hosting::Nothing), [expected]);
}

#[test]
fn what_this_process_exposes_it_reaches_in_process() {
    let team = team(vec![agent("a", &["b"]), agent("b", &[])], vec![endpoint("b", Usage::UseAndDeploy)]);
    assert_eq!(routes(&team, Hosting::Everything), ["a>b local (this process exposes it itself)"]);
    assert_eq!(routes(&team, Hosting::Conversation), ["a>b a2a (its endpoint wins over the local agent)"]);
}

#[test]
fn the_entry_agent_is_always_in_process() {
    let mut team = team(vec![agent("a", &["b"]), agent("b", &["a"])], vec![endpoint("a", Usage::Use)]);
    team.allow_cycles = true;
    let routes = routes(&team, Hosting::Nothing);
    assert_eq!(
        routes,
        ["a>b local (hosted in this process)", "b>a local (the entry agent is always in process)"]
    );
}

#[rstest]
#[case::itself(vec![agent("a", &["a"])], &["mas::route::self"])]
#[case::twice(vec![agent("a", &["b", "b"]), agent("b", &[])], &["mas::route::duplicate"])]
#[case::circle(vec![agent("a", &["b"]), agent("b", &["a"])], &["mas::route::cycle"])]
#[case::longer(vec![agent("a", &["b"]), agent("b", &["c"]), agent("c", &["a"])], &["mas::route::cycle"])]
#[case::away_from_the_entry(
    vec![agent("a", &["b"]), agent("b", &["c"]), agent("c", &["b"])],
    &["mas::route::cycle"]
)]
#[case::two(
    vec![agent("a", &["b", "c"]), agent("b", &["a"]), agent("c", &["a"])],
    &["mas::route::cycle", "mas::route::cycle"]
)]
#[case::diamond(vec![agent("a", &["b", "c"]), agent("b", &["d"]), agent("c", &["d"]), agent("d", &[])], &[])]
fn the_graph_is_checked(#[case] agents: Vec<AgentBlueprint>, #[case] expected: &[&str]) {
    let found = routes(&team(agents, Vec::new()), Hosting::Nothing);
    let problems: Vec<&str> =
        found.iter().map(String::as_str).filter(|line| line.starts_with("mas::")).collect();
    assert_eq!(problems, expected);
}

#[test]
fn the_backend_in_process_is_the_layers_choice() {
    let mut team = team(vec![agent("a", &["b"]), agent("b", &[])], Vec::new());
    let layers: [fn(&mut CommSelections); 3] = [
        |comm| comm.config = Some(Selection::named("a2a")),
        |comm| comm.flavour = Some(Selection::named("local")),
        |comm| comm.team = Some(Selection::named("a2a")),
    ];
    let expected = ["a2a", "local", "a2a"];
    for (layer, expected) in layers.into_iter().zip(expected) {
        layer(&mut team.agent_comm);
        assert_eq!(routes(&team, Hosting::Nothing), [format!("a>b {expected} (hosted in this process)")]);
    }
    team.agent_comm.team = Some(Selection::named("locl"));
    assert_eq!(routes(&team, Hosting::Nothing), ["mas::registry::unknown_name"]);
}

#[test]
fn an_unknown_target_is_told_with_the_nearest_name() {
    let team = team(vec![agent("a", &["reserch"]), agent("research", &[])], Vec::new());
    let mut report = Report::new();
    plan_routes(&team, &registry(&["local"]), &[], &mut report);
    let problem = report.iter().next().expect("there is one");
    assert_eq!(format!("{problem:#}"), "agent `a` delegates to `reserch`, which nothing provides");
    assert_eq!(problem.help.as_deref(), Some("did you mean `research`?"));
}

#[rstest]
#[case::client(Hosting::Nothing, &[])]
#[case::one(Hosting::Agent("b"), &["b"])]
#[case::the_users_own(Hosting::Conversation, &["a"])]
#[case::all(Hosting::Everything, &["a", "b"])]
fn who_listens(#[case] hosting: Hosting<'_>, #[case] expected: &[&str]) {
    let team = team(
        vec![agent("a", &["b", "c"]), agent("b", &[]), agent("c", &[]), external("d")],
        vec![
            endpoint("a", Usage::Deploy),
            endpoint("b", Usage::UseAndDeploy),
            endpoint("c", Usage::Use),
            endpoint("d", Usage::Deploy),
        ],
    );
    let exposures = plan_exposures(&team, hosting);
    let listening: Vec<&str> =
        exposures.iter().map(|exposure| exposure.endpoint.agent.value.as_str()).collect();
    assert_eq!(listening, expected);
    assert!(exposures.iter().all(|exposure| exposure.entry == (exposure.endpoint.agent.value == "a")));
    assert_eq!(registry(&["local"]).default_name(Category::AgentComm), Some("local"));
}

#[test]
fn a_protocol_is_given_the_whole_row_of_its_endpoint() {
    let row = EndpointBlueprint {
        timeout_seconds: Some(Located::new(json!([5, 2.5]), Location::named("infra.yaml"))),
        headers: vec![(Located::unplaced("x-team"), Located::unplaced("red"))],
        a2a: Some(Params::new(json!({"listen": {"port": 9006}}))),
        params: Params::new(json!({"own": 1})),
        ..endpoint("a", Usage::Deploy)
    };
    let team = team(vec![agent("a", &[])], vec![row]);
    let exposures = plan_exposures(&team, Hosting::Conversation);
    let hosted = exposures[0].hosted(&team.agents[0]);
    assert!(hosted.entry && &*hosted.agent == "a" && hosted.profile == team.agents[0].profile());
    let expected = json!({
        "own": 1, "usage": "deploy", "url": "http://127.0.0.1:9006", "timeout": [5, 2.5],
        "headers": {"x-team": "red"}, "a2a": {"listen": {"port": 9006}},
    });
    assert_eq!(hosted.params, expected);
}
