//! The way to an agent: one interface of its card, with everything that is needed to call it. No call has a limit of
//! time; whoever calls stops waiting.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use bytes::Bytes;
use mas_comm_kit::{
    auth::Credential,
    http::{Request, Response},
    sse::Decoder,
};
use mas_contracts::{Error, ErrorKind, Result, Task};
use serde_json::json;

use super::{
    Binding, Bounds, Interface, Version,
    call::Call,
    exchange::Exchange,
    failure,
    grpc::Channel,
    read,
    stream::{Http, Stream},
    wire::{Wire, plain},
};
use crate::{
    http::Tongue,
    json::Node,
    model::{Listing, SendReply},
    v03,
};

/// The way to an agent.
pub(crate) struct Line {
    wire: Wire,
    interface: Interface,
    /// Where gRPC is spoken.
    grpc: Option<Channel>,
    bounds: Bounds,
    /// Whether the agent takes subscriptions over HTTP+JSON by GET only.
    gets: AtomicBool,
}

impl Line {
    /// The way over an interface. Nothing is sent.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] or [`ErrorKind::Invalid`] for an address that cannot be called.
    pub(crate) fn new(wire: Wire, interface: Interface, bounds: Bounds) -> Result<Self> {
        let grpc = match interface.binding {
            Binding::Grpc => Some(Channel::new(&interface, &wire, bounds.reply, bounds.event)?),
            Binding::JsonRpc | Binding::Rest => None,
        };
        Ok(Self { wire, interface, grpc, bounds, gets: AtomicBool::new(false) })
    }

    /// What is shown on the way.
    pub(crate) fn credentials(&self) -> &[Credential] {
        &self.wire.credentials
    }

    /// The interface.
    pub(crate) fn interface(&self) -> &Interface {
        &self.interface
    }

    /// SendMessage.
    ///
    /// # Errors
    /// Why there is no answer, or why the agent refuses.
    pub(super) async fn send(&self, call: &Call<'_>) -> Result<SendReply> {
        match &self.grpc {
            Some(grpc) => grpc.send(call).await,
            None => self.ask(call, read::sent).await,
        }
    }

    /// GetTask and CancelTask.
    ///
    /// # Errors
    /// Why there is no answer, or why the agent refuses.
    pub(super) async fn task(&self, call: &Call<'_>) -> Result<Arc<Task>> {
        let view = match &self.grpc {
            Some(grpc) => grpc.task(call).await?,
            None => self.ask(call, read::task).await?,
        };
        Ok(view.task)
    }

    /// ListTasks.
    ///
    /// # Errors
    /// Why there is no answer, or why the agent refuses.
    pub(super) async fn listing(&self, call: &Call<'_>) -> Result<Listing> {
        match &self.grpc {
            Some(grpc) => grpc.listing(call).await,
            None => self.ask(call, |node, _| read::listing(node)).await,
        }
    }

    /// SendStreamingMessage and SubscribeToTask.
    ///
    /// # Errors
    /// Why the stream does not open.
    pub(super) async fn open(&self, call: &Call<'_>) -> Result<Stream> {
        if let Some(grpc) = &self.grpc {
            return Ok(Stream::of_grpc(grpc.open(call).await?));
        }
        let subscribes = matches!(call, Call::Subscribe { .. }) && self.interface.binding == Binding::Rest;
        let mut request = self.request(call)?;
        let get = |request: Request| Request { method: "GET".to_owned(), body: None, ..request };
        if subscribes && self.gets.load(Relaxed) {
            request = get(request);
            let response = self.wire.send(&request).await?;
            return self.opened(request, response).await;
        }
        let response = self.wire.send(&request).await?;
        let refused = matches!(response.status(), 404 | 405);
        let first = self.opened(request.clone(), response).await;
        match first {
            // Servers differ in the verb of this path (A2A issue 1574); one that knows the task does not.
            Err(error) if subscribes && refused && !error.context().any(|(name, _)| name == "reason") => {
                request = get(request);
                let response = self.wire.send(&request).await?;
                let second = self.opened(request, response).await;
                if second.is_ok() {
                    self.gets.store(true, Relaxed);
                }
                second
            }
            first => first,
        }
    }

