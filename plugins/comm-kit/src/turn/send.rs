//! How the message goes out, and when it may go out again.

use std::sync::Arc;

use mas_contracts::{ErrorKind, EventKind, Outbound, Result, Speaker, TaskMessage};

use super::{
    Ask, Update, Updates,
    failure::Rung,
    ladder::{Conversation, Ladder},
    metadata,
    opening::{Opened, open},
};
use crate::ContextIds;

impl Ladder<'_> {
    /// Sends the message and takes in the first word on it; returns what follows, if it is a stream.
    ///
    /// It is sent again only where the agent proves that nothing was executed, and each way once: without a stream, and
    /// without the id of the conversation.
    pub(super) async fn send(&mut self, outbound: Outbound) -> Result<Option<Box<dyn Updates>>> {
        self.rung = Rung::Send;
        let policy = &self.engine.policy;
        let key = ContextIds::key(self.cx, &outbound.thread, &self.agent);
        let context = self.engine.contexts.get(&self.agent, &key);
        let mut message = TaskMessage {
            id: outbound.message_id,
            from: Speaker::User,
            context: context.id,
            task: outbound.task.filter(|_| policy.resume_interrupted),
            parts: outbound.parts,
            metadata: metadata::write(self.cx),
            extensions: Vec::new(),
            references: Vec::new(),
        };
        let ask = Ask {
            output_modes: policy.output_modes.clone(),
            history_length: Some(0),
            traceparent: self.cx.scope().tree.traceparent().cloned(),
        };
        // A conversation that went on before may not begin anew unnoticed, nor one that has to be this one elsewhere.
        let mut may_rename = !context.is_fixed && (context.is_first || message.task.is_some());
        let mut streams = policy.stream && self.upstream.streams();
        loop {
            let out = Arc::new(message.clone());
            let opening = open(self.upstream.clone(), out, ask.clone(), streams);
            let error = match self.guard.open(Box::pin(opening)).await {
                Ok(opened) => {
                    self.conversation = Some(Conversation { key, id: message.context, settled: false });
                    return self.opened(opened);
                }
                Err(error) => error,
            };
            let names_nothing = message.task.is_none();
            match error.kind() {
                _ if !error.may_resend() => {
                    self.conversation = Some(Conversation { key, id: message.context, settled: false });
                    let arrived = match &message.task {
                        Some(task) => self.has_gone_on(task).await?,
                        None => false,
                    };
                    return if arrived { Ok(None) } else { Err(self.told(&error)) };
                }
                ErrorKind::Unsupported | ErrorKind::NotFound if streams => streams = false,
                ErrorKind::NotFound if !names_nothing => return Err(self.told(&error)),
                ErrorKind::Invalid | ErrorKind::NotFound if may_rename && message.context.is_some() => {
                    let agent = &self.agent;
                    tracing::info!(%agent, "the agent refuses the id of the conversation; it is to give one");
                    message.context = None;
                    may_rename = false;
                }
                _ => return Err(self.told(&error)),
            }
        }
    }

    /// Whether a task that waited for the message goes on, so that the message has arrived, whatever became of its
    /// answer. One that still waits tells nothing.
    async fn has_gone_on(&mut self, task: &Arc<str>) -> Result<bool> {
        let Some(Ok(found)) = self.look(task).await else { return Ok(false) };
        if found.status.state.is_interrupted() {
            return Ok(false);
        }
        self.take(Update::Task(found))?;
        Ok(true)
    }

    fn opened(&mut self, opened: Opened) -> Result<Option<Box<dyn Updates>>> {
        match opened {
            Opened::Answer(answer) => {
                let mut events: Vec<EventKind> = Vec::new();
                let taken = self.fold.answer(answer, &mut events);
                self.after(taken, events)?;
                Ok(None)
            }
            Opened::Stream { first, rest } => {
                self.take(first)?;
                Ok((!self.fold.take_closed()).then_some(rest))
            }
        }
    }
}
