//! The services: which method is asked of which agent, and what is answered.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use prost::Message;
use tonic::{
    Status,
    body::Body,
    metadata::MetadataMap,
    server::{Grpc, ServerStreamingService, UnaryService},
};

use super::{
    codec::Raw,
    deadline::{Deadline, Messages},
    failures,
    proto::{rpc, v1 as proto, v03 as old},
    v1, v03,
};
use crate::{
    http::{
        Agent, body,
        call::{Call, Operation, Outcome, Reply},
        terms,
    },
    model::{Caller, Dialect, Failure, Reason, StreamItem, Violation},
};

/// The agents of a port.
pub(crate) struct Agents {
    entry: Arc<Agent>,
    by_tenant: HashMap<Arc<str>, Arc<Agent>>,
    ready: AtomicBool,
}

impl Agents {
    /// The agents of a port. Where `by_tenant` has one at most, any tenant leads to the entry agent.
    pub(crate) fn new(entry: Arc<Agent>, by_tenant: HashMap<Arc<str>, Arc<Agent>>) -> Self {
        Self { entry, by_tenant, ready: AtomicBool::new(true) }
    }

    /// Says that no more work is taken.
    pub(crate) fn unready(&self) {
        self.ready.store(false, Ordering::Relaxed);
    }

    /// The only agent, if there are not several.
    fn only(&self) -> Option<&Arc<Agent>> {
        (self.by_tenant.len() < 2).then_some(&self.entry)
    }

    fn find(&self, tenant: Option<&str>) -> Result<&Arc<Agent>, Failure> {
        match (tenant, self.only()) {
            (None, _) => Ok(&self.entry),
            (_, Some(only)) => Ok(only),
            (Some(tenant), None) => self.by_tenant.get(tenant).ok_or_else(|| {
                let wrong = "is no agent of this server: the agents' cards name their tenants";
                Failure::invalid(vec![Violation::new("tenant", wrong)])
            }),
        }
    }

    fn check_health(&self, bytes: &[u8]) -> Result<Vec<u8>, Failure> {
        let asked: rpc::HealthCheckRequest = decode(bytes)?;
        if !matches!(asked.service.as_str(), "" | proto::SERVICE | old::SERVICE) {
            let message =
                format!("there is no service `{}`", asked.service.chars().take(64).collect::<String>());
            return Err(Failure::new(Reason::TaskNotFound, message));
        }
        let status = match self.ready.load(Ordering::Relaxed) {
            true => rpc::ServingStatus::Serving,
            false => rpc::ServingStatus::NotServing,
        };
        Ok(rpc::HealthCheckResponse { status: status.into() }.encode_to_vec())
    }
}

/// What a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Operation(Dialect, Operation),
    Health,
}

impl Asked {
    fn of(path: &str) -> Option<Self> {
        let (service, method) = path.strip_prefix('/')?.split_once('/')?;
        let dialect = match service {
            proto::SERVICE => Dialect::V1,
            old::SERVICE => Dialect::V03,
            rpc::HEALTH => return (method == "Check").then_some(Self::Health),
            _ => return None,
        };
        let operation = match (method, dialect) {
            ("SendMessage", _) => Operation::Send,
            ("SendStreamingMessage", _) => Operation::Stream,
            ("GetTask", _) => Operation::Get,
            ("ListTasks", Dialect::V1) => Operation::List,
            ("CancelTask", _) => Operation::Cancel,
            ("SubscribeToTask", Dialect::V1) | ("TaskSubscription", Dialect::V03) => Operation::Subscribe,
            ("CreateTaskPushNotificationConfig", _) => Operation::CreatePush,
            ("GetTaskPushNotificationConfig", _) => Operation::GetPush,
            ("ListTaskPushNotificationConfigs", Dialect::V1)
            | ("ListTaskPushNotificationConfig", Dialect::V03) => Operation::ListPush,
            ("DeleteTaskPushNotificationConfig", _) => Operation::DeletePush,
            ("GetExtendedAgentCard", Dialect::V1) | ("GetAgentCard", Dialect::V03) => Operation::ExtendedCard,
            _ => return None,
        };
        Some(Self::Operation(dialect, operation))
    }

