//! One turn from its grant to its commit.

use std::{fmt, sync::Arc};

use mas_contracts::{
    CallContext, End, Error, ErrorKind, EventKind, Message, Record, Reply, Result, SessionKey, StoreContract,
    TurnStatus,
};

use super::{
    agent::Agent,
    fold::{Ending, Fold},
    journal::Journal,
};
use crate::session::{Admitted, Paused};

/// Where a turn's records go.
pub(crate) struct Recorder {
    pub(crate) store: Arc<dyn StoreContract>,
    pub(crate) session: SessionKey,
    pub(crate) blueprint: Arc<str>,
}

impl Recorder {
    /// Appends records; a turn that cannot be recorded does not go on.
    pub(super) async fn append(&self, records: &[Record]) -> Result<()> {
        self.store.append(&self.session, records).await
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("session", &self.session).finish_non_exhaustive()
    }
}

/// Runs an admitted turn and returns its reply.
///
/// # Errors
/// Why the turn failed or was stopped.
pub(crate) async fn drive(
    agent: &Agent,
    cx: &CallContext,
    admitted: &mut Admitted,
    recorder: Option<&Recorder>,
) -> Result<Reply> {
    let parts = admitted.granted(&cx.scope().tree).await?;
    let (history, paused) = admitted.open();
    let message = Arc::new(Message::User { parts });
    cx.emit(EventKind::TurnStarted { input: message.clone() });
    if let Some(recorder) = recorder {
        let turn = cx.scope().turn.clone();
        let input = message.parts().to_vec();
        recorder.append(&[Record::Turn { turn, input, blueprint: recorder.blueprint.clone() }]).await?;
    }
    let (mut journal, result) = match paused {
        None => {
            let mut journal = Journal::new(cx, admitted, vec![message.clone()]);
            let fold = Fold { agent, cx, history: &history, input: message, recorder };
            let result = fold.run(&mut journal).await;
            (journal, result)
        }
        Some(paused) => {
            let Paused { input, messages, done, waiting, usage } = *paused;
            let mut journal = Journal::new(cx, admitted, messages);
            journal.done = done;
            journal.below = usage;
            let fold = Fold { agent, cx, history: &history, input, recorder };
            // Rare: boxed, so that no turn carries its state.
            let result = Box::pin(fold.resume(&mut journal, waiting, message.parts().to_vec())).await;
            (journal, result)
        }
    };
    // The commit adds to the history in place, unless somebody else holds it.
    drop(history);
    conclude(cx, &mut journal, result, recorder).await
}

async fn conclude(
    cx: &CallContext,
    journal: &mut Journal<'_>,
    result: Result<Ending>,
    recorder: Option<&Recorder>,
) -> Result<Reply> {
    let mut usage = journal.usage;
    usage += journal.below;
    let (status, result, question) = match result {
        Ok(Ending::Reply(mut reply)) => {
            reply.usage = usage;
            sign(cx, &mut reply);
            answer_joins(journal, &reply);
            let status = match reply.end {
                End::Done => TurnStatus::Completed,
                End::Interrupted(_) => TurnStatus::Interrupted,
                End::Failed(_) => TurnStatus::Failed,
            };
            cx.emit(EventKind::Answer { parts: reply.parts.clone() });
            (status, Ok(*reply), None)
        }
        Ok(Ending::Paused(paused)) => {
            let Some(question) = paused.question().cloned() else {
                return Err(Error::internal("a paused turn has no question"));
            };
            cx.emit(EventKind::Question(question.clone()));
            let mut reply = Reply::done(vec![mas_contracts::Part::text(question.question.clone())]);
            reply.end = End::Interrupted(question.clone());
            reply.usage = usage;
            journal.pause(paused);
            (TurnStatus::Interrupted, Ok(reply), Some(question))
        }
        Err(error) if error.kind() == ErrorKind::Cancelled => (TurnStatus::Cancelled, Err(error), None),
        Err(error) => (TurnStatus::Failed, Err(error), None),
    };
    let messages = if question.is_some() { Vec::new() } else { journal.whole() };
    let error = result.as_ref().err().cloned();
    if let Some(recorder) = recorder {
        let turn = cx.scope().turn.clone();
        let record =
            Record::Ended { turn, status, messages: messages.clone(), error: error.clone(), question };
        recorder.append(&[record]).await?;
    }
    journal.admitted().leave(&result);
    if status != TurnStatus::Interrupted || !messages.is_empty() {
        journal.close(messages);
    }
    cx.emit(EventKind::TurnEnded { status, error, usage: journal.usage });
    result
}

/// A question that names no agent is this agent's.
fn sign(cx: &CallContext, reply: &mut Reply) {
    if let End::Interrupted(question) = &mut reply.end
        && question.agent.is_empty()
    {
        question.agent = cx.scope().agent.clone();
    }
}

/// The answer joins the turn unless the model's last message is it already.
fn answer_joins(journal: &mut Journal<'_>, reply: &Reply) {
    let is_last = journal.messages.last().is_some_and(|last| match &**last {
        Message::Assistant { parts, calls, .. } => calls.is_empty() && *parts == reply.parts,
        _ => false,
    });
    let Some(message) = (!is_last && !reply.parts.is_empty()).then(|| Message::Assistant {
        parts: reply.parts.clone(),
        reasoning: None,
        calls: Vec::new(),
    }) else {
        return;
    };
    // A hand-off leaves calls without results; they are closed before the answer joins.
    journal.messages = journal.whole();
    journal.messages.push(Arc::new(message));
}
