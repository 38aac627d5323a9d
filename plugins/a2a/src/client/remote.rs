//! An agent elsewhere, by the way that its card names.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use mas_comm_kit::http::{Client, HeaderText, Request, Response, Settings, Transport};
use mas_contracts::{BuildContext, Clock, Delivery, Error, ErrorKind, Result, Task, TaskMessage, TaskState};
use serde_json::{Value, json};

use super::{
    Answer, Binding, DEFAULT_TIMEOUT, Interface, Page, Updates, Version,
    call::{Call, How},
    card, failure,
    grpc::Channel,
    read,
};
use crate::{http::Tongue, json::Node, v03};

/// The largest answer that is read: 64 MiB.
const LARGEST: usize = 64 * 1024 * 1024;

/// The deepest JSON that is read.
const LEVELS: usize = 200;

/// How an agent is to be reached.
#[derive(Clone, Debug)]
pub struct Options {
    /// The binding; default that of the first interface of the card that is spoken here.
    pub binding: Option<Binding>,
    /// The version; default the newest that the card names.
    pub version: Option<Version>,
    /// Headers of every request, such as `Authorization`.
    pub headers: Vec<(String, HeaderText)>,
    /// How long a call may take, its whole answer included; default [`DEFAULT_TIMEOUT`].
    pub timeout: Duration,
    /// How connections are made.
    pub settings: Settings,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            binding: None,
            version: None,
            headers: Vec::new(),
            timeout: DEFAULT_TIMEOUT,
            settings: Settings::default(),
        }
    }
}

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
    pub(super) wire: Wire,
    interface: Interface,
    /// Where gRPC is spoken.
    grpc: Option<Channel>,
    card: Value,
}

/// What requests go out by.
pub(super) struct Wire {
    http: Arc<Client>,
    pub(super) clock: Arc<dyn Clock>,
    headers: Vec<(String, HeaderText)>,
    timeout: Duration,
}

/// The card of the agent at `url`: that of the file it names, else the well-known one below it, else the well-known
/// one of its host, by the name of v1.0 and by that of v0.2.
///
/// # Errors
/// That nothing there is a card, or that nothing answers.
pub async fn fetch_card(url: &str, options: &Options, cx: &BuildContext) -> Result<Value> {
    Wire::new(options, cx)?.card(url).await
}

