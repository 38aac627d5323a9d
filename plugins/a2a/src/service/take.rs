//! How a message is let in: as a turn of a task that is new or there, unless it came before.

use std::{sync::Arc, time::Duration};

use mas_comm_kit::turn::metadata::{self, Origin};
use mas_contracts::{CancelReason, Error, Part, Task, TaskMessage, TaskScope, TaskState, TurnRequest};

use super::{
    Found, Inner,
    check::check,
    ending::is_refusal,
    failure_of,
    live::Live,
    seen::{Became, Said},
    turn::Turn,
};
use crate::model::{Caller, Failure, Reason, SendMessage, SendReply, TaskView, Violation};

/// What became of a message.
pub(super) enum Taken {
    /// A turn, of a task that is new or was there.
    Turn(Box<Turn>, Option<Arc<Said>>),
    /// It was taken before, and its task is not over.
    Before(Arc<Live>),
    /// It was taken before, and this came of it.
    Done(SendReply),
}

/// What a message is about.
enum Aim {
    /// A task that goes on, or that it begins.
    At(Target),
    /// A task that is over, and that it was said to before.
    Again(Arc<Task>),
}

/// The task that a message is about.
struct Target {
    live: Arc<Live>,
    /// Whether the message begins it.
    fresh: bool,
}

/// A message that is noted, and no turn yet. Dropped before it is one, also by a caller who goes away, it was never
/// said.
struct Pending<'a> {
    inner: &'a Inner,
    target: &'a Target,
    said: Option<Arc<Said>>,
    begun: bool,
}

impl Pending<'_> {
    /// It is a turn now.
    fn begun(mut self) -> Option<Arc<Said>> {
        self.begun = true;
        self.said.take()
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if !self.begun {
            let live = self.target.fresh.then_some(&*self.target.live);
            self.inner.unsay(self.said.as_deref(), live, "the message that began the task was not taken");
        }
    }
}

impl Inner {
    /// Lets a message in as a turn of its task, unless it was let in before.
    pub(super) async fn take(
        self: &Arc<Self>,
        caller: &Caller,
        request: SendMessage,
    ) -> Result<Taken, Failure> {
        if self.closed.load(std::sync::atomic::Ordering::Relaxed) {
            let failure = Failure::new(Reason::Unavailable, "the server is shutting down");
            return Err(failure.retry_after(Duration::from_secs(1)));
        }
        check(&request, self.card.input_modes(), &self.kit.options)?;
        self.check_kind(caller, &request)?;
        let SendMessage { mut message, push, .. } = request;
        let origin = origin_of(&message)?;
        let scope = self.scope(caller);
        let named = message.context.is_some() || message.task.is_some();
        let target = match self.target(&scope, &message).await? {
            Aim::At(target) => target,
            Aim::Again(task) => return Ok(Taken::Done(SendReply::Task(TaskView::whole(task)))),
        };
        let said = named.then(|| Arc::new(Said::of(&scope, &target.live.context, &message)));
        if let Some(said) = &said
            && let Some(taken) = self.taken_before(&scope, said, &target).await?
        {
            return Ok(taken);
        }
        let pending = Pending { inner: self, target: &target, said, begun: false };
        let full = |text| Failure::new(Reason::ResourceExhausted, text).retry_after(Duration::from_secs(1));
        let running = self.running.take(self.kit.options.turns);
        let running = running.ok_or_else(|| full("too many messages are worked on; try again later"))?;
        let live = &target.live;
        if let Some(mut config) = push {
            let push = self.push()?;
            config.task = live.id.clone();
            push.create(&scope, config).await?;
        }
        message.context = Some(live.context.clone());
        message.task = Some(live.id.clone());
        let id = pending.said.as_ref().map_or_else(|| live.turn_id(&message.id), |said| said.turn(&live.id));
        let (asked, turns) = {
            let state = live.lock();
            (state.asked.clone(), state.turns.len())
        };
        if turns > self.kit.options.queue {
            let failure = full("too many messages wait for this task; try again later");
            return Err(failure.with("taskId", &*live.id));
        }
        // A message answers the question of its own task, and no other that is open in the conversation.
        let answers = match asked {
            None if named && target.fresh => Some(id.clone()),
            asked => asked,
        };
        let turn = TurnRequest {
            owner: scope.owner.clone(),
            agent: Some(self.agent.clone()),
            session: Some(live.context.clone()),
            turn: Some(id),
            // Nobody knows the conversation yet.
            unrepeated: !named,
            parts: message.parts.clone(),
            task: answers,
            // What a caller says of itself may only make limits tighter.
            timeout: Some(
                origin.budget.map_or(self.kit.options.turn, |left| left.min(self.kit.options.turn)),
            ),
            ancestry: origin.path,
            depth: origin.depth,
            traceparent: caller.traceparent.clone(),
        };
        let ticket = match self.host.begin(turn, live.clone()) {
            Ok(ticket) => ticket,
            Err(error) if is_refusal(&error) => {
                pending.begun();
                return Ok(Taken::Before(self.refused(target.live, message, &error).await));
            }
            Err(error) => return Err(failure_of(&error)),
        };
        if !live.told(Arc::new(message), ticket.key.turn.clone()) {
            self.host.cancel(&ticket.key, CancelReason::Requested);
            return Err(over_already(&live.id));
        }
        let turn = Turn::new(self.clone(), live.clone(), ticket.key, ticket.reply, running);
        Ok(Taken::Turn(Box::new(turn), pending.begun()))
    }

