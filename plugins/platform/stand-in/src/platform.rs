//! The platform's half.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{
    Access, Answer, Asked,
    script::AgentSeed,
    state::{Session, State},
};

/// Paths below a session of earlier days.
const LEGACY: [&str; 7] =
    ["attach", "detach", "status", "readiness", "runtime", "runtime-status", "ensure-runtime"];

pub(crate) fn answer(state: &mut State, path: &str, asked: &Asked, now: Duration) -> Answer {
    if asked.bearer() != Some(&*state.token) {
        return Answer::detail(401, "Authentication credentials were not provided.");
    }
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match (&*asked.method, &*parts) {
        ("POST", ["api", "v1", "agent-sessions", uid, "resolve-runtime-access"]) => {
            resolve(state, uid, asked, now)
        }
        ("GET", ["api", "v1", "agent-sessions", uid]) => match state.sessions.get(*uid) {
            Some(session) => Answer::json(200, &shown(uid, session)),
            None => Answer::detail(404, "No AgentSession matches the given query."),
        },
        (_, ["api", "v1", "agent-sessions", _, word, ..]) if LEGACY.contains(word) => {
            state.legacy.insert(path.to_owned());
            Answer::detail(410, "This route is gone.")
        }
        ("GET", ["api", "v1", "agents", uid]) => match state.agents.get(*uid) {
            Some(agent) => Answer::json(200, &described(agent)),
            None => Answer::detail(404, "No Agent matches the given query."),
        },
        ("POST", ["api", "v1", "agents", "semantic-search"]) => search(state, asked),
        ("POST", ["api", "v1", "agents", uid, "sessions", "get-or-create-session"]) => {
            session(state, uid, asked)
        }
        _ => Answer::detail(404, "Not found."),
    }
}

fn resolve(state: &mut State, uid: &str, asked: &Asked, now: Duration) -> Answer {
    if asked.json() != Some(json!({})) {
        return Answer::detail(400, "The body must be {}.");
    }
    if !state.sessions.contains_key(uid) {
        return Answer::detail(404, "No AgentSession matches the given query.");
    }
    let step = state.access.next();
    let answer = match step.what {
        Access::Ready { expires_in, patch } => {
            state.minted += 1;
            let token = format!("tok-{}", state.minted);
            state.tokens.insert(token.clone(), uid.to_owned());
            let ends = expires_in.map(|seconds| iso(now.as_secs().saturating_add_signed(seconds)));
            let own = json!({
                "coding_agent_service_uid": "service-1",
                "mode": "token",
                "rpc_url": format!("{}/rt/{uid}/", state.runtime),
                "token": token,
                "expires_at": ends,
                "is_ready": true,
                "detail": null,
                "runtime_interaction": interaction("ready", true, None),
                "runtime_presence": {"phase": "serving", "replicas": {"desired": 1, "actual": 1}},
                "runtime_paths": {"a2a": "/api/a2a/v1"},
                "x_added_later": {"kept": true},
            });
            Answer::json(200, &patched(own, patch))
        }
        Access::Blocked { state, retry_after_ms, patch } => {
            let own = json!({
                "coding_agent_service_uid": "service-1",
                "mode": "unavailable",
                "rpc_url": null,
                "token": null,
                "expires_at": null,
                "is_ready": true,
                "detail": format!("The runtime is {state}."),
                "runtime_interaction": interaction(&state, false, retry_after_ms),
                "runtime_presence": {"phase": "idle", "replicas": {"desired": 0, "actual": 0}},
            });
            Answer::json(200, &patched(own, patch))
        }
        Access::Body(body) => Answer::json(200, &body),
        Access::Status(status) => Answer::detail(status, "As the script says."),
        Access::Page(status) => Answer::page(status),
    };
    answer.after(Duration::from_millis(step.delay_ms), step.manner)
}

fn interaction(state: &str, can_submit: bool, retry_after_ms: Option<u64>) -> Value {
    json!({
        "state": state, "can_submit": can_submit, "notice": null, "operation": null,
        "retry_after_ms": retry_after_ms,
    })
}

fn patched(mut body: Value, patch: Map<String, Value>) -> Value {
    if let Some(fields) = body.as_object_mut() {
        fields.extend(patch);
    }
    body
}

/// A time since the Unix epoch as ISO 8601 in UTC.
fn iso(seconds: u64) -> String {
    let moment = i64::try_from(seconds).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    moment.unwrap_or(Timestamp::MAX).to_string()
}

fn shown(uid: &str, session: &Session) -> Value {
    let handle = session.handle.as_ref().map(|handle| json!({"handle_unique_id": handle}));
    json!({
        "uid": uid, "agent_uid": session.agent, "name": session.name,
        "parent_session_uid": session.parent, "bound_handle": handle,
    })
}

fn described(agent: &AgentSeed) -> Value {
    json!({"uid": agent.uid, "name": agent.name, "a2a_profile": agent.profile})
}

fn search(state: &State, asked: &Asked) -> Answer {
    let Some(body) = asked.json() else { return Answer::detail(400, "The body must be JSON.") };
    let limit = body.get("limit").and_then(Value::as_u64).filter(|limit| (1..=100).contains(limit));
    let (Some(words), Some(limit)) = (body.get("q").and_then(Value::as_str), limit) else {
        return Answer::detail(400, "q and limit (1 to 100) are required.");
    };
    let words = words.to_lowercase();
    let found = state.agents.values().filter(|agent| agent.name.to_lowercase().contains(&words));
    let rows: Vec<Value> = found.take(usize::try_from(limit).unwrap_or(usize::MAX)).map(described).collect();
    Answer::json(200, &json!({"results": rows}))
}

fn session(state: &mut State, agent: &str, asked: &Asked) -> Answer {
    if !state.agents.contains_key(agent) {
        return Answer::detail(404, "No Agent matches the given query.");
    }
    let body = asked.json().unwrap_or_default();
    let text = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
    match (text("session_uid"), text("handle_unique_id")) {
        (Some(uid), None) => match state.sessions.get(&uid) {
            Some(session) => Answer::json(200, &shown(&uid, session)),
            None => Answer::detail(404, "No AgentSession matches the given query."),
        },
        (None, Some(handle)) => {
            let known = state.sessions.iter().find(|(_, session)| {
                session.agent.as_deref() == Some(agent) && session.handle.as_ref() == Some(&handle)
            });
            if let Some((uid, session)) = known {
                return Answer::json(200, &shown(uid, session));
            }
            let uid = format!("22222222-2222-4222-8222-{:012}", state.sessions.len());
            let session = Session {
                agent: Some(agent.to_owned()),
                handle: Some(handle),
                name: text("name"),
                parent: text("parent_session_uid"),
            };
            let answer = Answer::json(201, &shown(&uid, &session));
            state.sessions.insert(uid, session);
            answer
        }
        _ => Answer::detail(400, "Exactly one of session_uid and handle_unique_id is required."),
    }
}