    /// Asks, and reads the answer.
    async fn ask<T>(
        &self,
        call: &Call<'_>,
        read: impl FnOnce(Node<'_>, Tongue) -> Result<T, crate::model::Failure>,
    ) -> Result<T> {
        let request = self.request(call)?;
        let mut response = self.wire.send(&request).await?;
        let bytes = response.read(self.bounds.reply).await?;
        let node = self.exchange(&request, &response).result(&bytes)?;
        read(node, self.tongue()).map_err(|wrong| failure::invalid(&wrong))
    }

    async fn opened(&self, request: Request, mut response: Response) -> Result<Stream> {
        if response.is_success() && response.is_type("text/event-stream") {
            return Ok(Stream::of_http(Http {
                request: Request { body: None, ..request },
                response,
                decoder: Decoder::new(self.bounds.event),
                tongue: self.tongue(),
                rpc: self.is_rpc(),
                clock: self.wire.clock.clone(),
            }));
        }
        let bytes = response.read(self.bounds.reply).await?;
        let exchange = self.exchange(&request, &response);
        // An agent that does not stream may answer with the whole at once.
        let whole = exchange.result(&bytes).map_err(|error| match (response.status(), error.kind()) {
            // What is not there streams nothing.
            (404 | 410, ErrorKind::NotFound) if !error.context().any(|(name, _)| name == "reason") => {
                exchange.as_unsupported(&error)
            }
            _ => error,
        })?;
        let item = read::item(whole, self.tongue()).map_err(|wrong| failure::invalid(&wrong))?;
        item.map(Stream::once).ok_or_else(|| exchange.foreign(&bytes))
    }

    fn exchange<'a>(&'a self, request: &'a Request, response: &'a Response) -> Exchange<'a> {
        Exchange { request, response, clock: &*self.wire.clock, rpc: self.is_rpc() }
    }

    fn is_rpc(&self) -> bool {
        self.interface.binding == Binding::JsonRpc
    }

    /// The JSON that is spoken.
    fn tongue(&self) -> Tongue {
        match (self.interface.version, self.interface.binding) {
            (Version::V1, _) => Tongue::V1,
            (Version::V03, Binding::Rest) => Tongue::V03(v03::Shape::Rest),
            (Version::V03, _) => Tongue::V03(v03::Shape::Rpc),
        }
    }

    fn request(&self, call: &Call<'_>) -> Result<Request> {
        let Interface { url, binding, version, tenant } = &self.interface;
        let (method, url, body) = match binding {
            Binding::JsonRpc => {
                let (method, params) = call.rpc(*version, tenant.as_deref());
                let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
                ("POST", url.clone(), Some(body))
            }
            Binding::Rest => {
                let rest = call.rest(*version, tenant.as_deref());
                (rest.verb, format!("{}{}", rest_base(url, *version), rest.path), rest.body)
            }
            Binding::Grpc => {
                return Err(Error::internal("a call over gRPC is no request of HTTP"));
            }
        };
        let json = match (binding, version) {
            (Binding::Rest, Version::V1) => "application/a2a+json",
            _ => "application/json",
        };
        let accept = match (call.streams(), binding) {
            (false, _) => json,
            (true, Binding::Rest) => "text/event-stream, application/a2a+json;q=0.5, application/json;q=0.5",
            (true, _) => "text/event-stream, application/json;q=0.5",
        };
        let mut headers = vec![plain("accept", accept), plain("a2a-version", version.as_str())];
        headers.extend(call.traceparent().map(|trace| plain("traceparent", trace)));
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
}

/// What the paths of HTTP+JSON stand below. Cards name what is below it, too: the version of v0.3, or an operation.
fn rest_base(url: &str, version: Version) -> &str {
    let base = url.trim_end_matches('/');
    let base =
        ["/message:send", "/message:stream"].iter().find_map(|end| base.strip_suffix(end)).unwrap_or(base);
    match version {
        Version::V03 => base.strip_suffix("/v1").unwrap_or(base),
        Version::V1 => base,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_http_json_stand_below_the_agent() {
        for (url, base) in [
            ("http://h/rest/", "http://h/rest"),
            ("http://h/v1/message:stream", "http://h/v1"),
            ("http://h/message:send", "http://h"),
        ] {
            assert_eq!(rest_base(url, Version::V1), base);
        }
        assert_eq!(rest_base("http://h/v1/message:stream", Version::V03), "http://h");
        assert_eq!(rest_base("http://h/v1/", Version::V03), "http://h");
    }
}