    fn streams(self) -> bool {
        matches!(self, Self::Operation(_, Operation::Stream | Operation::Subscribe))
    }
}

/// Answers a request of gRPC. Its limits of body and time are the entry agent's.
pub(crate) async fn answer<B>(agents: &Agents, request: Request<B>) -> Response<Body>
where
    B: http_body::Body<Data = Bytes>,
{
    if let Some(refusal) = refusal_of_http(&request) {
        return refusal;
    }
    let (parts, body) = request.into_parts();
    match exchange(agents, parts, body).await {
        Ok(response) => response,
        Err(failure) => failures::status(&failure).into_http(),
    }
}

/// What is no gRPC is told so in HTTP.
fn refusal_of_http<B>(request: &Request<B>) -> Option<Response<Body>> {
    let kind = request.headers().get(header::CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    let kind = kind.split(|it| *it == b';').next().unwrap_or_default().trim_ascii();
    let mut response = Response::new(Body::empty());
    if request.method() != Method::POST {
        *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
    } else if !matches!(kind, b"application/grpc" | b"application/grpc+proto") {
        *response.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    } else {
        return None;
    }
    Some(response)
}

async fn exchange<B>(agents: &Agents, parts: http::request::Parts, body: B) -> Result<Response<Body>, Failure>
where
    B: http_body::Body<Data = Bytes>,
{
    let Some(asked) = Asked::of(parts.uri.path()) else {
        let path: String = parts.uri.path().chars().take(128).collect();
        return Err(Failure::new(Reason::MethodNotFound, format!("there is no method `{path}`")));
    };
    let deadline = Deadline::of(&parts.headers, &agents.entry.clock)?;
    // Whom several agents let in is known only with the tenant, which is in the body.
    let admitted = match (agents.only(), asked) {
        (Some(agent), Asked::Operation(..)) => Some(agent.gate.admit(&parts.headers, None).await?),
        _ => None,
    };
    let bytes = deadline.within(body::read(&agents.entry, body)).await?;
    let request = Request::from_parts(parts, Full::new(bytes));
    let mut grpc = Grpc::new(Raw).max_decoding_message_size(agents.entry.limits.body);
    let desk = Desk { agents, asked, admitted, deadline };
    Ok(if asked.streams() {
        grpc.server_streaming(By(|request| desk.stream(request)), request).await
    } else {
        grpc.unary(By(|request| desk.reply(request)), request).await
    })
}

/// Where one call is answered.
struct Desk<'a> {
    agents: &'a Agents,
    asked: Asked,
    /// Who was let in before the body was read; none if nobody was asked yet.
    admitted: Option<Option<Arc<str>>>,
    deadline: Deadline,
}

