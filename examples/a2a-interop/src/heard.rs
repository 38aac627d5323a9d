//! What an agent that was called said.

use std::sync::Arc;

use mas_a2a::client::{Answer, Update};
use mas_contracts::{Error, ErrorKind, Result, TaskMessage, TaskState, TaskStatus, text_of};

/// The line that a held task adds to what it says.
pub(crate) const FINISHED: &str = "task-finished";

/// As much text as is kept of an answer: 4 MiB.
const LARGEST: usize = 4 * 1024 * 1024;

/// What was said so far: each text once, in order.
#[derive(Default)]
pub(crate) struct Heard {
    texts: Vec<Arc<str>>,
    size: usize,
    state: Option<TaskState>,
    /// The task, once it is known.
    pub(crate) task: Option<Arc<str>>,
    /// Whether a held task said that it is done.
    pub(crate) finished: bool,
}

impl Heard {
    /// Hears a whole answer.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] for too much text.
    pub(crate) fn answer(&mut self, answer: Answer) -> Result<()> {
        self.update(&match answer {
            Answer::Task(task) => Update::Task(task),
            Answer::Message(message) => Update::Message(message),
        })
    }

    /// Hears a piece of a stream. Artifacts do not count.
    ///
    /// # Errors
    /// As [`Heard::answer`].
    pub(crate) fn update(&mut self, update: &Update) -> Result<()> {
        match update {
            Update::Message(message) => self.message(message),
            Update::Task(task) => self.status(&task.id, &task.status),
            Update::Status { task, status, .. } => self.status(task, status),
            Update::Artifact { .. } => Ok(()),
        }
    }

    /// What was said, one text a line.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`] where the task did not end well.
    pub(crate) fn text(self) -> Result<String> {
        let text = self.texts.join("\n");
        match self.state {
            None | Some(TaskState::Completed) => Ok(text),
            Some(_) if self.finished => Ok(text),
            Some(state) => Err(Error::new(
                ErrorKind::Failed,
                format!("the agent that was called ended {}: {text}", state.as_str()),
            )
            .with_code("mas::interop::peer")),
        }
    }

    fn status(&mut self, task: &Arc<str>, status: &TaskStatus) -> Result<()> {
        self.task = Some(task.clone());
        self.state = Some(status.state);
        status.message.as_deref().map_or(Ok(()), |message| self.message(message))
    }

    fn message(&mut self, message: &TaskMessage) -> Result<()> {
        let text = text_of(&message.parts);
        self.finished |= text.contains(FINISHED);
        let text = text.strip_suffix(FINISHED).map_or(&*text, str::trim_end);
        if text.is_empty() || self.texts.iter().any(|known| **known == *text) {
            return Ok(());
        }
        self.size = self.size.saturating_add(text.len());
        if self.size > LARGEST {
            let message = format!("the agent that was called said more than {LARGEST} bytes");
            return Err(Error::new(ErrorKind::Limit, message).with_code("mas::interop::peer"));
        }
        self.texts.push(text.into());
        Ok(())
    }
}
