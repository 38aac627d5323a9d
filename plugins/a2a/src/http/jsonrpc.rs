//! JSON-RPC (A2A v1.0, section 9), of both versions: the method names the version.
//!
//! Batches are refused. A notification is answered like a request, with the id `null`, as the official servers do it.

use std::borrow::Cow;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Number;

use super::{
    Agent,
    body::{self, Answer},
    call::{Call, Operation, Outcome, Reply, Told, Tongue},
    failures, media, options, sse, terms,
};
use crate::{
    json::Node,
    model::{Dialect, Failure, Reason},
    v1, v03,
};

const ALLOW: &str = "POST, OPTIONS";

/// The id of a request, as it is echoed: text, or a whole number, or nothing.
enum Id<'a> {
    Nothing,
    Number(Number),
    Text(Cow<'a, str>),
}

impl Serialize for Id<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nothing => serializer.serialize_unit(),
            Self::Number(number) => number.serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

/// A request.
struct Envelope<'a> {
    method: Cow<'a, str>,
    params: Node<'a>,
}

/// The operation and the version that a method names.
fn operation(method: &str) -> Option<(Operation, Tongue)> {
    const OLD: Tongue = Tongue::V03(v03::Shape::Rpc);
    Some(match method {
        "SendMessage" => (Operation::Send, Tongue::V1),
        "SendStreamingMessage" => (Operation::Stream, Tongue::V1),
        "GetTask" => (Operation::Get, Tongue::V1),
        "ListTasks" => (Operation::List, Tongue::V1),
        "CancelTask" => (Operation::Cancel, Tongue::V1),
        "SubscribeToTask" => (Operation::Subscribe, Tongue::V1),
        "CreateTaskPushNotificationConfig" => (Operation::CreatePush, Tongue::V1),
        "GetTaskPushNotificationConfig" => (Operation::GetPush, Tongue::V1),
        "ListTaskPushNotificationConfigs" => (Operation::ListPush, Tongue::V1),
        "DeleteTaskPushNotificationConfig" => (Operation::DeletePush, Tongue::V1),
        "GetExtendedAgentCard" => (Operation::ExtendedCard, Tongue::V1),
        "message/send" => (Operation::Send, OLD),
        "message/stream" => (Operation::Stream, OLD),
        "tasks/get" => (Operation::Get, OLD),
        "tasks/cancel" => (Operation::Cancel, OLD),
        "tasks/resubscribe" => (Operation::Subscribe, OLD),
        "tasks/pushNotificationConfig/set" => (Operation::CreatePush, OLD),
        "tasks/pushNotificationConfig/get" => (Operation::GetPush, OLD),
        "tasks/pushNotificationConfig/list" => (Operation::ListPush, OLD),
        "tasks/pushNotificationConfig/delete" => (Operation::DeletePush, OLD),
        "agent/getAuthenticatedExtendedCard" => (Operation::ExtendedCard, OLD),
        _ => return None,
    })
}

/// Answers a request at the agent's base.
pub(super) async fn answer<B>(agent: &Agent, request: Request<B>) -> Response<Answer>
where
    B: http_body::Body<Data = Bytes>,
{
    match *request.method() {
        Method::POST => {}
        Method::OPTIONS => return options(ALLOW),
        _ => return failures::wrong_verb(ALLOW, media::Json::Plain),
    }
    let (parts, body) = request.into_parts();
    let mut id = Id::Nothing;
    // What fails before the method is known has the same code in both versions.
    let mut tongue = Tongue::V1;
    let read = async {
        let owner = agent.gate.admit(&parts.headers, parts.uri.query()).await?;
        media::of_body(&parts.headers)?;
        media::taken(&parts.headers)?;
        Ok((owner, body::read(agent, body).await?))
    };
    let (owner, bytes) = match read.await {
        Ok(read) => read,
        Err(failure) => return failed(&failure, &id, tongue),
    };
    let done = async {
        let envelope = open(&bytes, agent.limits.nesting, &mut id)?;
        let version = terms::Version::of(&parts.headers, parts.uri.query());
        let (operation, spoken) = named(&envelope.method, &version)?;
        tongue = spoken;
        let mut caller = terms::caller(&parts.headers, owner, spoken.dialect());
        terms::check_extensions(agent, &caller)?;
        let call = Call::read(operation, spoken, envelope.params, &parts.headers, &mut caller)?;
        call.perform(&*agent.operations, &caller).await
    };
    let mut response = match done.await {
        Ok(Outcome::Reply(reply)) => failures::whole(&Succeeded(&id, tongue, &reply), media::Json::Plain),
        Ok(Outcome::Stream(items)) => match serde_json::to_string(&id) {
            Ok(id) => {
                let before = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":");
                sse::answer(agent, items, tongue, (before, "}"))
            }
            Err(_) => failed(&Failure::new(Reason::Internal, "the id cannot be echoed"), &id, tongue),
        },
        Err(failure) => failed(&failure, &id, tongue),
    };
    echo(agent, &parts.headers, &mut response);
    response
}

