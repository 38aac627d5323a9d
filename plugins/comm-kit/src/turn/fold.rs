//! What becomes of a message at an agent elsewhere, update by update: pure, no waiting, no calls.

use std::sync::Arc;

use mas_contracts::{
    Artifact, Audience, Delivery, End, Error, ErrorKind, EventKind, Form, Interruption, InterruptionKind,
    Part, Reply, Result, Speaker, Task, TaskMessage, TaskState, TaskStatus, Usage, text_of,
};

use super::{
    Answer, Update,
    artifacts::{Artifacts, When},
    metadata,
    pieces::Pieces,
    said::Said,
    weight::weight_of,
};

/// How many bytes of an unfinished answer an error shows.
const PARTIAL: usize = 200;

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It is at work, as far as is known.
    Open,
    /// It waits, perhaps for what the message brings.
    Unclear,
    /// It waits for credentials, which may come without this side.
    Waits,
    /// Nothing more is to come.
    Over,
}

/// The state of the answer, put together from updates.
#[derive(Debug)]
pub(super) struct Fold {
    agent: Arc<str>,
    /// The message that is answered.
    message: Option<Arc<str>>,
    /// Whether it answers a question of a task that was there before.
    resumes: bool,
    largest: usize,
    task: Option<Arc<str>>,
    context: Option<Arc<str>>,
    state: Option<TaskState>,
    artifacts: Artifacts,
    said: Said,
    /// What the last status says, if that ends the turn.
    last: Option<Arc<TaskMessage>>,
    /// The message that is all there is.
    only: Option<Arc<TaskMessage>>,
    /// Whether the agent said that its stream ends.
    closed: bool,
    /// Whether it was told that there is a task.
    accepted: bool,
    /// Whether an update of another task came.
    strange: bool,
    /// How many updates were taken in.
    heard: u64,
}

impl Fold {
    /// The fold of the answer to a message, or of a task that is attached to.
    pub(super) fn new(agent: Arc<str>, message: Option<Arc<str>>, resumes: bool, largest: usize) -> Self {
        Self {
            agent,
            message,
            resumes,
            largest,
            task: None,
            context: None,
            state: None,
            artifacts: Artifacts::default(),
            said: Said::default(),
            last: None,
            only: None,
            closed: false,
            accepted: false,
            strange: false,
            heard: 0,
        }
    }

    /// The fold of a task that is there.
    pub(super) fn attached(self, task: Arc<str>) -> Self {
        Self { task: Some(task), ..self }
    }

    /// The task, once it is known.
    pub(super) fn task(&self) -> Option<&Arc<str>> {
        self.task.as_ref()
    }

    /// The conversation, as the agent named it last.
    pub(super) fn context(&self) -> Option<&Arc<str>> {
        self.context.as_ref()
    }

    /// The state of the task, as it was told last.
    pub(super) fn state(&self) -> Option<TaskState> {
        self.state
    }

    /// How far the task is.
    pub(super) fn stage(&self) -> Stage {
        match self.state {
            _ if self.only.is_some() => Stage::Over,
            Some(state) if state.is_terminal() => Stage::Over,
            Some(state) if state.is_interrupted() && self.is_stale() => Stage::Unclear,
            Some(TaskState::InputRequired) => Stage::Over,
            Some(TaskState::AuthRequired) => Stage::Waits,
            _ => Stage::Open,
        }
    }

    /// Whether the question that the task waits on may be the one that the message answers.
    fn is_stale(&self) -> bool {
        self.resumes && self.heard <= 1
    }

    /// Whether the agent said that its stream ends, whatever the state of the task.
    pub(super) fn take_closed(&mut self) -> bool {
        std::mem::take(&mut self.closed)
    }

    /// Takes in what a send led to.
    pub(super) fn answer(&mut self, answer: Answer, out: &mut Vec<EventKind>) -> Result<()> {
        // What a blocking send returns is no state from before the message.
        self.heard = self.heard.saturating_add(1);
        self.take(
            match answer {
                Answer::Task(task) => Update::Task(task),
                Answer::Message(message) => Update::Message(message),
            },
            out,
        )
    }

