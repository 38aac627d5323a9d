//! The model operation.

use std::{sync::Arc, time::Duration};

use mas_contracts::{
    CallContext, CancelReason, ChatRequest, Completion, Error, EventKind, Message, ModelOp, Part, Result,
};

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

/// Calls the model once. The inner result is the model's; the outer one stops the turn.
pub(super) async fn call_model(
    agent: &Agent,
    cx: &CallContext,
    history: &[Arc<Message>],
    turn: &[Arc<Message>],
    op: &ModelOp,
) -> Result<Result<Said>> {
    let began = cx.clock().now();
    if began >= cx.deadline() {
        return Err(CallContext::stopped(CancelReason::Deadline));
    }
    if let Err(spent) = cx.scope().tree.take_model_call() {
        return Ok(Err(spent));
    }
    let cx = cx.next_operation();
    let view = agent.context.view(history);
    let request = ChatRequest {
        model: &agent.model_name,
        system: &agent.system,
        history: &view,
        turn,
        prompt: &op.prompt,
        tools: if op.tools { agent.toolbox.offered() } else { &[] },
        audience: op.audience,
        temperature: agent.temperature,
        max_tokens: agent.max_tokens,
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
    name_calls(&mut completion.calls, history, turn);
    let message = Arc::new(Message::Assistant {
        parts: if completion.text.is_empty() {
            Vec::new()
        } else {
            vec![Part::text(completion.text.clone())]
        },
        reasoning: completion.reasoning.clone(),
        calls: completion.calls.clone(),
    });
    cx.emit(EventKind::ModelEnded {
        message: Some(message.clone()),
        error: None,
        usage: completion.usage,
        latency,
    });
    Ok(Ok(Said { completion: Arc::new(completion), message }))
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
