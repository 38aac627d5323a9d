//! Paths of HTTP+JSON (A2A v1.0, sections 5.3 and 11.3; v0.3 below `/v1`).

use std::borrow::Cow;

use http::Method;

use super::call::{Operation, Tongue};
use crate::{model::Dialect, url, v03};

/// What a path leads to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Route<'a> {
    /// The JSON that is spoken there.
    pub(super) tongue: Tongue,
    /// The tenant that the path names.
    pub(super) tenant: Option<Cow<'a, str>>,
    /// What is there.
    pub(super) place: Place<'a>,
}

/// What a path names.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place<'a> {
    Send,
    Stream,
    Tasks,
    Task(Cow<'a, str>),
    Cancel(Cow<'a, str>),
    Subscribe(Cow<'a, str>),
    Pushes(Cow<'a, str>),
    Push(Cow<'a, str>, Cow<'a, str>),
    ExtendedCard,
}

impl Place<'_> {
    /// The operation of a verb; GET stands for HEAD where nothing is a stream.
    pub(super) fn operation(&self, verb: &Method) -> Option<Operation> {
        let verb = match self {
            Self::Subscribe(_) => verb,
            _ if *verb == Method::HEAD => &Method::GET,
            _ => verb,
        };
        Some(match (self, verb.as_str()) {
            (Self::Send, "POST") => Operation::Send,
            (Self::Stream, "POST") => Operation::Stream,
            (Self::Tasks, "GET") => Operation::List,
            (Self::Task(_), "GET") => Operation::Get,
            (Self::Cancel(_), "POST") => Operation::Cancel,
            (Self::Subscribe(_), "GET" | "POST") => Operation::Subscribe,
            (Self::Pushes(_), "GET") => Operation::ListPush,
            (Self::Pushes(_), "POST") => Operation::CreatePush,
            (Self::Push(..), "GET") => Operation::GetPush,
            (Self::Push(..), "DELETE") => Operation::DeletePush,
            (Self::ExtendedCard, "GET") => Operation::ExtendedCard,
            _ => return None,
        })
    }

    /// The verbs that it knows.
    pub(super) fn allow(&self) -> &'static str {
        match self {
            Self::Send | Self::Stream | Self::Cancel(_) => "POST, OPTIONS",
            Self::Tasks | Self::Task(_) | Self::ExtendedCard => "GET, HEAD, OPTIONS",
            Self::Subscribe(_) => "POST, GET, OPTIONS",
            Self::Pushes(_) => "GET, HEAD, POST, OPTIONS",
            Self::Push(..) => "GET, HEAD, DELETE, OPTIONS",
        }
    }
}

/// Where a path leads, from behind the base of HTTP+JSON, such as `/acme/tasks/7:cancel`.
///
/// `/v1/…` is v0.3, for who asks for it; to a caller of v1.0, `v1` is a tenant like any other.
pub(super) fn find(path: &str, asked: Option<Dialect>) -> Option<Route<'_>> {
    let path = path.strip_prefix('/')?;
    let path = path.strip_suffix('/').unwrap_or(path);
    let segments: Vec<&str> = path.split('/').collect();
    if let ["v1", rest @ ..] = segments.as_slice()
        && asked != Some(Dialect::V1)
    {
        let tongue = Tongue::V03(v03::Shape::Rest);
        let place = place(rest, tongue)?;
        return Some(Route { tongue, tenant: None, place });
    }
    let tongue = Tongue::V1;
    if let Some(place) = place(&segments, tongue) {
        return Some(Route { tongue, tenant: None, place });
    }
    let (tenant, rest) = segments.split_first()?;
    let tenant = url::segment(tenant).filter(|tenant| !tenant.is_empty())?;
    let place = place(rest, tongue)?;
    Some(Route { tongue, tenant: Some(tenant), place })
}

fn place<'a>(segments: &[&'a str], tongue: Tongue) -> Option<Place<'a>> {
    let text = |segment: &&'a str| url::segment(segment).filter(|text| !text.is_empty());
    Some(match segments {
        [one] => match (&*text(one)?, tongue) {
            ("message:send", _) => Place::Send,
            ("message:stream", _) => Place::Stream,
            ("tasks", Tongue::V1) => Place::Tasks,
            ("extendedAgentCard", Tongue::V1) | ("card", Tongue::V03(_)) => Place::ExtendedCard,
            _ => return None,
        },
        ["tasks", task] => match task.rsplit_once(':') {
            Some((task, "cancel")) => Place::Cancel(text(&task)?),
            Some((task, "subscribe")) => Place::Subscribe(text(&task)?),
            _ => Place::Task(text(task)?),
        },
        ["tasks", task, "pushNotificationConfigs"] => Place::Pushes(text(task)?),
        ["tasks", task, "pushNotificationConfigs", id] => Place::Push(text(task)?, text(id)?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(path: &str, asked: Option<Dialect>) -> String {
        let Some(Route { tongue, tenant, place }) = find(path, asked) else { return "nowhere".to_owned() };
        let version = if tongue == Tongue::V1 { "1.0" } else { "0.3" };
        format!("{version} {} {place:?}", tenant.unwrap_or(Cow::Borrowed("-")))
    }

    #[test]
    fn paths_lead_to_operations_with_and_without_a_tenant() {
        for (path, place) in [
            ("/message:send", "1.0 - Send"),
            ("/message%3Asend", "1.0 - Send"),
            ("/message:stream/", "1.0 - Stream"),
            ("/tasks", "1.0 - Tasks"),
            ("/tasks/", "1.0 - Tasks"),
            ("/tasks/a", "1.0 - Task(\"a\")"),
            ("/tasks/a%2Fb:c", "1.0 - Task(\"a/b:c\")"),
            ("/tasks/a:b:cancel", "1.0 - Cancel(\"a:b\")"),
            ("/tasks/a:subscribe", "1.0 - Subscribe(\"a\")"),
            ("/tasks/a/pushNotificationConfigs", "1.0 - Pushes(\"a\")"),
            ("/tasks/a/pushNotificationConfigs/p", "1.0 - Push(\"a\", \"p\")"),
            ("/extendedAgentCard", "1.0 - ExtendedCard"),
            ("/acme/message:send", "1.0 acme Send"),
            ("/a%20b/tasks/a:cancel", "1.0 a b Cancel(\"a\")"),
            ("/acme/tasks/a/pushNotificationConfigs/p", "1.0 acme Push(\"a\", \"p\")"),
            ("/v1/tasks", "1.0 v1 Tasks"),
        ] {
            assert_eq!(told(path, Some(Dialect::V1)), place, "{path}");
        }
        for (path, place) in [
            ("/v1/message:send", "0.3 - Send"),
            ("/v1/tasks/a:subscribe", "0.3 - Subscribe(\"a\")"),
            ("/v1/card", "0.3 - ExtendedCard"),
            ("/v1/tasks", "nowhere"),
            ("/message:send", "1.0 - Send"),
        ] {
            assert_eq!(told(path, Some(Dialect::V03)), place, "{path}");
        }
        for path in [
            "",
            "/",
            "//",
            "/x",
            "/tasks//",
            "/tasks/%ff",
            "/a/b/tasks",
            "/:cancel",
            "/tasks/:cancel",
            "/card",
        ] {
            assert_eq!(told(path, Some(Dialect::V1)), "nowhere", "{path}");
        }
    }
}
