//! An agent over every binding; it says its address, each text that it is given, and `cancelled`.

use std::sync::Arc;

use a2a::{
    A2AError, AgentCard, AgentInterface, Artifact, Message, Part, Role, StreamResponse, Task,
    TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent,
};
use a2a_grpc::GrpcHandler;
use a2a_pb::proto::a2a_service_server::A2aServiceServer;
use a2a_server::{
    AgentExecutor, DefaultRequestHandler, ExecutorContext, InMemoryTaskStore, StaticAgentCard,
    agent_card::agent_card_router, jsonrpc::jsonrpc_router, rest::rest_router,
};
use futures_util::{StreamExt, stream, stream::BoxStream};

type Events = BoxStream<'static, Result<StreamResponse, A2AError>>;

/// One turn of a task.
struct Turn {
    task: String,
    context: String,
}

impl Turn {
    fn task(&self, message: &Message) -> StreamResponse {
        StreamResponse::Task(Task {
            id: self.task.clone(),
            context_id: self.context.clone(),
            status: TaskStatus { state: TaskState::Submitted, message: None, timestamp: None },
            artifacts: None,
            history: Some(vec![message.clone()]),
            metadata: None,
        })
    }

    fn said(&self, text: &str) -> Message {
        let mut message = Message::new(Role::Agent, vec![Part::text(text)]);
        message.context_id = Some(self.context.clone());
        message
    }

    fn status(&self, state: TaskState, text: Option<&str>) -> StreamResponse {
        StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
            task_id: self.task.clone(),
            context_id: self.context.clone(),
            status: TaskStatus { state, message: text.map(|text| self.said(text)), timestamp: None },
            metadata: None,
        })
    }

    fn artifact(&self, id: &str, parts: Vec<Part>, append: bool, last: bool) -> StreamResponse {
        let artifact = Artifact {
            artifact_id: id.to_owned(),
            name: None,
            description: None,
            parts,
            metadata: None,
            extensions: None,
        };
        StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
            task_id: self.task.clone(),
            context_id: self.context.clone(),
            artifact,
            append: Some(append),
            last_chunk: Some(last),
            metadata: None,
        })
    }

    /// What a new task does.
    fn script(&self, text: &str) -> Vec<StreamResponse> {
        use TaskState::{Completed, Failed, InputRequired, Working};
        let pieces = [("one, ", false), ("two, ", false), ("three", true)];
        let file = |part: Part, kind: &str, name: &str| part.with_media_type(kind).with_filename(name);
        match text {
            "count" => {
                let piece = |(at, (text, last)): (usize, (&str, bool))| {
                    self.artifact("count", vec![Part::text(text)], at > 0, last)
                };
                let chunks = pieces.into_iter().enumerate().map(piece);
                chunks.chain([self.status(Completed, None)]).collect()
            }
            "look" => {
                let doing = ["Looking.", "Reading.", "Writing."].map(|text| self.status(Working, Some(text)));
                doing.into_iter().chain([self.status(Completed, Some("Found it."))]).collect()
            }
            "fail" => vec![self.status(Failed, Some("No luck today."))],
            "paint" => vec![self.status(InputRequired, Some("Which colour?"))],
            "parts" => {
                let parts = vec![
                    Part::text("All of it:"),
                    file(Part::raw(b"a,b\n1,2\n".to_vec()), "text/csv", "table.csv"),
                    file(Part::url("https://files.example/plan.pdf"), "application/pdf", "plan.pdf"),
                    Part::data(serde_json::json!({"price": 12.5})),
                ];
                vec![self.artifact("parts", parts, false, true), self.status(Completed, None)]
            }
            _ => Vec::new(),
        }
    }
}

struct Agent;

impl AgentExecutor for Agent {
    fn execute(&self, context: ExecutorContext) -> Events {
        let message = context.message.expect("it is executed for a message");
        let text = message.text().unwrap_or_default();
        println!("{text}");
        let turn = Turn { task: context.task_id, context: context.context_id };
        let state = context.stored_task.map(|task| task.status.state);
        let events = if state == Some(TaskState::InputRequired) {
            vec![turn.status(TaskState::Completed, Some(&format!("It is {text} now.")))]
        } else if text == "bare" {
            vec![turn.status(TaskState::Working, None), turn.status(TaskState::Completed, Some("Found it."))]
        } else if text == "hello" {
            vec![StreamResponse::Message(turn.said("Hello to you."))]
        } else {
            let mut first = vec![turn.task(&message), turn.status(TaskState::Working, None)];
            first.extend(turn.script(text));
            first
        };
        let rest = if text == "wait" { stream::pending().boxed() } else { stream::empty().boxed() };
        stream::iter(events).map(Ok).chain(rest).boxed()
    }

    fn cancel(&self, context: ExecutorContext) -> Events {
        println!("cancelled");
        let turn = Turn { task: context.task_id, context: context.context_id };
        stream::iter([Ok(turn.status(TaskState::Canceled, None))]).boxed()
    }
}

/// Serves until it is ended.
pub(crate) async fn serve() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let base = format!("http://{address}");
    let skill =
        serde_json::json!({"id": "script", "name": "script", "description": "Answers.", "tags": ["script"]});
    let card = AgentCard {
        supported_interfaces: vec![
            AgentInterface::new(format!("{base}/rpc"), "JSONRPC"),
            AgentInterface::new(format!("{base}/rest"), "HTTP+JSON"),
            AgentInterface::new(address.to_string(), "GRPC"),
        ],
        ..serde_json::from_value(serde_json::json!({
            "name": "rust", "description": "Answers by script.", "version": "0.5.3", "supportedInterfaces": [],
            "capabilities": {"streaming": true}, "skills": [skill],
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        }))
        .expect("a card")
    };
    let handler = Arc::new(DefaultRequestHandler::new(Agent, InMemoryTaskStore::new()));
    let grpc = A2aServiceServer::new(GrpcHandler::new(handler.clone()));
    let app = tonic::service::Routes::new(grpc)
        .into_axum_router()
        .merge(agent_card_router(Arc::new(StaticAgentCard::new(card))))
        .nest("/rpc", jsonrpc_router(handler.clone()))
        .nest("/rest", rest_router(handler));
    println!("{base}");
    axum::serve(listener, app).await.expect("it serves");
}
