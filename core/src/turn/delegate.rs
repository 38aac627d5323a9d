//! One delegation: limits, events, bounds.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use mas_contracts::{
    CallContext, CancelReason, Delegation, Delivery, End, Error, ErrorKind, EventKind, Outbound, Reply,
    Result, TaskState, Thread, text_of,
};

use super::{
    agent::{Agent, Route},
    bounded::{OnDrop, Stopped, bounded},
};

/// How long a backend may take to end by itself after a cancel.
pub(crate) const CANCEL_GRACE: Duration = Duration::from_millis(100);

/// What a delegation is sent with, beside its plan.
#[derive(Clone, Copy)]
pub(super) struct Sending<'a> {
    pub(super) agent: &'a Agent,
    pub(super) cx: &'a CallContext,
    /// The tool call that asked for it.
    pub(super) tool_call: Option<&'a Arc<str>>,
}

/// Sends one delegation. The inner result is the peer's; the outer one stops the turn.
pub(super) async fn delegate(
    sending: Sending<'_>,
    delegation: &Delegation,
    thread: &Thread,
    task: Option<Arc<str>>,
) -> Result<Result<Reply>> {
    let Sending { agent, cx, tool_call } = sending;
    let to = &delegation.to;
    let route = agent.routes.get(to);
    let began = cx.clock().now();
    let cx = cx.next_operation().within(began, agent.limits.delegation);
    let name = route.map_or_else(|| Arc::from("none"), |route| route.name.clone());
    cx.emit(EventKind::DelegationStarted {
        to: to.clone(),
        route: name.clone(),
        tool_call: tool_call.cloned(),
        task: text_of(&delegation.parts),
    });
    let ended = |state, error| EventKind::DelegationEnded {
        to: to.clone(),
        route: name.clone(),
        tool_call: tool_call.cloned(),
        state,
        error,
        latency: cx.clock().now().saturating_duration_since(began),
    };
    let dropped = OnDrop::new(|| {
        let error = CallContext::stopped(CancelReason::Abandoned);
        cx.emit(ended(TaskState::Canceled, Some(error)));
    });
    let result = match permitted(&cx, to, route) {
        Ok(route) => {
            let message = Outbound {
                parts: delegation.parts.clone(),
                message_id: format!("{}.{}", cx.scope().turn, cx.call()).into(),
                thread: thread.clone(),
                task,
            };
            let send = AssertUnwindSafe(route.comm.send(&cx, &route.peer, message)).catch_unwind();
            match bounded(&cx, Some(cx.deadline()), CANCEL_GRACE, send).await {
                Ok(Ok(result)) => result,
                Ok(Err(_)) => Err(Error::internal(format!("the backend of `{to}` panicked"))
                    .with_code("mas::delegation::panic")
                    .with_delivery(Delivery::Unknown)),
                Err(Stopped::Deadline) => Err(timed_out(to, cx.deadline().saturating_duration_since(began))),
                Err(Stopped::Cancelled(reason)) => Err(CallContext::stopped(reason)),
            }
        }
        Err(error) => Err(error),
    };
    let state = match &result {
        Ok(reply) => match &reply.end {
            End::Done => TaskState::Completed,
            End::Interrupted(question) => match question.kind {
                mas_contracts::InterruptionKind::Input => TaskState::InputRequired,
                mas_contracts::InterruptionKind::Auth => TaskState::AuthRequired,
            },
            End::Failed(state) => *state,
        },
        Err(error) if error.kind() == ErrorKind::Cancelled => TaskState::Canceled,
        Err(_) => TaskState::Failed,
    };
    dropped.disarm();
    let error = match &result {
        Ok(reply) => failure(to, reply),
        Err(error) => Some(error.clone()),
    };
    cx.emit(ended(state, error));
    match cx.cancel().reason() {
        Some(reason) if result.is_err() => Err(CallContext::stopped(reason)),
        _ => Ok(result),
    }
}

/// Tells of a delegation that is not sent.
pub(super) fn refuse(sending: Sending<'_>, delegation: &Delegation, error: &Error) {
    let cx = sending.cx.next_operation();
    let route: Arc<str> =
        sending.agent.routes.get(&delegation.to).map_or("none".into(), |route| route.name.clone());
    let tool_call = sending.tool_call.cloned();
    cx.emit(EventKind::DelegationStarted {
        to: delegation.to.clone(),
        route: route.clone(),
        tool_call: tool_call.clone(),
        task: text_of(&delegation.parts),
    });
    cx.emit(EventKind::DelegationEnded {
        to: delegation.to.clone(),
        route,
        tool_call,
        state: TaskState::Failed,
        error: Some(error.clone()),
        latency: Duration::ZERO,
    });
}

/// The route to `to`, if this turn may take it.
fn permitted<'a>(cx: &CallContext, to: &str, route: Option<&'a Route>) -> Result<&'a Route> {
    let route = route.ok_or_else(|| {
        Error::new(ErrorKind::NotFound, format!("`{to}` is none of this agent's delegates"))
            .with_code("mas::delegation::unknown")
    })?;
    let scope = cx.scope();
    if scope.passes_through(to) {
        let path = arrows(cx, to);
        return Err(Error::new(ErrorKind::Loop, format!("delegation would loop: {path}"))
            .with_code("mas::delegation::loop")
            .with("path", path));
    }
    let limit = scope.tree.limits().depth;
    if scope.depth >= limit {
        let path = arrows(cx, to);
        return Err(Error::new(
            ErrorKind::Limit,
            format!("delegation is deeper than {limit} levels: {path}"),
        )
        .with_code("mas::delegation::depth")
        .with("path", path));
    }
    Ok(route)
}

fn arrows(cx: &CallContext, to: &str) -> String {
    let mut path = cx.scope().path();
    path.push(to.into());
    path.join(" -> ")
}

fn timed_out(to: &str, limit: Duration) -> Error {
    Error::new(ErrorKind::Timeout, format!("no reply of `{to}` within {} s", limit.as_secs_f64()))
        .with_code("mas::delegation::timeout")
        .with_delivery(Delivery::Unknown)
}

/// The error that a failed reply stands for.
fn failure(to: &str, reply: &Reply) -> Option<Error> {
    let End::Failed(state) = reply.end else { return None };
    let kind = match state {
        TaskState::Rejected => ErrorKind::Rejected,
        TaskState::Canceled => ErrorKind::Cancelled,
        _ => ErrorKind::Failed,
    };
    let reason = reply.text();
    let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    Some(
        Error::new(kind, format!("`{to}` ended {}{reason}", state.as_str()))
            .with_delivery(Delivery::Answered)
            .with_code(format!("mas::delegation::{}", state.as_str())),
    )
}
