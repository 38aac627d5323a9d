//! An agent elsewhere, as the engine of turns asks it.

use std::sync::Arc;

use async_trait::async_trait;
use mas_comm_kit::turn::{self, Answer, Ask, Upstream};
use mas_contracts::{Result, Task, TaskMessage};

use super::{
    call::{Call, How},
    line::Line,
};

/// The agent behind a line.
pub(crate) struct Agent {
    line: Arc<Line>,
    streams: bool,
}

impl Agent {
    /// The agent behind `line`; `streams` is what its card says of it.
    pub(crate) fn new(line: Arc<Line>, streams: bool) -> Self {
        Self { line, streams }
    }
}

#[async_trait]
impl Upstream for Agent {
    fn streams(&self) -> bool {
        self.streams
    }

    async fn send(&self, message: &Arc<TaskMessage>, ask: &Ask) -> Result<Answer> {
        let how = how(ask);
        Ok(self.line.send(&Call::Send { message, how: &how, stream: false }).await?.into())
    }

    async fn stream(&self, message: &Arc<TaskMessage>, ask: &Ask) -> Result<Box<dyn turn::Updates>> {
        let how = how(ask);
        Ok(Box::new(self.line.open(&Call::Send { message, how: &how, stream: true }).await?))
    }

    async fn subscribe(&self, task: &str) -> Result<Box<dyn turn::Updates>> {
        Ok(Box::new(self.line.open(&Call::Subscribe { id: task }).await?))
    }

    async fn get(&self, task: &str, history_length: Option<u32>) -> Result<Arc<Task>> {
        self.line.task(&Call::Get { id: task, history_length }).await
    }

    async fn cancel(&self, task: &str) -> Result<Arc<Task>> {
        self.line.task(&Call::Cancel { id: task }).await
    }
}

fn how(ask: &Ask) -> How {
    How {
        history_length: ask.history_length,
        output_modes: ask.output_modes.clone(),
        traceparent: ask.traceparent.clone(),
        ..How::default()
    }
}
