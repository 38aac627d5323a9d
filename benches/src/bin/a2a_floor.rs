//! The floor of a server of A2A: reads a JSON-RPC request and answers a constant.
//!
//! ```text
//! a2a_floor ADDRESS
//! ```
//!
//! It keeps nothing and runs nothing; what a server takes beyond it is what the protocol, the task and the turn cost.
//! `benches/a2a.sh` measures both in one run.

use std::{env, hint::black_box, process::ExitCode};

use axum::{
    Router,
    body::Bytes,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use serde::Deserialize;
use serde_json::Value;
use tokio::net::TcpListener;

/// What a blocking SendMessage of the conformance agent is answered with, as long as the real answer.
const ANSWER: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"task":{"id":"01a22b6b-9110-7558-b946-b6eec9f10b8a","contextId":"01a22b6b-9110-7558-b946-b6edd6ef391f","status":{"state":"TASK_STATE_COMPLETED","message":{"messageId":"01a22b6b-9110-7558-b946-b6f1a3c5d7e9","contextId":"01a22b6b-9110-7558-b946-b6edd6ef391f","taskId":"01a22b6b-9110-7558-b946-b6eec9f10b8a","role":"ROLE_AGENT","parts":[{"text":"Hello from TCK"}]},"timestamp":"2025-10-28T10:30:00.000Z"},"history":[{"messageId":"tck-complete-task-1","contextId":"01a22b6b-9110-7558-b946-b6edd6ef391f","taskId":"01a22b6b-9110-7558-b946-b6eec9f10b8a","role":"ROLE_USER","parts":[{"text":"hello"}]}]}}}"#;

/// A request of JSON-RPC.
#[derive(Deserialize)]
struct Request {
    jsonrpc: String,
    id: Value,
    method: String,
    params: Value,
}

async fn answer(body: Bytes) -> Response {
    match serde_json::from_slice::<Request>(&body) {
        Ok(request) => {
            black_box((&request.jsonrpc, &request.id, &request.method, &request.params));
            ([(header::CONTENT_TYPE, "application/json")], ANSWER).into_response()
        }
        Err(_) => StatusCode::BAD_REQUEST.into_response(),
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    let Some(address) = env::args().nth(1) else { return ExitCode::from(2) };
    let Ok(listener) = TcpListener::bind(&address).await else { return ExitCode::FAILURE };
    match axum::serve(listener, Router::new().route("/", post(answer))).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