    /// Takes in an update, and says what happened.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] when the answer is larger than it may be.
    pub(super) fn take(&mut self, update: Update, out: &mut Vec<EventKind>) -> Result<()> {
        let (task, context) = match &update {
            Update::Task(task) => (Some(&task.id), Some(&task.context)),
            Update::Message(message) => (None, message.context.as_ref()),
            Update::Status { task, context, .. } | Update::Artifact { task, context, .. } => {
                (Some(task), Some(context))
            }
        };
        if !self.is_ours(task, out) {
            return Ok(());
        }
        if let Some(context) = context.filter(|context| !context.is_empty()) {
            self.context = Some(context.clone());
        }
        self.heard = self.heard.saturating_add(1);
        match update {
            Update::Task(task) => self.snapshot(&task, out),
            Update::Message(message) => {
                if let Some(task) = &self.task {
                    let agent = &self.agent;
                    tracing::warn!(%agent, %task, "a message came where only updates of the task may; it is the answer");
                }
                self.only = Some(message);
            }
            Update::Status { status, last, .. } => {
                self.closed |= last;
                self.status(&status, out);
            }
            Update::Artifact { artifact, append, last_chunk, .. } => {
                self.artifacts.take(&artifact, append, last_chunk);
                self.artifacts.tell(When::Meanwhile, out);
            }
        }
        let single = self.only.iter().chain(&self.last).map(|message| weight_of(&message.parts));
        let kept = [self.artifacts.weight(), self.said.weight()].into_iter().chain(single);
        if kept.fold(0, usize::saturating_add) > self.largest {
            return Err(self.too_large());
        }
        Ok(())
    }

    /// Whether an update is of the task that the first one named.
    fn is_ours(&mut self, task: Option<&Arc<str>>, out: &mut Vec<EventKind>) -> bool {
        let Some(task) = task.filter(|task| !task.is_empty()) else { return true };
        match self.task.get_or_insert_with(|| task.clone()) {
            known if known == task => {
                if !std::mem::replace(&mut self.accepted, true) {
                    out.push(EventKind::Accepted { task: task.clone() });
                }
                true
            }
            known => {
                if !std::mem::replace(&mut self.strange, true) {
                    let agent = &self.agent;
                    tracing::warn!(%agent, task = %known, other = %task, "updates of another task are passed over");
                }
                false
            }
        }
    }

    /// The task as it is takes the place of what is there.
    fn snapshot(&mut self, task: &Task, out: &mut Vec<EventKind>) {
        let ended = task.status.state.is_terminal();
        self.recall(task);
        self.artifacts.replace(&task.artifacts, ended);
        if self.is_stale() && !ended {
            self.artifacts.are_old();
        }
        self.artifacts.tell(When::Meanwhile, out);
        self.status(&task.status, out);
    }

    /// Takes in what the agent said after the message, where the task keeps that.
    fn recall(&mut self, task: &Task) {
        let history = task.history.iter();
        let Some(at) = history.clone().position(|said| Some(&said.id) == self.message.as_ref()) else {
            return;
        };
        let after = history.skip(at.saturating_add(1)).map(|said| &**said);
        self.said.recall(after.filter(|said| said.from == Speaker::Agent));
    }

    fn status(&mut self, status: &TaskStatus, out: &mut Vec<EventKind>) {
        let state = status.state;
        if !state.is_terminal() && self.state.is_some_and(TaskState::is_terminal) {
            return;
        }
        let changed = self.state.replace(state) != Some(state);
        if changed {
            // What it said of an earlier state is over.
            self.last = None;
        }
        let text = match &status.message {
            Some(message) if state.is_terminal() || state.is_interrupted() => {
                let known =
                    self.last.replace(message.clone()).is_some_and(|last| last.parts == message.parts);
                let text = text_of(&message.parts);
                (!text.is_empty() && (changed || !known)).then_some(text)
            }
            Some(message) => self.said.take(message),
            None => None,
        };
        if !state.is_terminal() && (changed || text.is_some()) && self.stage() != Stage::Unclear {
            out.push(EventKind::Status { state, text });
        }
    }

    /// Whether the task ended well and there is nothing of it to show.
    pub(super) fn is_silent(&self) -> bool {
        let said = |message: &Arc<TaskMessage>| !message.parts.is_empty();
        self.state == Some(TaskState::Completed)
            && self.only.is_none()
            && !self.artifacts.has_content()
            && !self.last.as_ref().is_some_and(said)
            && self.said.is_empty()
    }

    /// The beginning of the answer, as far as it was heard.
    pub(super) fn partial(&self) -> Option<String> {
        self.artifacts.excerpt(PARTIAL)
    }

