//! An agent elsewhere, asked within a limit of time.

use std::{sync::Arc, time::Duration};

use mas_contracts::{BuildContext, Clock, Error, ErrorKind, Result, Task, TaskMessage, TaskState};
use serde_json::Value;

use super::{
    Answer, Interface, Options, Page, Updates, Version,
    call::{Call, How},
    card, discover,
    line::Line,
    wire::{Wire, within},
};

/// Which tasks to list; by default all, newest first, as the agent pages them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// Only those of this conversation.
    pub context: Option<String>,
    /// Only those in this state.
    pub state: Option<TaskState>,
    /// How many on a page, 1 to 100.
    pub page_size: Option<u32>,
    /// Where the page begins, as the page before says.
    pub page_token: Option<String>,
    /// How many of the latest messages of each history.
    pub history_length: Option<u32>,
    /// Whether artifacts are shown; default false.
    pub artifacts: bool,
}

/// An agent elsewhere.
pub struct Remote {
    line: Line,
    card: Value,
    clock: Arc<dyn Clock>,
    timeout: Duration,
}

impl Remote {
    /// Reaches for the agent at `url`: fetches its card and chooses a way.
    ///
    /// # Errors
    /// Those of [`fetch_card`](super::fetch_card), and [`ErrorKind::Unsupported`] where the card names no such way.
    pub async fn connect(url: &str, options: &Options, cx: &BuildContext) -> Result<Self> {
        let (wire, places) = (Wire::new(options, cx)?, discover::places(url)?);
        let look = discover::look(&wire, &places, options.timeout);
        let found = within(&*cx.clock, options.timeout, look).await?;
        let wanted = card::Wanted::only(options.binding, options.version);
        let interface =
            card::choose(&found.card, &found.place.url, &wanted)?.interface.beside(&found.place.url);
        let line = Line::new(wire, interface, options.bounds)?;
        Ok(Self { line, card: found.card, clock: cx.clock.clone(), timeout: options.timeout })
    }

    /// Its card, as it was fetched.
    #[must_use]
    pub fn card(&self) -> &Value {
        &self.card
    }

    /// The way that was chosen.
    #[must_use]
    pub fn interface(&self) -> &Interface {
        self.line.interface()
    }

    /// SendMessage.
    ///
    /// # Errors
    /// Why there is no answer, or why the agent refuses.
    pub async fn send(&self, message: TaskMessage, how: &How) -> Result<Answer> {
        let call = Call::Send { message: &Arc::new(message), how, stream: false };
        Ok(self.within(self.line.send(&call)).await?.into())
    }

    /// SendStreamingMessage.
    ///
    /// # Errors
    /// Why the stream does not open.
    pub async fn stream(&self, message: TaskMessage, how: &How) -> Result<Updates> {
        self.open(&Call::Send { message: &Arc::new(message), how, stream: true }).await
    }

    /// GetTask.
    ///
    /// # Errors
    /// Why there is no answer, or why the agent refuses.
    pub async fn get(&self, id: &str, history_length: Option<u32>) -> Result<Arc<Task>> {
        self.within(self.line.task(&Call::Get { id, history_length })).await
    }

    /// ListTasks.
    ///
    /// # Errors
    /// Why there is no answer, or why the agent refuses; v0.3 has no such operation.
    pub async fn list(&self, listed: &Listed) -> Result<Page> {
        if self.interface().version == Version::V03 {
            let text = "A2A 0.3 cannot list tasks, and the agent is reached over 0.3";
            return Err(Error::new(ErrorKind::Unsupported, text).with_code("mas::a2a::operation"));
        }
        Ok(self.within(self.line.listing(&Call::List(listed))).await?.into())
    }

    /// CancelTask.
    ///
    /// # Errors
    /// Why there is no answer, or why the agent refuses.
    pub async fn cancel(&self, id: &str) -> Result<Arc<Task>> {
        self.within(self.line.task(&Call::Cancel { id })).await
    }

    /// SubscribeToTask.
    ///
    /// # Errors
    /// Why the stream does not open.
    pub async fn subscribe(&self, id: &str) -> Result<Updates> {
        self.open(&Call::Subscribe { id }).await
    }

    async fn open(&self, call: &Call<'_>) -> Result<Updates> {
        let stream = self.within(self.line.open(call)).await?;
        Ok(Updates::new(stream, self.clock.clone(), self.timeout))
    }

    async fn within<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        within(&*self.clock, self.timeout, work).await
    }
}
