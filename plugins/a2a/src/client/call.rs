//! Operations as requests, and how those of the two bindings over HTTP are written.

use std::{
    fmt::{self, Write},
    sync::Arc,
};

use mas_comm_kit::http::encoded;
use mas_contracts::TaskMessage;
use serde_json::{Map, Value, json};

use super::{Version, remote::Listed};
use crate::{
    http::Tongue,
    model::{Dialect, PushConfig, SendReply, StreamItem},
    v1, v03,
};

/// An operation with what it is asked.
#[derive(Clone, Debug)]
pub(super) enum Call<'a> {
    Send { message: &'a Arc<TaskMessage>, how: &'a How, stream: bool },
    Get { id: &'a str, history_length: Option<u32> },
    List(&'a Listed),
    Cancel { id: &'a str },
    Subscribe { id: &'a str },
}

/// How a message is to be answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct How {
    /// Whether the task is returned as soon as it exists; default false: when it is over or waits for somebody.
    pub immediately: bool,
    /// How many of the latest messages of the history to return; the agent's default if absent.
    pub history_length: Option<u32>,
    /// Media types that the caller takes; empty for any.
    pub output_modes: Vec<String>,
    /// Where the agent posts what becomes of the task; default nowhere.
    pub webhook: Option<Webhook>,
    /// The trace that the message belongs to (W3C `traceparent`), if any.
    pub traceparent: Option<Arc<str>>,
}

/// Where an agent posts what becomes of a task. `Debug` hides all of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Webhook {
    /// Where to post.
    pub url: String,
    /// What the posts carry in their token header, if anything.
    pub token: Option<String>,
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Webhook")
    }
}

impl Webhook {
    fn to_json(&self) -> Value {
        let mut map = Map::new();
        map.insert("url".to_owned(), self.url.clone().into());
        if let Some(token) = &self.token {
            map.insert("token".to_owned(), token.clone().into());
        }
        Value::Object(map)
    }

    /// As the services of gRPC write it; the agent makes its id.
    pub(super) fn config(&self, dialect: Dialect) -> PushConfig {
        let Self { url, token } = self.clone();
        PushConfig { id: "".into(), task: "".into(), url, token, authentication: None, dialect }
    }
}

/// A request over HTTP+JSON, below the address of the interface.
#[derive(Debug, PartialEq)]
pub(super) struct RestCall {
    pub(super) verb: &'static str,
    pub(super) path: String,
    pub(super) body: Option<Value>,
}