impl Desk<'_> {
    async fn reply(&self, request: tonic::Request<Bytes>) -> Result<tonic::Response<Vec<u8>>, Status> {
        let (metadata, _, bytes) = request.into_parts();
        let headers = metadata.into_headers();
        let done = self.deadline.within(async {
            let Asked::Operation(dialect, _) = self.asked else {
                return self.agents.check_health(&bytes).map(tonic::Response::new);
            };
            let (agent, outcome) = self.perform(&headers, &bytes).await?;
            match outcome {
                Outcome::Reply(reply) => Ok(echoing(agent, &headers, told(dialect, &reply)?)),
                Outcome::Stream(_) => Err(Failure::new(Reason::Internal, "a stream answers a plain call")),
            }
        });
        done.await.map_err(|failure| failures::status(&failure))
    }

    async fn stream(&self, request: tonic::Request<Bytes>) -> Result<tonic::Response<Messages>, Status> {
        let (metadata, _, bytes) = request.into_parts();
        let headers = metadata.into_headers();
        let done = self.deadline.within(async {
            let (agent, outcome) = self.perform(&headers, &bytes).await?;
            let write = match self.asked {
                Asked::Operation(Dialect::V03, _) => |item: &StreamItem| v03::event(item).encode_to_vec(),
                _ => |item: &StreamItem| v1::event(item).encode_to_vec(),
            };
            match outcome {
                Outcome::Stream(items) => Ok(echoing(agent, &headers, self.deadline.bounds(items, write))),
                Outcome::Reply(_) => Err(Failure::new(Reason::Internal, "a plain answer to a stream")),
            }
        });
        done.await.map_err(|failure| failures::status(&failure))
    }

    async fn perform(&self, headers: &HeaderMap, bytes: &Bytes) -> Result<(&Agent, Outcome), Failure> {
        let Asked::Operation(dialect, operation) = self.asked else {
            return Err(Failure::new(Reason::Internal, "health is no operation of an agent"));
        };
        let tenant = match dialect {
            Dialect::V1 => tenant(operation, bytes)?,
            Dialect::V03 => None,
        };
        let agent = self.agents.find(tenant.as_deref())?;
        let owner = match &self.admitted {
            Some(owner) => owner.clone(),
            None => agent.gate.admit(headers, None).await?,
        };
        let version = terms::Version::of(headers, None);
        if !version.is_absent() {
            version.check(dialect)?;
        }
        let caller = Caller { tenant, ..terms::caller(headers, owner, dialect) };
        terms::check_extensions(agent, &caller)?;
        let call = match dialect {
            Dialect::V1 => read(operation, bytes, headers)?,
            Dialect::V03 => read_old(operation, bytes, headers)?,
        };
        Ok((agent, call.perform(&*agent.operations, &caller).await?))
    }
}

fn read(operation: Operation, bytes: &Bytes, headers: &HeaderMap) -> Result<Call, Failure> {
    Ok(match operation {
        Operation::Send => Call::Send(v1::send(decode(bytes)?)?),
        Operation::Stream => Call::Stream(v1::send(decode(bytes)?)?),
        Operation::Get => Call::Get(v1::get_task(decode(bytes)?)?),
        Operation::List => Call::List(v1::list_tasks(decode(bytes)?)?),
        Operation::Cancel => Call::Cancel(v1::cancel(decode(bytes)?)?),
        Operation::Subscribe => Call::Subscribe(v1::subscribe(decode(bytes)?, terms::last_event(headers))?),
        Operation::CreatePush => Call::CreatePush(v1::create_push(decode(bytes)?)?),
        Operation::GetPush => Call::GetPush(v1::push_key(decode(bytes)?)?),
        Operation::ListPush => Call::ListPush(v1::list_push(decode(bytes)?)?),
        Operation::DeletePush => Call::DeletePush(v1::push_key(decode(bytes)?)?),
        Operation::ExtendedCard => {
            decode::<proto::GetExtendedAgentCardRequest>(bytes)?;
            Call::ExtendedCard
        }
    })
}

fn read_old(operation: Operation, bytes: &Bytes, headers: &HeaderMap) -> Result<Call, Failure> {
    Ok(match operation {
        Operation::Send => Call::Send(v03::send(decode(bytes)?)?),
        Operation::Stream => Call::Stream(v03::send(decode(bytes)?)?),
        Operation::Get => Call::Get(v03::get_task(&decode(bytes)?)?),
        Operation::List => return Err(Failure::new(Reason::MethodNotFound, "0.3 has no list of tasks")),
        Operation::Cancel => Call::Cancel(v03::cancel(&decode(bytes)?)?),
        Operation::Subscribe => Call::Subscribe(v03::subscribe(&decode(bytes)?, terms::last_event(headers))?),
        Operation::CreatePush => Call::CreatePush(v03::create_push(decode(bytes)?)?),
        Operation::GetPush => Call::GetPush(v03::push_key(&decode(bytes)?, false)?),
        Operation::ListPush => Call::ListPush(v03::list_push(&decode(bytes)?)?),
        Operation::DeletePush => Call::DeletePush(v03::push_key(&decode(bytes)?, true)?),
        Operation::ExtendedCard => Call::ExtendedCard,
    })
}

