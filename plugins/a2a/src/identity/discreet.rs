//! An agent that sends back what it was shown tells it to nobody here.

use std::sync::Arc;

use async_trait::async_trait;
use mas_comm_kit::{
    Secrets,
    turn::{Answer, Ask, Heard, Update, Updates, Upstream},
};
use mas_contracts::{Artifact, Content, Part, Result, Task, TaskMessage, TaskStatus};
use serde_json::{Map, Value};

use super::Identity;

/// An agent, of whose answers and errors no text shows the credentials of this side. One that cuts a secret in two and
/// sends the halves as two updates is not seen through.
pub(crate) struct Discreet {
    agent: Arc<dyn Upstream>,
    identity: Arc<Identity>,
}

impl Discreet {
    /// The agent, as this identity asks it.
    pub(crate) fn new(agent: Arc<dyn Upstream>, identity: Arc<Identity>) -> Self {
        Self { agent, identity }
    }

    fn done<T>(&self, result: Result<T>, scrub: fn(&Secrets, T) -> T) -> Result<T> {
        done(&self.identity, result, scrub)
    }

    fn heard(&self, updates: Result<Box<dyn Updates>>) -> Result<Box<dyn Updates>> {
        let updates = self.done(updates, |_, updates| updates)?;
        Ok(Box::new(Scrubbed { updates, identity: self.identity.clone() }))
    }
}

#[async_trait]
impl Upstream for Discreet {
    fn streams(&self) -> bool {
        self.agent.streams()
    }

    async fn send(&self, message: &Arc<TaskMessage>, ask: &Ask) -> Result<Answer> {
        self.done(self.agent.send(message, ask).await, |secrets, answer| match answer {
            Answer::Task(it) => Answer::Task(shared(secrets, &it, task)),
            Answer::Message(it) => Answer::Message(shared(secrets, &it, message_of)),
        })
    }

    async fn stream(&self, message: &Arc<TaskMessage>, ask: &Ask) -> Result<Box<dyn Updates>> {
        self.heard(self.agent.stream(message, ask).await)
    }

    async fn subscribe(&self, task: &str) -> Result<Box<dyn Updates>> {
        self.heard(self.agent.subscribe(task).await)
    }

    async fn get(&self, task: &str, history_length: Option<u32>) -> Result<Arc<Task>> {
        self.done(self.agent.get(task, history_length).await, |secrets, it| shared(secrets, &it, self::task))
    }

    async fn cancel(&self, task: &str) -> Result<Arc<Task>> {
        self.done(self.agent.cancel(task).await, |secrets, it| shared(secrets, &it, self::task))
    }
}

struct Scrubbed {
    updates: Box<dyn Updates>,
    identity: Arc<Identity>,
}

#[async_trait]
impl Updates for Scrubbed {
    async fn next(&mut self) -> Result<Option<Heard>> {
        done(&self.identity, self.updates.next().await, |secrets, heard| {
            heard.map(|heard| match heard {
                Heard::Update(it) => Heard::Update(update(secrets, it)),
                Heard::Alive => Heard::Alive,
            })
        })
    }
}

fn done<T>(identity: &Identity, result: Result<T>, scrub: fn(&Secrets, T) -> T) -> Result<T> {
    let secrets = identity.secrets();
    if secrets.is_empty() {
        return result;
    }
    match result {
        Ok(it) => Ok(scrub(&secrets, it)),
        Err(error) => Err(identity.hushed(error)),
    }
}

/// JSON without secrets, the names of members included.
pub(super) fn scrubbed(secrets: &Secrets, json: Value) -> Value {
    match json {
        Value::String(text) => match secrets.scrub(&text) {
            std::borrow::Cow::Owned(scrubbed) => Value::String(scrubbed),
            std::borrow::Cow::Borrowed(_) => Value::String(text),
        },
        Value::Array(items) => items.into_iter().map(|item| scrubbed(secrets, item)).collect(),
        Value::Object(members) => Value::Object(map(secrets, members)),
        other => other,
    }
}

