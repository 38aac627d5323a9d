//! The runtime's half.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{
    Answer, Asked, DOMAIN, OUTPUT_CONTRACT, RESPONSE_KIND, Turn,
    state::{State, Task},
};

/// Whose errors those of the protocol are.
const PROTOCOL: &str = "a2a-protocol.org";
/// More attempts than this are not made, whatever is asked for.
const REPAIRS: u64 = 10;
/// The states after which nothing follows.
const OVER: [&str; 4] =
    ["TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED"];

pub(crate) fn answer(state: &mut State, path: &str, asked: &Asked) -> Answer {
    // The address is opaque: `/rt/{session}`, as the platform handed it out.
    let Some((session, rest)) = path.strip_prefix("/rt/").and_then(|rest| rest.split_once('/')) else {
        return refused(404, "NOT_FOUND", "there is nothing at this path", "METHOD_NOT_FOUND");
    };
    let holder = asked.bearer().and_then(|token| state.tokens.get(token));
    if holder.map(String::as_str) != Some(session) {
        return Answer::detail(401, "The runtime token is not valid.");
    }
    match (&*asked.method, rest) {
        ("POST", "api/a2a/v1/message:send") => send(state, session, asked).unwrap_or_else(|refusal| refusal),
        (method, rest) => match rest.strip_prefix("api/a2a/v1/tasks/") {
            Some(task) => tasks(state, session, method, task),
            None => refused(404, "NOT_FOUND", "there is nothing at this path", "METHOD_NOT_FOUND"),
        },
    }
}

fn refused(status: u16, name: &str, message: &str, reason: &str) -> Answer {
    Answer::error(status, name, message, reason, PROTOCOL)
}

fn invalid(message: &str) -> Answer {
    refused(400, "INVALID_ARGUMENT", message, "INVALID_PARAMS")
}

/// A message that is as it should be.
struct Said {
    message: Value,
    task: bool,
    repairs: Option<u64>,
}

fn send(state: &mut State, session: &str, asked: &Asked) -> Result<Answer, Answer> {
    let said = read(state, session, asked)?;
    let step = state.turns.next();
    let delay = Duration::from_millis(step.delay_ms);
    if let Turn::Refused(status) = step.what {
        return Ok(Answer::detail(status, "The runtime token is not valid.").after(delay, step.manner));
    }
    state.executed += 1;
    if !said.task && delay > state.message_limit {
        return Ok(over_limit(state.message_limit).after(state.message_limit, step.manner));
    }
    let answer = match step.what {
        Turn::Body(status, body) => Answer::a2a(status, &body),
        Turn::Page(status) => Answer::page(status),
        Turn::Oversize(length) => Answer::new(200, "application/a2a+json", vec![b' '; length]),
        Turn::Patched(patch) => Answer::a2a(200, &turned(state, session, &said, patch)),
        Turn::Echo | Turn::Refused(_) => Answer::a2a(200, &turned(state, session, &said, Map::new())),
    };
    Ok(answer.after(delay, step.manner))
}

/// Reads a message as the runtime does, which takes nothing that is not as the contract has it.
fn read(state: &State, session: &str, asked: &Asked) -> Result<Said, Answer> {
    let json = "application/a2a+json";
    if asked.header("content-type") != Some(json) || asked.header("accept") != Some(json) {
        return Err(refused(
            415,
            "INVALID_ARGUMENT",
            "the media type is application/a2a+json",
            "CONTENT_TYPE",
        ));
    }
    if !matches!(asked.header("a2a-version"), None | Some("1.0")) {
        return Err(refused(400, "FAILED_PRECONDITION", "the version is 1.0", "VERSION_NOT_SUPPORTED"));
    }
    let Some(body) = asked.json() else { return Err(invalid("the body is no JSON")) };
    let (Some(message), Some(configuration)) = (body.get("message"), body.get("configuration")) else {
        return Err(invalid("message and configuration are required"));
    };
    let text = |name: &str| message.get(name).and_then(Value::as_str).unwrap_or_default();
    if text("role") != "ROLE_USER" || text("messageId").is_empty() {
        return Err(invalid("a message has the role ROLE_USER and an id"));
    }
    if text("contextId") != session {
        return Err(refused(404, "NOT_FOUND", "the context is not known", "CONTEXT_NOT_FOUND"));
    }
    let parts = message.get("parts").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if parts.is_empty() || has_kind(message) {
        return Err(invalid("a message has parts, and nothing of it has a kind"));
    }
    if configuration.get("returnImmediately").is_some() {
        return Err(invalid("returnImmediately is no part of this contract"));
    }
    let kind = configuration.get("responseKind").and_then(Value::as_str);
    let named = asked
        .header("a2a-extensions")
        .is_some_and(|named| named.split(',').any(|uri| uri.trim() == RESPONSE_KIND));
    let task = match kind {
        Some(_) if !named => return Err(invalid("responseKind needs its extension")),
        Some("message") => false,
        Some("task") if state.offers_tasks(session) => true,
        Some("task") => return Err(invalid("the agent offers no tasks")),
        None if named => return Err(invalid("the extension needs a responseKind")),
        None => false,
        Some(_) => return Err(invalid("there are the kinds message and task")),
    };
    let contract = body.get("metadata").and_then(|metadata| metadata.get(OUTPUT_CONTRACT));
    let repairs = contract.and_then(|contract| contract.get("jsonRepairAttempts")?.as_u64());
    if contract.is_some() && repairs.is_none_or(|repairs| repairs == 0) {
        return Err(invalid("jsonRepairAttempts is 1 at least"));
    }
    Ok(Said { message: message.clone(), task, repairs })
}

