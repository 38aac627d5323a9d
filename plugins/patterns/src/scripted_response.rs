//! `scripted_response`: answers by rules, without a model.
//!
//! The first rule whose conditions hold decides, else `default`. Its response is played in order: the stream
//! chunks, the artifacts, the delay, the end.
//!
//! | `task_state` | the turn |
//! |---|---|
//! | `completed` (the default) | ends with the text |
//! | `working` | the same; `delay_ms` says how long it works before |
//! | `input_required` | asks the text; the answer is matched, under the id of the turn that asked, against the rules that have a `prompt`, then `default`, and ends the turn if nothing asks again |
//! | `auth_required` | ends interrupted, waiting for credentials |
//! | `rejected`, `failed` | ends in that state, with the text |
//!
//! Where there are tasks (A2A), a `text` without state, artifacts and chunks is a message without a task; beside
//! them it is the message of the task's status; without it, the chunks are an artifact. `echo: true` stands for a
//! `text` that repeats what was sent.
//!
//! `finish_reason` says the same in the words of a model (`stop`, `error`, `cancelled`) and counts only where
//! `task_state` is absent. Without `text`, the text is the chunks together.

mod params;

use std::{borrow::Cow, collections::VecDeque, sync::Arc, time::Duration};

use mas_contracts::{
    Artifact, Audience, Build, Builder, Descriptor, End, Error, ErrorKind, Interruption, InterruptionKind,
    Op, OpDone, OpId, Outcome, Part, PatternContract, Reply, Run, Step, TaskState, TurnInput, check_params,
    inventory, parse_params, schema_of, text_of,
};

use crate::unexpected;
use params::{FinishReason, Params, Response, State};

inventory::submit! {
    Descriptor {
        name: Cow::Borrowed("scripted_response"),
        aliases: Cow::Borrowed(&["scripted_response@v1"]),
        origin: Cow::Borrowed(env!("CARGO_PKG_NAME")),
        version: Cow::Borrowed(env!("CARGO_PKG_VERSION")),
        summary: Cow::Borrowed("Answers by rules, without a model."),
        example: Cow::Borrowed(
            "design_pattern:\n  type: scripted_response\n  params:\n    rules:\n      - prompt: ping\n        \
             response: {text: pong}\n    default: {text: \"I only know ping.\"}\n",
        ),
        schema: schema_of::<Params>,
        check: |params| {
            let problems = check_params::<Params>(params);
            if !problems.is_empty() {
                return problems;
            }
            parse_params::<Params>(params).map(|params| params.problems()).unwrap_or_default()
        },
        builder: Builder::Pattern(Build::Linked(|_, params| {
            let params: Params = parse_params(params)?;
            match params.problems().first() {
                None => Ok(Arc::new(ScriptedResponse { script: Arc::new(params) })),
                Some(problem) => Err(Error::invalid(format!("`{}`: {}", problem.path, problem.message))
                    .with_code("mas::params::invalid")),
            }
        })),
    }
}

/// The pattern `scripted_response`.
#[derive(Clone, Debug)]
pub struct ScriptedResponse {
    script: Arc<Params>,
}

impl PatternContract for ScriptedResponse {
    fn begin(&self, input: &TurnInput) -> (Box<dyn Run>, Step) {
        let mut machine = Machine {
            script: self.script.clone(),
            turn: input.turn.clone(),
            ops: VecDeque::new(),
            end: Ending::Finish(Box::new(Reply::done(Vec::new()))),
            awaited: None,
        };
        let prompt = input.message.text();
        let step = match self.script.respond(&input.turn, &prompt) {
            Some(response) => {
                machine.play(response, &prompt);
                machine.next()
            }
            None => Step::Fail(
                Error::new(
                    ErrorKind::NotFound,
                    "no rule of `scripted_response` matches this turn, and it has no default",
                )
                .with_code("mas::pattern::no_rule")
                .with("turn", &input.turn),
            ),
        };
        (Box::new(machine), step)
    }
}

/// What follows when the operations of a response are done.
enum Ending {
    Finish(Box<Reply>),
    Ask(Arc<str>),
    Asked,
}

struct Machine {
    script: Arc<Params>,
    turn: Arc<str>,
    ops: VecDeque<Op>,
    end: Ending,
    awaited: Option<OpId>,
}

impl Machine {
    /// Lines up the operations of a response.
    fn play(&mut self, response: &Response, prompt: &Arc<str>) {
        self.ops.clear();
        for chunk in &response.stream_chunks {
            self.ops.push_back(Op::Say { audience: Audience::Answer, text: chunk.clone() });
        }
        let artifacts: Vec<Artifact> =
            response.artifacts.iter().enumerate().map(|(at, artifact)| artifact.build(at)).collect();
        for artifact in &artifacts {
            self.ops.push_back(Op::Artifact(Arc::new(artifact.clone())));
        }
        if response.delay_ms > 0 {
            self.ops.push_back(Op::Wait(Duration::from_millis(response.delay_ms)));
        }
        let text = response.text(prompt);
        let state = response.task_state.unwrap_or(match response.finish_reason {
            FinishReason::Stop => State::Completed,
            FinishReason::Error => State::Failed,
            FinishReason::Cancelled => State::Canceled,
        });
        let end = match state {
            State::Completed | State::Working => End::Done,
            State::Rejected => End::Failed(TaskState::Rejected),
            State::Failed => End::Failed(TaskState::Failed),
            State::Canceled => End::Failed(TaskState::Canceled),
            State::InputRequired => {
                self.end = Ending::Ask(text);
                return;
            }
            // Only core knows the agent and the task; it fills them in.
            State::AuthRequired => End::Interrupted(Interruption {
                kind: InterruptionKind::Auth,
                question: text.clone(),
                agent: Arc::from(""),
                task: None,
            }),
        };
        let parts = if text.is_empty() { Vec::new() } else { vec![Part::text(text)] };
        self.end =
            Ending::Finish(Box::new(Reply { artifacts, end, form: response.form(), ..Reply::done(parts) }));
    }

    fn next(&mut self) -> Step {
        let op = match self.ops.pop_front() {
            Some(op) => op,
            None => match std::mem::replace(&mut self.end, Ending::Asked) {
                Ending::Finish(reply) => return Step::Finish(reply),
                Ending::Ask(question) => Op::Ask(question),
                // Ended already; nothing is under way.
                Ending::Asked => return Step::Do(Vec::new()),
            },
        };
        let id = self.awaited.map_or(0, |last| last.saturating_add(1));
        self.awaited = Some(id);
        Step::one(id, op)
    }

    fn answered(&mut self, answer: &[Part]) -> Step {
        let script = self.script.clone();
        let answer = text_of(answer);
        match script.follow_up(&self.turn, &answer) {
            Some(response) => self.play(response, &answer),
            None => self.end = Ending::Finish(Box::new(Reply::done(Vec::new()))),
        }
        self.next()
    }
}

impl Run for Machine {
    fn on(&mut self, done: &OpDone) -> Step {
        let awaited = self.awaited.unwrap_or_default();
        if done.op != awaited {
            return unexpected("scripted_response", awaited, done);
        }
        match (&done.outcome, &self.end) {
            (Outcome::Failed(error), _) => Step::Fail(error.clone()),
            (Outcome::Answered(parts), Ending::Asked) => self.answered(parts),
            (Outcome::Unit, Ending::Finish(_) | Ending::Ask(_)) => self.next(),
            _ => unexpected("scripted_response", awaited, done),
        }
    }
}
