//! The fold: operations are done as the pattern asks for them, until it finishes.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use futures_util::{StreamExt, stream::FuturesUnordered};
use mas_contracts::{
    CallContext, Completion, Delegation, End, Error, EventKind, Idempotency, Intent, Interruption,
    InterruptionKind, Message, Op, OpDone, OpId, Outcome, Part, Record, Reply, Result, Run, Step, Thread,
    ThreadName, TurnInput, Usage,
};

use super::{
    agent::Agent,
    bounded::bounded,
    calls::{Calls, resume_calls, run_calls},
    delegate::{Sending, delegate},
    drive::Recorder,
    journal::Journal,
    model::{Said, call_model, stop_error},
};
use crate::session::{Paused, PausedOp, Waiting};

/// How a fold ends.
pub(super) enum Ending {
    /// With a reply.
    Reply(Box<Reply>),
    /// Waiting for a person.
    Paused(Box<Paused>),
}

/// What is given to a fold.
pub(super) struct Fold<'a> {
    pub(super) agent: &'a Agent,
    pub(super) cx: &'a CallContext,
    pub(super) history: &'a [Arc<Message>],
    pub(super) input: TurnInput,
    pub(super) recorder: Option<&'a Recorder>,
}

/// An operation to be done: a fresh one, or a paused one with the answer it waited for.
enum Work {
    Fresh(Op),
    Resumed(PausedOp, Vec<Part>),
}

/// What came of an operation.
enum Effect {
    Done(Outcome, Option<Arc<Message>>),
    HandOff(Box<Reply>),
    Paused(PausedOp),
}

