//! The tools operation: the calls of one model answer, side by side.

use std::{collections::VecDeque, sync::Arc, time::Instant};

use futures_util::{StreamExt, future::join_all, stream::FuturesUnordered};
use mas_contracts::{
    CANCEL_GRACE, CallContext, Conclusion, Delegation, Delivery, End, Error, ErrorKind, EventKind,
    Interruption, Message, Part, Reply, Result, Thread, ThreadName, ToolCall, ToolOutput, Usage,
};

use super::{
    agent::{Agent, OnQuestion, Tool},
    bounded::{OnDrop, Stopped, bounded},
    delegate::{Sending, delegate, refuse},
    journal::arguments_of,
    model::stop_error,
};
use crate::session::{PausedOp, Waiting};

/// What came of the calls.
pub(super) enum Calls {
    /// All have results, in call order.
    Done(Vec<Arc<Message>>),
    /// One of them ends the turn.
    HandOff(Box<Reply>),
    /// Some wait for a person.
    Paused(PausedOp),
}

/// What is planned for one call.
enum Planned {
    Refused(ToolOutput),
    TooMany(Vec<Delegation>),
    Delegations(Vec<(Delegation, Thread)>),
    Tool,
}

enum CallEnd {
    Output(ToolOutput),
    HandOff(Box<Reply>),
    Waiting(Waiting),
}

/// Runs the calls of one model answer.
pub(super) async fn run_calls(
    agent: &Agent,
    cx: &CallContext,
    calls: Vec<ToolCall>,
    below: &mut Usage,
) -> Result<Calls> {
    let plans = plan(agent, cx, &calls);
    let mut ends: Vec<Option<CallEnd>> = Vec::with_capacity(calls.len());
    if let ([call], 1) = (calls.as_slice(), plans.len()) {
        for planned in plans {
            let (end, usage) = run_one(agent, cx, call, planned).await?;
            *below += usage;
            ends.push(Some(end));
        }
    } else {
        ends.resize_with(calls.len(), || None);
        let run = |at: usize, planned: Planned| {
            let call = calls.get(at);
            async move {
                match call {
                    Some(call) => run_one(agent, cx, call, planned).await.map(|end| (at, end)),
                    None => Err(Error::internal("a planned call is not among the calls")),
                }
            }
        };
        let mut queue = plans.into_iter().enumerate();
        let mut under_way = FuturesUnordered::new();
        let mut stop = None;
        loop {
            while stop.is_none()
                && under_way.len() < agent.limits.calls_at_once.max(1)
                && let Some((at, planned)) = queue.next()
            {
                under_way.push(run(at, planned));
            }
            let Some(ended) = under_way.next().await else { break };
            match ended {
                Ok((at, (end, usage))) => {
                    *below += usage;
                    if let Some(slot) = ends.get_mut(at) {
                        *slot = Some(end);
                    }
                }
                // The others end too, each within its grace, so that every one of them tells how.
                Err(error) => {
                    stop.get_or_insert(error);
                }
            }
        }
        if let Some(error) = stop {
            return Err(error);
        }
    }
    Ok(gather(calls, ends))
}

/// Goes on with paused calls: `answer` is for the first that waits.
pub(super) async fn resume_calls(
    agent: &Agent,
    cx: &CallContext,
    calls: Vec<ToolCall>,
    mut results: Vec<Option<Arc<Message>>>,
    mut waiting: VecDeque<(usize, Waiting)>,
    answer: Vec<Part>,
    below: &mut Usage,
) -> Result<Calls> {
    if let Some((at, paused)) = waiting.pop_front()
        && let Some(call) = calls.get(at)
    {
        let (end, usage) = resume_plan(agent, cx, call, paused, answer).await?;
        *below += usage;
        match end {
            CallEnd::HandOff(reply) => return Ok(Calls::HandOff(reply)),
            CallEnd::Waiting(again) => waiting.push_front((at, again)),
            CallEnd::Output(output) => {
                if let Some(slot) = results.get_mut(at) {
                    *slot = Some(result_of(call, output));
                }
            }
        }
    }
    Ok(settle(calls, results, waiting))
}

fn gather(calls: Vec<ToolCall>, ends: Vec<Option<CallEnd>>) -> Calls {
    let mut results = Vec::with_capacity(calls.len());
    let mut waiting = VecDeque::new();
    let mut hand_off = None;
    for (at, (call, end)) in calls.iter().zip(ends).enumerate() {
        results.push(match end {
            Some(CallEnd::Output(output)) => Some(result_of(call, output)),
            Some(CallEnd::HandOff(reply)) => {
                hand_off = hand_off.or(Some(reply));
                None
            }
            Some(CallEnd::Waiting(paused)) => {
                waiting.push_back((at, paused));
                None
            }
            None => None,
        });
    }
    match hand_off {
        Some(reply) => Calls::HandOff(reply),
        None => settle(calls, results, waiting),
    }
}

