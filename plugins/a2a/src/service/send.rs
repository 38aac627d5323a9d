//! Messages of callers.

use std::{sync::Arc, time::Duration};

use mas_contracts::{CancelReason, Part, TaskMessage, TaskScope, TurnRequest};
use serde_json::{Map, Value};

use super::{
    Found, Inner, Options, failure_of,
    live::Live,
    outlive::Outlive,
    seen::{Became, Said, digest},
    stream::{Until, follow, once},
    turn::Turn,
    view,
};
use crate::model::{
    Caller, Failure, ItemStream, Reason, SendMessage, SendReply, StreamItem, TaskView, Violation,
};

/// The longest id that a caller may give, in bytes.
const LONGEST_ID: usize = 1024;

/// What became of a message.
enum Taken {
    /// A turn, of a task that is new or was there.
    Turn(Box<Turn>, Option<Arc<Said>>),
    /// It was taken before, and its task is not over.
    Before(Arc<Live>),
    /// It was taken before, and this came of it.
    Done(SendReply),
}

/// The task that a message is about.
struct Target {
    live: Arc<Live>,
    /// Whether the message begins it.
    fresh: bool,
}

impl Inner {
    pub(super) async fn send(
        self: &Arc<Self>,
        caller: &Caller,
        request: SendMessage,
    ) -> Result<SendReply, Failure> {
        let (length, immediately) = (request.history_length, request.return_immediately);
        let (live, said) = match self.take(caller, request).await? {
            Taken::Turn(mut turn, said) => {
                let live = turn.live().clone();
                let ended = turn.start().await;
                // One that waits for somebody goes on from here, with what it asked.
                if !ended || !live.lock().ended {
                    self.publish(&live);
                }
                let (service, id) = (self.clone(), turn.id().clone());
                let work = Outlive::new(async move {
                    let live = turn.live().clone();
                    service.keep(&live).await;
                    match (ended, immediately) {
                        (true, _) => {}
                        (false, false) => turn.run().await,
                        (false, true) => drop(tokio::spawn(turn.run())),
                    }
                });
                tokio::select! {
                    biased;
                    () = work => {}
                    // The task was ended from outside; the turn goes on without its caller.
                    () = live.overtaken(&id) => {}
                }
                (live, said)
            }
            Taken::Before(live) => (live, None),
            Taken::Done(reply) => return Ok(told(reply, length)),
        };
        if !immediately {
            live.settled().await;
        }
        let message = live.lock().said.clone();
        if let Some(message) = message {
            self.was_message(&live, said.as_deref(), &message);
            return Ok(SendReply::Message(message));
        }
        if let Some(push) = self.kit.push.as_ref()
            && !immediately
            && push.wants(&live.scope, &live.id)
        {
            push.posted(&live.scope, &live.id, self.kit.options.push_wait).await;
        }
        let task = live.task(&mut live.lock());
        Ok(SendReply::Task(view(task, length)))
    }

    pub(super) async fn stream(
        self: &Arc<Self>,
        caller: &Caller,
        request: SendMessage,
    ) -> Result<ItemStream, Failure> {
        let open = self.open_stream()?;
        let length = request.history_length;
        let until = Until::Interrupted;
        match self.take(caller, request).await? {
            Taken::Turn(mut turn, said) => {
                let live = turn.live().clone();
                live.lock().log.keep();
                let first = live.snapshot();
                let ended = turn.start().await;
                let message = live.lock().said.clone();
                if let Some(message) = message {
                    self.was_message(&live, said.as_deref(), &message);
                    return Ok(once(StreamItem::Message(message), open));
                }
                self.publish(&live);
                let service = self.clone();
                Outlive::new(async move {
                    let live = turn.live().clone();
                    service.keep(&live).await;
                    if !ended {
                        tokio::spawn(turn.run());
                    }
                })
                .await;
                Ok(follow(live, first, length, until, open))
            }
            Taken::Before(live) => {
                let first = live.snapshot();
                Ok(follow(live, first, length, until, open))
            }
            Taken::Done(reply) => Ok(once(
                match told(reply, length) {
                    SendReply::Task(task) => StreamItem::Task(task),
                    SendReply::Message(message) => StreamItem::Message(message),
                },
                open,
            )),
        }
    }

