//! The calls that follow one another until there is an answer, each with its limit.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use mas_contracts::{
    CallContext, Delivery, Error, ErrorKind, EventKind, Outbound, Reply, Result, Retry, Task,
};

use super::{
    Heard, TurnEngine, Update, Updates, Upstream,
    failure::{Rung, told},
    fold::{Fold, Stage},
    guard::{Guard, Terms},
};
use crate::{context_ids::ELSEWHERE, phases::seconds, retry::Jitter};

/// How long a question about a task may take.
const ASKED: Duration = Duration::from_secs(30);

/// How often a task is asked for at most.
const OFTEN: Duration = Duration::from_millis(20);

/// How long before the deadline a task is looked at for the last time.
const LAST_LOOK: Duration = Duration::from_secs(1);

/// How long before the deadline it is told that a task still waits, before whoever set it stops waiting.
const EARLY: Duration = Duration::from_millis(250);

/// How long the messages of a task that ended without a result are asked for.
const RECALLED: Duration = Duration::from_secs(5);

/// How a turn begins.
pub(super) enum Start {
    /// With a message.
    Send(Outbound),
    /// With a task that is there.
    Attach(Arc<str>),
}

/// The conversation that a message belongs to.
pub(super) struct Conversation {
    pub(super) key: Arc<str>,
    /// Its id, as it was sent or heard last.
    pub(super) id: Option<Arc<str>>,
    /// Whether it is known that the agent answers in it.
    pub(super) settled: bool,
}

/// One turn on its way.
pub(super) struct Ladder<'a> {
    pub(super) engine: &'a TurnEngine,
    pub(super) upstream: &'a Arc<dyn Upstream>,
    pub(super) cx: &'a CallContext,
    pub(super) agent: Arc<str>,
    pub(super) fold: Fold,
    pub(super) guard: Guard,
    /// The conversation, once the message is out.
    pub(super) conversation: Option<Conversation>,
    pub(super) rung: Rung,
    began: Instant,
    /// Until when credentials may come.
    waits_until: Option<Instant>,
    jitter: Jitter,
}

impl<'a> Ladder<'a> {
    pub(super) fn new(
        engine: &'a TurnEngine,
        upstream: &'a Arc<dyn Upstream>,
        cx: &'a CallContext,
        agent: &Arc<str>,
        message: Option<&Outbound>,
    ) -> Self {
        let policy = &engine.policy;
        let terms = Terms {
            on_timeout: policy.cancel_on_timeout,
            on_drop: policy.cancel_on_drop,
            limit: policy.cancel_timeout,
        };
        let guard = Guard::new(agent.clone(), upstream.clone(), cx.clone(), terms, engine.detached.clone());
        let resumes = policy.resume_interrupted && message.is_some_and(|message| message.task.is_some());
        let id = message.map(|message| message.message_id.clone());
        Self {
            engine,
            upstream,
            cx,
            agent: agent.clone(),
            fold: Fold::new(agent.clone(), id, resumes, policy.largest),
            guard,
            conversation: None,
            rung: Rung::Send,
            began: cx.clock().now(),
            waits_until: None,
            jitter: Jitter::of(cx),
        }
    }

    /// Goes all the way, and no longer than it may.
    pub(super) async fn climb(mut self, start: Start) -> Result<Reply> {
        if let Some(reason) = self.cx.cancel().reason() {
            return Err(CallContext::stopped(reason).with_delivery(Delivery::NotSent));
        }
        if self.cx.remaining().is_zero() {
            return Err(self.late().with_delivery(Delivery::NotSent));
        }
        let cx = self.cx;
        let ended = tokio::select! {
            biased;
            ended = self.work(start) => Ok(ended),
            reason = cx.cancel().cancelled() => Err(Some(reason)),
            () = cx.clock().sleep_until(cx.deadline()) => Err(None),
        };
        match ended {
            Ok(Ok(())) => {
                let refusal = self.fold.refusal();
                let reply = self.reply();
                refusal.map_or(Ok(reply), Err)
            }
            Ok(Err(error)) => {
                // What this side gives up itself goes on elsewhere unless it is told.
                if error.kind() != ErrorKind::Limit && error.code() != ELSEWHERE {
                    self.guard.end();
                }
                Err(error)
            }
            Err(Some(reason)) => Err(CallContext::stopped(reason)),
            Err(None) if self.fold.stage() == Stage::Waits => Ok(self.reply()),
            Err(None) => Err(self.late()),
        }
    }

