//! The messages of `lf.a2a.v1`, field by field as the specification numbers them. Those of the card are in
//! [`card`](super::card).

use prost::{Enumeration, Message as ProstMessage, Oneof};
use prost_types::{Struct, Timestamp, Value};

/// Where the operations of v1.0 are.
pub(crate) const SERVICE: &str = "lf.a2a.v1.A2AService";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub(crate) enum TaskState {
    Unspecified = 0,
    Submitted = 1,
    Working = 2,
    Completed = 3,
    Failed = 4,
    Canceled = 5,
    InputRequired = 6,
    Rejected = 7,
    AuthRequired = 8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub(crate) enum Role {
    Unspecified = 0,
    User = 1,
    Agent = 2,
}

#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct SendMessageConfiguration {
    #[prost(string, repeated, tag = "1")]
    pub(crate) accepted_output_modes: Vec<String>,
    #[prost(message, optional, tag = "2")]
    pub(crate) task_push_notification_config: Option<TaskPushNotificationConfig>,
    #[prost(int32, optional, tag = "3")]
    pub(crate) history_length: Option<i32>,
    #[prost(bool, tag = "4")]
    pub(crate) return_immediately: bool,
}

#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct Task {
    #[prost(string, tag = "1")]
    pub(crate) id: String,
    #[prost(string, tag = "2")]
    pub(crate) context_id: String,
    #[prost(message, optional, tag = "3")]
    pub(crate) status: Option<TaskStatus>,
    #[prost(message, repeated, tag = "4")]
    pub(crate) artifacts: Vec<Artifact>,
    #[prost(message, repeated, tag = "5")]
    pub(crate) history: Vec<Message>,
    #[prost(message, optional, tag = "6")]
    pub(crate) metadata: Option<Struct>,
}

#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct TaskStatus {
    #[prost(enumeration = "TaskState", tag = "1")]
    pub(crate) state: i32,
    #[prost(message, optional, tag = "2")]
    pub(crate) message: Option<Message>,
    #[prost(message, optional, tag = "3")]
    pub(crate) timestamp: Option<Timestamp>,
}

#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct Part {
    #[prost(oneof = "Content", tags = "1, 2, 3, 4")]
    pub(crate) content: Option<Content>,
    #[prost(message, optional, tag = "5")]
    pub(crate) metadata: Option<Struct>,
    #[prost(string, tag = "6")]
    pub(crate) filename: String,
    #[prost(string, tag = "7")]
    pub(crate) media_type: String,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Content {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(bytes, tag = "2")]
    Raw(Vec<u8>),
    #[prost(string, tag = "3")]
    Url(String),
    #[prost(message, tag = "4")]
    Data(Value),
}

#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct Message {
    #[prost(string, tag = "1")]
    pub(crate) message_id: String,
    #[prost(string, tag = "2")]
    pub(crate) context_id: String,
    #[prost(string, tag = "3")]
    pub(crate) task_id: String,
    #[prost(enumeration = "Role", tag = "4")]
    pub(crate) role: i32,
    #[prost(message, repeated, tag = "5")]
    pub(crate) parts: Vec<Part>,
    #[prost(message, optional, tag = "6")]
    pub(crate) metadata: Option<Struct>,
    #[prost(string, repeated, tag = "7")]
    pub(crate) extensions: Vec<String>,
    #[prost(string, repeated, tag = "8")]
    pub(crate) reference_task_ids: Vec<String>,
}

#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct Artifact {
    #[prost(string, tag = "1")]
    pub(crate) artifact_id: String,
    #[prost(string, tag = "2")]
    pub(crate) name: String,
    #[prost(string, tag = "3")]
    pub(crate) description: String,
    #[prost(message, repeated, tag = "4")]
    pub(crate) parts: Vec<Part>,
    #[prost(message, optional, tag = "5")]
    pub(crate) metadata: Option<Struct>,
    #[prost(string, repeated, tag = "6")]
    pub(crate) extensions: Vec<String>,
}

#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct TaskStatusUpdateEvent {
    #[prost(string, tag = "1")]
    pub(crate) task_id: String,
    #[prost(string, tag = "2")]
    pub(crate) context_id: String,
    #[prost(message, optional, tag = "3")]
    pub(crate) status: Option<TaskStatus>,
    #[prost(message, optional, tag = "4")]
    pub(crate) metadata: Option<Struct>,
}

#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct TaskArtifactUpdateEvent {
    #[prost(string, tag = "1")]
    pub(crate) task_id: String,
    #[prost(string, tag = "2")]
    pub(crate) context_id: String,
    #[prost(message, optional, tag = "3")]
    pub(crate) artifact: Option<Artifact>,
    #[prost(bool, tag = "4")]
    pub(crate) append: bool,
    #[prost(bool, tag = "5")]
    pub(crate) last_chunk: bool,
    #[prost(message, optional, tag = "6")]
    pub(crate) metadata: Option<Struct>,
}

/// How to authenticate at a webhook. `Debug` hides what it holds.
#[derive(Clone, PartialEq, ProstMessage)]
#[prost(skip_debug)]
pub(crate) struct AuthenticationInfo {
    #[prost(string, tag = "1")]
    pub(crate) scheme: String,
    #[prost(string, tag = "2")]
    pub(crate) credentials: String,
}