impl Call<'_> {
    /// The operation, as v1.0 names it.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Send { stream: false, .. } => "SendMessage",
            Self::Send { stream: true, .. } => "SendStreamingMessage",
            Self::Get { .. } => "GetTask",
            Self::List(_) => "ListTasks",
            Self::Cancel { .. } => "CancelTask",
            Self::Subscribe { .. } => "SubscribeToTask",
        }
    }

    /// Whether the answer is a stream.
    pub(super) fn streams(&self) -> bool {
        matches!(self, Self::Send { stream: true, .. } | Self::Subscribe { .. })
    }

    /// The trace that it belongs to.
    pub(super) fn traceparent(&self) -> Option<&str> {
        match self {
            Self::Send { how, .. } => how.traceparent.as_deref(),
            _ => None,
        }
    }

    /// The method and the parameters over JSON-RPC.
    pub(super) fn rpc(&self, version: Version, tenant: Option<&str>) -> (&'static str, Value) {
        let method = match (version, self) {
            (Version::V1, _) | (_, Self::List(_)) => self.name(),
            (Version::V03, Self::Send { stream: false, .. }) => "message/send",
            (Version::V03, Self::Send { stream: true, .. }) => "message/stream",
            (Version::V03, Self::Get { .. }) => "tasks/get",
            (Version::V03, Self::Cancel { .. }) => "tasks/cancel",
            (Version::V03, Self::Subscribe { .. }) => "tasks/resubscribe",
        };
        let tongue = match version {
            Version::V1 => Tongue::V1,
            Version::V03 => Tongue::V03(v03::Shape::Rpc),
        };
        let mut params = self.params(tongue);
        if let (Some(tenant), Version::V1) = (tenant, version) {
            params.insert("tenant".to_owned(), tenant.into());
        }
        (method, Value::Object(params))
    }

    /// The request over HTTP+JSON.
    pub(super) fn rest(&self, version: Version, tenant: Option<&str>) -> RestCall {
        let (tongue, mut path) = match version {
            Version::V1 => (Tongue::V1, tenant.map(|it| format!("/{}", encoded(it))).unwrap_or_default()),
            Version::V03 => (Tongue::V03(v03::Shape::Rest), "/v1".to_owned()),
        };
        let (verb, body) = match self {
            Self::Send { stream, .. } => {
                path.push_str(if *stream { "/message:stream" } else { "/message:send" });
                ("POST", Some(Value::Object(self.params(tongue))))
            }
            Self::Get { id, .. } => {
                let _ = write!(path, "/tasks/{}", encoded(id));
                query(&mut path, self.params(tongue), &["id"]);
                ("GET", None)
            }
            Self::List(_) => {
                path.push_str("/tasks");
                query(&mut path, self.params(tongue), &[]);
                ("GET", None)
            }
            Self::Cancel { id } => {
                let _ = write!(path, "/tasks/{}:cancel", encoded(id));
                ("POST", Some(json!({})))
            }
            Self::Subscribe { id } => {
                let _ = write!(path, "/tasks/{}:subscribe", encoded(id));
                ("POST", Some(json!({})))
            }
        };
        RestCall { verb, path, body }
    }

    fn params(&self, tongue: Tongue) -> Map<String, Value> {
        let mut params = Map::new();
        match self {
            Self::Send { message, how, .. } => {
                params.insert("message".to_owned(), message_of(message, tongue));
                let configuration = how.configuration(tongue);
                if !configuration.is_empty() {
                    params.insert("configuration".to_owned(), Value::Object(configuration));
                }
            }
            Self::Get { id, history_length } => {
                params.insert("id".to_owned(), (*id).into());
                if let Some(length) = told_length(*history_length, tongue) {
                    params.insert("historyLength".to_owned(), length.into());
                }
            }
            Self::List(listed) => {
                let mut add = |name: &str, value: Option<Value>| {
                    if let Some(value) = value {
                        params.insert(name.to_owned(), value);
                    }
                };
                add("contextId", listed.context.as_deref().map(Into::into));
                add("status", listed.state.map(|state| v1::state_name(state).into()));
                add("pageSize", listed.page_size.map(Into::into));
                add("pageToken", listed.page_token.as_deref().map(Into::into));
                add("historyLength", listed.history_length.map(Into::into));
                add("includeArtifacts", listed.artifacts.then_some(Value::Bool(true)));
            }
            Self::Cancel { id } | Self::Subscribe { id } => {
                params.insert("id".to_owned(), (*id).into());
            }
        }
        params
    }
}

impl How {
    fn configuration(&self, tongue: Tongue) -> Map<String, Value> {
        let mut map = Map::new();
        if !self.output_modes.is_empty() {
            map.insert("acceptedOutputModes".to_owned(), self.output_modes.clone().into());
        }
        if let Some(length) = told_length(self.history_length, tongue) {
            map.insert("historyLength".to_owned(), length.into());
        }
        if let Some(webhook) = &self.webhook {
            let name = match tongue {
                Tongue::V1 => "taskPushNotificationConfig",
                Tongue::V03(v03::Shape::Rpc) => "pushNotificationConfig",
                Tongue::V03(v03::Shape::Rest) => "pushNotification",
            };
            map.insert(name.to_owned(), webhook.to_json());
        }
        match tongue {
            Tongue::V1 if self.immediately => {
                map.insert("returnImmediately".to_owned(), Value::Bool(true));
            }
            Tongue::V1 => {}
            // Agents of this version differ in what silence means.
            Tongue::V03(_) => {
                map.insert("blocking".to_owned(), Value::Bool(!self.immediately));
            }
        }
        map
    }
}

/// The length of the history to ask for. To agents of v0.3 none may mean all of it, so they are not asked for none.
fn told_length(length: Option<u32>, tongue: Tongue) -> Option<u32> {
    length.filter(|length| *length > 0 || tongue == Tongue::V1)
}

