//! The same work, done by mas: a live team with sessions, events, limits and cancellation.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use async_trait::async_trait;
use mas_context::Stack;
use mas_contracts::{
    AgentCommContract, AgentHost, AgentProfile, Arguments, CallContext, ChatRequest, Completion,
    DelegationContract, Event, EventSink, Message, ModelContract, Part, Peer, PeerCard, Result as MasResult,
    ToolCall, TurnRequest,
};
use mas_core::{
    clock::{RandomIds, TokioClock},
    team::{Team, TeamLimits, TeamParts},
    turn::{Agent, Route, Toolbox, TurnLimits},
};
use mas_delegation::DelegateTools;
use mas_local::Local;
use mas_patterns::React;

use crate::{
    Failure, Result, floor,
    work::{self, Models},
};

/// How many turns a conversation of a sequential bench has.
const TURNS_OF_A_CONVERSATION: u64 = 8;

struct Mock {
    models: Arc<Models>,
    parent: bool,
}

#[async_trait]
impl ModelContract for Mock {
    async fn chat(&self, cx: &CallContext, request: ChatRequest<'_>) -> MasResult<Completion> {
        self.models.call().await;
        let last = request.messages().next_back().filter(|_| self.parent);
        let count = match last.map(|last| &**last) {
            Some(Message::User { parts }) => {
                parts.first().and_then(Part::as_text).map_or(0, |text| work::asked_for(text))
            }
            _ => 0,
        };
        if count == 0 {
            let text: Arc<str> = work::ANSWER.into();
            cx.emit_text(request.audience, text.clone());
            return Ok(Completion { text, ..Completion::default() });
        }
        let call = |at: usize| ToolCall {
            id: format!("c{at}").into(),
            name: work::DELEGATE_TOOL.into(),
            arguments: Arguments::from_text(work::ARGUMENTS),
        };
        Ok(Completion { calls: (0..count).map(call).collect(), ..Completion::default() })
    }
}

/// A tap that counts events.
#[derive(Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// How many events came so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl fmt::Debug for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Counter({})", self.count())
    }
}

impl EventSink for Counter {
    fn emit(&self, _event: Event) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// A team of two agents, and what its turns are tapped by.
pub struct Bench {
    team: Arc<Team>,
    models: Arc<Models>,
    events: Arc<Counter>,
    conversations: AtomicU64,
}

impl Bench {
    /// A team that keeps at most `sessions` sessions.
    ///
    /// # Errors
    /// When the team cannot be put together.
    pub fn start(models: Models, sessions: usize) -> Result<Arc<Self>> {
        Self::reaching(models, sessions, |team| (mas_local::NAME, Arc::new(Local::new(team.host()))))
    }

    /// A team whose parent reaches the child over the backend that `way` names and makes.
    ///
    /// # Errors
    /// When the team cannot be put together.
    pub fn reaching(
        models: Models,
        sessions: usize,
        way: impl FnOnce(&Arc<Team>) -> (&'static str, Arc<dyn AgentCommContract>),
    ) -> Result<Arc<Self>> {
        let models = Arc::new(models);
        let team = Team::new(TeamParts {
            limits: TeamLimits { sessions, ..TeamLimits::default() },
            clock: Arc::new(TokioClock),
            ids: Arc::new(RandomIds),
            observers: Vec::new(),
            store: None,
            blueprint: "bench".into(),
        });
        let card = PeerCard { id: "child".into(), description: "The child agent.".into() };
        let surface = DelegateTools.bind(&[card]).map_err(|problems| {
            let problems: Vec<String> = problems.into_iter().map(|problem| problem.message).collect();
            Failure::Wrong(problems.join("; "))
        })?;
        let (name, comm) = way(&team);
        let route = Route { name: name.into(), comm, peer: Peer { id: "child".into() } };
        let mut parent = agent("parent", work::PARENT_SYSTEM, &models, true);
        parent.toolbox = Toolbox::new(Some(surface), Vec::new())?;
        parent.routes = HashMap::from([(route.peer.id.clone(), route)]);
        team.enlist(vec![parent, agent("child", work::CHILD_SYSTEM, &models, false)])?;
        Ok(Arc::new(Self { team, models, events: Arc::default(), conversations: AtomicU64::new(0) }))
    }

    /// The models of both agents.
    #[must_use]
    pub fn models(&self) -> &Models {
        &self.models
    }

    /// How many events the turns have emitted, as far as they were tapped.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events.count()
    }