fn map(secrets: &Secrets, members: Map<String, Value>) -> Map<String, Value> {
    let member =
        |(name, value): (String, Value)| (secrets.scrub(&name).into_owned(), scrubbed(secrets, value));
    members.into_iter().map(member).collect()
}

/// A copy without secrets; what holds none is shared on.
fn shared<T: Clone + PartialEq>(secrets: &Secrets, it: &Arc<T>, scrub: fn(&Secrets, &mut T)) -> Arc<T> {
    let mut copy = T::clone(it);
    scrub(secrets, &mut copy);
    if copy == **it { it.clone() } else { Arc::new(copy) }
}

fn text(secrets: &Secrets, text: &mut Arc<str>) {
    if let std::borrow::Cow::Owned(scrubbed) = secrets.scrub(text) {
        *text = scrubbed.into();
    }
}

fn update(secrets: &Secrets, mut update: Update) -> Update {
    match &mut update {
        Update::Task(it) => *it = shared(secrets, it, task),
        Update::Message(it) => *it = shared(secrets, it, message_of),
        Update::Status { task, context, status, .. } => {
            text(secrets, task);
            text(secrets, context);
            self::status(secrets, status);
        }
        Update::Artifact { task, context, artifact, .. } => {
            text(secrets, task);
            text(secrets, context);
            *artifact = shared(secrets, artifact, self::artifact);
        }
    }
    update
}

fn task(secrets: &Secrets, task: &mut Task) {
    text(secrets, &mut task.id);
    text(secrets, &mut task.context);
    status(secrets, &mut task.status);
    task.history.iter_mut().for_each(|it| *it = shared(secrets, it, message_of));
    task.artifacts.iter_mut().for_each(|it| *it = shared(secrets, it, artifact));
    task.metadata = map(secrets, std::mem::take(&mut task.metadata));
}

fn status(secrets: &Secrets, status: &mut TaskStatus) {
    status.message = status.message.as_ref().map(|it| shared(secrets, it, message_of));
}

fn message_of(secrets: &Secrets, message: &mut TaskMessage) {
    text(secrets, &mut message.id);
    message.context.iter_mut().for_each(|it| text(secrets, it));
    message.task.iter_mut().for_each(|it| text(secrets, it));
    message.parts.iter_mut().for_each(|it| part(secrets, it));
    message.metadata = map(secrets, std::mem::take(&mut message.metadata));
    message.extensions.iter_mut().for_each(|it| text(secrets, it));
    message.references.iter_mut().for_each(|it| text(secrets, it));
}

fn artifact(secrets: &Secrets, artifact: &mut Artifact) {
    text(secrets, &mut artifact.id);
    artifact.name.iter_mut().for_each(|it| text(secrets, it));
    artifact.description.iter_mut().for_each(|it| text(secrets, it));
    artifact.parts.iter_mut().for_each(|it| part(secrets, it));
    artifact.metadata = map(secrets, std::mem::take(&mut artifact.metadata));
    artifact.extensions.iter_mut().for_each(|it| text(secrets, it));
}

fn part(secrets: &Secrets, part: &mut Part) {
    match &mut part.content {
        Content::Text(it) | Content::Url(it) => text(secrets, it),
        Content::Data(data) => *data = scrubbed(secrets, std::mem::take(data)),
        Content::Raw(bytes) => {
            let scrubbed = std::str::from_utf8(bytes).map(|text| secrets.scrub(text));
            if let Ok(std::borrow::Cow::Owned(scrubbed)) = scrubbed {
                *bytes = scrubbed.into_bytes().into();
            }
        }
    }
    for meta in part.meta.iter_mut() {
        for word in meta.media_type.iter_mut().chain(&mut meta.filename) {
            *word = secrets.scrub(word).into_owned();
        }
        meta.metadata = map(secrets, std::mem::take(&mut meta.metadata));
    }
}