    async fn work(&mut self, start: Start) -> Result<()> {
        match start {
            Start::Send(message) => {
                let rest = self.send(message).await?;
                self.follow(rest, false).await?;
            }
            Start::Attach(task) => {
                self.guard.learn(Some(&task), false);
                self.fold =
                    Fold::new(self.agent.clone(), None, false, self.engine.policy.largest).attached(task);
                self.follow(None, true).await?;
            }
        }
        self.recall().await
    }

    /// Listens on, takes up what breaks, and asks again and again where there is nothing to listen to.
    async fn follow(&mut self, mut rest: Option<Box<dyn Updates>>, mut at_once: bool) -> Result<()> {
        let reconnect = self.engine.policy.reconnect;
        let mut listens = self.engine.policy.stream && self.upstream.streams();
        let mut tries = 0u32;
        let mut broke: Option<Error> = None;
        while !self.is_over() {
            if let Some(mut stream) = rest.take() {
                let heard = self.listen(&mut *stream, &mut broke).await?;
                // A stream that says nothing new does not count as one that goes on.
                tries = if heard { 0 } else { tries };
                continue;
            }
            if self.fold.task().is_none() {
                return Err(self.told(&broke.unwrap_or_else(cut)));
            }
            if !listens || tries >= reconnect.attempts {
                return self.poll(at_once || listens || tries > 0).await;
            }
            tries = tries.saturating_add(1);
            if !std::mem::take(&mut at_once) {
                let pause = reconnect.pause(tries, None, &mut self.jitter);
                self.pause(pause).await;
            }
            self.rung = Rung::Subscribe;
            match self.subscribe().await {
                Ok(stream) => rest = Some(stream),
                Err(error) if is_transient(error.kind()) => broke = Some(error),
                // Also a task that has just ended is refused so.
                Err(_) => listens = false,
            }
        }
        Ok(())
    }

    async fn subscribe(&mut self) -> Result<Box<dyn Updates>> {
        let Some(task) = self.fold.task().cloned() else { return Err(cut()) };
        let limit = self.engine.policy.idle.min(ASKED);
        let subscribed = self.within(limit, self.upstream.subscribe(&task)).await;
        subscribed.unwrap_or_else(|| Err(silent(limit)))
    }

    /// Takes in what a stream says until it breaks. Returns whether it said anything new.
    async fn listen(&mut self, stream: &mut dyn Updates, broke: &mut Option<Error>) -> Result<bool> {
        let mut heard = false;
        while !self.is_over() {
            let idle = self.engine.policy.idle;
            let limit = if self.fold.task().is_some() { idle } else { self.cx.remaining() };
            match self.within(limit, stream.next()).await {
                Some(Ok(Some(Heard::Update(update)))) => {
                    heard |= self.take(update)?;
                    if self.fold.take_closed() {
                        return Ok(heard);
                    }
                }
                Some(Ok(Some(Heard::Alive))) => {}
                Some(Ok(None)) => return Ok(heard),
                Some(Err(error)) => {
                    *broke = Some(error);
                    return Ok(heard);
                }
                None => {
                    *broke = Some(silent(limit));
                    return Ok(heard);
                }
            }
        }
        Ok(heard)
    }

    /// Asks for the task until it is over.
    async fn poll(&mut self, at_once: bool) -> Result<()> {
        let terms = self.engine.policy.poll;
        let mut pause = if at_once { Duration::ZERO } else { terms.first };
        let mut next = terms.first.max(OFTEN);
        let mut failures = 0u32;
        loop {
            self.pause(self.before_the_end(pause)).await;
            if self.is_over() {
                return Ok(());
            }
            self.rung = Rung::Get;
            let Some(task) = self.fold.task().cloned() else { return Err(self.told(&cut())) };
            let got = self.look(&task).await;
            pause = next;
            match got.unwrap_or_else(|| Err(silent(ASKED))) {
                Ok(task) => {
                    failures = 0;
                    self.take(Update::Task(task))?;
                }
                Err(error) if is_transient(error.kind()) && failures < terms.tolerate => {
                    failures = failures.saturating_add(1);
                    if let Retry::After(asked) = error.retry() {
                        pause = asked.max(next);
                    }
                }
                Err(error) => return Err(self.told(&error)),
            }
            next = terms.after(next);
        }
    }

    /// Asks for a task once; nothing where it takes too long.
    pub(super) async fn look(&self, task: &str) -> Option<Result<Arc<Task>>> {
        self.within(ASKED, self.upstream.get(task, Some(0))).await
    }

    /// A pause that leaves time for a last look before the deadline.
    fn before_the_end(&self, pause: Duration) -> Duration {
        match self.cx.remaining().checked_sub(LAST_LOOK) {
            Some(left) if !left.is_zero() => pause.min(left),
            _ => pause,
        }
    }