    /// Lets a message in as a turn of its task, unless it was let in before.
    async fn take(self: &Arc<Self>, caller: &Caller, request: SendMessage) -> Result<Taken, Failure> {
        if self.closed.load(std::sync::atomic::Ordering::Relaxed) {
            let failure = Failure::new(Reason::Unavailable, "the server is shutting down");
            return Err(failure.retry_after(Duration::from_secs(1)));
        }
        let SendMessage { mut message, push, metadata, .. } = request;
        check(&message, self.card.input_modes())?;
        check_size(&message, &metadata, &self.kit.options)?;
        let scope = self.scope(caller);
        let named = message.context.is_some() || message.task.is_some();
        let target = self.target(&scope, &message).await?;
        let said = named.then(|| {
            let (owner, context) = (scope.owner.clone(), target.live.context.clone());
            Arc::new(Said { owner, context, message: message.id.clone(), digest: digest(&message) })
        });
        if let Some(said) = &said
            && let Some(taken) = self.taken_before(&scope, said, &target).await?
        {
            return Ok(taken);
        }
        let taken = async {
            let over = "too many messages are worked on; try again later";
            let running = self.running.take(self.kit.options.turns).ok_or_else(|| {
                Failure::new(Reason::ResourceExhausted, over).retry_after(Duration::from_secs(1))
            })?;
            let live = &target.live;
            if live.lock().turns.len() > self.kit.options.queue {
                let text = format!("too many messages wait for task `{}`; try again later", live.id);
                let failure = Failure::new(Reason::ResourceExhausted, text).with("taskId", &*live.id);
                return Err(failure.retry_after(Duration::from_secs(1)));
            }
            if let Some(mut config) = push {
                let push = self.push()?;
                config.task = live.id.clone();
                push.create(&scope, config).await?;
            }
            message.context = Some(live.context.clone());
            message.task = Some(live.id.clone());
            let id = said.as_ref().map_or_else(|| live.turn_id(&message.id), |said| said.turn());
            // A message answers the question of its own task, and no other that is open in the conversation.
            let answers = match live.lock().asked.clone() {
                None if named && target.fresh => Some(id.clone()),
                asked => asked,
            };
            let turn = TurnRequest {
                owner: scope.owner.clone(),
                agent: Some(self.agent.clone()),
                session: Some(live.context.clone()),
                turn: Some(id),
                parts: message.parts.clone(),
                task: answers,
                timeout: Some(self.kit.options.turn),
                ancestry: Vec::new(),
                traceparent: caller.traceparent.clone(),
            };
            let ticket = self.host.begin(turn, live.clone()).map_err(|error| failure_of(&error))?;
            if !live.told(Arc::new(message), ticket.key.turn.clone()) {
                return Err(over_already(&live.id));
            }
            Ok(Turn::new(self.clone(), live.clone(), ticket.key, ticket.reply, running))
        }
        .await;
        match taken {
            Ok(turn) => Ok(Taken::Turn(Box::new(turn), said)),
            Err(failure) => {
                if let Some(said) = said {
                    self.seen.forget(&said);
                }
                if target.fresh {
                    self.drop_fresh(&target.live);
                }
                Err(failure)
            }
        }
    }