fn message_of(message: &Arc<TaskMessage>, tongue: Tongue) -> Value {
    let written = match tongue {
        Tongue::V1 => return serde_json::to_value(v1::Shown(message)).unwrap_or_default(),
        Tongue::V03(shape) => {
            serde_json::to_value(v03::Sent(shape, &SendReply::Message(message.clone()))).unwrap_or_default()
        }
    };
    match (tongue, written) {
        (Tongue::V03(v03::Shape::Rest), Value::Object(mut named)) => {
            named.swap_remove("message").unwrap_or_default()
        }
        (_, written) => written,
    }
}

/// Adds fields to the query of a path, those of `but` left out.
fn query(path: &mut String, fields: Map<String, Value>, but: &[&str]) {
    let mut sign = '?';
    for (name, value) in fields.into_iter().filter(|(name, _)| !but.contains(&name.as_str())) {
        let text = match &value {
            Value::String(text) => encoded(text),
            other => other.to_string(),
        };
        let _ = write!(path, "{sign}{name}={text}");
        sign = '&';
    }
}

/// Whether an event ends a stream of a message.
pub(super) fn ends(item: &StreamItem) -> bool {
    match item {
        StreamItem::Message(_) => true,
        StreamItem::Status(update) => update.last || update.status.state.is_terminal(),
        StreamItem::Task(view) => view.task.status.state.is_terminal(),
        StreamItem::Artifact(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use mas_contracts::{Part, Speaker, TaskState};

    use super::*;

    fn message() -> Arc<TaskMessage> {
        Arc::new(TaskMessage {
            id: "m".into(),
            from: Speaker::User,
            context: Some("c".into()),
            task: None,
            parts: vec![Part::text("hi")],
            metadata: Map::new(),
            extensions: Vec::new(),
            references: Vec::new(),
        })
    }

    #[test]
    fn a_message_goes_out_in_every_shape() {
        let (message, how) = (message(), How { immediately: true, ..How::default() });
        let call = Call::Send { message: &message, how: &how, stream: false };
        let v1 = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}], "contextId": "c"});
        assert_eq!(
            call.rpc(Version::V1, Some("t")),
            (
                "SendMessage",
                json!({"message": v1, "configuration": {"returnImmediately": true}, "tenant": "t"})
            )
        );
        let rest = call.rest(Version::V1, Some("a b"));
        assert_eq!((rest.verb, rest.path.as_str()), ("POST", "/a%20b/message:send"));
        let (method, params) = call.rpc(Version::V03, None);
        assert_eq!(method, "message/send");
        assert_eq!(params["configuration"], json!({"blocking": false}));
        assert_eq!(params["message"]["kind"], "message");
        let rest = call.rest(Version::V03, None);
        assert_eq!(rest.path, "/v1/message:send");
        assert_eq!(rest.body.expect("a body")["message"]["content"], json!([{"text": "hi"}]));
    }

    #[test]
    fn a_webhook_goes_out_in_every_shape_and_is_not_shown() {
        let webhook = Webhook { url: "http://h/hook".to_owned(), token: Some("secret".to_owned()) };
        let how = How { webhook: Some(webhook), ..How::default() };
        assert!(!format!("{how:?}").contains("secret") && !format!("{how:?}").contains("http"), "{how:?}");
        let message = message();
        let call = Call::Send { message: &message, how: &how, stream: true };
        let expected = json!({"url": "http://h/hook", "token": "secret"});
        let (v1, old) = (call.rpc(Version::V1, None).1, call.rpc(Version::V03, None).1);
        let rest = call.rest(Version::V03, None).body.expect("a body");
        assert_eq!(v1["configuration"]["taskPushNotificationConfig"], expected);
        assert_eq!(old["configuration"]["pushNotificationConfig"], expected);
        assert_eq!(rest["configuration"]["pushNotification"], expected);
    }

    #[test]
    fn ids_and_filters_are_encoded() {
        let call = Call::Get { id: "../x?y", history_length: Some(2) };
        assert_eq!(call.rest(Version::V1, None).path, "/tasks/..%2Fx%3Fy?historyLength=2");
        let listed = Listed {
            context: Some("a&b".into()),
            state: Some(TaskState::Working),
            artifacts: true,
            ..Listed::default()
        };
        assert_eq!(
            Call::List(&listed).rest(Version::V1, None).path,
            "/tasks?contextId=a%26b&status=TASK_STATE_WORKING&includeArtifacts=true"
        );
    }
}