fn settle(
    calls: Vec<ToolCall>,
    results: Vec<Option<Arc<Message>>>,
    waiting: VecDeque<(usize, Waiting)>,
) -> Calls {
    if waiting.is_empty() {
        Calls::Done(results.into_iter().flatten().collect())
    } else {
        Calls::Paused(PausedOp::Tools { calls, results, waiting })
    }
}

fn result_of(call: &ToolCall, output: ToolOutput) -> Arc<Message> {
    Arc::new(Message::Tool { call: call.id.clone(), name: call.name.clone(), output })
}

/// Decides, in call order, what each call is. The first delegation to a target goes on with its conversation;
/// a further one in the same answer gets a conversation of its own, so that parallel calls never share.
fn plan(agent: &Agent, cx: &CallContext, calls: &[ToolCall]) -> Vec<Planned> {
    let mut targets: Vec<Arc<str>> = Vec::new();
    let mut count = 0;
    let limit = agent.limits.delegations_per_answer;
    calls
        .iter()
        .map(|call| {
            let Some(planned) = agent.toolbox.surface().and_then(|surface| surface.plan(call)) else {
                return Planned::Tool;
            };
            match planned {
                Ok(delegations) if count + delegations.len() > limit => Planned::TooMany(delegations),
                Ok(delegations) => {
                    count += delegations.len();
                    Planned::Delegations(threads(cx, delegations, &mut targets))
                }
                Err(error) => Planned::Refused(ToolOutput::error(error.message())),
            }
        })
        .collect()
}

/// A name that no other call has: call ids are unique in a tree, turns everywhere.
fn once(cx: &CallContext) -> Arc<str> {
    format!("{}.{}", cx.scope().turn, cx.scope().tree.next_call()).into()
}

fn threads(
    cx: &CallContext,
    delegations: Vec<Delegation>,
    targets: &mut Vec<Arc<str>>,
) -> Vec<(Delegation, Thread)> {
    let assign = |delegation: Delegation| {
        let name = match &delegation.thread {
            Some(name) => ThreadName::Named(name.clone()),
            None if targets.contains(&delegation.to) => ThreadName::Once(once(cx)),
            None => {
                targets.push(delegation.to.clone());
                ThreadName::Main
            }
        };
        (delegation, Thread { parent: cx.scope().session.clone(), name })
    };
    delegations.into_iter().map(assign).collect()
}

async fn run_one(
    agent: &Agent,
    cx: &CallContext,
    call: &ToolCall,
    planned: Planned,
) -> Result<(CallEnd, Usage)> {
    match planned {
        Planned::Refused(output) => Ok((CallEnd::Output(output), Usage::default())),
        Planned::TooMany(delegations) => {
            let limit = agent.limits.delegations_per_answer;
            let message = format!(
                "not delegated: one answer may hold {limit} delegations, and this one is beyond them"
            );
            let error = Error::new(ErrorKind::Limit, message).with_code("mas::delegation::too_many");
            for delegation in &delegations {
                refuse(Sending { agent, cx, tool_call: Some(&call.id) }, delegation, &error);
            }
            Ok((CallEnd::Output(ToolOutput::error(error.message())), Usage::default()))
        }
        Planned::Delegations(plan) => {
            let mut usage = Usage::default();
            let end = run_plan(agent, cx, call, plan, Vec::new(), &mut usage).await?;
            Ok((end, usage))
        }
        Planned::Tool => Ok((CallEnd::Output(run_tool(agent, cx, call).await?), Usage::default())),
    }
}

/// Sends what is not sent yet and concludes.
async fn run_plan(
    agent: &Agent,
    cx: &CallContext,
    call: &ToolCall,
    mut plan: Vec<(Delegation, Thread)>,
    mut replies: Vec<Result<Reply>>,
    usage: &mut Usage,
) -> Result<CallEnd> {
    let sending = Sending { agent, cx, tool_call: Some(&call.id) };
    loop {
        let rest = plan.get(replies.len()..).unwrap_or_default();
        if let [(delegation, thread)] = rest {
            replies.push(counted(delegate(sending, delegation, thread, None).await?, usage));
        } else {
            let sends = rest.iter().map(|(delegation, thread)| delegate(sending, delegation, thread, None));
            for reply in join_all(sends).await {
                replies.push(counted(reply?, usage));
            }
        }
        if agent.limits.on_question == OnQuestion::Root
            && let Some((at, question)) = first_question(&replies)
        {
            return Ok(CallEnd::Waiting(Waiting { plan, replies, at, question }));
        }
        let Some(surface) = agent.toolbox.surface() else {
            return Err(Error::internal("a delegation was planned without a surface"));
        };
        match surface.conclude(call, &replies) {
            Conclusion::Done(output) => return Ok(CallEnd::Output(output)),
            Conclusion::HandOff(reply) => return Ok(CallEnd::HandOff(reply)),
            Conclusion::More(more) => {
                let mut targets = plan.iter().map(|(delegation, _)| delegation.to.clone()).collect();
                plan.extend(threads(cx, more, &mut targets));
            }
        }
    }
}