    /// The error of a task that an agent of mas did not begin, since it would loop or is too deep. Other codes of
    /// another's are not ours to give.
    pub(super) fn refusal(&self) -> Option<Error> {
        let refused = matches!(self.state, Some(TaskState::Failed | TaskState::Rejected));
        let last = self.last.as_ref().filter(|_| refused && !self.artifacts.has_content())?;
        let (kind, code) = match last.metadata.get(metadata::ERROR)?.as_str()? {
            "mas::delegation::loop" => (ErrorKind::Loop, "mas::delegation::loop"),
            "mas::delegation::depth" => (ErrorKind::Limit, "mas::delegation::depth"),
            _ => return None,
        };
        let message = format!("`{}`: {}", self.agent, text_of(&last.parts));
        Some(Error::new(kind, message).with_code(code).with_delivery(Delivery::Rejected))
    }

    fn too_large(&self) -> Error {
        let message = format!("the answer of `{}` is larger than {} bytes", self.agent, self.largest);
        Error::new(ErrorKind::Limit, message)
            .with_code("mas::turn::too_large")
            .with_delivery(Delivery::Unknown)
    }

    /// The reply, and what of it was not told yet.
    pub(super) fn into_reply(mut self, out: &mut Vec<EventKind>) -> Reply {
        let end = self.end();
        let answered = end == End::Done && self.only.is_none() && !self.last_is_answer();
        self.artifacts.tell(if answered { When::Answered } else { When::Beside }, out);
        let told = self.artifacts.has_spoken();
        let (task, context, state) = (self.task.take(), self.context.take(), self.state);
        let last = self.last.take();
        let says = last.as_ref().map(|last| text_of(&last.parts)).filter(|text| !text.is_empty());
        let (form, parts, artifacts) = match end {
            End::Done => self.into_done(last.as_deref(), answered),
            _ => (Form::Status, parts_of(last.as_deref()), self.artifacts.into_list()),
        };
        let is_answer = end == End::Done && form == Form::Status;
        if end == End::Done && form != Form::Artifact && !told && !parts.is_empty() {
            out.push(EventKind::TextDelta { audience: Audience::Answer, text: text_of(&parts) });
        }
        if let Some(state) = state.filter(|state| state.is_terminal()) {
            out.push(EventKind::Status { state, text: says.filter(|_| !is_answer) });
        }
        Reply { parts, artifacts, end, context, task, form, usage: Usage::default() }
    }

    /// What a task that ended well gave: the artifacts, else what its last status says, else what was said before. A
    /// status that says so is the answer beside them.
    fn into_done(self, last: Option<&TaskMessage>, answered: bool) -> (Form, Vec<Part>, Vec<Artifact>) {
        let says = parts_of(last);
        if let Some(only) = &self.only {
            return (Form::Message, parts_of(Some(only)), self.artifacts.into_list());
        }
        if self.artifacts.has_content() && answered {
            let (answer, beside) = self.artifacts.into_answer();
            return (Form::Artifact, answer, beside);
        }
        let parts = if says.is_empty() { self.said.into_parts() } else { says };
        (Form::Status, parts, self.artifacts.into_list())
    }

    /// Whether the last status says that it is the answer although there are artifacts.
    fn last_is_answer(&self) -> bool {
        self.last.as_ref().is_some_and(|last| metadata::is_answer(&last.metadata))
    }

    fn end(&self) -> End {
        let kind = match self.state {
            _ if self.only.is_some() => return End::Done,
            Some(TaskState::InputRequired) => InterruptionKind::Input,
            Some(TaskState::AuthRequired) => InterruptionKind::Auth,
            Some(state) if state.is_terminal() && state != TaskState::Completed => return End::Failed(state),
            _ => return End::Done,
        };
        let asked = self.last.as_ref().map(|last| text_of(&last.parts)).filter(|text| !text.is_empty());
        let question = asked.unwrap_or_else(|| match kind {
            InterruptionKind::Input => format!("`{}` needs more input", self.agent).into(),
            InterruptionKind::Auth => format!("`{}` needs credentials", self.agent).into(),
        });
        End::Interrupted(Interruption { kind, question, agent: self.agent.clone(), task: self.task.clone() })
    }
}

/// The parts of a message, text that goes on joined.
fn parts_of(message: Option<&TaskMessage>) -> Vec<Part> {
    message.map(|message| Pieces::of(&message.parts).to_parts()).unwrap_or_default()
}