impl Remote {
    /// Reaches for the agent at `url`: fetches its card and chooses a way.
    ///
    /// # Errors
    /// Those of [`fetch_card`], and [`ErrorKind::Unsupported`] where the card names no such way.
    pub async fn connect(url: &str, options: &Options, cx: &BuildContext) -> Result<Self> {
        let wire = Wire::new(options, cx)?;
        let card = wire.card(url).await?;
        let interface = card::choose(&card, options.binding, options.version)?;
        let grpc = match interface.binding {
            Binding::Grpc => Some(Channel::new(&interface, options, LARGEST)?),
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
        Ok(Request { method: method.to_owned(), url, headers, body })
    }

    /// Asks, and reads the answer.
    async fn ask<T>(
        &self,
        call: &Call<'_>,
        read: impl FnOnce(Node<'_>, Tongue) -> Result<T, crate::model::Failure>,
    ) -> Result<T> {
        let request = self.request(call, false)?;
        let work = async {
            let mut response = self.wire.http.send(&request).await?;
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
            let mut response = self.wire.http.send(&request).await?;
            // Servers differ in the verb of this path (A2A issue 1574).
            let other_verb = matches!(call, Call::Subscribe { .. })
                && self.interface.binding == Binding::Rest
                && matches!(response.status(), 404 | 405);
            if other_verb {
                let request = Request { method: "GET".to_owned(), body: None, ..request.clone() };
                response = self.wire.http.send(&request).await?;
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

impl Wire {
    fn new(options: &Options, cx: &BuildContext) -> Result<Self> {
        Ok(Self {
            http: options.settings.connect(cx)?,
            clock: cx.clock.clone(),
            headers: options.headers.clone(),
            timeout: options.timeout,
        })
    }

    fn deadline(&self) -> std::time::Instant {
        let now = self.clock.now();
        now.checked_add(self.timeout).unwrap_or(now)
    }

    async fn within<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let late = self.clock.sleep_until(self.deadline());
        tokio::select! {
            biased;
            done = work => done,
            () = late => Err(late_by(self.timeout)),
        }
    }

    async fn card(&self, url: &str) -> Result<Value> {
        self.within(async {
            let mut last = None;
            for place in places(url)? {
                let mut headers = vec![plain("accept", "application/json"), plain("a2a-version", "1.0")];
                headers.extend(self.headers.iter().cloned());
                let request = Request { method: "GET".to_owned(), url: place.clone(), headers, body: None };
                let mut response = self.http.send(&request).await?;
                if response.is_success() {
                    let bytes = response.read(crate::card::LARGEST).await?;
                    let card: Value = serde_json::from_slice(&bytes).map_err(|error| {
                        failure::unreadable(format!("what stands at {place} is no card: {error}"))
                    })?;
                    return Ok(card);
                }
                let status = response.status();
                last = Some(Error::new(
                    if status == 401 { ErrorKind::Unauthenticated } else { ErrorKind::NotFound },
                    format!("there is no card at {place} (HTTP {status})"),
                ));
                if !matches!(status, 404 | 405) {
                    break;
                }
            }
            let error = last.unwrap_or_else(|| Error::invalid("no place to look for a card"));
            Err(error.with_code("mas::a2a::card").with_delivery(Delivery::Rejected))
        })
        .await
    }
}

/// Where the card of a URL may be.
fn places(url: &str) -> Result<Vec<String>> {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let Some(rest) = rest.filter(|rest| !rest.is_empty() && !rest.starts_with('/')) else {
        let text = format!("`{url}` is no address of an agent: it has to begin with http:// or https://");
        return Err(Error::invalid(text).with_code("mas::a2a::url"));
    };
    let without_query = url.split(['?', '#']).next().unwrap_or(url);
    if without_query.ends_with(".json") {
        return Ok(vec![url.to_owned()]);
    }
    let base = without_query.trim_end_matches('/');
    let scheme = url.len() - rest.len();
    let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let origin = format!("{}{host}", url.get(..scheme).unwrap_or_default());
    let mut bases = vec![base.to_owned()];
    if base != origin {
        bases.push(origin);
    }
    let names = ["/.well-known/agent-card.json", "/.well-known/agent.json"];
    Ok(names.iter().flat_map(|name| bases.iter().map(move |base| format!("{base}{name}"))).collect())
}

fn plain(name: &str, value: &str) -> (String, HeaderText) {
    (name.to_owned(), HeaderText::Plain(value.to_owned()))
}

pub(super) fn late_by(timeout: Duration) -> Error {
    Error::new(ErrorKind::Timeout, format!("the agent did not answer within {} s", timeout.as_secs_f32()))
        .with_code("mas::a2a::timeout")
        .with_delivery(Delivery::Unknown)
}

pub(super) fn parse(bytes: &[u8], status: u16) -> Result<Node<'_>> {
    Node::read(bytes, LEVELS)
        .map_err(|error| failure::unreadable(format!("HTTP {status}, and the body is no JSON: {error}")))
}

/// The result of a JSON-RPC answer.
pub(super) fn result(node: Node<'_>, status: u16) -> Result<Node<'_>> {
    let Node::Object(fields) = node else {
        return Err(failure::unreadable(format!("HTTP {status}, and the answer is no JSON-RPC")));
    };
    let mut result = None;
    for (name, value) in fields {
        match &*name {
            "error" if !value.is_null() => return Err(failure::of(value, Some(status))),
            "result" => result = Some(value),
            _ => {}
        }
    }
    result.ok_or_else(|| failure::unreadable(format!("HTTP {status}, with neither `result` nor `error`")))
}

pub(super) fn rest_failure(node: Node<'_>, status: u16) -> Error {
    let bare = match node {
        Node::Object(fields) => {
            let inner = fields.iter().position(|(name, value)| name == "error" && !value.is_null());
            match inner.and_then(|at| fields.get(at)) {
                Some((_, inner)) => inner.clone(),
                None => Node::Object(fields),
            }
        }
        other => other,
    };
    failure::of(bare, Some(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_looked_for_below_the_address_and_at_the_host() {
        assert_eq!(places("http://h:1/x/card.json").expect("places"), ["http://h:1/x/card.json"]);
        assert_eq!(
            places("https://h/agents/a/").expect("places"),
            [
                "https://h/agents/a/.well-known/agent-card.json",
                "https://h/.well-known/agent-card.json",
                "https://h/agents/a/.well-known/agent.json",
                "https://h/.well-known/agent.json",
            ]
        );
        assert_eq!(places("http://h").expect("places").len(), 2);
        assert!(places("h:1").is_err() && places("http://").is_err());
    }
}
