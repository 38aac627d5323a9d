//! An agent over gRPC, without TLS: `host:port`, or the same with `http://` in front of it.

use std::{
    error::Error as _,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_core::Stream;
use http::{HeaderName, HeaderValue, Uri};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use mas_contracts::{Delivery, Error, ErrorKind, Result};
use prost::Message;
use tonic::{Status, Streaming, body::Body, client::Grpc, metadata::MetadataMap};

use super::{Interface, Options, Version, call::Call, failure};
use crate::{
    grpc::{
        codec::Raw,
        fields::state_number,
        proto::{v1 as proto, v03 as old},
        v1, v03,
    },
    model::{Dialect, Failure, Listing, SendReply, StreamItem, TaskView},
};

/// An agent over gRPC. It connects when it is first asked.
pub(super) struct Channel {
    client: Grpc<Client<HttpConnector, Body>>,
    version: Version,
    tenant: String,
    headers: http::HeaderMap,
    url: String,
}

/// What a stream tells.
pub(super) struct Events {
    messages: Streaming<Bytes>,
    version: Version,
    url: String,
}

impl Channel {
    /// A channel to an interface of a card; no answer may be larger than `largest` bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for an address with TLS, [`ErrorKind::Invalid`] for one that is none, or for
    /// headers that cannot be sent.
    pub(super) fn new(interface: &Interface, options: &Options, largest: usize) -> Result<Self> {
        let origin = origin(&interface.url)?;
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(options.settings.connect_timeout));
        let client = Client::builder(TokioExecutor::new()).http2_only(true).build(connector);
        let mut headers = http::HeaderMap::new();
        headers.insert("a2a-version", HeaderValue::from_static(interface.version.as_str()));
        for (name, text) in &options.headers {
            let value = HeaderValue::from_str(text.reveal());
            let (Ok(name), Ok(mut value)) = (name.parse::<HeaderName>(), value) else {
                return Err(Error::invalid(format!("the header `{name}` cannot be sent")));
            };
            value.set_sensitive(true);
            headers.append(name, value);
        }
        Ok(Self {
            client: Grpc::with_origin(client, origin).max_decoding_message_size(largest),
            version: interface.version,
            tenant: interface.tenant.clone().unwrap_or_default(),
            headers,
            url: interface.url.clone(),
        })
    }

    /// SendMessage.
    ///
    /// # Errors
    /// Why there is no answer, or why the agent refuses.
    pub(super) async fn send(&self, call: &Call<'_>) -> Result<SendReply> {
        let bytes = self.ask(call).await?;
        match event(self.version, &bytes)? {
            Some(StreamItem::Task(task)) => Ok(SendReply::Task(task)),
            Some(StreamItem::Message(message)) => Ok(SendReply::Message(message)),
            _ => Err(failure::unreadable("the answer is neither a task nor a message")),
        }
    }

    /// GetTask and CancelTask.
    ///
    /// # Errors
    /// Why there is no answer, or why the agent refuses.
    pub(super) async fn task(&self, call: &Call<'_>) -> Result<TaskView> {
        let bytes = self.ask(call).await?;
        match self.version {
            Version::V1 => read(v1::read_task(decode(&bytes)?)),
            Version::V03 => read(v03::read_task(decode(&bytes)?)),
        }
    }

    /// ListTasks, which only v1.0 has.
    ///
    /// # Errors
    /// Why there is no answer, or why the agent refuses.
    pub(super) async fn listing(&self, call: &Call<'_>) -> Result<Listing> {
        let bytes = self.ask(call).await?;
        read(v1::read_listing(decode(&bytes)?))
    }

    /// SendStreamingMessage and SubscribeToTask.
    ///
    /// # Errors
    /// Why the stream does not open.
    pub(super) async fn open(&self, call: &Call<'_>) -> Result<Events> {
        let (path, request) = self.request(call)?;
        let mut client = self.client.clone();
        client.ready().await.map_err(|error| self.gone(&error))?;
        let answer =
            client.server_streaming(request, path, Raw).await.map_err(|it| refusal(&it, &self.url))?;
        Ok(Events { messages: answer.into_inner(), version: self.version, url: self.url.clone() })
    }

    async fn ask(&self, call: &Call<'_>) -> Result<Bytes> {
        let (path, request) = self.request(call)?;
        let mut client = self.client.clone();
        client.ready().await.map_err(|error| self.gone(&error))?;
        let answer = client.unary(request, path, Raw).await.map_err(|it| refusal(&it, &self.url))?;
        Ok(answer.into_inner())
    }

    fn gone(&self, error: &dyn std::error::Error) -> Error {
        unreachable(&self.url, error)
    }

    fn request(&self, call: &Call<'_>) -> Result<(http::uri::PathAndQuery, tonic::Request<Vec<u8>>)> {
        let (method, message) = match self.version {
            Version::V1 => (self.method(call), self.message(call)),
            Version::V03 => (self.method(call), old_message(call)),
        };
        let path = method.parse().map_err(|_| Error::internal("a method is no path"))?;
        let mut request = tonic::Request::new(message);
        *request.metadata_mut() = MetadataMap::from_headers(self.headers.clone());
        Ok((path, request))
    }

    fn method(&self, call: &Call<'_>) -> String {
        match (self.version, call) {
            (Version::V03, Call::Subscribe { .. }) => format!("/{}/TaskSubscription", old::SERVICE),
            (Version::V03, _) => format!("/{}/{}", old::SERVICE, call.name()),
            (Version::V1, _) => format!("/{}/{}", proto::SERVICE, call.name()),
        }
    }

    fn message(&self, call: &Call<'_>) -> Vec<u8> {
        let tenant = self.tenant.clone();
        match call {
            Call::Send { message, how, .. } => {
                let configuration = proto::SendMessageConfiguration {
                    accepted_output_modes: how.output_modes.clone(),
                    task_push_notification_config: how
                        .webhook
                        .as_ref()
                        .map(|it| v1::push_config(&it.config(Dialect::V1))),
                    history_length: how.history_length.map(number),
                    return_immediately: how.immediately,
                };
                proto::SendMessageRequest {
                    tenant,
                    message: Some(v1::message(message)),
                    configuration: Some(configuration),
                    metadata: None,
                }
                .encode_to_vec()
            }
            Call::Get { id, history_length } => {
                let history_length = history_length.map(number);
                proto::GetTaskRequest { tenant, id: (*id).to_owned(), history_length }.encode_to_vec()
            }
            Call::List(listed) => proto::ListTasksRequest {
                tenant,
                context_id: listed.context.clone().unwrap_or_default(),
                status: listed.state.map(state_number).unwrap_or_default(),
                page_size: listed.page_size.map(number),
                page_token: listed.page_token.clone().unwrap_or_default(),
                history_length: listed.history_length.map(number),
                status_timestamp_after: None,
                include_artifacts: Some(listed.artifacts),
            }
            .encode_to_vec(),
            Call::Cancel { id } => {
                proto::CancelTaskRequest { tenant, id: (*id).to_owned(), metadata: None }.encode_to_vec()
            }
            Call::Subscribe { id } => {
                proto::SubscribeToTaskRequest { tenant, id: (*id).to_owned() }.encode_to_vec()
            }
        }
    }
}