    /// Ends the task of a message that came through too many agents, or through this one, already.
    async fn refused(&self, live: Arc<Live>, message: TaskMessage, error: &Error) -> Arc<Live> {
        let turn = live.turn_id(&message.id);
        self.publish(&live);
        if live.told(Arc::new(message), turn.clone()) {
            live.turn_ended(&turn, Err(error.clone()));
        }
        self.keep(&live).await;
        live
    }

    /// Forgets a message, and ends the task that it began, for those who came with the same message meanwhile.
    pub(super) fn unsay(&self, said: Option<&Said>, began: Option<&Live>, why: &str) {
        if let Some(said) = said {
            self.seen.forget(said);
        }
        if let Some(live) = began {
            self.drop_fresh(live);
            live.end(TaskState::Rejected, Some(live.message(vec![Part::text(why)])));
        }
    }

    /// The task that a message names, or a new one.
    async fn target(&self, scope: &TaskScope, message: &TaskMessage) -> Result<Aim, Failure> {
        let Some(id) = &message.task else {
            let context = message.context.clone().unwrap_or_else(|| self.kit.ids.next_id());
            let live = Live::new(self.kit.clone(), scope.clone(), self.kit.ids.next_id(), context);
            return Ok(Aim::At(Target { live: Arc::new(live), fresh: true }));
        };
        let found = self.live(scope, id).await?;
        let context = match &found {
            Found::Live(live) => &live.context,
            Found::Over(task) => &task.context,
        };
        if message.context.as_ref().is_some_and(|named| named != context) {
            let wrong = "is not the conversation of the task";
            return Err(Failure::invalid(vec![Violation::new("message.contextId", wrong)]));
        }
        match found {
            Found::Live(live) => Ok(Aim::At(Target { live, fresh: false })),
            Found::Over(task) if self.seen.knows(&Said::of(scope, &task.context, message)) => {
                Ok(Aim::Again(task))
            }
            Found::Over(_) => Err(over_already(id)),
        }
    }

    /// What a message became when it came before; else it is noted, and becomes a message of the target.
    async fn taken_before(
        &self,
        scope: &TaskScope,
        said: &Arc<Said>,
        target: &Target,
    ) -> Result<Option<Taken>, Failure> {
        // One that comes at the same time has to find the task.
        if target.fresh {
            self.lives.insert(target.live.clone());
        }
        let Some(became) = self.seen.note(said, &target.live.id) else { return Ok(None) };
        if target.fresh {
            self.drop_fresh(&target.live);
        }
        match became {
            Became::Message(message) => Ok(Some(Taken::Done(SendReply::Message(message)))),
            Became::Task(id) => match self.live(scope, &id).await? {
                Found::Live(live) => Ok(Some(Taken::Before(live))),
                Found::Over(task) => Ok(Some(Taken::Done(SendReply::Task(TaskView::whole(task))))),
            },
        }
    }
}

/// Where a message comes from, as its metadata says.
fn origin_of(message: &TaskMessage) -> Result<Origin, Failure> {
    let origin = metadata::read(&message.metadata).map_err(|error| {
        Failure::invalid(vec![Violation::new("message.metadata", error.message().to_owned())])
    })?;
    if let (Some(call), Some(root)) = (&origin.caller_call, &origin.correlation) {
        tracing::debug!(message = %message.id, %call, turn = %root, "it comes from a turn elsewhere");
    }
    Ok(origin)
}

fn over_already(id: &str) -> Failure {
    let text = format!("task `{id}` is over; say it without a task, in the same conversation");
    Failure::new(Reason::UnsupportedOperation, text).with("taskId", id)
}
