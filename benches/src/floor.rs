//! The floor: the work done with as little as any framework needs for it.
//!
//! Messages are JSON values, the model is a trait object, a tool's arguments are parsed from JSON text, the
//! child is reached through its mailbox, works in a task of its own and answers through a one-shot channel, and
//! the result is appended. There are no sessions, events, limits, records, budgets, checks or cancellation.
//!
//! JSON objects keep the order of their keys, as everywhere in this workspace, and so hash every key; a floor on
//! sorted objects takes about a quarter less CPU, and every CPU ratio to it is about a third higher.

#![allow(clippy::indexing_slicing, reason = "an absent key of a JSON value reads as null, it never panics")]

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::{
    Failure, Result,
    work::{self, Models},
};

/// One call to a model.
#[async_trait]
trait Chat: Send + Sync {
    async fn chat(&self, messages: &[Value], tools: &[Value]) -> Value;
}

struct Mock {
    models: Arc<Models>,
    parent: bool,
}

#[async_trait]
impl Chat for Mock {
    async fn chat(&self, messages: &[Value], _tools: &[Value]) -> Value {
        self.models.call().await;
        let last = messages.last().filter(|last| self.parent && last["role"] == "user");
        let count = last.and_then(|last| last["content"].as_str()).map_or(0, work::asked_for);
        if count == 0 {
            return json!({"role": "assistant", "content": work::ANSWER});
        }
        let call = |at: usize| {
            json!({
                "id": format!("c{at}"),
                "type": "function",
                "function": {"name": work::DELEGATE_TOOL, "arguments": work::ARGUMENTS},
            })
        };
        let calls: Vec<Value> = (0..count).map(call).collect();
        json!({"role": "assistant", "content": null, "tool_calls": calls})
    }
}

/// What lies in a child's mailbox.
struct Letter {
    task: String,
    caller: String,
    reply: oneshot::Sender<String>,
}

type Mailbox = mpsc::Sender<Letter>;

/// The floor's two agents.
pub struct Floor {
    model: Arc<dyn Chat>,
    models: Arc<Models>,
    tools: Vec<Value>,
    routes: HashMap<String, Mailbox>,
}

impl Floor {
    /// Sets the agents up; the child's task runs on the current runtime until the floor is dropped.
    #[must_use]
    pub fn start(models: Models) -> Arc<Self> {
        let models = Arc::new(models);
        let parameters =
            json!({"type": "object", "properties": {"task": {"type": "string"}}, "required": ["task"]});
        let tool = json!({
            "type": "function",
            "function": {
                "name": work::DELEGATE_TOOL,
                "description": "Delegate a task to the child agent.",
                "parameters": parameters,
            },
        });
        let child = start_child(Arc::new(Mock { models: models.clone(), parent: false }));
        Arc::new(Self {
            model: Arc::new(Mock { models: models.clone(), parent: true }),
            models,
            tools: vec![tool],
            routes: HashMap::from([(work::DELEGATE_TOOL.to_owned(), child)]),
        })
    }

    /// The models of both agents.
    #[must_use]
    pub fn models(&self) -> &Models {
        &self.models
    }

    /// One turn, whole.
    ///
    /// # Errors
    /// When a message is not as the mock makes it, or the answer is wrong.
    pub async fn turn(&self, text: &str) -> Result<()> {
        let mut messages = vec![
            json!({"role": "system", "content": work::PARENT_SYSTEM}),
            json!({"role": "user", "content": text}),
        ];
        loop {
            let said = self.model.chat(&messages, &self.tools).await;
            let Some(calls) = said["tool_calls"].as_array().cloned() else {
                let answer = work::check_answer(said["content"].as_str().unwrap_or_default());
                messages.push(said);
                return answer;
            };
            messages.push(said);
            if let [call] = calls.as_slice() {
                messages.push(self.delegate(call).await?);
            } else {
                for result in join_all(calls.iter().map(|call| self.delegate(call))).await {
                    messages.push(result?);
                }
            }
        }
    }

    async fn delegate(&self, call: &Value) -> Result<Value> {
        let wrong = |what: &str| Failure::Wrong(format!("the floor's call has no {what}"));
        let name = call["function"]["name"].as_str().ok_or_else(|| wrong("name"))?;
        let text = call["function"]["arguments"].as_str().ok_or_else(|| wrong("arguments"))?;
        let arguments: Value = serde_json::from_str(text).map_err(|_| wrong("JSON arguments"))?;
        let task = arguments["task"].as_str().ok_or_else(|| wrong("task"))?.to_owned();
        let (reply, answer) = oneshot::channel();
        let mailbox = self.routes.get(name).ok_or_else(|| wrong("route"))?;
        let letter = Letter { task, caller: "parent".to_owned(), reply };
        mailbox.send(letter).await.map_err(|_| wrong("child"))?;
        let content = answer.await.map_err(|_| wrong("reply"))?;
        Ok(json!({"role": "tool", "tool_call_id": call["id"], "content": content}))
    }
}

fn start_child(model: Arc<dyn Chat>) -> Mailbox {
    let (mailbox, mut letters) = mpsc::channel::<Letter>(1024);
    tokio::spawn(async move {
        while let Some(letter) = letters.recv().await {
            let model = model.clone();
            tokio::spawn(async move {
                let Letter { task, caller, reply } = letter;
                let messages = vec![
                    json!({"role": "system", "content": work::CHILD_SYSTEM}),
                    json!({"role": "user", "content": task, "name": caller}),
                ];
                let said = model.chat(&messages, &[]).await;
                // Who asked may be gone, which is its own business.
                let _ = reply.send(said["content"].as_str().unwrap_or_default().to_owned());
            });
        }
    });
    mailbox
}

/// `count` turns, one after the other.
///
/// # Errors
/// As [`Floor::turn`].
pub async fn turns(floor: Arc<Floor>, text: &'static str, count: u64) -> Result<()> {
    for _ in 0..count {
        floor.turn(text).await?;
    }
    Ok(())
}

/// `count` turns, one after the other, each in a task of its own.
///
/// # Errors
/// As [`Floor::turn`].
pub async fn spawned_turns(floor: Arc<Floor>, text: &'static str, count: u64) -> Result<()> {
    for _ in 0..count {
        let floor = floor.clone();
        join(tokio::spawn(async move { floor.turn(text).await })).await?;
    }
    Ok(())
}

/// `count` turns at once, each in a task of its own.
///
/// # Errors
/// As [`Floor::turn`].
pub async fn turns_at_once(floor: Arc<Floor>, text: &'static str, count: u64) -> Result<()> {
    let turn = |_| {
        let floor = floor.clone();
        tokio::spawn(async move { floor.turn(text).await })
    };
    let tasks: Vec<_> = (0..count).map(turn).collect();
    for task in tasks {
        join(task).await?;
    }
    Ok(())
}

pub(crate) async fn join(task: tokio::task::JoinHandle<Result<()>>) -> Result<()> {
    task.await.map_err(|error| Failure::Wrong(format!("a task of the bench failed: {error}")))?
}
