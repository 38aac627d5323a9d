//! An agent over gRPC: `https://host:port` with TLS, `http://host:port` or just `host:port` without.

mod dial;
mod refusal;

use std::{
    error::Error as _,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_core::Stream;
use http::{HeaderName, HeaderValue, Uri};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use mas_comm_kit::{
    auth::{Credential, Shown},
    http::{HeaderText, shown},
};
use mas_contracts::{Error, ErrorKind, Result};
use prost::Message;
use tonic::{Code, Status, Streaming, body::Body, client::Grpc, metadata::MetadataMap};

use super::{Interface, Version, call::Call, failure, wire::Wire};
use crate::{
    grpc::{
        codec::Raw,
        deadline,
        fields::state_number,
        proto::{v1 as proto, v03 as old},
        v1, v03,
    },
    model::{Dialect, Failure, Listing, SendReply, StreamItem, TaskView},
};

pub(super) use dial::Dial;
use refusal::refusal;

/// Where the engine of turns says in a message how much of the budget is left, in milliseconds.
const BUDGET: &str = "mas.budget_ms";

/// An agent over gRPC. It connects when it is first asked, and keeps its connection.
pub(super) struct Channel {
    client: Grpc<Client<dial::Connector, Body>>,
    /// How much is read of one message of a stream.
    event: usize,
    version: Version,
    tenant: String,
    headers: http::HeaderMap,
    credentials: Arc<[Credential]>,
    /// How long a call may take, where the message does not say.
    timeout: Duration,
    url: String,
}

/// What a stream tells.
pub(super) struct Events {
    messages: Streaming<Bytes>,
    version: Version,
    url: String,
}

impl Channel {
    /// A channel to an interface of a card; no answer may be larger than `reply` bytes, no message of a stream larger
    /// than `event`.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for an address that is none, or for headers that cannot be sent;
    /// [`ErrorKind::Unsupported`] for another scheme, for a key in the query, or where a proxy has to be used.
    pub(super) fn new(interface: &Interface, wire: &Wire, reply: usize, event: usize) -> Result<Self> {
        let origin = origin(&interface.url)?;
        let connector = wire.dial.connector(&origin)?;
        let client = Client::builder(TokioExecutor::new()).http2_only(true).build(connector);
        if wire.credentials.iter().any(|one| matches!(one, Credential::Query(..))) {
            let text = "the credentials go into the query, which gRPC has none of; choose another binding of the card";
            return Err(Error::new(ErrorKind::Unsupported, text).with_code("mas::a2a::credentials"));
        }
        let mut headers = http::HeaderMap::new();
        headers.insert("a2a-version", HeaderValue::from_static(interface.version.as_str()));
        for (name, text) in &wire.headers {
            put(&mut headers, name, text)?;
        }
        Ok(Self {
            client: Grpc::with_origin(client, origin).max_decoding_message_size(reply),
            event,
            version: interface.version,
            tenant: interface.tenant.clone().unwrap_or_default(),
            headers,
            credentials: wire.credentials.clone(),
            timeout: wire.timeout,
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
        let (path, message) = self.request(call)?;
        let client = self.client.clone().max_decoding_message_size(self.event);
        let answer = self
            .authorized(call, |metadata| {
                let (mut client, path, request) = (client.clone(), path.clone(), asking(metadata, &message));
                async move {
                    client.ready().await.map_err(|error| Status::from_error(error.into()))?;
                    client.server_streaming(request, path, Raw).await
                }
            })
            .await?;
        Ok(Events { messages: answer.into_inner(), version: self.version, url: self.url.clone() })
    }

    async fn ask(&self, call: &Call<'_>) -> Result<Bytes> {
        let (path, message) = self.request(call)?;
        let answer = self
            .authorized(call, |metadata| {
                let (mut client, path, request) =
                    (self.client.clone(), path.clone(), asking(metadata, &message));
                async move {
                    client.ready().await.map_err(|error| Status::from_error(error.into()))?;
                    client.unary(request, path, Raw).await
                }
            })
            .await?;
        Ok(answer.into_inner())
    }

    /// Makes a call with credentials; once more after an UNAUTHENTICATED, where a fresh token can be had. What was refused
    /// was not executed.
    async fn authorized<T, F: Future<Output = Result<T, Status>>>(
        &self,
        call: &Call<'_>,
        make: impl Fn(MetadataMap) -> F,
    ) -> Result<T> {
        let headers = self.head(call)?;
        let shown = Shown::of(&self.credentials).await?;
        let refused = match make(with(&headers, &shown)?).await {
            Ok(answer) => return Ok(answer),
            Err(status) => status,
        };
        if refused.code() == Code::Unauthenticated
            && refused.source().is_none()
            && let Some(again) = shown.renewed(&self.credentials).await?
        {
            return make(with(&headers, &again)?).await.map_err(|status| refusal(&status, &self.url));
        }
        Err(refusal(&refused, &self.url))
    }

    /// What every call says, and how long its caller waits.
    fn head(&self, call: &Call<'_>) -> Result<http::HeaderMap> {
        let mut headers = self.headers.clone();
        let patience = deadline::written(patience(call).unwrap_or(self.timeout));
        put(&mut headers, deadline::HEADER, &HeaderText::Plain(patience))?;
        if let Some(trace) = call.traceparent() {
            put(&mut headers, "traceparent", &HeaderText::Plain(trace.to_owned()))?;
        }
        Ok(headers)
    }

    fn request(&self, call: &Call<'_>) -> Result<(http::uri::PathAndQuery, Vec<u8>)> {
        let method = self.method(call);
        let message = match self.version {
            Version::V1 => self.message(call),
            Version::V03 => old_message(call),
        };
        let path = method.parse().map_err(|_| Error::internal("a method is no path"))?;
        Ok((path, message))
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

/// Adds a header.
fn put(headers: &mut http::HeaderMap, name: &str, text: &HeaderText) -> Result<()> {
    let value = HeaderValue::from_str(text.reveal());
    let (Ok(known), Ok(mut value)) = (name.parse::<HeaderName>(), value) else {
        return Err(Error::invalid(format!("the header `{name}` cannot be sent")));
    };
    value.set_sensitive(matches!(text, HeaderText::Secret(_)));
    headers.append(known, value);
    Ok(())
}

/// The metadata of a call; credentials stand where a header of the same name stood.
fn with(headers: &http::HeaderMap, shown: &Shown) -> Result<MetadataMap> {
    let mut headers = headers.clone();
    for (name, _) in &shown.headers {
        headers.remove(name);
    }
    for (name, text) in &shown.headers {
        put(&mut headers, name, text)?;
    }
    Ok(MetadataMap::from_headers(headers))
}

fn asking(metadata: MetadataMap, message: &[u8]) -> tonic::Request<Vec<u8>> {
    let mut request = tonic::Request::new(message.to_vec());
    *request.metadata_mut() = metadata;
    request
}

/// How long the caller of a message waits, as the message says.
fn patience(call: &Call<'_>) -> Option<Duration> {
    let Call::Send { message, .. } = call else { return None };
    message.metadata.get(BUDGET)?.as_u64().map(Duration::from_millis)
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
    let (scheme, authority) = match url.split_once("://") {
        None => ("http", url),
        Some((scheme, rest)) => match scheme.to_ascii_lowercase().as_str() {
            "http" | "grpc" | "a2a" => ("http", rest),
            "https" | "grpcs" | "a2as" => ("https", rest),
            _ => {
                let text =
                    format!("gRPC over `{scheme}://` is not spoken here; choose another binding of the card");
                return Err(Error::new(ErrorKind::Unsupported, text).with_code("mas::a2a::interface"));
            }
        },
    };
    let authority = authority.trim_end_matches('/');
    let origin = Uri::builder().scheme(scheme).authority(authority).path_and_query("/").build();
    origin.map_err(|_| {
        let text = format!("the card names `{}` for gRPC, which is no `host:port`", shown(url));
        Error::invalid(text).with_code("mas::a2a::url")
    })
}

#[cfg(test)]
mod tests;
