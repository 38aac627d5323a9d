//! Teams for tests.

use std::{collections::HashMap, sync::Arc, time::Duration};

use mas_contracts::{
    AgentProfile, BuildContext, Category, Env, EventKind, ModelContract, Part, Peer, PeerCard, Reply, Result,
    StoreContract, ToolContract, TurnRequest,
};
use mas_core::{
    clock::{RandomIds, TokioClock},
    registry::Registry,
    team::{Team, TeamLimits, TeamParts},
    turn::{Agent, Route, Tool, Toolbox, TurnLimits},
};
use mas_testkit::RecordingSink;
use serde_json::{Value, json};

use mas_context as _;
use mas_delegation as _;
use mas_local as _;
use mas_patterns as _;

/// One agent of a team under construction.
pub(crate) struct Member {
    pub(crate) id: &'static str,
    pub(crate) model: Arc<dyn ModelContract>,
    pub(crate) delegates: Vec<&'static str>,
    pub(crate) tools: Vec<Arc<dyn ToolContract>>,
    pub(crate) pattern: (&'static str, Value),
    pub(crate) limits: TurnLimits,
}

impl Member {
    pub(crate) fn new(id: &'static str, model: Arc<dyn ModelContract>) -> Self {
        Self {
            id,
            model,
            delegates: Vec::new(),
            tools: Vec::new(),
            pattern: ("react", Value::Null),
            limits: TurnLimits::default(),
        }
    }

    pub(crate) fn delegating_to(mut self, delegates: &[&'static str]) -> Self {
        self.delegates = delegates.to_vec();
        self
    }

    pub(crate) fn limited(mut self, limits: TurnLimits) -> Self {
        self.limits = limits;
        self
    }

    pub(crate) fn with_pattern(mut self, name: &'static str, params: Value) -> Self {
        self.pattern = (name, params);
        self
    }

    pub(crate) fn with_tool(mut self, tool: Arc<dyn ToolContract>) -> Self {
        self.tools.push(tool);
        self
    }
}

pub(crate) async fn team(members: Vec<Member>) -> Arc<Team> {
    team_with(members, TeamLimits::default(), None).await
}

pub(crate) async fn team_with(
    members: Vec<Member>,
    limits: TeamLimits,
    store: Option<Arc<dyn StoreContract>>,
) -> Arc<Team> {
    let registry = Registry::linked().expect("the built-ins do not collide");
    let team = Team::new(TeamParts {
        limits,
        clock: Arc::new(TokioClock),
        ids: Arc::new(RandomIds),
        observers: Vec::new(),
        store,
        blueprint: "test".into(),
    });
    let build = BuildContext {
        host: team.host(),
        env: Env::default(),
        clock: Arc::new(TokioClock),
        ids: Arc::new(RandomIds),
        base: ".".into(),
        shared: mas_contracts::Shared::default(),
    };
    let comm = registry.build_agent_comm("local", &build, &Value::Null).expect("local builds");
    let delegation = registry.build_delegation("delegate_tools", &build, &Value::Null).expect("it builds");
    let mut agents = Vec::new();
    for member in members {
        let peers: Vec<PeerCard> =
            member.delegates.iter().map(|id| PeerCard { id: (*id).into(), description: "".into() }).collect();
        let surface = delegation.bind(&peers).expect("the peers have names");
        let mut tools = Vec::new();
        for source in member.tools {
            for spec in source.list().await.expect("tools are listed") {
                tools.push(Tool::new(spec, source.clone()).expect("the schema is one"));
            }
        }
        let routes: HashMap<Arc<str>, Route> = peers
            .iter()
            .map(|card| {
                let peer = Peer { id: card.id.clone() };
                (card.id.clone(), Route { name: "local".into(), comm: comm.clone(), peer })
            })
            .collect();
        let (pattern, params) = member.pattern;
        agents.push(Agent {
            profile: AgentProfile {
                id: member.id.into(),
                name: member.id.into(),
                version: "0.1.0".into(),
                description: "".into(),
                ..AgentProfile::default()
            },
            system: "".into(),
            model_name: "test".into(),
            temperature: None,
            max_tokens: None,
            model: member.model,
            pattern: registry.build_pattern(pattern, &build, &params).expect("the pattern builds"),
            context: context(&registry, &build),
            toolbox: Toolbox::new(Some(surface), tools).expect("tools have names of their own"),
            routes,
            limits: member.limits,
        });
    }
    team.enlist(agents).expect("agents are given once");
    team
}

fn context(registry: &Registry, build: &BuildContext) -> Arc<dyn mas_contracts::ContextManagerContract> {
    let name = registry.default_name(Category::ContextManager).unwrap_or("sliding-window");
    registry.build_context_manager(name, build, &Value::Null).expect("the context manager builds")
}

pub(crate) fn say(text: &str) -> TurnRequest {
    TurnRequest { parts: vec![Part::text(text)], ..TurnRequest::default() }
}

pub(crate) fn say_in(session: &str, text: &str) -> TurnRequest {
    TurnRequest { session: Some(session.into()), ..say(text) }
}

/// Runs one turn of the entry agent.
pub(crate) async fn ask(team: &Team, request: TurnRequest) -> (Result<Reply>, Vec<EventKind>) {
    let sink = RecordingSink::new();
    let outcome = team.turn(request, Some(sink.clone())).await.expect("the turn is let in");
    (outcome.reply, sink.kinds())
}

pub(crate) fn delegate(to: &str, task: &str) -> (String, Value) {
    (format!("delegate_to_{to}"), json!({"task": task}))
}

pub(crate) const SECOND: Duration = Duration::from_secs(1);