fn old_message(call: &Call<'_>) -> Vec<u8> {
    let name = |id: &str| format!("tasks/{id}");
    match call {
        Call::Send { message, how, .. } => {
            let configuration = old::SendMessageConfiguration {
                accepted_output_modes: how.output_modes.clone(),
                push_notification: how
                    .webhook
                    .as_ref()
                    .and_then(|it| v03::push_config(&it.config(Dialect::V03)).push_notification_config),
                history_length: how.history_length.map(number).unwrap_or_default(),
                blocking: !how.immediately,
            };
            old::SendMessageRequest {
                request: Some(v03::message(message)),
                configuration: Some(configuration),
                metadata: None,
            }
            .encode_to_vec()
        }
        Call::Get { id, history_length } => {
            let history_length = history_length.map(number).unwrap_or_default();
            old::GetTaskRequest { name: name(id), history_length }.encode_to_vec()
        }
        Call::Cancel { id } | Call::Subscribe { id } => old::Named { name: name(id) }.encode_to_vec(),
        // It has been refused before: the version has no such operation.
        Call::List(_) => Vec::new(),
    }
}

impl Stream for Events {
    type Item = Result<Option<StreamItem>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        Pin::new(&mut this.messages).poll_next(cx).map(|message| {
            Some(match message? {
                Ok(bytes) => event(this.version, &bytes),
                Err(status) => Err(refusal(&status, &this.url)),
            })
        })
    }
}

/// What SendMessage is answered with, and what streams carry: the numbers are the same.
fn event(version: Version, bytes: &[u8]) -> Result<Option<StreamItem>> {
    match version {
        Version::V1 => read(v1::read_event(decode::<proto::StreamResponse>(bytes)?.payload)),
        Version::V03 => read(v03::read_event(decode::<old::StreamResponse>(bytes)?.payload)),
    }
}

fn decode<M: Message + Default>(bytes: &[u8]) -> Result<M> {
    M::decode(bytes)
        .map_err(|error| failure::unreadable(format!("the answer of the agent is broken: {error}")))
}

fn read<T>(of: Result<T, Failure>) -> Result<T> {
    of.map_err(|failure| failure::invalid(&failure))
}

fn number(count: u32) -> i32 {
    count.try_into().unwrap_or(i32::MAX)
}

/// Where the server is.
fn origin(url: &str) -> Result<Uri> {
    let authority = match url.split_once("://") {
        None => url,
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
        Some((scheme, _)) => {
            let text = format!(
                "gRPC with TLS (`{scheme}://`) is not spoken here; choose another binding of the card"
            );
            return Err(Error::new(ErrorKind::Unsupported, text).with_code("mas::a2a::interface"));
        }
    };
    let authority = authority.trim_end_matches('/');
    let origin = Uri::builder().scheme("http").authority(authority).path_and_query("/").build();
    origin.map_err(|_| {
        Error::invalid(format!("the card names `{url}` for gRPC, which is no `host:port`"))
            .with_code("mas::a2a::url")
    })
}

/// An error of the agent, or that there is no connection to it.
fn refusal(status: &Status, url: &str) -> Error {
    match status.source() {
        Some(error) => unreachable(url, error),
        None => failure::of_status(status),
    }
}

fn unreachable(url: &str, error: &dyn std::error::Error) -> Error {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = error.to_string();
        cause = error.source();
    }
    Error::new(ErrorKind::Unavailable, format!("the agent at {url} cannot be reached over gRPC: {text}"))
        .with_code("mas::a2a::connection")
        .with_delivery(Delivery::Unknown)
}

#[cfg(test)]
mod tests;
