//! What an agent elsewhere answered, as a person or a program reads it.

use std::{fmt::Write, sync::Arc};

use mas_a2a::client::{Answer, Page, Update, answer_json, update_json};
use mas_contracts::{Artifact, Task, TaskMessage, TaskState, TaskStatus, text_of};

use crate::{commands::plan::table, console, exit::Exit};

/// How things are shown.
#[derive(Clone, Copy)]
pub(super) struct Shown {
    pub(super) json: bool,
}

/// What has been shown of a stream.
#[derive(Default)]
pub(super) struct Seen {
    state: Option<TaskState>,
    named: bool,
}

impl Seen {
    /// How the program ends after the stream.
    pub(super) fn exit(&self) -> Exit {
        self.state.map_or(Exit::Done, exit_of)
    }
}

impl Shown {
    pub(super) fn answer(self, answer: &Answer) -> Exit {
        match answer {
            _ if self.json => {
                console::out_json(&answer_json(answer));
                match answer {
                    Answer::Task(task) => exit_of(task.status.state),
                    Answer::Message(_) => Exit::Done,
                }
            }
            Answer::Task(task) => self.task(task),
            Answer::Message(message) => {
                line(&text_of(&message.parts));
                name(None, message.context.as_ref());
                Exit::Done
            }
        }
    }

    pub(super) fn task(self, task: &Arc<Task>) -> Exit {
        if self.json {
            let mut json = answer_json(&Answer::Task(task.clone()));
            console::out_json(&json.get_mut("task").map(serde_json::Value::take).unwrap_or_default());
        } else {
            task.artifacts.iter().for_each(|artifact| line(&artifact_text(artifact)));
            said(&task.status);
            name(Some((&task.id, task.status.state)), Some(&task.context));
        }
        exit_of(task.status.state)
    }

    pub(super) fn page(self, page: &Page) -> Exit {
        if self.json {
            console::out_json(page.to_json());
            return Exit::Done;
        }
        let rows = page.tasks.iter().map(|task| {
            vec![task.id.to_string(), task.status.state.as_str().to_owned(), task.context.to_string()]
        });
        let mut text = String::new();
        table(&mut text, &["TASK", "STATE", "CONVERSATION"], rows.collect());
        let _ = writeln!(text, "{} of {}", page.tasks.len(), page.total);
        console::out(&text);
        if !page.next.is_empty() {
            console::err(&format!("more: --page-token {}\n", page.next));
        }
        Exit::Done
    }

    pub(super) fn update(self, update: &Update, seen: &mut Seen) {
        match update {
            Update::Task(task) => seen.state = Some(task.status.state),
            Update::Status { status, .. } => seen.state = Some(status.state),
            Update::Message(_) | Update::Artifact { .. } => {}
        }
        if self.json {
            console::out(&format!("{}\n", update_json(update)));
            return;
        }
        match update {
            Update::Task(task) => {
                if !std::mem::replace(&mut seen.named, true) {
                    name(Some((&task.id, task.status.state)), Some(&task.context));
                }
                task.artifacts.iter().for_each(|artifact| line(&artifact_text(artifact)));
                if task.status.state.is_terminal() || task.status.state.is_interrupted() {
                    said(&task.status);
                }
            }
            Update::Message(message) => line(&text_of(&message.parts)),
            Update::Artifact { artifact, append, last_chunk, .. } => {
                if !append {
                    console::fresh_line();
                }
                console::out(&text_of(&artifact.parts));
                if *last_chunk {
                    console::fresh_line();
                }
            }
            Update::Status { status, .. } => {
                console::fresh_line();
                said(status);
                console::err(&format!("{}\n", status.state.as_str()));
            }
        }
    }
}

fn exit_of(state: TaskState) -> Exit {
    match state {
        TaskState::Failed | TaskState::Rejected => Exit::Failed,
        _ => Exit::Done,
    }
}

/// What the agent says about the status.
fn said(status: &TaskStatus) {
    if let Some(message) = &status.message {
        line(&message_text(message));
    }
}

fn message_text(message: &TaskMessage) -> Arc<str> {
    text_of(&message.parts)
}

fn artifact_text(artifact: &Artifact) -> Arc<str> {
    text_of(&artifact.parts)
}

fn line(text: &str) {
    console::fresh_line();
    console::out(text);
    console::fresh_line();
}

/// Says on stderr what the ids are, for the next command.
fn name(task: Option<(&Arc<str>, TaskState)>, context: Option<&Arc<str>>) {
    let mut text = String::new();
    if let Some((id, state)) = task {
        let _ = write!(text, "task {id} is {}", state.as_str());
    }
    if let Some(context) = context.filter(|context| !context.is_empty()) {
        let _ = write!(text, "{}conversation {context}", if text.is_empty() { "" } else { "; " });
    }
    if !text.is_empty() {
        console::err(&format!("{text}\n"));
    }
}