async fn resume_plan(
    agent: &Agent,
    cx: &CallContext,
    call: &ToolCall,
    paused: Waiting,
    answer: Vec<Part>,
) -> Result<(CallEnd, Usage)> {
    let Waiting { plan, mut replies, at, question } = paused;
    let mut usage = Usage::default();
    if let Some((delegation, thread)) = plan.get(at) {
        let sending = Sending { agent, cx, tool_call: Some(&call.id) };
        let delegation = Delegation { parts: answer, ..delegation.clone() };
        let reply = counted(delegate(sending, &delegation, thread, question.task).await?, &mut usage);
        if let Some(slot) = replies.get_mut(at) {
            *slot = reply;
        }
    }
    let end = run_plan(agent, cx, call, plan, replies, &mut usage).await?;
    Ok((end, usage))
}

/// A reply whose usage is counted, once.
fn counted(reply: Result<Reply>, usage: &mut Usage) -> Result<Reply> {
    if let Ok(reply) = &reply {
        *usage += reply.usage;
    }
    reply
}

fn first_question(replies: &[Result<Reply>]) -> Option<(usize, Interruption)> {
    replies.iter().enumerate().find_map(|(at, reply)| match reply {
        Ok(Reply { end: End::Interrupted(question), .. }) => Some((at, question.clone())),
        _ => None,
    })
}

/// Runs one tool. Whatever goes wrong is told to the model; only a cancel stops the turn.
async fn run_tool(agent: &Agent, cx: &CallContext, call: &ToolCall) -> Result<ToolOutput> {
    if let Some(reason) = cx.cancel().reason() {
        return Err(CallContext::stopped(reason).with_delivery(Delivery::NotSent));
    }
    let cx = cx.next_operation();
    cx.emit(EventKind::ToolStarted { call: Arc::new(call.clone()) });
    let began = cx.clock().now();
    let ended = |output: Arc<ToolOutput>| EventKind::ToolEnded {
        id: call.id.clone(),
        name: call.name.clone(),
        output,
        latency: cx.clock().now().saturating_duration_since(began),
    };
    let dropped = OnDrop::new(|| cx.emit(ended(Arc::new(ToolOutput::error("given up")))));
    let result = match agent.toolbox.tool(&call.name) {
        None => Ok(ToolOutput::error(unknown_tool(agent, &call.name))),
        Some(tool) => match refused(tool, call) {
            Some(output) => Ok(output),
            None => run_checked(tool, &cx, call, began).await,
        },
    };
    dropped.disarm();
    let output = match &result {
        Ok(output) => output.clone(),
        Err(error) => ToolOutput::error(error.message()),
    };
    cx.emit(ended(Arc::new(output)));
    result
}

fn refused(tool: &Tool, call: &ToolCall) -> Option<ToolOutput> {
    let Some(arguments) = arguments_of(call) else {
        return Some(ToolOutput::error(format!(
            "the arguments of `{}` must be a JSON object, not {}",
            call.name,
            call.arguments.to_json()
        )));
    };
    tool.mismatch(&arguments).map(|mismatch| {
        ToolOutput::error(format!("the arguments of `{}` do not fit its schema: {mismatch}", call.name))
    })
}

async fn run_checked(tool: &Tool, cx: &CallContext, call: &ToolCall, began: Instant) -> Result<ToolOutput> {
    let deadline = tool.spec.timeout.and_then(|limit| began.checked_add(limit));
    let ended = bounded(cx, deadline, CANCEL_GRACE, tool.source.call(cx, call)).await;
    let error = match ended {
        Ok(Ok(output)) => return Ok(output),
        Ok(Err(error)) => format!("`{}` failed ({}): {error}", call.name, error.kind().as_str()),
        Err(Stopped::Deadline) => {
            let limit = tool.spec.timeout.unwrap_or_default().as_secs_f64();
            format!("`{}` failed (timeout): no result within {limit} s", call.name)
        }
        Err(stopped @ Stopped::Cancelled(_)) => return Err(stop_error(stopped)),
    };
    Ok(ToolOutput::error(error))
}

fn unknown_tool(agent: &Agent, name: &str) -> String {
    let names: Vec<&str> = agent.toolbox.offered().iter().map(|spec| &*spec.name).collect();
    if names.is_empty() {
        return format!("no tool is named `{name}`; this agent has none");
    }
    format!("no tool is named `{name}`; there are: {}", names.join(", "))
}
