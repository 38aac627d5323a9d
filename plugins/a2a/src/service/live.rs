//! A task under way: what its turns say is folded into it, and whoever reads along is told.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use mas_contracts::{
    Artifact, CallId, Clock, Ids, Part, Speaker, Task, TaskMessage, TaskScope, TaskState, TaskStatus,
};
use serde_json::{Map, Value};
use tokio::sync::Notify;

use super::{
    artifacts::Artifacts,
    log::Log,
    options::Options,
    push::{Changed, Push},
};
use crate::model::{ArtifactUpdate, Failure, Item, StatusUpdate, StreamItem, TaskView};

/// What every task of a service works with.
pub(super) struct Kit {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Arc<dyn Ids>,
    pub(super) options: Options,
    pub(super) push: Option<Arc<dyn Push>>,
}

/// A task that is not over, or whose readers are not done.
pub(super) struct Live {
    pub(super) scope: TaskScope,
    pub(super) id: Arc<str>,
    pub(super) context: Arc<str>,
    pub(super) kit: Arc<Kit>,
    state: Mutex<State>,
    changed: Notify,
    /// Held while a revision is written, so that they are written in order.
    pub(super) saving: tokio::sync::Mutex<()>,
}

/// What a task is by now.
pub(super) struct State {
    pub(super) status: TaskStatus,
    history: Vec<Arc<TaskMessage>>,
    pub(super) artifacts: Artifacts,
    metadata: Map<String, Value>,
    /// The revision that the store has; 0 before the first.
    pub(super) revision: u64,
    /// Whether the status changed since that revision.
    pub(super) unsaved: bool,
    pub(super) log: Log,
    /// Whether anybody outside may know of it.
    pub(super) public: bool,
    /// The turns that run or queue, oldest first.
    pub(super) turns: Vec<Arc<str>>,
    /// The turn whose question waits for an answer.
    pub(super) asked: Option<Arc<str>>,
    /// The artifact that takes the text that is streamed, until its turn ends.
    pub(super) streamed: Option<Arc<str>>,
    /// The latest piece of it, and whether it continues others: held while its turn is being polled, for it may be
    /// the last one.
    pub(super) held: Option<(Arc<Artifact>, bool)>,
    /// How many turns are being polled.
    pub(super) polled: usize,
    /// How many artifacts were made of answers.
    pub(super) answers: usize,
    /// Delegations under way: what their calls say is told by their turn, not by this task.
    pub(super) delegations: Vec<CallId>,
    /// Whether somebody asked for its end.
    pub(super) canceling: bool,
    /// Whether nothing more comes.
    pub(super) ended: bool,
    /// The task as it ended, once it is kept.
    pub(super) kept: Option<Arc<Task>>,
    /// The message that is all there is, instead of a task.
    pub(super) said: Option<Arc<TaskMessage>>,
    /// Why it could not become a task: its store has no room, or cannot be had.
    pub(super) unkept: Option<Box<Failure>>,
}

/// What to do when there is an event to tell.
pub(super) enum Next {
    /// This one follows.
    Item(Item),
    /// Nothing follows, ever.
    End,
    /// Nothing yet.
    Wait,
}

impl Live {
    /// A new task, of which nobody knows yet.
    pub(super) fn new(kit: Arc<Kit>, scope: TaskScope, id: Arc<str>, context: Arc<str>) -> Self {
        let status = TaskStatus { state: TaskState::Submitted, message: None, since: kit.clock.unix_time() };
        let state = State::new(status, &kit.options);
        Self::with(kit, scope, id, context, state)
    }

    /// A task that was kept, taken up again.
    pub(super) fn revive(kit: Arc<Kit>, task: &Task) -> Self {
        let mut state = State::new(task.status.clone(), &kit.options);
        state.history.clone_from(&task.history);
        state.artifacts = Artifacts::of(&task.artifacts);
        state.answers = task.artifacts.len();
        state.metadata = task.metadata.clone();
        state.revision = task.revision;
        state.public = true;
        state.log.keep();
        Self::with(kit, task.scope(), task.id.clone(), task.context.clone(), state)
    }