impl Fold<'_> {
    /// Runs the turn from its input.
    pub(super) async fn run(&self, journal: &mut Journal<'_>) -> Result<Ending> {
        let (run, step) = self.begin();
        self.go_on(journal, run, step, VecDeque::new()).await
    }

    /// Replays a paused turn and hands `answer` to its first question.
    pub(super) async fn resume(
        &self,
        journal: &mut Journal<'_>,
        mut waiting: VecDeque<(OpId, PausedOp)>,
        answer: Vec<Part>,
    ) -> Result<Ending> {
        let (mut run, mut step) = self.begin();
        for done in &journal.done {
            step = run.on(done);
        }
        let Some((id, op)) = waiting.pop_front() else {
            return self.go_on(journal, run, step, waiting).await;
        };
        let snapshot = journal.messages.clone();
        let (effect, below) = self.perform(&snapshot, id, Work::Resumed(op, answer)).await?;
        journal.below += below;
        match self.absorb(journal, id, effect, &mut waiting).await? {
            Absorbed::Ended(ending) => Ok(ending),
            Absorbed::Waits => self.go_on(journal, run, Step::Do(Vec::new()), waiting).await,
            Absorbed::Done(done) => {
                let step = run.on(&done);
                journal.done.push(done);
                self.go_on(journal, run, step, waiting).await
            }
        }
    }

    fn begin(&self) -> (Box<dyn Run>, Step) {
        self.agent.pattern.begin(&self.input)
    }

    async fn go_on(
        &self,
        journal: &mut Journal<'_>,
        mut run: Box<dyn Run>,
        mut step: Step,
        mut waiting: VecDeque<(OpId, PausedOp)>,
    ) -> Result<Ending> {
        loop {
            let mut ops = match step {
                Step::Finish(reply) => return Ok(Ending::Reply(reply)),
                Step::Fail(error) => return Err(error),
                Step::Do(ops) => ops,
            };
            step = match (ops.pop(), ops.is_empty()) {
                (None, _) if waiting.is_empty() => {
                    return Err(Error::internal("the pattern waits for operations, and none is under way"));
                }
                (None, _) => return Ok(Ending::Paused(self.pause(journal, waiting))),
                (Some((id, op)), true) => {
                    let (effect, below) = self.perform(&journal.messages, id, Work::Fresh(op)).await?;
                    journal.below += below;
                    match self.absorb(journal, id, effect, &mut waiting).await? {
                        Absorbed::Ended(ending) => return Ok(ending),
                        Absorbed::Waits => Step::Do(Vec::new()),
                        Absorbed::Done(done) => {
                            let step = run.on(&done);
                            journal.done.push(done);
                            step
                        }
                    }
                }
                (Some(last), false) => {
                    ops.push(last);
                    match self.side_by_side(journal, &mut *run, ops, &mut waiting).await? {
                        Ok(step) => step,
                        Err(ending) => return Ok(ending),
                    }
                }
            };
        }
    }

    /// Runs several operations at once, those included that the pattern adds meanwhile.
    async fn side_by_side(
        &self,
        journal: &mut Journal<'_>,
        run: &mut dyn Run,
        ops: Vec<(OpId, Op)>,
        waiting: &mut VecDeque<(OpId, PausedOp)>,
    ) -> Result<Result<Step, Ending>> {
        let start = |messages: &[Arc<Message>], id: OpId, op: Op| {
            let snapshot = messages.to_vec();
            async move { (id, self.perform(&snapshot, id, Work::Fresh(op)).await) }
        };
        let mut under_way = FuturesUnordered::new();
        for (id, op) in ops {
            under_way.push(start(&journal.messages, id, op));
        }
        let mut stop = None;
        while let Some((id, effect)) = under_way.next().await {
            let (effect, below) = match effect {
                Ok(done) if stop.is_none() => done,
                Ok(_) => continue,
                // The others end too, each within its grace, so that every one of them tells how.
                Err(error) => {
                    stop.get_or_insert(error);
                    continue;
                }
            };
            journal.below += below;
            let done = match self.absorb(journal, id, effect, waiting).await? {
                Absorbed::Ended(ending) => return Ok(Err(ending)),
                Absorbed::Waits => continue,
                Absorbed::Done(done) => done,
            };
            let step = run.on(&done);
            journal.done.push(done);
            match step {
                Step::Do(more) => {
                    for (id, op) in more {
                        under_way.push(start(&journal.messages, id, op));
                    }
                }
                end => return Ok(Ok(end)),
            }
        }
        match stop {
            Some(error) => Err(error),
            None => Ok(Ok(Step::Do(Vec::new()))),
        }
    }

    async fn perform(&self, messages: &[Arc<Message>], id: OpId, work: Work) -> Result<(Effect, Usage)> {
        let (agent, cx) = (self.agent, self.cx);
        let mut below = Usage::default();
        if let Some(recorder) = self.recorder {
            let (intent, idempotency) = intent_of(agent, &work);
            recorder
                .append(&[Record::Started { turn: cx.scope().turn.clone(), op: id, intent, idempotency }])
                .await?;
        }
        let effect = match work {
            Work::Fresh(Op::Model(op)) => match call_model(agent, cx, self.history, messages, &op).await? {
                Ok(Said { completion, message }) => Effect::Done(Outcome::Model(completion), Some(message)),
                Err(error) => Effect::Done(Outcome::Failed(error), None),
            },
            Work::Fresh(Op::Tools(calls)) => tools(run_calls(agent, cx, calls, &mut below).await?),
            Work::Resumed(PausedOp::Tools { calls, results, waiting }, answer) => {
                // Rare: boxed, so that no turn carries its state.
                let calls = resume_calls(agent, cx, calls, results, waiting, answer, &mut below);
                tools(Box::pin(calls).await?)
            }
            Work::Fresh(Op::Delegate(delegation)) => {
                let thread = Thread {
                    parent: cx.scope().session.clone(),
                    name: delegation.thread.clone().map_or(ThreadName::Main, ThreadName::Named),
                };
                self.delegated(delegation, thread, None, &mut below).await?
            }
            Work::Resumed(PausedOp::Delegate(waiting), answer) => match waiting.plan.into_iter().next() {
                Some((delegation, thread)) => {
                    let delegation = Delegation { parts: answer, ..delegation };
                    self.delegated(delegation, thread, waiting.question.task, &mut below).await?
                }
                None => return Err(Error::internal("a paused delegation has no plan")),
            },
            Work::Fresh(Op::Ask(question)) => Effect::Paused(PausedOp::Ask(Interruption {
                kind: InterruptionKind::Input,
                question,
                agent: cx.scope().agent.clone(),
                task: None,
            })),
            Work::Resumed(PausedOp::Ask(_), answer) => {
                let message = Arc::new(Message::User { parts: answer.clone() });
                Effect::Done(Outcome::Answered(answer), Some(message))
            }
            Work::Fresh(Op::Say { audience, text }) => {
                cx.emit_text(audience, text);
                Effect::Done(Outcome::Unit, None)
            }
            Work::Fresh(Op::Artifact(artifact)) => {
                cx.emit(EventKind::ArtifactChunk { artifact, append: false, last: true });
                Effect::Done(Outcome::Unit, None)
            }
            Work::Fresh(Op::Wait(time)) => {
                let wait = cx.clock().now().checked_add(time).map(|at| cx.clock().sleep_until(at));
                if let Some(wait) = wait {
                    bounded(cx, None, Duration::ZERO, wait).await.map_err(stop_error)?;
                }
                Effect::Done(Outcome::Unit, None)
            }
        };
        Ok((effect, below))
    }

    async fn delegated(
        &self,
        delegation: Delegation,
        thread: Thread,
        task: Option<Arc<str>>,
        below: &mut Usage,
    ) -> Result<Effect> {
        let sending = Sending { agent: self.agent, cx: self.cx, tool_call: None };
        let reply = match delegate(sending, &delegation, &thread, task).await? {
            Ok(reply) => reply,
            Err(error) => return Ok(Effect::Done(Outcome::Failed(error), None)),
        };
        *below += reply.usage;
        if let End::Interrupted(question) = &reply.end {
            let question = question.clone();
            let waiting =
                Waiting { plan: vec![(delegation, thread)], replies: vec![Ok(reply)], at: 0, question };
            return Ok(Effect::Paused(PausedOp::Delegate(waiting)));
        }
        Ok(Effect::Done(Outcome::Delegated(Box::new(reply)), None))
    }

    /// Takes an effect into the journal.
    async fn absorb(
        &self,
        journal: &mut Journal<'_>,
        id: OpId,
        effect: Effect,
        waiting: &mut VecDeque<(OpId, PausedOp)>,
    ) -> Result<Absorbed> {
        let (outcome, message) = match effect {
            Effect::Done(outcome, message) => (outcome, message),
            Effect::HandOff(reply) => return Ok(Absorbed::Ended(Ending::Reply(reply))),
            Effect::Paused(op) => {
                waiting.push_back((id, op));
                return Ok(Absorbed::Waits);
            }
        };
        match &outcome {
            Outcome::Model(completion) => journal.usage += usage_of(completion),
            Outcome::Tools(results) => journal.messages.extend(results.iter().cloned()),
            _ => {}
        }
        // A model that says nothing and asks for nothing leaves no message behind.
        journal.messages.extend(message.filter(|m| !m.parts().is_empty() || !m.calls().is_empty()));
        let done = OpDone { op: id, outcome };
        if let Some(recorder) = self.recorder {
            recorder
                .append(&[Record::Done { turn: self.cx.scope().turn.clone(), done: done.clone() }])
                .await?;
        }
        Ok(Absorbed::Done(done))
    }

    fn pause(&self, journal: &mut Journal<'_>, waiting: VecDeque<(OpId, PausedOp)>) -> Box<Paused> {
        Box::new(Paused {
            turn: self.cx.scope().turn.clone(),
            input: self.input.clone(),
            messages: journal.messages.clone(),
            done: std::mem::take(&mut journal.done),
            waiting,
        })
    }
}

