//! HTTP+JSON (A2A v1.0, section 11), of both versions.

use std::{borrow::Cow, collections::BTreeMap};

use bytes::Bytes;
use http::{Method, Request, Response, request::Parts};

use super::{
    Agent,
    body::{self, Answer},
    call::{Call, Operation, Outcome, Reply, Told, Tongue},
    failures, jsonrpc,
    media::{self, Json},
    nowhere, options,
    route::{self, Place, Route},
    sse, terms,
};
use crate::{
    json::{Fields, Node},
    model::{Failure, Reason},
    url,
};

/// Where HTTP+JSON is, below the agent's base.
pub(super) const BASE: &str = "/a2a/rest";

/// Where it is for callers of a managed platform, below the same.
pub(super) const PLATFORM: &str = "/api/a2a/v1";

/// By which of the two a request came. A platform's callers say no version, and are told a task as `{"task": …}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Own,
    Platform,
}

/// Answers a request whose path is one of HTTP+JSON from the byte `from` on.
pub(super) async fn answer<B>(agent: &Agent, request: Request<B>, from: usize, way: Way) -> Response<Answer>
where
    B: http_body::Body<Data = Bytes>,
{
    let (parts, body) = request.into_parts();
    let version = terms::Version::of(&parts.headers, parts.uri.query());
    let path = parts.uri.path().get(from..).unwrap_or_default();
    let route = route::find(path, version.dialect());
    let Some(route) = route else {
        return failures::over_http(&nowhere(), Json::Plain);
    };
    if parts.method == Method::OPTIONS {
        return options(route.place.allow());
    }
    let Some(operation) = route.place.operation(&parts.method) else {
        return failures::wrong_verb(route.place.allow(), Json::Plain);
    };
    // Failures are in the JSON that the caller shows to know; `application/json` is what every client reads.
    let mut spoken = Json::Plain;
    let tongue = route.tongue;
    let done = async {
        let owner = agent.gate.admit(&parts.headers, parts.uri.query()).await?;
        // Some clients say a type with every request, also without a body.
        let posted = match parts.method {
            Method::POST => media::of_body(&parts.headers)?,
            _ => None,
        };
        let taken = media::taken(&parts.headers)?;
        let named = posted.or(taken.named);
        spoken = named.unwrap_or(Json::Plain);
        if way == Way::Own || !version.is_absent() {
            version.check(tongue.dialect())?;
        }
        let mut caller = terms::caller(&parts.headers, owner, tongue.dialect());
        terms::check_extensions(agent, &caller)?;
        let bytes = body::read(agent, body).await?;
        let params = params(agent, &parts, &bytes, operation, route)?;
        let call = Call::read(operation, tongue, params, &parts.headers, &mut caller)?;
        let outcome = call.perform(&*agent.operations, &caller).await?;
        Ok((outcome, named.unwrap_or(Json::A2a)))
    };
    let mut response = match done.await {
        Ok((Outcome::Reply(reply @ Reply::Task(_)), json)) if way == Way::Platform => {
            failures::whole(&BTreeMap::from([("task", Told(tongue, &reply))]), json)
        }
        Ok((Outcome::Reply(reply), json)) => failures::whole(&Told(tongue, &reply), json),
        Ok((Outcome::Stream(items), _)) => sse::answer(agent, items, tongue, (String::new(), "")),
        Err(failure) => failures::over_http(&failure, spoken),
    };
    terms::echo(agent, &parts.headers, response.headers_mut());
    response
}

/// What an operation is asked: the fields of the body or of the query, and those that the path names.
fn params<'a>(
    agent: &Agent,
    parts: &'a Parts,
    body: &'a [u8],
    operation: Operation,
    route: Route<'a>,
) -> Result<Node<'a>, Failure> {
    let node = match operation {
        Operation::Send | Operation::Stream | Operation::CreatePush => {
            jsonrpc::parse(body, agent.limits.nesting)?
        }
        // These work without a body too.
        Operation::Cancel | Operation::Subscribe if !body.is_empty() => {
            jsonrpc::parse(body, agent.limits.nesting)?
        }
        Operation::Cancel => Node::Null,
        _ => Node::Object(query(parts)?),
    };
    let mut fields = match node {
        Node::Object(fields) => fields,
        Node::Null => Fields::new(),
        // Said where parameters are read.
        other => return Ok(other),
    };
    let text = |name: &'static str, text| (Cow::Borrowed(name), Node::Text(text));
    let (task, push) = match route.tongue {
        Tongue::V1 => ("taskId", "id"),
        Tongue::V03(_) if operation == Operation::CreatePush => ("taskId", "id"),
        Tongue::V03(_) => ("id", "pushNotificationConfigId"),
    };
    match route.place {
        Place::Send | Place::Stream | Place::Tasks | Place::ExtendedCard => {}
        Place::Task(id) | Place::Cancel(id) | Place::Subscribe(id) => fields.push(text("id", id)),
        Place::Pushes(id) => fields.push(text(task, id)),
        Place::Push(id, config) => {
            fields.push(text(task, id));
            fields.push(text(push, config));
        }
    }
    if let Some(tenant) = route.tenant {
        fields.push(text("tenant", tenant));
    }
    Ok(Node::Object(fields))
}

/// The fields of a query (section 11.5). Yes and no are words there.
fn query(parts: &Parts) -> Result<Fields<'_>, Failure> {
    let fields = url::query(parts.uri.query())
        .ok_or_else(|| Failure::new(Reason::InvalidParams, "the query is no text in UTF-8"))?;
    Ok(fields
        .into_iter()
        .map(|(name, value)| {
            let flag = matches!(&*name, "includeArtifacts" | "include_artifacts");
            let value = match value {
                Node::Text(text) if flag && text == "true" => Node::Flag(true),
                Node::Text(text) if flag && text == "false" => Node::Flag(false),
                // What is empty is not said.
                Node::Text(text) if text.is_empty() => Node::Null,
                other => other,
            };
            (name, value)
        })
        .collect())
}