    /// How many sessions are in memory.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.team.session_count()
    }

    /// A name for a conversation that has not begun.
    pub fn conversation(&self) -> Arc<str> {
        format!("conversation-{:08}", self.conversations.fetch_add(1, Relaxed)).into()
    }

    /// One turn, driven by the caller.
    ///
    /// # Errors
    /// When the turn fails or the answer is wrong.
    pub async fn turn(&self, session: &Arc<str>, text: &str) -> Result<()> {
        let tap: Arc<dyn EventSink> = self.events.clone();
        let outcome = self.team.turn(request(session, text), Some(tap)).await?;
        work::check_answer(&outcome.reply?.text())
    }

    /// One turn, spawned; its events are kept for subscribers while it runs.
    ///
    /// # Errors
    /// When the turn fails or the answer is wrong.
    pub async fn submit(&self, session: &Arc<str>, text: &str) -> Result<()> {
        let ticket = self.team.submit(request(session, text))?;
        work::check_answer(&ticket.reply.await?.text())
    }
}

fn request(session: &Arc<str>, text: &str) -> TurnRequest {
    TurnRequest { session: Some(session.clone()), parts: vec![Part::text(text)], ..TurnRequest::default() }
}

fn agent(id: &str, system: &str, models: &Arc<Models>, parent: bool) -> Agent {
    Agent {
        profile: AgentProfile {
            id: id.into(),
            name: id.into(),
            version: "1".into(),
            description: "An agent of the bench.".into(),
            ..AgentProfile::default()
        },
        system: system.into(),
        model_name: "mock".into(),
        temperature: None,
        max_tokens: None,
        model: Arc::new(Mock { models: models.clone(), parent }),
        pattern: Arc::new(React::default()),
        context: Arc::new(Stack),
        toolbox: Toolbox::default(),
        routes: HashMap::new(),
        limits: TurnLimits { calls_at_once: 128, ..TurnLimits::default() },
    }
}

/// `count` turns, one after the other, in conversations of eight turns.
///
/// # Errors
/// As [`Bench::turn`].
pub async fn turns(bench: Arc<Bench>, text: &'static str, count: u64) -> Result<()> {
    let mut session = bench.conversation();
    for at in 0..count {
        if at % TURNS_OF_A_CONVERSATION == 0 {
            session = bench.conversation();
        }
        bench.turn(&session, text).await?;
    }
    Ok(())
}

/// `count` submitted turns, one after the other, in conversations of eight turns.
///
/// # Errors
/// As [`Bench::submit`].
pub async fn submitted_turns(bench: Arc<Bench>, text: &'static str, count: u64) -> Result<()> {
    let mut session = bench.conversation();
    for at in 0..count {
        if at % TURNS_OF_A_CONVERSATION == 0 {
            session = bench.conversation();
        }
        bench.submit(&session, text).await?;
    }
    Ok(())
}

/// `count` turns at once, each in a conversation and a task of its own.
///
/// # Errors
/// As [`Bench::turn`].
pub async fn turns_at_once(bench: Arc<Bench>, text: &'static str, count: u64) -> Result<()> {
    let turn = |_| {
        let bench = bench.clone();
        tokio::spawn(async move { bench.turn(&bench.conversation(), text).await })
    };
    let tasks: Vec<_> = (0..count).map(turn).collect();
    for task in tasks {
        floor::join(task).await?;
    }
    Ok(())
}

/// `count` delegations, one after the other, each in a conversation of its own, which stays.
///
/// # Errors
/// As [`Bench::turn`].
pub async fn conversations(bench: Arc<Bench>, count: u64) -> Result<()> {
    for _ in 0..count {
        bench.turn(&bench.conversation(), work::DELEGATE).await?;
    }
    Ok(())
}