    /// The task that a message names, or a new one.
    async fn target(&self, scope: &TaskScope, message: &TaskMessage) -> Result<Target, Failure> {
        let Some(id) = &message.task else {
            let context = message.context.clone().unwrap_or_else(|| self.kit.ids.next_id());
            let live = Live::new(self.kit.clone(), scope.clone(), self.kit.ids.next_id(), context);
            return Ok(Target { live: Arc::new(live), fresh: true });
        };
        let (context, found) = match self.live(scope, id).await? {
            Found::Live(live) => (live.context.clone(), Some(live)),
            Found::Over(task) => (task.context.clone(), None),
        };
        if message.context.as_ref().is_some_and(|named| *named != context) {
            let wrong = "is not the conversation of the task";
            return Err(Failure::invalid(vec![Violation::new("message.contextId", wrong)]));
        }
        let live = found.ok_or_else(|| over_already(id))?;
        Ok(Target { live, fresh: false })
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

    /// Lets the world know of a task.
    fn publish(&self, live: &Arc<Live>) {
        {
            let mut state = live.lock();
            state.public = true;
            state.log.keep();
        }
        self.lives.insert(live.clone());
    }

    /// The task was none: a message was all there is.
    fn was_message(&self, live: &Live, said: Option<&Said>, message: &Arc<TaskMessage>) {
        if let Some(said) = said {
            self.seen.became(said, Became::Message(message.clone()));
        }
        self.drop_fresh(live);
    }

    fn drop_fresh(&self, live: &Live) {
        self.lives.remove(&live.id);
        if let Some(push) = &self.kit.push {
            push.forget(&live.scope, &live.id);
        }
    }

    /// Stops the turns of a task.
    pub(super) fn stop(&self, live: &Live, turns: Vec<Arc<str>>) {
        for turn in turns {
            self.host.cancel(&self.key(live, turn), CancelReason::Requested);
        }
    }
}

fn told(reply: SendReply, history_length: Option<u32>) -> SendReply {
    match reply {
        SendReply::Task(task) => SendReply::Task(TaskView { history_length, ..task }),
        message @ SendReply::Message(_) => message,
    }
}

fn over_already(id: &str) -> Failure {
    let text = format!("task `{id}` is over; say it without a task, in the same conversation");
    Failure::new(Reason::UnsupportedOperation, text).with("taskId", id)
}

/// Checks what the types cannot say: lengths of ids, and media types that the agent takes.
fn check(message: &TaskMessage, modes: &[Arc<str>]) -> Result<(), Failure> {
    let ids = [
        ("message.messageId", Some(&message.id)),
        ("message.contextId", message.context.as_ref()),
        ("message.taskId", message.task.as_ref()),
    ];
    let long = ids.into_iter().filter(|(_, id)| id.is_some_and(|id| id.len() > LONGEST_ID));
    let long: Vec<Violation> =
        long.map(|(field, _)| Violation::new(field, format!("is longer than {LONGEST_ID} bytes"))).collect();
    if !long.is_empty() {
        return Err(Failure::invalid(long));
    }
    for (at, part) in message.parts.iter().enumerate() {
        if let Some(media_type) = media_type(part)
            && !modes.is_empty()
            && !modes.iter().any(|mode| takes(mode, media_type))
        {
            let text = format!("part {at} is `{media_type}`, and this agent takes {}", modes.join(", "));
            return Err(Failure::new(Reason::ContentTypeNotSupported, text).with("mediaType", media_type));
        }
    }
    Ok(())
}

/// Checks that a message is not more than the agent takes.
fn check_size(
    message: &TaskMessage,
    metadata: &Map<String, Value>,
    options: &Options,
) -> Result<(), Failure> {
    let mut wrong = Vec::new();
    if message.parts.len() > options.parts {
        wrong.push(Violation::new("message.parts", format!("has more than {} parts", options.parts)));
    }
    for (field, map) in [("metadata", metadata), ("message.metadata", &message.metadata)] {
        // What is not there needs no counting.
        if !map.is_empty() && serde_json::to_string(map).is_ok_and(|text| text.len() > options.metadata) {
            wrong.push(Violation::new(field, format!("is longer than {} bytes", options.metadata)));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(Failure::invalid(wrong)) }
}

fn media_type(part: &Part) -> Option<&str> {
    part.meta.as_ref()?.media_type.as_deref().filter(|media_type| !media_type.is_empty())
}

/// Whether a mode, which may end in `*`, covers a media type; parameters do not count.
fn takes(mode: &str, media_type: &str) -> bool {
    let bare = |text: &str| text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let (mode, media_type) = (bare(mode), bare(media_type));
    match mode.strip_suffix('*') {
        Some(range) => range == "*/" || media_type.starts_with(range),
        None => mode == media_type,
    }
}
