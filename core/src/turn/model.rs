//! The model operation.

use std::{sync::Arc, time::Duration};

use mas_contracts::{
    CONTEXT_LENGTH, CallContext, CancelReason, ChatRequest, Completion, Delivery, Error, ErrorKind,
    EventKind, Message, ModelOp, Part, Result,
};
use serde_json::Value;

use super::{
    agent::Agent,
    bounded::{OnDrop, Stopped, bounded},
    journal::name_calls,
};

/// What a model call gave: the completion, with its message for the turn.
pub(super) struct Said {
    pub(super) completion: Arc<Completion>,
    pub(super) message: Arc<Message>,
}

/// Calls the model. A request that is longer than it takes is made once more with less of the past. The inner
/// result is the model's; the outer one stops the turn.
pub(super) async fn call_model(
    agent: &Agent,
    cx: &CallContext,
    history: &[Arc<Message>],
    turn: &[Arc<Message>],
    op: &ModelOp,
) -> Result<Result<Said>> {
    let view = agent.context.view(history);
    let error = match ask(agent, cx, history, &view, turn, op).await? {
        Err(error) if error.code() == CONTEXT_LENGTH => error,
        other => return Ok(other),
    };
    let Some(shorter) = later_half(&view) else { return Ok(Err(too_long(&error))) };
    let left = view.len() - shorter.len();
    cx.emit(EventKind::Notice {
        text: format!(
            "the conversation is too long for the model; asking again without its first {left} messages"
        )
        .into(),
    });
    // Rare: boxed, so that no turn carries its state.
    match Box::pin(ask(agent, cx, history, shorter, turn, op)).await? {
        Err(error) if error.code() == CONTEXT_LENGTH => Ok(Err(too_long(&error))),
        other => Ok(other),
    }
}

/// The later half of the past, from a user's message on, so that no call is parted from its result.
fn later_half(view: &[Arc<Message>]) -> Option<&[Arc<Message>]> {
    let half = view.len().div_ceil(2);
    let is_user = |message: &Arc<Message>| matches!(**message, Message::User { .. });
    let from = view.iter().enumerate().skip(half).find(|(_, message)| is_user(message));
    match from {
        _ if view.is_empty() => None,
        Some((at, _)) => view.get(at..),
        None => Some(&[]),
    }
}

fn too_long(error: &Error) -> Error {
    let message = "the conversation is longer than the model takes, even without most of its past; \
                   begin a new session, or give the agent a context manager that shows less";
    Error::invalid(message).with_code(CONTEXT_LENGTH).caused_by(error)
}

/// Asks once, showing `view` of the past.
async fn ask(
    agent: &Agent,
    cx: &CallContext,
    history: &[Arc<Message>],
    view: &[Arc<Message>],
    turn: &[Arc<Message>],
    op: &ModelOp,
) -> Result<Result<Said>> {
    let began = cx.clock().now();
    if let Some(reason) = cx.cancel().reason() {
        return Err(CallContext::stopped(reason).with_delivery(Delivery::NotSent));
    }
    if began >= cx.deadline() {
        return Err(CallContext::stopped(CancelReason::Deadline));
    }
    if let Err(spent) = cx.scope().tree.take_model_call() {
        return Ok(Err(spent));
    }
    let cx = cx.next_operation();
    let request = ChatRequest {
        model: &agent.model_name,
        system: &agent.system,
        history: view,
        turn,
        prompt: &op.prompt,
        tools: if op.tools { agent.toolbox.offered() } else { &[] },
        audience: op.audience,
        temperature: agent.temperature,
        max_tokens: agent.max_tokens,
        output_schema: op.output_schema.as_deref(),
    };
    let messages = view.len() + turn.len() + op.prompt.len();
    cx.emit(EventKind::ModelStarted { model: agent.model_name.clone(), messages });
    let dropped = OnDrop::new(|| {
        let latency = cx.clock().now().saturating_duration_since(began);
        cx.emit(ended(None, Some(CallContext::stopped(CancelReason::Abandoned)), latency));
    });
    let result = bounded(&cx, None, Duration::ZERO, agent.model.chat(&cx, request)).await;
    dropped.disarm();
    let latency = cx.clock().now().saturating_duration_since(began);
    let result = match result {
        Ok(result) => result,
        Err(stopped) => {
            let error = stop_error(stopped);
            cx.emit(ended(None, Some(error.clone()), latency));
            return Err(error);
        }
    };
    let mut completion = match result {
        Ok(completion) => completion,
        Err(error) => {
            cx.emit(ended(None, Some(error.clone()), latency));
            return Ok(Err(error));
        }
    };
    completion.usage.model_calls = 1;
    cx.scope().tree.spend(&completion.usage);
    if let Some(error) = op.output_schema.as_ref().and_then(|schema| misfit(schema, &completion)) {
        cx.emit(EventKind::ModelEnded {
            message: None,
            error: Some(error.clone()),
            usage: completion.usage,
            latency,
        });
        return Ok(Err(error));
    }
    name_calls(&mut completion.calls, history, turn);
    let message = Arc::new(Message::Assistant {
        parts: if completion.text.is_empty() {
            Vec::new()
        } else {
            vec![Part::text(completion.text.clone())]
        },
        reasoning: completion.reasoning.clone(),
        calls: completion.calls.clone(),
        provider_data: completion.provider_data.clone(),
    });
    cx.emit(EventKind::ModelEnded {
        message: Some(message.clone()),
        error: None,
        usage: completion.usage,
        latency,
    });
    Ok(Ok(Said { completion: Arc::new(completion), message }))
}

/// How a text differs from the schema that was asked for. An answer that asks for tools has no text to check.
fn misfit(schema: &Value, completion: &Completion) -> Option<Error> {
    if !completion.calls.is_empty() {
        return None;
    }
    let error = |why: String| {
        Error::new(ErrorKind::Failed, format!("the model's answer does not fit the output schema: {why}"))
            .with_code("mas::model::output_schema")
            .with_delivery(Delivery::Answered)
    };
    let check = match jsonschema::validator_for(schema) {
        Ok(check) => check,
        Err(why) => return Some(Error::invalid(format!("the output schema is no JSON schema: {why}"))),
    };
    match serde_json::from_str::<Value>(&completion.text) {
        Err(why) => Some(error(format!("it is no JSON ({why})"))),
        Ok(value) => {
            check.validate(&value).err().map(|why| error(format!("{why} at `{}`", why.instance_path())))
        }
    }
}

fn ended(message: Option<Arc<Message>>, error: Option<Error>, latency: Duration) -> EventKind {
    EventKind::ModelEnded { message, error, usage: mas_contracts::Usage::default(), latency }
}

/// The error of an operation that was stopped.
pub(crate) fn stop_error(stopped: Stopped) -> Error {
    match stopped {
        Stopped::Deadline => CallContext::stopped(mas_contracts::CancelReason::Deadline),
        Stopped::Cancelled(reason) => CallContext::stopped(reason),
    }
}