fn told(dialect: Dialect, reply: &Reply) -> Result<Vec<u8>, Failure> {
    Ok(match (dialect, reply) {
        (Dialect::V1, Reply::Sent(reply)) => v1::sent(reply).encode_to_vec(),
        (Dialect::V1, Reply::Task(task)) => v1::task(task).encode_to_vec(),
        (Dialect::V1, Reply::Push(config)) => v1::push_config(config).encode_to_vec(),
        (Dialect::V1, Reply::Pushes(configs)) => v1::push_configs(configs).encode_to_vec(),
        (Dialect::V1, Reply::Card(card)) => v1::card(card)?.encode_to_vec(),
        (Dialect::V03, Reply::Sent(reply)) => v03::sent(reply).encode_to_vec(),
        (Dialect::V03, Reply::Task(task)) => v03::task(task).encode_to_vec(),
        (Dialect::V03, Reply::Push(config)) => v03::push_config(config).encode_to_vec(),
        (Dialect::V03, Reply::Pushes(configs)) => v03::push_configs(configs).encode_to_vec(),
        (Dialect::V03, Reply::Card(card)) => v03::card(card)?.encode_to_vec(),
        (_, Reply::Listing(listing)) => v1::listing(listing).encode_to_vec(),
        // `google.protobuf.Empty`.
        (_, Reply::Deleted) => Vec::new(),
    })
}

/// The tenant that a request of v1.0 names; nothing else of it is read.
fn tenant(operation: Operation, bytes: &Bytes) -> Result<Option<Arc<str>>, Failure> {
    #[derive(Clone, PartialEq, Message)]
    struct First {
        #[prost(string, tag = "1")]
        tenant: String,
    }
    #[derive(Clone, PartialEq, Message)]
    struct Fourth {
        #[prost(string, tag = "4")]
        tenant: String,
    }
    let tenant = match operation {
        Operation::ListPush => decode::<Fourth>(bytes)?.tenant,
        _ => decode::<First>(bytes)?.tenant,
    };
    Ok((!tenant.is_empty()).then(|| tenant.into()))
}

fn decode<M: Message + Default>(bytes: &[u8]) -> Result<M, Failure> {
    M::decode(bytes).map_err(|error| {
        Failure::new(Reason::ParseError, format!("the message is no protobuf that is read here: {error}"))
    })
}

/// An answer with the extensions that are in use.
fn echoing<T>(agent: &Agent, asked: &HeaderMap, message: T) -> tonic::Response<T> {
    let mut headers = HeaderMap::new();
    terms::echo(agent, asked, &mut headers);
    tonic::Response::from_parts(MetadataMap::from_headers(headers), message, http::Extensions::new())
}

/// A function as a service.
struct By<F>(F);

impl<F, Fut, T> UnaryService<Bytes> for By<F>
where
    F: FnMut(tonic::Request<Bytes>) -> Fut,
    Fut: Future<Output = Result<tonic::Response<T>, Status>>,
{
    type Response = T;
    type Future = Fut;

    fn call(&mut self, request: tonic::Request<Bytes>) -> Fut {
        (self.0)(request)
    }
}

impl<F, Fut> ServerStreamingService<Bytes> for By<F>
where
    F: FnMut(tonic::Request<Bytes>) -> Fut,
    Fut: Future<Output = Result<tonic::Response<Messages>, Status>>,
{
    type Response = Vec<u8>;
    type ResponseStream = Messages;
    type Future = Fut;

    fn call(&mut self, request: tonic::Request<Bytes>) -> Fut {
        (self.0)(request)
    }
}
