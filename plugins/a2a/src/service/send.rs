//! Messages of callers: answered, or streamed.

use std::sync::{Arc, OnceLock};

use mas_contracts::{CancelReason, TaskMessage};

use super::{
    Inner,
    live::Live,
    outlive::Outlive,
    seen::{Became, Said},
    stream::{Until, follow, once},
    take::Taken,
    turn::Turn,
    view,
};
use crate::model::{
    Caller, Failure, ItemStream, ResponseKind, SendMessage, SendReply, StreamItem, TaskView, Violation,
};

impl Inner {
    /// Answers a message; `seen` is told the task that works on it, as soon as there is one.
    pub(super) async fn sent(
        self: &Arc<Self>,
        caller: &Caller,
        request: SendMessage,
        seen: &OnceLock<Arc<Live>>,
    ) -> Result<SendReply, Failure> {
        let (length, immediately) = (request.history_length, request.return_immediately);
        let is_task = request.kind == Some(ResponseKind::Task);
        let (live, said) = match self.take(caller, request).await? {
            Taken::Turn(mut turn, said) => {
                let live = turn.live().clone();
                let _ = seen.set(live.clone());
                if is_task {
                    // Who asked for a task is given one, however short the turn is.
                    self.publish(&live);
                }
                let ended = turn.start().await;
                // One that waits for somebody goes on from here, with what it asked.
                if !ended || !live.lock().ended {
                    self.publish(&live);
                }
                let (service, id, begun) = (self.clone(), turn.id().clone(), said.clone());
                let work = Outlive::new(async move {
                    match service.begin(turn, ended, begun).await {
                        None => {}
                        Some(turn) if immediately => drop(tokio::spawn(turn.run())),
                        Some(turn) => turn.run().await,
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
        let (message, unkept) = {
            let state = live.lock();
            (state.said.clone(), state.unkept.clone())
        };
        if let Some(failure) = unkept {
            return Err(*failure);
        }
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
        if request.kind.is_some() {
            let wrong = "goes with a message that is not streamed";
            return Err(Failure::invalid(vec![Violation::new("configuration.responseKind", wrong)]));
        }
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
                    if let Some(turn) = service.begin(turn, ended, said).await {
                        tokio::spawn(turn.run());
                    }
                })
                .await;
                let unkept = live.lock().unkept.clone();
                if let Some(failure) = unkept {
                    return Err(*failure);
                }
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

    /// Keeps the task of a turn that went as far as it does without waiting. Returns the turn if it goes on: where
    /// the store does not take its task, it is stopped, and the message was never said.
    async fn begin(&self, turn: Box<Turn>, ended: bool, said: Option<Arc<Said>>) -> Option<Box<Turn>> {
        let live = turn.live().clone();
        self.keep(&live).await;
        if ended {
            return None;
        }
        if live.lock().unkept.is_none() {
            return Some(turn);
        }
        self.stop(&live, vec![turn.id().clone()]);
        self.unsay(said.as_deref(), Some(&live), "the task could not be kept");
        None
    }

    /// Lets the world know of a task.
    pub(super) fn publish(&self, live: &Arc<Live>) {
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

    pub(super) fn drop_fresh(&self, live: &Live) {
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