    /// Asks for the messages of a task that ended well and gave nothing: not every agent gives them unasked.
    async fn recall(&mut self) -> Result<()> {
        let Some(task) = self.fold.task().filter(|_| self.fold.is_silent()).cloned() else { return Ok(()) };
        let limit = RECALLED.min(self.cx.remaining() / 2);
        if let Some(Ok(task)) = self.within(limit, self.upstream.get(&task, None)).await {
            self.take(Update::Task(task))?;
        }
        Ok(())
    }

    /// Takes in an update. Returns whether it said anything new.
    pub(super) fn take(&mut self, update: Update) -> Result<bool> {
        let mut events = Vec::new();
        let taken = self.fold.take(update, &mut events);
        self.after(taken, events)
    }

    /// What follows when something was taken in: it is told, and whatever depends on it is set.
    pub(super) fn after(&mut self, taken: Result<()>, events: Vec<EventKind>) -> Result<bool> {
        let news = !events.is_empty();
        events.into_iter().for_each(|event| self.cx.emit(event));
        let waits = self.fold.state().is_some_and(|state| state.is_interrupted());
        self.guard.learn(self.fold.task(), waits && self.fold.stage() != Stage::Unclear);
        if self.fold.stage() != Stage::Waits {
            self.waits_until = None;
        } else if self.waits_until.is_none() {
            self.waits_until = Some(self.end_of_wait());
        }
        taken?;
        self.settle()?;
        Ok(news)
    }

    /// Takes note of the conversation that the agent answers in.
    fn settle(&mut self) -> Result<()> {
        let Some(conversation) = &mut self.conversation else { return Ok(()) };
        let heard = self.fold.context();
        let agreed = heard.is_none_or(|heard| conversation.id.as_ref() == Some(heard));
        if agreed && conversation.settled {
            return Ok(());
        }
        conversation.settled = true;
        let sent = match heard {
            Some(heard) => conversation.id.replace(heard.clone()),
            None => conversation.id.clone(),
        };
        self.engine.contexts.settle(&self.agent, &conversation.key, sent.as_deref(), heard)
    }

    fn end_of_wait(&self) -> Instant {
        let now = self.cx.clock().now();
        let early = EARLY.min(self.cx.remaining() / 4);
        let end = self.cx.deadline().checked_sub(early).unwrap_or(now);
        let wanted = self.engine.policy.auth_wait.and_then(|wait| now.checked_add(wait));
        wanted.map_or(end, |wanted| wanted.min(end))
    }

    /// Whether there is nothing more to wait for.
    pub(super) fn is_over(&self) -> bool {
        self.fold.stage() == Stage::Over
            || self.waits_until.is_some_and(|until| until <= self.cx.clock().now())
    }

    /// Waits for work, no longer than `limit`, nor longer than credentials are waited for.
    async fn within<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = work => Some(done),
            () = self.pause(limit) => None,
        }
    }

    async fn pause(&self, pause: Duration) {
        let end = self.cx.clock().now().checked_add(pause).unwrap_or(self.cx.deadline());
        let end = self.waits_until.map_or(end, |until| end.min(until));
        self.cx.clock().sleep_until(end).await;
    }

    fn reply(mut self) -> Reply {
        self.guard.end();
        let mut events = Vec::new();
        let reply = self.fold.into_reply(&mut events);
        events.into_iter().for_each(|event| self.cx.emit(event));
        reply
    }

    pub(super) fn told(&self, error: &Error) -> Error {
        told(error, self.rung, &self.agent, self.fold.task(), self.fold.partial())
    }

    fn late(&self) -> Error {
        let limit = self.cx.deadline().saturating_duration_since(self.began);
        let what = format!("no end within {} s", seconds(limit));
        let error = Error::new(ErrorKind::Timeout, what).with_code("mas::turn::timeout");
        self.told(&error.with_delivery(Delivery::Unknown))
    }
}

/// Whether the same question may be answered later.
fn is_transient(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Unavailable
            | ErrorKind::Timeout
            | ErrorKind::RateLimited
            | ErrorKind::Failed
            | ErrorKind::Internal
    )
}

fn cut() -> Error {
    Error::new(ErrorKind::Unavailable, "the stream ended before its task was named")
        .with_code("mas::turn::cut")
        .with_delivery(Delivery::Unknown)
}

fn silent(limit: Duration) -> Error {
    Error::new(ErrorKind::Timeout, format!("nothing was heard for {} s", seconds(limit)))
        .with_code("mas::turn::silent")
        .with_delivery(Delivery::Unknown)
}
