//! What the stand-in knows.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use mas_contracts::Clock;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::{
    Access, AgentSeed, Answer, Asked, Call, RESPONSE_KIND, Script, SessionSeed, Turn, World, control,
    platform, record::Record, runtime,
};

/// Which address a request came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// The platform's.
    Platform,
    /// The runtime's.
    Runtime,
}

impl Half {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Platform => "platform",
            Self::Runtime => "runtime",
        }
    }
}

/// The stand-in, without a socket. Clones are the same one.
///
/// At first there are the agent `agent-1`, which offers messages and tasks, and its session
/// `11111111-1111-4111-8111-111111111111`; access is ready, and the runtime echoes.
#[derive(Clone)]
pub struct StandIn {
    pub(crate) clock: Arc<dyn Clock>,
    state: Arc<Mutex<State>>,
    called: Arc<Notify>,
}

/// What it knows.
pub(crate) struct State {
    /// What a caller of the platform must show.
    pub(crate) token: String,
    pub(crate) agents: BTreeMap<String, AgentSeed>,
    pub(crate) sessions: BTreeMap<String, Session>,
    pub(crate) access: Script<Access>,
    pub(crate) turns: Script<Turn>,
    pub(crate) task_states: Vec<String>,
    pub(crate) tasks: BTreeMap<String, Task>,
    pub(crate) message_limit: Duration,
    /// Where the runtime is.
    pub(crate) runtime: String,
    /// Tokens that the runtime takes, each for its session.
    pub(crate) tokens: BTreeMap<String, String>,
    pub(crate) minted: usize,
    /// How many turns ran: what a message does in the world.
    pub(crate) executed: usize,
    /// Paths that nobody may call any more, and were called.
    pub(crate) legacy: BTreeSet<String>,
    pub(crate) record: Record,
    /// How far its calendar is ahead of the clock.
    pub(crate) ahead: Duration,
}

/// A session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Session {
    pub(crate) agent: Option<String>,
    pub(crate) handle: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) parent: Option<String>,
}

/// A task, and the states that it goes through yet.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) session: String,
    pub(crate) state: String,
    pub(crate) next: Vec<String>,
    pub(crate) text: String,
}

impl StandIn {
    /// A stand-in whose callers show `token`, and whose runtime is at `runtime`, an address without a path.
    pub fn new(token: impl Into<String>, runtime: impl Into<String>, clock: Arc<dyn Clock>) -> Self {
        let profile = json!({
            "response_kind_extension_uri": RESPONSE_KIND,
            "supported_response_kinds": ["message", "task"],
            "default_response_kind": "message",
        });
        let agent = AgentSeed { uid: "agent-1".into(), name: "Agent 1".into(), profile: Some(profile) };
        let session = SessionSeed { uid: Self::SESSION.into(), agent_uid: Some(agent.uid.clone()) };
        let stand_in = Self {
            clock,
            called: Arc::default(),
            state: Arc::new(Mutex::new(State {
                token: token.into(),
                agents: BTreeMap::new(),
                sessions: BTreeMap::new(),
                access: Script::default(),
                turns: Script::default(),
                task_states: Vec::new(),
                tasks: BTreeMap::new(),
                message_limit: Duration::from_secs(90),
                runtime: runtime.into(),
                tokens: BTreeMap::new(),
                minted: 0,
                executed: 0,
                legacy: BTreeSet::new(),
                record: Record::default(),
                ahead: Duration::ZERO,
            })),
        };
        stand_in.load(World { agents: Some(vec![agent]), sessions: Some(vec![session]), ..World::default() });
        stand_in
    }

    /// The session that is there at first.
    pub const SESSION: &'static str = "11111111-1111-4111-8111-111111111111";

    /// Takes what is said of the world; what is not said stays as it is.
    pub fn load(&self, world: World) {
        let mut state = self.state();
        if let Some(agents) = world.agents {
            state.agents = agents.into_iter().map(|agent| (agent.uid.clone(), agent)).collect();
        }
        if let Some(sessions) = world.sessions {
            let session =
                |seed: SessionSeed| (seed.uid, Session { agent: seed.agent_uid, ..Session::default() });
            state.sessions = sessions.into_iter().map(session).collect();
        }
        if let Some(access) = world.access {
            state.access = access;
        }
        if let Some(turns) = world.turns {
            state.turns = turns;
        }
        if let Some(states) = world.task_states {
            state.task_states = states;
        }
        if let Some(limit) = world.message_limit_ms {
            state.message_limit = Duration::from_millis(limit);
        }
        if world.rotate {
            state.tokens.clear();
        }
    }

    /// Says what access is and what becomes of messages from now on.
    pub fn script(&self, access: Script<Access>, turns: Script<Turn>) {
        self.load(World { access: Some(access), turns: Some(turns), ..World::default() });
    }

    /// Answers a request. What the answer says of time is the caller's to keep.
    #[must_use]
    pub fn answer(&self, half: Half, asked: &Asked) -> Answer {
        let path = asked.path.split('?').next().unwrap_or_default();
        if let Some(rest) = path.strip_prefix("/_control/").filter(|_| half == Half::Platform) {
            return control::answer(self, rest, asked);
        }
        let now = self.unix_time();
        let mut state = self.state();
        state.record.add(Call::of(half, asked, now));
        self.called.notify_waiters();
        match half {
            Half::Platform => platform::answer(&mut state, path, asked, now),
            Half::Runtime => runtime::answer(&mut state, path, asked),
        }
    }

    /// The calls so far, those of control left out.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.state().record.all().cloned().collect()
    }

    /// The calls whose path ends so.
    #[must_use]
    pub fn calls_of(&self, end: &str) -> Vec<Call> {
        self.state().record.all().filter(|call| call.path.ends_with(end)).cloned().collect()
    }

    /// Waits until a path that ends so was called.
    pub async fn until_called(&self, end: &str) {
        loop {
            let called = self.called.notified();
            tokio::pin!(called);
            // From here on no call is missed.
            called.as_mut().enable();
            if !self.calls_of(end).is_empty() {
                return;
            }
            called.await;
        }
    }

    /// How many turns ran: what the messages so far did in the world.
    #[must_use]
    pub fn executed(&self) -> usize {
        self.state().executed
    }

    /// The paths of earlier days that were called, which nobody may call any more.
    #[must_use]
    pub fn legacy(&self) -> Vec<String> {
        self.state().legacy.iter().cloned().collect()
    }

    /// Its calendar: the clock's, and what control added.
    pub(crate) fn unix_time(&self) -> Duration {
        let ahead = self.state().ahead;
        self.clock.unix_time().saturating_add(ahead)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether the agent of a session offers tasks.
    pub(crate) fn offers_tasks(&self, session: &str) -> bool {
        let agent = self.sessions.get(session).and_then(|session| self.agents.get(session.agent.as_deref()?));
        let kinds =
            agent.and_then(|agent| agent.profile.as_ref()?.get("supported_response_kinds")?.as_array());
        kinds.is_some_and(|kinds| kinds.contains(&Value::from("task")))
    }
}

impl fmt::Debug for StandIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StandIn")
    }
}
