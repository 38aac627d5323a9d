//! Operations, in the words of each binding.

use serde_json::{Value, json};

use crate::{
    bridge::bridge,
    served::{Answer, Served, request},
};

/// A binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binding {
    JsonRpc,
    Rest,
    Grpc,
}

/// How an operation failed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// The code of JSON-RPC or of gRPC, or the status of HTTP.
    pub(crate) code: i64,
    /// The reason of its `ErrorInfo`.
    pub(crate) reason: String,
    /// The whole error.
    pub(crate) error: Value,
}

/// Opens the answer of an operation of v1.0.
pub(crate) fn open(
    served: &Served,
    binding: Binding,
    operation: &str,
    params: &Value,
    more: &[(&str, &str)],
) -> Answer {
    let mut headers = vec![("content-type", "application/json"), ("a2a-version", "1.0")];
    headers.retain(|(name, _)| more.iter().all(|(other, _)| other != name));
    headers.extend_from_slice(more);
    match binding {
        Binding::JsonRpc => {
            let call = json!({"jsonrpc": "2.0", "id": 7, "method": operation, "params": params});
            return served.open("POST", "/", &headers, &call.to_string());
        }
        Binding::Grpc => {
            let path = format!("/{}/{operation}", served.grpc);
            return request(
                bridge().expect("the stubs are here"),
                "POST",
                &path,
                &headers,
                &params.to_string(),
            );
        }
        Binding::Rest => {}
    }
    let text = |name: &str| params[name].as_str().unwrap_or_default();
    let (verb, path) = match operation {
        "SendMessage" => ("POST", "/message:send".to_owned()),
        "SendStreamingMessage" => ("POST", "/message:stream".to_owned()),
        "GetTask" => ("GET", format!("/tasks/{}", text("id"))),
        "ListTasks" => ("GET", "/tasks".to_owned()),
        "CancelTask" => ("POST", format!("/tasks/{}:cancel", text("id"))),
        "SubscribeToTask" => ("POST", format!("/tasks/{}:subscribe", text("id"))),
        "CreateTaskPushNotificationConfig" => {
            ("POST", format!("/tasks/{}/pushNotificationConfigs", text("taskId")))
        }
        "ListTaskPushNotificationConfigs" => {
            ("GET", format!("/tasks/{}/pushNotificationConfigs", text("taskId")))
        }
        "GetTaskPushNotificationConfig" | "DeleteTaskPushNotificationConfig" => {
            let verb = if operation.starts_with("Get") { "GET" } else { "DELETE" };
            (verb, format!("/tasks/{}/pushNotificationConfigs/{}", text("taskId"), text("id")))
        }
        "GetExtendedAgentCard" => ("GET", "/extendedAgentCard".to_owned()),
        other => panic!("`{other}` is no operation"),
    };
    let mut path = format!("/a2a/rest{path}");
    if verb == "POST" {
        return served.open(verb, &path, &headers, &params.to_string());
    }
    let mut mark = '?';
    for (name, value) in params.as_object().into_iter().flatten() {
        if !matches!(name.as_str(), "id" | "taskId") {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            path.push_str(&format!("{mark}{name}={value}"));
            mark = '&';
        }
    }
    headers.retain(|(name, _)| *name != "content-type");
    served.open(verb, &path, &headers, "")
}

/// What an answer is: a result, or how it failed.
pub(crate) fn outcome(binding: Binding, answer: Answer) -> Result<Value, Refused> {
    let status = answer.status;
    let body = answer.json();
    let error = &body["error"];
    if error.is_null() {
        return Ok(if binding == Binding::Rest { body } else { body["result"].clone() });
    }
    let (code, details) = match binding {
        Binding::JsonRpc => (error["code"].as_i64().expect("a code"), &error["data"]),
        Binding::Rest => {
            assert_eq!(error["code"], status);
            (i64::from(status), &error["details"])
        }
        Binding::Grpc => (error["code"].as_i64().expect("a code"), &error["details"]),
    };
    let info = details.as_array().into_iter().flatten().find(|detail| {
        detail["@type"] == "type.googleapis.com/google.rpc.ErrorInfo"
            && detail["domain"] == "a2a-protocol.org"
    });
    let reason = info.and_then(|info| info["reason"].as_str()).unwrap_or_default().to_owned();
    Err(Refused { code, reason, error: error.clone() })
}

/// Calls an operation that answers once.
pub(crate) fn call(
    served: &Served,
    binding: Binding,
    operation: &str,
    params: &Value,
) -> Result<Value, Refused> {
    outcome(binding, open(served, binding, operation, params, &[]))
}

/// A stream of an operation; how it failed, if there is none.
pub(crate) fn stream(
    served: &Served,
    binding: Binding,
    operation: &str,
    params: &Value,
) -> Result<Events, Refused> {
    let answer = open(served, binding, operation, params, &[]);
    if answer.header("content-type").starts_with("text/event-stream") {
        return Ok(Events { binding, answer });
    }
    Err(outcome(binding, answer).expect_err("an answer that is no stream is a failure"))
}

/// The events of a stream, without what a binding puts around them.
pub(crate) struct Events {
    binding: Binding,
    answer: Answer,
}

impl Iterator for Events {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        let event = self.answer.event()?;
        if self.binding != Binding::JsonRpc {
            return Some(event);
        }
        assert_eq!((&event["jsonrpc"], &event["id"]), (&json!("2.0"), &json!(7)), "{event}");
        Some(event["result"].clone())
    }
}