/// What became of an effect.
enum Absorbed {
    Done(OpDone),
    Waits,
    Ended(Ending),
}

fn usage_of(completion: &Completion) -> Usage {
    completion.usage
}

fn tools(calls: Calls) -> Effect {
    match calls {
        Calls::Done(results) => Effect::Done(Outcome::Tools(results), None),
        Calls::HandOff(reply) => Effect::HandOff(reply),
        Calls::Paused(op) => Effect::Paused(op),
    }
}

fn intent_of(agent: &Agent, work: &Work) -> (Intent, Idempotency) {
    let calls =
        |calls: &[mas_contracts::ToolCall]| Intent::Tools(calls.iter().map(|call| call.id.clone()).collect());
    match work {
        Work::Fresh(Op::Model(_)) => (Intent::Model, Idempotency::Rerun),
        Work::Fresh(Op::Tools(all)) | Work::Resumed(PausedOp::Tools { calls: all, .. }, _) => {
            (calls(all), rerun_of(agent, all))
        }
        Work::Fresh(Op::Delegate(delegation)) => {
            (Intent::Delegate(delegation.to.clone()), Idempotency::Attach)
        }
        Work::Resumed(PausedOp::Delegate(waiting), _) => {
            let to = waiting.plan.first().map_or_else(|| "".into(), |(delegation, _)| delegation.to.clone());
            (Intent::Delegate(to), Idempotency::Attach)
        }
        Work::Fresh(Op::Ask(_)) | Work::Resumed(PausedOp::Ask(_), _) => (Intent::Ask, Idempotency::Rerun),
        Work::Fresh(Op::Say { .. } | Op::Artifact(_) | Op::Wait(_)) => (Intent::Local, Idempotency::Rerun),
    }
}

/// What may happen to these calls in doubt: the most careful of what each of them allows.
fn rerun_of(agent: &Agent, calls: &[mas_contracts::ToolCall]) -> Idempotency {
    let of = |call: &mas_contracts::ToolCall| match agent.toolbox.tool(&call.name) {
        Some(tool) if tool.spec.idempotent => Idempotency::Rerun,
        Some(_) => Idempotency::Ask,
        None => Idempotency::Attach,
    };
    let all: Vec<Idempotency> = calls.iter().map(of).collect();
    let first = |wanted| all.contains(&wanted).then_some(wanted);
    first(Idempotency::Ask).or_else(|| first(Idempotency::Attach)).unwrap_or(Idempotency::Rerun)
}
