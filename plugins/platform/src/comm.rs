//! The backend `platform`: delegates to a session of a platform.
//!
//! One backend is one session. The conversation is the session, whatever the thread: the platform keeps what was said.
//! A task is looked after by the [`TurnEngine`]; a message is one call.

use std::{
    borrow::Cow,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use async_trait::async_trait;
use mas_comm_kit::{
    ContextIds, ContextMode,
    phases::{Budget, Phases},
    turn::{Answer, Ask, Poll, TurnEngine, TurnPolicy, Updates, Upstream},
};
use mas_contracts::{
    AgentCommContract, Build, BuildContext, Builder, CallContext, Capability, Delivery, Descriptor, Env,
    Error, ErrorKind, Outbound, Peer, Probe, Reply, Result, Retry, Stop, Task, TaskMessage, TaskRef,
    inventory, schema_of,
};
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::{
    admission::Grant,
    answer::Received,
    client::Platform,
    kind::{Output, ResponseKind},
    letter::Letter,
    params::{self, Params, Target},
    profile::Profile,
    wire,
};

/// The name by which manifests select it.
pub const NAME: &str = "platform";

inventory::submit! {
    Descriptor {
        name: Cow::Borrowed(NAME),
        aliases: Cow::Borrowed(&["mainsequence"]),
        origin: Cow::Borrowed(env!("CARGO_PKG_NAME")),
        version: Cow::Borrowed(env!("CARGO_PKG_VERSION")),
        summary: Cow::Borrowed("Delegates to an agent session that a managed platform owns."),
        example: Cow::Borrowed(
            "desk: {protocol: platform, usage: use, url: \"https://platform.example\", token_env: PLATFORM_TOKEN, agent_session_uid: 11111111-1111-4111-8111-111111111111}\n",
        ),
        schema: schema_of::<Params>,
        check: params::check,
        builder: Builder::AgentComm(Build::Linked(|cx, params| Ok(Arc::new(Comm::new(cx, params)?)))),
    }
}

/// Delegates to one session.
struct Comm {
    sessions: Arc<Sessions>,
    engine: OnceLock<TurnEngine>,
    env: Env,
    closed: AtomicBool,
}

/// The session, once it is known, and what a send to it is.
struct Sessions {
    platform: Platform,
    target: Target,
    session: OnceCell<Arc<str>>,
    profile: OnceCell<Profile>,
    kind: ResponseKind,
    output: Output,
}

impl Comm {
    fn new(cx: &BuildContext, params: &Value) -> Result<Self> {
        let target = Params::session(params)?;
        let setup = Params::setup(params, cx)?;
        let (kind, output) = (setup.kind, setup.output);
        let (session, profile) = (OnceCell::new(), OnceCell::new());
        let sessions = Sessions { platform: setup.connect(cx)?, target, session, profile, kind, output };
        let closed = AtomicBool::new(false);
        Ok(Self { sessions: Arc::new(sessions), engine: OnceLock::new(), env: cx.env.clone(), closed })
    }

    /// The session, and what a call to it may take.
    async fn reach(&self, cx: &CallContext) -> Result<(Arc<str>, Budget)> {
        if self.closed.load(Ordering::Acquire) {
            let error = Error::new(ErrorKind::Unavailable, "the way to the platform is closed");
            return Err(error.with_code("mas::platform::closed"));
        }
        let budget = self.sessions.platform.budget(None).until(cx.deadline());
        let session = unless_stopped(cx, self.sessions.session(&budget)).await?;
        Ok((session, budget))
    }

    fn engine(&self, session: &Arc<str>) -> Result<&TurnEngine> {
        if let Some(engine) = self.engine.get() {
            return Ok(engine);
        }
        let mode = ContextMode::Fixed(session.clone());
        let contexts = Arc::new(ContextIds::from_env(mode, &self.env, &[])?);
        Ok(self.engine.get_or_init(|| TurnEngine::new(self.sessions.policy(), contexts)))
    }

    async fn say(&self, cx: &CallContext, to: &Peer, message: Outbound) -> Result<Reply> {
        let sessions = &self.sessions;
        let draft = Letter { parts: message.parts.clone(), ..sessions.letter(&message.message_id) };
        sessions.platform.check(&draft)?;
        let (session, budget) = self.reach(cx).await?;
        // What comes before the message goes out ends with the caller; the engine may go on for a while.
        let grant = unless_stopped(cx, sessions.admit(&session, &budget)).await?;
        let going = Arc::new(Going { cx: cx.clone(), abandoned: AtomicBool::new(false) });
        let _abandons = Abandons(going.clone());
        let call = Call::new(sessions, session.clone(), budget, cx.deadline(), Some((grant, going)));
        let upstream: Arc<dyn Upstream> = Arc::new(call);
        self.engine(&session)?.run(&upstream, cx, to, message).await
    }

    fn only_tasks(&self, task: &TaskRef, done: &str) -> Result<()> {
        if self.sessions.kind == ResponseKind::Task {
            return Ok(());
        }
        let text = format!("`{}` answers with messages, so that no task of it can be {done}", task.peer);
        Err(Error::new(ErrorKind::Unsupported, text).with_code("mas::platform::response_kind_unsupported"))
    }
}

/// Whether somebody still waits for the answer.
struct Going {
    cx: CallContext,
    abandoned: AtomicBool,
}

impl Going {
    fn wanted(&self) -> bool {
        self.cx.cancel().reason().is_none() && !self.abandoned.load(Ordering::Acquire)
    }
}

/// Tells, when it is dropped, that nobody waits any more.
struct Abandons(Arc<Going>);

impl Drop for Abandons {
    fn drop(&mut self) {
        self.0.abandoned.store(true, Ordering::Release);
    }
}

/// What happens before anything is sent, which a cancel ends.
async fn unless_stopped<T>(cx: &CallContext, work: impl Future<Output = Result<T>> + Send) -> Result<T> {
    tokio::select! {
        biased;
        reason = cx.cancel().cancelled() => {
            Err(CallContext::stopped(reason).with_code("mas::platform::send_cancelled").with_delivery(Delivery::NotSent))
        }
        done = work => done,
    }
}

impl Sessions {
    async fn session(&self, budget: &Budget) -> Result<Arc<str>> {
        match &self.target {
            Target::Session(uid) => Ok(uid.as_str().into()),
            Target::Handle(handle) => {
                self.session.get_or_try_init(|| self.platform.session(handle, budget)).await.cloned()
            }
        }
    }

    async fn profile(&self, session: &str, budget: &Budget) -> Result<&Profile> {
        let agent = match &self.target {
            Target::Session(_) => None,
            Target::Handle(handle) => Some(&*handle.agent_uid),
        };
        self.profile.get_or_try_init(|| self.platform.profile(session, agent, budget)).await
    }

    /// Waits until a message may be sent.
    async fn admit(&self, session: &Arc<str>, budget: &Budget) -> Result<Arc<Grant>> {
        let profile = match self.kind {
            ResponseKind::Message => None,
            ResponseKind::Task => Some(self.profile(session, budget).await?),
        };
        self.platform.admit(session, self.kind, profile, budget).await
    }

    /// A letter without content.
    fn letter(&self, id: &str) -> Letter {
        let id = format!("{}{id}", self.platform.terms().message_id_prefix);
        Letter { message_id: Some(id.into()), kind: self.kind, output: self.output, ..Letter::default() }
    }

    fn policy(&self) -> TurnPolicy {
        let terms = self.platform.terms();
        let pause = terms.task_poll_interval;
        TurnPolicy {
            stream: false,
            poll: Poll { first: pause, factor: 1.0, max: pause, tolerate: 0 },
            largest: terms.max_response_bytes,
            ..TurnPolicy::default()
        }
    }
}

#[async_trait]
impl AgentCommContract for Comm {
    fn capability(&self) -> Capability {
        let task = self.sessions.kind == ResponseKind::Task;
        // A task shows what there is of it each time that it is asked for.
        Capability { stream: task, attach: task, cancel: task, dedupes: false }
    }

    async fn send(&self, cx: &CallContext, to: &Peer, message: Outbound) -> Result<Reply> {
        let id = self.sessions.letter(&message.message_id).message_id.unwrap_or_default();
        let said = self.say(cx, to, message).await;
        said.map_err(|error| {
            if error.context().any(|(key, _)| key == "message_id") {
                error
            } else {
                error.with("message_id", id)
            }
        })
    }

    async fn attach(&self, cx: &CallContext, task: &TaskRef) -> Result<Reply> {
        self.only_tasks(task, "attached to")?;
        let (session, budget) = self.reach(cx).await?;
        let call = Call::new(&self.sessions, session.clone(), budget, cx.deadline(), None);
        let upstream: Arc<dyn Upstream> = Arc::new(call);
        self.engine(&session)?.attach(&upstream, cx, task).await
    }

    async fn cancel(&self, cx: &CallContext, task: &TaskRef, stop: Stop) -> Result<()> {
        self.only_tasks(task, "cancelled")?;
        if stop == Stop::Leave {
            return Ok(());
        }
        let (session, budget) = self.reach(cx).await?;
        match self.sessions.platform.cancel(&session, &task.task, &budget).await {
            Ok(_) => Ok(()),
            // It is over already.
            Err(error) if error.kind() == ErrorKind::Conflict => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn probe(&self, cx: &CallContext, _to: &Peer) -> Result<Probe> {
        let budget = self.sessions.platform.budget(None).until(cx.deadline());
        let session = self.sessions.session(&budget).await?;
        let mut route = vec![(Cow::Borrowed("session"), session.clone())];
        if self.sessions.kind == ResponseKind::Task {
            self.sessions.profile(&session, &budget).await?.check(ResponseKind::Task)?;
        }
        route.push((Cow::Borrowed("response kind"), self.sessions.kind.as_str().into()));
        let access = self.sessions.platform.look(&session, &budget).await?;
        route.push((Cow::Borrowed("state"), access.interaction.state.into()));
        let can_submit = if access.interaction.can_submit { "yes" } else { "no" };
        route.push((Cow::Borrowed("can submit"), can_submit.into()));
        for (name, text) in [("phase", access.phase), ("service", access.service)] {
            route.extend(text.map(|text| (Cow::Borrowed(name), text.into())));
        }
        Ok(Probe { name: None, version: None, stream: false, route })
    }

    async fn close(&self) -> Result<()> {
        self.closed.store(true, Ordering::Release);
        if let Some(engine) = self.engine.get() {
            engine.close().await;
        }
        Ok(())
    }
}

/// One call, as the engine makes it.
struct Call {
    sessions: Arc<Sessions>,
    session: Arc<str>,
    /// What the send may take.
    budget: Budget,
    /// When the caller stops waiting.
    end: Instant,
    /// What lets the message go, and whether it is still wanted; none where there is no message.
    admitted: Option<(Arc<Grant>, Arc<Going>)>,
    /// Why the message was refused: it is not sent in another form.
    refused: OnceLock<Error>,
}

impl Call {
    fn new(
        sessions: &Arc<Sessions>,
        session: Arc<str>,
        budget: Budget,
        end: Instant,
        admitted: Option<(Arc<Grant>, Arc<Going>)>,
    ) -> Self {
        Self { sessions: sessions.clone(), session, budget, end, admitted, refused: OnceLock::new() }
    }

    /// What asking for a task may take: as long as a task is waited for.
    fn waiting(&self) -> Budget {
        let terms = self.sessions.platform.terms();
        let limits = Phases::total_of(terms.task_wait_timeout).unwrap_or(terms.timeout);
        self.sessions.platform.budget(Some(limits)).until(self.end)
    }

    fn task_of(received: &Received) -> Arc<Task> {
        Arc::new(wire::task(received.inner()))
    }
}

#[async_trait]
impl Upstream for Call {
    fn streams(&self) -> bool {
        false
    }

    async fn send(&self, message: &Arc<TaskMessage>, _ask: &Ask) -> Result<Answer> {
        if let Some(error) = self.refused.get() {
            return Err(error.clone());
        }
        let Some((grant, going)) = &self.admitted else { return Err(unheard()) };
        let letter = Letter {
            parts: message.parts.clone(),
            task: message.task.clone(),
            metadata: message.metadata.clone(),
            ..self.sessions.letter(&message.id)
        };
        let platform = &self.sessions.platform;
        let envelope = platform.write(&self.session, &letter)?;
        let wanted = || going.wanted();
        let posted = platform.post(&self.session, &envelope, grant.clone(), &wanted, &self.budget).await;
        let received = posted.inspect_err(|error| {
            let _ = self.refused.set(error.clone());
        })?;
        Ok(match received.kind() {
            ResponseKind::Message => Answer::Message(Arc::new(wire::message(received.inner()))),
            ResponseKind::Task => Answer::Task(Self::task_of(&received)),
        })
    }

    async fn stream(&self, _message: &Arc<TaskMessage>, _ask: &Ask) -> Result<Box<dyn Updates>> {
        Err(unheard())
    }

    async fn subscribe(&self, _task: &str) -> Result<Box<dyn Updates>> {
        Err(unheard())
    }

    async fn get(&self, task: &str, _history_length: Option<u32>) -> Result<Arc<Task>> {
        let received = self.sessions.platform.task(&self.session, task, &self.waiting()).await?;
        Ok(Self::task_of(&received))
    }

    async fn cancel(&self, task: &str) -> Result<Arc<Task>> {
        // The caller's time may be over: the engine has a limit of its own for this.
        let budget = self.sessions.platform.budget(None);
        let received = self.sessions.platform.cancel(&self.session, task, &budget).await?;
        Ok(Self::task_of(&received))
    }
}

fn unheard() -> Error {
    Error::new(
        ErrorKind::Unsupported,
        "sessions of a platform are asked for their tasks, and not listened to",
    )
    .with_code("mas::platform::no_stream")
    .with_delivery(Delivery::NotSent)
    .with_retry(Retry::Never)
}
