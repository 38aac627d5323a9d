//! Root turns of a scripted host: one at a time in each session, first come, first served.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use mas_contracts::{
    CallContext, CancelReason, Delivery, End, Error, ErrorKind, EventKind, EventSink, Message, Reply, Result,
    Scope, Tree, TreeLimits, TurnKey, TurnRequest, TurnTicket, text_of,
};
use tokio::sync::Notify;

use super::{Behaviour, ScriptedHost, Seen};
use crate::TokioClock;

/// How long a root turn may take where the request does not say.
const LIMIT: Duration = Duration::from_secs(900);

/// Most turns that run or wait in one session.
const QUEUED: usize = 64;

/// The root turns of a host.
#[derive(Debug, Default)]
pub(super) struct Roots {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    made: u64,
    /// The turns of each session, the running one first.
    queues: HashMap<Place, VecDeque<TurnKey>>,
    trees: HashMap<TurnKey, Arc<Tree>>,
    ended: HashMap<TurnKey, Result<Reply>>,
    /// The turn of each session that waits for a person.
    waiting: HashMap<Place, Arc<str>>,
}

/// Owner, agent and session.
type Place = (Option<Arc<str>>, Arc<str>, Arc<str>);

fn place(key: &TurnKey) -> Place {
    (key.owner.clone(), key.agent.clone(), key.session.clone())
}

impl Roots {
    pub(super) fn cancel(&self, turn: &TurnKey, reason: CancelReason) -> bool {
        let tree = self.lock().trees.get(turn).cloned();
        tree.inspect(|tree| _ = tree.cancel().cancel(reason)).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leave(&self, turn: &TurnKey) {
        let mut state = self.lock();
        state.trees.remove(turn);
        let at = place(turn);
        if let Some(queue) = state.queues.get_mut(&at) {
            queue.retain(|queued| queued != turn);
            if queue.is_empty() {
                state.queues.remove(&at);
            }
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Waits until a turn is the first of its session, or is stopped.
    async fn granted(&self, turn: &TurnKey, tree: &Tree) -> Result<()> {
        let first = || self.lock().queues.get(&place(turn)).and_then(VecDeque::front) == Some(turn);
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(reason) = tree.cancel().reason() {
                return Err(CallContext::stopped(reason));
            }
            if first() {
                return Ok(());
            }
            tokio::select! {
                () = changed => {}
                _ = tree.cancel().cancelled() => {}
            }
        }
    }
}

/// A turn that is let in; its place is free once this is dropped.
struct Admitted {
    host: Arc<ScriptedHost>,
    key: TurnKey,
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.host.roots.leave(&self.key);
    }
}

impl ScriptedHost {
    /// Lets a root turn in.
    pub(super) fn root(self: Arc<Self>, request: TurnRequest, tap: Arc<dyn EventSink>) -> Result<TurnTicket> {
        let agent = request.agent.as_deref().or_else(|| self.peers.keys().next().map(String::as_str));
        let known = agent.and_then(|agent| self.peers.get_key_value(agent));
        let Some((agent, behaviour)) = known else {
            return Err(Error::new(
                ErrorKind::NotFound,
                format!("no agent `{}` here", agent.unwrap_or_default()),
            ));
        };
        let agent: Arc<str> = agent.as_str().into();
        let behaviour = behaviour.clone();
        let depth = u16::try_from(request.ancestry.len()).unwrap_or(u16::MAX).max(request.depth);
        permit(&request.ancestry, depth, &agent)?;
        let clock = TokioClock::shared();
        let tree = Tree::new(TreeLimits::default(), clock.clone()).owned_by(request.owner.clone());
        let tree = Arc::new(tree.below(request.ancestry.clone()).traced(request.traceparent.clone()));

        let mut state = self.roots.lock();
        state.made += 1;
        let number = state.made;
        let key = TurnKey {
            owner: request.owner.clone(),
            agent: agent.clone(),
            session: request.session.clone().unwrap_or_else(|| format!("session-{number}").into()),
            turn: request.turn.clone().unwrap_or_else(|| format!("turn-{number}").into()),
        };
        if let Some(reply) = state.ended.get(&key).cloned() {
            return Ok(TurnTicket { key, reply: Box::pin(async move { reply }) });
        }
        if state.trees.contains_key(&key) {
            let message = format!("turn `{}` runs already, which a scripted host does not share", key.turn);
            return Err(Error::new(ErrorKind::Conflict, message));
        }
        let queue = state.queues.entry(place(&key)).or_default();
        if queue.len() >= QUEUED {
            let message = format!("session `{}` has {QUEUED} turns already", key.session);
            return Err(Error::new(ErrorKind::Limit, message));
        }
        queue.push_back(key.clone());
        state.trees.insert(key.clone(), tree.clone());
        drop(state);

        let admitted = Admitted { host: self, key: key.clone() };
        let scope = Arc::new(Scope {
            session: key.session.clone(),
            turn: key.turn.clone(),
            agent,
            depth,
            parent: None,
            caller: None,
            sink: tap,
            tree,
        });
        let limit = request.timeout.map_or(LIMIT, |limit| limit.min(LIMIT));
        let cx = CallContext::new(scope, clock.now() + limit);
        Ok(TurnTicket { key, reply: Box::pin(async move { admitted.run(&cx, request, behaviour).await }) })
    }
}

/// Refuses a turn that came through its agent already, or through too many.
fn permit(ancestry: &[Arc<str>], depth: u16, agent: &Arc<str>) -> Result<()> {
    let refuse = |kind, message: String, code| {
        Err(Error::new(kind, message).with_code(code).with_delivery(Delivery::Rejected))
    };
    if ancestry.contains(agent) {
        let path = ancestry.iter().chain([agent]).map(|id| &**id).collect::<Vec<_>>().join(" -> ");
        return refuse(ErrorKind::Loop, format!("delegation would loop: {path}"), "mas::delegation::loop");
    }
    let limit = TreeLimits::default().depth;
    if depth > limit {
        let message = format!("delegation is deeper than {limit} levels");
        return refuse(ErrorKind::Limit, message, "mas::delegation::depth");
    }
    Ok(())
}

impl Admitted {
    async fn run(&self, cx: &CallContext, request: TurnRequest, behaviour: Behaviour) -> Result<Reply> {
        let Self { host, key } = self;
        host.roots.granted(key, &cx.scope().tree).await?;
        let told = Seen {
            peer: key.agent.to_string(),
            text: text_of(&request.parts).to_string(),
            conversation: key.session.to_string(),
            stopped: None,
            ended: false,
        };
        cx.emit(EventKind::TurnStarted { input: Arc::new(Message::User { parts: request.parts }) });
        let answers = {
            let mut state = host.roots.lock();
            let waits = state.waiting.get(&place(key));
            let answers = waits.is_some_and(|turn| request.task.as_ref().is_none_or(|task| task == turn));
            if answers {
                state.waiting.remove(&place(key));
            }
            answers
        };
        let behaviour = match behaviour {
            Behaviour::Ask(_) if answers => Behaviour::Echo,
            other => other,
        };
        let mut result = host.perform(cx, &key.agent, &behaviour, told).await;
        if let Ok(Reply { end: End::Interrupted(question), task, .. }) = &mut result {
            question.task = Some(key.turn.clone());
            task.clone_from(&question.task);
            host.roots.lock().waiting.insert(place(key), key.turn.clone());
        }
        if request.turn.is_some() {
            host.roots.lock().ended.insert(key.clone(), result.clone());
        }
        result
    }
}
