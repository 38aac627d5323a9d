//! An agent elsewhere, by the way that its card names.

use std::sync::Arc;

use bytes::Bytes;
use mas_comm_kit::http::{Request, Response};
use mas_contracts::{BuildContext, Error, ErrorKind, Result, Task, TaskMessage, TaskState};
use serde_json::{Value, json};

use super::{
    Answer, Binding, Interface, Options, Page, Updates, Version,
    call::{Call, How},
    card,
    envelope::{parse, rest_failure, result},
    failure,
    grpc::Channel,
    read,
    wire::{Wire, plain},
};
use crate::{http::Tongue, json::Node, v03};

/// The largest answer that is read: 64 MiB.
const LARGEST: usize = 64 * 1024 * 1024;

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
    wire: Wire,
    interface: Interface,
    /// Where gRPC is spoken.
    grpc: Option<Channel>,
    card: Value,
}

impl Remote {
    /// Reaches for the agent at `url`: fetches its card and chooses a way.
    ///
    /// # Errors
    /// Those of [`fetch_card`](super::fetch_card), and [`ErrorKind::Unsupported`] where the card names no such way.
    pub async fn connect(url: &str, options: &Options, cx: &BuildContext) -> Result<Self> {
        let wire = Wire::new(options, cx)?;
        let card = wire.card(url).await?;
        let interface = card::choose(&card, options.binding, options.version)?;
        let grpc = match interface.binding {
            Binding::Grpc => Some(Channel::new(&interface, &wire, LARGEST, LARGEST)?),
            Binding::JsonRpc | Binding::Rest => None,
        };
        Ok(Self { wire, interface, grpc, card })
    }

    /// Its card, as it was fetched.
    #[must_use]
    pub fn card(&self) -> &Value {
        &self.card
    }

    /// The way that was chosen.
    #[must_use]
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// SendMessage.
    ///
    /// # Errors
    /// Why there is no answer, or why the agent refuses.
    pub async fn send(&self, message: TaskMessage, how: &How) -> Result<Answer> {
        let call = Call::Send { message: &Arc::new(message), how, stream: false };
        let reply = match &self.grpc {
            Some(grpc) => self.wire.within(grpc.send(&call)).await?,
            None => self.ask(&call, read::sent).await?,
        };
        Ok(reply.into())
    }

    /// SendStreamingMessage.
    ///
    /// # Errors
    /// Why the stream does not open.
    pub async fn stream(&self, message: TaskMessage, how: &How) -> Result<Updates> {
        let call = Call::Send { message: &Arc::new(message), how, stream: true };
        self.open(&call).await
    }

    /// GetTask.
    ///
    /// # Errors
    /// Why there is no answer, or why the agent refuses.
    pub async fn get(&self, id: &str, history_length: Option<u32>) -> Result<Arc<Task>> {
        self.task(&Call::Get { id, history_length }).await
    }

    /// ListTasks.
    ///
    /// # Errors
    /// Why there is no answer, or why the agent refuses; v0.3 has no such operation.
    pub async fn list(&self, listed: &Listed) -> Result<Page> {
        if self.interface.version == Version::V03 {
            let text = "A2A 0.3 cannot list tasks, and the agent is reached over 0.3";
            return Err(Error::new(ErrorKind::Unsupported, text).with_code("mas::a2a::operation"));
        }
        let call = Call::List(listed);
        let listing = match &self.grpc {
            Some(grpc) => self.wire.within(grpc.listing(&call)).await?,
            None => self.ask(&call, |node, _| read::listing(node)).await?,
        };
        Ok(listing.into())
    }

    /// CancelTask.
    ///
    /// # Errors
    /// Why there is no answer, or why the agent refuses.
    pub async fn cancel(&self, id: &str) -> Result<Arc<Task>> {
        self.task(&Call::Cancel { id }).await
    }

    /// SubscribeToTask.
    ///
    /// # Errors
    /// Why the stream does not open.
    pub async fn subscribe(&self, id: &str) -> Result<Updates> {
        self.open(&Call::Subscribe { id }).await
    }

    /// The JSON that is spoken.
    fn tongue(&self) -> Tongue {
        match (self.interface.version, self.interface.binding) {
            (Version::V1, _) => Tongue::V1,
            (Version::V03, Binding::Rest) => Tongue::V03(v03::Shape::Rest),
            (Version::V03, _) => Tongue::V03(v03::Shape::Rpc),
        }
    }

