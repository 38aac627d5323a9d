//! One turn from its grant to its commit.

use std::{fmt, sync::Arc};

use mas_contracts::{
    CallContext, Delivery, End, Error, ErrorKind, EventKind, Message, Part, Record, Reply, Result,
    SessionKey, StoreContract, TurnInput, TurnStatus,
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

/// Runs an admitted turn and returns its reply. `answers` names the waiting turn that it answers.
///
/// # Errors
/// Why the turn failed or was stopped.
pub(crate) async fn drive(
    agent: &Agent,
    cx: &CallContext,
    admitted: &mut Admitted,
    answers: Option<&str>,
    recorder: Option<&Recorder>,
) -> Result<Reply> {
    let parts = admitted.granted(&cx.scope().tree).await?;
    let message = Arc::new(Message::User { parts });
    if let Some(recorder) = recorder {
        let turn = cx.scope().turn.clone();
        let input = message.parts().to_vec();
        recorder.append(&[Record::Turn { turn, input, blueprint: recorder.blueprint.clone() }]).await?;
    }
    let (history, paused) = admitted.open(cx.scope().parent.is_none(), answers);
    cx.emit(EventKind::TurnStarted { input: message.clone() });
    let (mut journal, result) = match paused {
        None => {
            // Most turns are a message and its answer.
            let mut messages = Vec::with_capacity(2);
            messages.push(message.clone());
            let mut journal = Journal::new(cx, admitted, messages);
            let input = TurnInput { turn: cx.scope().turn.clone(), message };
            let fold = Fold { agent, cx, history: &history, input, recorder };
            let result = fold.run(&mut journal).await;
            (journal, result)
        }
        Some(paused) => {
            let Paused { input, messages, done, waiting, .. } = *paused;
            let mut journal = Journal::new(cx, admitted, messages);
            journal.done = done;
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

/// Ends a turn, whichever way, in one order: record, events, commit, reply.
async fn conclude(
    cx: &CallContext,
    journal: &mut Journal<'_>,
    result: Result<Ending>,
    recorder: Option<&Recorder>,
) -> Result<Reply> {
    let mut usage = journal.usage;
    usage += journal.below;
    let (mut result, paused) = match result {
        Ok(Ending::Reply(mut reply)) => {
            reply.usage = usage;
            reply.parts.retain(|part| part.as_text().is_none_or(|text| !text.is_empty()));
            sign(cx, &mut reply);
            answer_joins(journal, &reply);
            (Ok(*reply), None)
        }
        Ok(Ending::Paused(paused)) => match paused.question().cloned() {
            Some(mut question) => {
                // Here the question is this turn's: an answer names this turn, whoever below it asks.
                question.task = Some(cx.scope().turn.clone());
                let mut reply = Reply::done(vec![Part::text(question.question.clone())]);
                reply.task = question.task.clone();
                reply.end = End::Interrupted(question);
                reply.usage = usage;
                (Ok(reply), Some(paused))
            }
            None => (Err(Error::internal("a paused turn has no question")), None),
        },
        Err(error) => (Err(error), None),
    };
    let messages = if paused.is_some() { Vec::new() } else { journal.whole() };
    if let Some(recorder) = recorder {
        let record = ended(cx, &result, messages.clone());
        if let Err(lost) = recorder.append(&[record]).await {
            let lost = match result {
                Ok(_) => lost,
                Err(error) => lost.caused_by(format!("{error:#}")),
            };
            result = Err(lost.with_delivery(Delivery::Answered));
        }
    }
    match &result {
        Ok(Reply { end: End::Interrupted(question), .. }) => cx.emit(EventKind::Question(question.clone())),
        Ok(reply) => cx.emit(EventKind::Answer { parts: reply.parts.clone() }),
        Err(_) => {}
    }
    let error = result.as_ref().err().cloned();
    cx.emit(EventKind::TurnEnded { status: status_of(&result), error, usage: journal.usage });
    match paused {
        Some(paused) if result.is_ok() => journal.pause(paused),
        Some(_) => {
            let messages = journal.whole();
            journal.close(messages);
        }
        None => journal.close(messages),
    }
    journal.admitted().leave(&result);
    result
}

fn status_of(result: &Result<Reply>) -> TurnStatus {
    match result {
        Ok(reply) => match reply.end {
            End::Done => TurnStatus::Completed,
            End::Interrupted(_) => TurnStatus::Interrupted,
            End::Failed(_) => TurnStatus::Failed,
        },
        Err(error) if error.kind() == ErrorKind::Cancelled => TurnStatus::Cancelled,
        Err(_) => TurnStatus::Failed,
    }
}

fn ended(cx: &CallContext, result: &Result<Reply>, messages: Vec<Arc<Message>>) -> Record {
    let question = match result {
        Ok(Reply { end: End::Interrupted(question), .. }) => Some(question.clone()),
        _ => None,
    };
    Record::Ended {
        turn: cx.scope().turn.clone(),
        status: status_of(result),
        messages,
        error: result.as_ref().err().cloned(),
        question,
    }
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
        provider_data: None,
    }) else {
        return;
    };
    // A hand-off leaves calls without results; they are closed before the answer joins.
    journal.messages = journal.whole();
    journal.messages.push(Arc::new(message));
}