    fn with(kit: Arc<Kit>, scope: TaskScope, id: Arc<str>, context: Arc<str>, state: State) -> Self {
        Self {
            scope,
            id,
            context,
            kit,
            state: Mutex::new(state),
            changed: Notify::new(),
            saving: tokio::sync::Mutex::new(()),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes whoever waits for a change.
    pub(super) fn wake(&self) {
        self.changed.notify_waiters();
    }

    /// The id of the turn of a message: the message's, unless the task had one of that id, which the host would
    /// take for the same turn.
    pub(super) fn turn_id(&self, message: &Arc<str>) -> Arc<str> {
        let state = self.lock();
        if state.history.iter().any(|said| said.id == *message) {
            return format!("{message}~{}", state.history.len()).into();
        }
        message.clone()
    }

    /// Takes in a message of the caller and the turn that it becomes. Returns whether it came in time.
    pub(super) fn told(&self, message: Arc<TaskMessage>, turn: Arc<str>) -> bool {
        let mut guard = self.lock();
        let state = &mut *guard;
        if state.ended || state.canceling {
            return false;
        }
        let most = self.kit.options.history;
        let resumed = state.status.state.is_interrupted();
        if resumed && let Some(question) = state.status.message.take() {
            state.remember(question, most);
        }
        state.remember(message, most);
        state.turns.push(turn);
        state.asked = None;
        if resumed {
            self.set_status(state, TaskState::Working, None);
            drop(guard);
            self.wake();
        }
        true
    }

    /// Sets the status and tells of it.
    pub(super) fn set_status(&self, state: &mut State, to: TaskState, message: Option<Arc<TaskMessage>>) {
        let status = TaskStatus { state: to, message, since: self.kit.clock.unix_time() };
        state.unsaved |= state.status.state != to || status.message.is_some();
        state.status = status;
        // Whether a stream ends with another state is for its reader to say.
        let last = to.is_terminal();
        self.record(state, |live, state| {
            StreamItem::Status(StatusUpdate {
                task: live.id.clone(),
                context: live.context.clone(),
                status: state.status.clone(),
                last,
            })
        });
    }

    /// Tells of an artifact or a piece of one.
    pub(super) fn tell_artifact(&self, state: &mut State, artifact: Arc<Artifact>, append: bool, last: bool) {
        self.record(state, |live, _| {
            StreamItem::Artifact(ArtifactUpdate {
                task: live.id.clone(),
                context: live.context.clone(),
                artifact,
                append,
                last_chunk: last,
            })
        });
    }

    fn record(&self, state: &mut State, item: impl FnOnce(&Self, &State) -> StreamItem) {
        self.tell_held(state, false);
        let push = self.kit.push.as_ref().filter(|push| push.wants(&self.scope, &self.id));
        if push.is_none() && !state.log.is_kept() {
            return state.log.skip();
        }
        let item = item(self, state);
        let seq = state.log.push(item.clone());
        if let Some(push) = push {
            let mut snapshot = || self.task(state);
            push.task_changed(Changed {
                scope: &self.scope,
                task: &self.id,
                seq,
                item: &item,
                snapshot: &mut snapshot,
            });
        }
    }

    /// The task as it is.
    pub(super) fn task(&self, state: &mut State) -> Arc<Task> {
        if let Some(kept) = &state.kept {
            return kept.clone();
        }
        Arc::new(Task {
            id: self.id.clone(),
            owner: self.scope.owner.clone(),
            agent: self.scope.agent.clone(),
            context: self.context.clone(),
            revision: state.revision,
            status: state.status.clone(),
            history: state.history.clone(),
            artifacts: state.artifacts.share(),
            metadata: state.metadata.clone(),
        })
    }

    /// The task as it is, and the place of the last event in it.
    pub(super) fn snapshot(&self) -> Item {
        let mut state = self.lock();
        // It is in the artifacts already, and nobody may be told of it twice.
        self.tell_held(&mut state, false);
        let task = self.task(&mut state);
        Item { seq: state.log.last(), item: StreamItem::Task(TaskView::whole(task)) }
    }

    /// What follows the event at `after`. A reader who fell too far behind is given the whole task.
    pub(super) fn next(&self, after: u64) -> Next {
        let mut state = self.lock();
        if state.log.last() <= after {
            return if state.ended { Next::End } else { Next::Wait };
        }
        if let Some(item) = state.log.get(after.saturating_add(1)) {
            return Next::Item(item.clone());
        }
        self.tell_held(&mut state, false);
        let task = self.task(&mut state);
        Next::Item(Item { seq: state.log.last(), item: StreamItem::Task(TaskView::whole(task)) })
    }

    /// Waits until `ready` finds what it looks for.
    pub(super) async fn wait_for<T>(&self, mut ready: impl FnMut(&Self) -> Option<T>) -> T {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(found) = ready(self) {
                return found;
            }
            changed.await;
        }
    }

    /// Waits until no turn runs: the task is over, or it waits for somebody. One that has not begun is waited for.
    pub(super) async fn settled(&self) {
        self.wait_for(|live| {
            let state = live.lock();
            let begun = state.status.state != TaskState::Submitted;
            (state.ended || (begun && state.turns.is_empty())).then_some(())
        })
        .await;
    }

    /// Waits until the task is over though this turn of it still runs.
    pub(super) async fn overtaken(&self, turn: &str) {
        self.wait_for(|live| {
            let state = live.lock();
            (state.ended && state.turns.iter().any(|open| &**open == turn)).then_some(())
        })
        .await;
    }

    /// A message of the agent in this task.
    pub(super) fn message(&self, parts: Vec<Part>) -> Arc<TaskMessage> {
        Arc::new(TaskMessage {
            id: self.kit.ids.next_id(),
            from: Speaker::Agent,
            context: Some(self.context.clone()),
            task: Some(self.id.clone()),
            parts,
            metadata: Map::new(),
            extensions: Vec::new(),
            references: Vec::new(),
        })
    }

    /// Whether its artifacts are larger than they may be.
    pub(super) fn is_too_large(&self) -> bool {
        self.lock().artifacts.weight() > self.kit.options.artifact_bytes
    }
}

impl State {
    fn new(status: TaskStatus, options: &Options) -> Self {
        Self {
            status,
            history: Vec::new(),
            artifacts: Artifacts::default(),
            metadata: Map::new(),
            revision: 0,
            unsaved: true,
            log: Log::new(options.events, options.event_bytes),
            public: false,
            turns: Vec::new(),
            asked: None,
            streamed: None,
            held: None,
            polled: 0,
            answers: 0,
            delegations: Vec::new(),
            canceling: false,
            ended: false,
            kept: None,
            said: None,
            unkept: None,
        }
    }

    fn remember(&mut self, message: Arc<TaskMessage>, most: usize) {
        if self.history.len() >= most.max(1) {
            self.history.remove(0);
        }
        self.history.push(message);
    }

    /// The id of the next artifact that is made of an answer.
    pub(super) fn answer_id(&mut self) -> Arc<str> {
        self.answers = self.answers.saturating_add(1);
        if self.answers == 1 { Arc::from("answer") } else { format!("answer-{}", self.answers).into() }
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("id", &self.id).finish_non_exhaustive()
    }
}