fn echo(agent: &Agent, asked: &HeaderMap, response: &mut Response<Answer>) {
    terms::echo(agent, asked, response.headers_mut());
}

/// Reads the envelope; its id as soon as it is known.
fn open<'a>(bytes: &'a [u8], nesting: usize, id: &mut Id<'a>) -> Result<Envelope<'a>, Failure> {
    let invalid = |message| Failure::new(Reason::InvalidRequest, message);
    let node = parse(bytes, nesting)?;
    let fields = match node {
        Node::Object(fields) => fields,
        Node::List(_) => return Err(invalid("batches are not served here: send each request alone")),
        _ => return Err(invalid("a request is an object")),
    };
    let (mut version, mut method, mut params, mut given) = (Node::Null, Node::Null, Node::Null, Node::Null);
    for (name, value) in fields {
        match &*name {
            "jsonrpc" => version = value,
            "method" => method = value,
            "params" => params = value,
            "id" => given = value,
            _ => {}
        }
    }
    *id = match given {
        Node::Null => Id::Nothing,
        Node::Text(text) => Id::Text(text),
        Node::Number(number) if !number.is_f64() => Id::Number(number),
        _ => return Err(invalid("`id` has to be a text, a whole number of 64 bits, or null")),
    };
    if !matches!(&version, Node::Text(version) if version == "2.0") {
        return Err(invalid("`jsonrpc` has to be \"2.0\""));
    }
    match method {
        Node::Text(method) => Ok(Envelope { method, params }),
        _ => Err(invalid("`method` has to be there, and to be a text")),
    }
}

/// Reads JSON of a body.
///
/// # Errors
/// [`Reason::ParseError`], with the place.
pub(super) fn parse(bytes: &[u8], nesting: usize) -> Result<Node<'_>, Failure> {
    Node::read(bytes, nesting).map_err(|error| {
        let message = match bytes {
            [] => "the body is empty".to_owned(),
            _ => format!("the body is no JSON that is read here: {error}"),
        };
        Failure::new(Reason::ParseError, message)
    })
}

/// The operation of a method, if the request asks for the method's version.
fn named(method: &str, version: &terms::Version<'_>) -> Result<(Operation, Tongue), Failure> {
    let no_method = |message: String| Err(Failure::new(Reason::MethodNotFound, message));
    let Some((operation, tongue)) = operation(method) else {
        let shown: String = method.chars().take(64).collect();
        return no_method(format!("there is no method `{shown}`"));
    };
    match (tongue.dialect(), version.dialect()) {
        (Dialect::V03, Some(Dialect::V1)) => {
            no_method(format!("`{method}` is a method of 0.3, and 1.0 is asked for"))
        }
        (needed, _) => version.check(needed).map(|()| (operation, tongue)),
    }
}

struct Succeeded<'a>(&'a Id<'a>, Tongue, &'a Reply);

impl Serialize for Succeeded<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("jsonrpc", "2.0")?;
        map.serialize_entry("id", self.0)?;
        map.serialize_entry("result", &Told(self.1, self.2))?;
        map.end()
    }
}

fn failed(failure: &Failure, id: &Id<'_>, tongue: Tongue) -> Response<Answer> {
    #[derive(Serialize)]
    struct Failed<'a> {
        jsonrpc: &'a str,
        id: &'a Id<'a>,
        error: Error<'a>,
    }
    #[derive(Serialize)]
    struct Error<'a> {
        code: i32,
        message: &'a str,
        data: failures::Details<'a>,
    }
    let code = match tongue {
        Tongue::V1 => v1::code(failure.reason),
        Tongue::V03(_) => v03::code(failure.reason),
    };
    let error = Error { code, message: &failure.message, data: failures::Details(failure) };
    let mut response = failures::whole(&Failed { jsonrpc: "2.0", id, error }, media::Json::Plain);
    *response.status_mut() = if failures::is_of_http(failure.reason) {
        failures::status(failure.reason).0
    } else {
        StatusCode::OK
    };
    failures::headers(failure, response.headers_mut());
    response
}