    fn request(&self, call: &Call<'_>, stream: bool) -> Result<Request> {
        let Interface { url, binding, version, tenant } = &self.interface;
        let (method, url, body) = match binding {
            Binding::JsonRpc => {
                let (method, params) = call.rpc(*version, tenant.as_deref());
                let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
                ("POST", url.clone(), Some(body))
            }
            Binding::Rest => {
                let rest = call.rest(*version, tenant.as_deref());
                (rest.verb, format!("{}{}", url.trim_end_matches('/'), rest.path), rest.body)
            }
            Binding::Grpc => {
                return Err(Error::internal("a call over gRPC is no request of HTTP"));
            }
        };
        let json = match (binding, version) {
            (Binding::Rest, Version::V1) => "application/a2a+json",
            _ => "application/json",
        };
        let accept = if stream { "text/event-stream" } else { json };
        let mut headers = vec![plain("accept", accept), plain("a2a-version", version.as_str())];
        headers.extend(self.wire.headers.iter().cloned());
        let body = match body {
            Some(body) => {
                headers.push(plain("content-type", json));
                let bytes = serde_json::to_vec(&body)
                    .map_err(|error| Error::invalid(format!("the request cannot be written: {error}")))?;
                Some(Bytes::from(bytes))
            }
            None => None,
        };
        Ok(Request { method: method.to_owned(), url, headers, body, ..Request::default() })
    }

    /// Asks, and reads the answer.
    async fn ask<T>(
        &self,
        call: &Call<'_>,
        read: impl FnOnce(Node<'_>, Tongue) -> Result<T, crate::model::Failure>,
    ) -> Result<T> {
        let request = self.request(call, false)?;
        let work = async {
            let mut response = self.wire.send(&request).await?;
            let status = response.status();
            let bytes = response.read(LARGEST).await?;
            let node = parse(&bytes, status)?;
            let answer = match self.interface.binding {
                Binding::Rest if response.is_success() => node,
                Binding::Rest => return Err(rest_failure(node, status)),
                _ => result(node, status)?,
            };
            read(answer, self.tongue()).map_err(|failure| failure::invalid(&failure))
        };
        self.wire.within(work).await
    }

    async fn task(&self, call: &Call<'_>) -> Result<Arc<Task>> {
        let view = match &self.grpc {
            Some(grpc) => self.wire.within(grpc.task(call)).await?,
            None => self.ask(call, read::task).await?,
        };
        Ok(view.task)
    }

    async fn open(&self, call: &Call<'_>) -> Result<Updates> {
        if let Some(grpc) = &self.grpc {
            let events = self.wire.within(grpc.open(call)).await?;
            return Ok(Updates::of_grpc(events, self.wire.clock.clone(), self.wire.timeout));
        }
        let request = self.request(call, true)?;
        let work = async {
            let mut response = self.wire.send(&request).await?;
            // Servers differ in the verb of this path (A2A issue 1574).
            let other_verb = matches!(call, Call::Subscribe { .. })
                && self.interface.binding == Binding::Rest
                && matches!(response.status(), 404 | 405);
            if other_verb {
                let request = Request { method: "GET".to_owned(), body: None, ..request.clone() };
                response = self.wire.send(&request).await?;
            }
            self.opened(response).await
        };
        self.wire.within(work).await
    }

    async fn opened(&self, mut response: Response) -> Result<Updates> {
        if response.is_success() && response.is_type("text/event-stream") {
            let rpc = self.interface.binding == Binding::JsonRpc;
            return Ok(Updates::new(
                response,
                self.tongue(),
                rpc,
                self.wire.clock.clone(),
                self.wire.timeout,
            ));
        }
        let status = response.status();
        let bytes = response.read(LARGEST).await?;
        let node = parse(&bytes, status)?;
        if self.interface.binding == Binding::Rest {
            return Err(rest_failure(node, status));
        }
        // An agent that does not stream may answer with the whole at once.
        let whole = result(node, status)?;
        let item = read::item(whole, self.tongue()).map_err(|failure| failure::invalid(&failure))?;
        Ok(Updates::once(item, self.wire.clock.clone()))
    }
}