/// A webhook. `Debug` hides what it holds.
#[derive(Clone, PartialEq, ProstMessage)]
#[prost(skip_debug)]
pub(crate) struct TaskPushNotificationConfig {
    #[prost(string, tag = "1")]
    pub(crate) tenant: String,
    #[prost(string, tag = "2")]
    pub(crate) id: String,
    #[prost(string, tag = "3")]
    pub(crate) task_id: String,
    #[prost(string, tag = "4")]
    pub(crate) url: String,
    #[prost(string, tag = "5")]
    pub(crate) token: String,
    #[prost(message, optional, tag = "6")]
    pub(crate) authentication: Option<AuthenticationInfo>,
}

#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct SendMessageRequest {
    #[prost(string, tag = "1")]
    pub(crate) tenant: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) message: Option<Message>,
    #[prost(message, optional, tag = "3")]
    pub(crate) configuration: Option<SendMessageConfiguration>,
    #[prost(message, optional, tag = "4")]
    pub(crate) metadata: Option<Struct>,
}

#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct GetTaskRequest {
    #[prost(string, tag = "1")]
    pub(crate) tenant: String,
    #[prost(string, tag = "2")]
    pub(crate) id: String,
    #[prost(int32, optional, tag = "3")]
    pub(crate) history_length: Option<i32>,
}

#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct ListTasksRequest {
    #[prost(string, tag = "1")]
    pub(crate) tenant: String,
    #[prost(string, tag = "2")]
    pub(crate) context_id: String,
    #[prost(enumeration = "TaskState", tag = "3")]
    pub(crate) status: i32,
    #[prost(int32, optional, tag = "4")]
    pub(crate) page_size: Option<i32>,
    #[prost(string, tag = "5")]
    pub(crate) page_token: String,
    #[prost(int32, optional, tag = "6")]
    pub(crate) history_length: Option<i32>,
    #[prost(message, optional, tag = "7")]
    pub(crate) status_timestamp_after: Option<Timestamp>,
    #[prost(bool, optional, tag = "8")]
    pub(crate) include_artifacts: Option<bool>,
}

#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct ListTasksResponse {
    #[prost(message, repeated, tag = "1")]
    pub(crate) tasks: Vec<Task>,
    #[prost(string, tag = "2")]
    pub(crate) next_page_token: String,
    #[prost(int32, tag = "3")]
    pub(crate) page_size: i32,
    #[prost(int32, tag = "4")]
    pub(crate) total_size: i32,
}

#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct CancelTaskRequest {
    #[prost(string, tag = "1")]
    pub(crate) tenant: String,
    #[prost(string, tag = "2")]
    pub(crate) id: String,
    #[prost(message, optional, tag = "3")]
    pub(crate) metadata: Option<Struct>,
}

#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct SubscribeToTaskRequest {
    #[prost(string, tag = "1")]
    pub(crate) tenant: String,
    #[prost(string, tag = "2")]
    pub(crate) id: String,
}

/// `GetTaskPushNotificationConfigRequest` and `DeleteTaskPushNotificationConfigRequest`, which have the same fields.
#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct PushNotificationConfigKey {
    #[prost(string, tag = "1")]
    pub(crate) tenant: String,
    #[prost(string, tag = "2")]
    pub(crate) task_id: String,
    #[prost(string, tag = "3")]
    pub(crate) id: String,
}

#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct ListTaskPushNotificationConfigsRequest {
    #[prost(string, tag = "1")]
    pub(crate) task_id: String,
    #[prost(int32, tag = "2")]
    pub(crate) page_size: i32,
    #[prost(string, tag = "3")]
    pub(crate) page_token: String,
    #[prost(string, tag = "4")]
    pub(crate) tenant: String,
}

#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct ListTaskPushNotificationConfigsResponse {
    #[prost(message, repeated, tag = "1")]
    pub(crate) configs: Vec<TaskPushNotificationConfig>,
    #[prost(string, tag = "2")]
    pub(crate) next_page_token: String,
}

#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct GetExtendedAgentCardRequest {
    #[prost(string, tag = "1")]
    pub(crate) tenant: String,
}

#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct SendMessageResponse {
    #[prost(oneof = "Sent", tags = "1, 2")]
    pub(crate) payload: Option<Sent>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Sent {
    #[prost(message, tag = "1")]
    Task(Task),
    #[prost(message, tag = "2")]
    Message(Message),
}

#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct StreamResponse {
    #[prost(oneof = "Event", tags = "1, 2, 3, 4")]
    pub(crate) payload: Option<Event>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Event {
    #[prost(message, tag = "1")]
    Task(Task),
    #[prost(message, tag = "2")]
    Message(Message),
    #[prost(message, tag = "3")]
    StatusUpdate(TaskStatusUpdateEvent),
    #[prost(message, tag = "4")]
    ArtifactUpdate(TaskArtifactUpdateEvent),
}

hidden!(AuthenticationInfo, TaskPushNotificationConfig);