fn has_kind(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.contains_key("kind") || map.values().any(has_kind),
        Value::Array(list) => list.iter().any(has_kind),
        _ => false,
    }
}

fn over_limit(limit: Duration) -> Answer {
    let metadata = json!({"limitSeconds": limit.as_secs_f64().to_string()});
    let message = "the turn took longer than a message may; ask for a task";
    let reason = "MESSAGE_RESPONSE_LIMIT_EXCEEDED";
    Answer::error_with(504, "DEADLINE_EXCEEDED", message, reason, DOMAIN, &metadata)
}

fn turned(state: &mut State, session: &str, said: &Said, patch: Map<String, Value>) -> Value {
    let parts = said.message.get("parts").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let heard: String = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
    let number = state.executed;
    if said.task {
        let mut states = state.task_states.clone();
        if states.is_empty() {
            states = ["SUBMITTED", "WORKING", "COMPLETED"].map(|name| format!("TASK_STATE_{name}")).into();
        }
        let first = states.remove(0);
        let task = Task { session: session.to_owned(), state: first, next: states, text: heard };
        let id = format!("task-{number}");
        let mut shown = shown(&id, &task);
        state.tasks.insert(id, task);
        if let Some(fields) = shown.as_object_mut() {
            fields.extend(patch);
        }
        return json!({"task": shown});
    }
    let part = match said.repairs {
        Some(repairs) => json!({
            "data": {"heard": heard, "repairAttempts": repairs.min(REPAIRS)},
            "mediaType": "application/json",
        }),
        None => json!({"text": heard}),
    };
    let mut message = json!({
        "messageId": format!("reply-{number}"),
        "contextId": session,
        "role": "ROLE_AGENT",
        "parts": [part],
        "metadata": {"turn": number},
    });
    if let Some(fields) = message.as_object_mut() {
        fields.extend(patch);
    }
    json!({"message": message})
}

fn shown(id: &str, task: &Task) -> Value {
    let artifacts = match &*task.state {
        "TASK_STATE_COMPLETED" => json!([{"artifactId": "answer", "parts": [{"text": task.text}]}]),
        _ => json!([]),
    };
    let status = match &*task.state {
        "TASK_STATE_INPUT_REQUIRED" => {
            let message =
                json!({"messageId": "ask", "role": "ROLE_AGENT", "parts": [{"text": "Which one?"}]});
            json!({"state": task.state, "message": message})
        }
        state => json!({"state": state}),
    };
    json!({"id": id, "contextId": task.session, "status": status, "artifacts": artifacts})
}

fn tasks(state: &mut State, session: &str, method: &str, path: &str) -> Answer {
    let (id, verb) = path.split_once(':').map_or((path, None), |(id, verb)| (id, Some(verb)));
    let Some(task) = state.tasks.get_mut(id).filter(|task| task.session == session) else {
        return refused(404, "NOT_FOUND", "the task is not known", "TASK_NOT_FOUND");
    };
    let over = OVER.contains(&&*task.state);
    match (method, verb) {
        ("GET", None) => {
            if !task.next.is_empty() {
                task.state = task.next.remove(0);
            }
            Answer::a2a(200, &json!({"task": shown(id, task)}))
        }
        ("POST", Some("cancel")) if over => {
            refused(400, "FAILED_PRECONDITION", "the task is over", "TASK_NOT_CANCELABLE")
        }
        ("POST", Some("cancel")) => {
            (task.state, task.next) = ("TASK_STATE_CANCELED".to_owned(), Vec::new());
            Answer::a2a(200, &json!({"task": shown(id, task)}))
        }
        ("GET" | "POST", Some("subscribe")) if over => {
            refused(400, "FAILED_PRECONDITION", "the task is over", "UNSUPPORTED_OPERATION")
        }
        ("GET" | "POST", Some("subscribe")) => {
            let mut events = vec![json!({"task": shown(id, task)})];
            for next in std::mem::take(&mut task.next) {
                task.state = next;
                let status =
                    json!({"taskId": id, "contextId": task.session, "status": {"state": task.state}});
                events.push(json!({"statusUpdate": status}));
            }
            let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
            Answer::new(200, "text/event-stream", body)
        }
        _ => refused(405, "UNIMPLEMENTED", "the path knows no such method", "METHOD_NOT_FOUND"),
    }
}
