//! The messages of `a2a.v1`, the package of v0.3, where they are not those of v1.0. The enums of both versions
//! have the same numbers.

use prost::{Message as ProstMessage, Oneof};
use prost_types::{Struct, Timestamp};

use super::v1::{Role, TaskState};

/// Where the operations of v0.3 are.
pub(crate) const SERVICE: &str = "a2a.v1.A2AService";

#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct SendMessageConfiguration {
    #[prost(string, repeated, tag = "1")]
    pub(crate) accepted_output_modes: Vec<String>,
    #[prost(message, optional, tag = "2")]
    pub(crate) push_notification: Option<PushNotificationConfig>,
    #[prost(int32, tag = "3")]
    pub(crate) history_length: i32,
    #[prost(bool, tag = "4")]
    pub(crate) blocking: bool,
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
    pub(crate) update: Option<Message>,
    #[prost(message, optional, tag = "3")]
    pub(crate) timestamp: Option<Timestamp>,
}

#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct Part {
    #[prost(oneof = "Content", tags = "1, 2, 3")]
    pub(crate) part: Option<Content>,
    #[prost(message, optional, tag = "4")]
    pub(crate) metadata: Option<Struct>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Content {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(message, tag = "2")]
    File(FilePart),
    #[prost(message, tag = "3")]
    Data(DataPart),
}

#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct FilePart {
    #[prost(oneof = "File", tags = "1, 2")]
    pub(crate) file: Option<File>,
    #[prost(string, tag = "3")]
    pub(crate) mime_type: String,
    #[prost(string, tag = "4")]
    pub(crate) name: String,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum File {
    #[prost(string, tag = "1")]
    WithUri(String),
    #[prost(bytes, tag = "2")]
    WithBytes(Vec<u8>),
}

#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct DataPart {
    #[prost(message, optional, tag = "1")]
    pub(crate) data: Option<Struct>,
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
    pub(crate) content: Vec<Part>,
    #[prost(message, optional, tag = "6")]
    pub(crate) metadata: Option<Struct>,
    #[prost(string, repeated, tag = "7")]
    pub(crate) extensions: Vec<String>,
}

#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct Artifact {
    #[prost(string, tag = "1")]
    pub(crate) artifact_id: String,
    #[prost(string, tag = "3")]
    pub(crate) name: String,
    #[prost(string, tag = "4")]
    pub(crate) description: String,
    #[prost(message, repeated, tag = "5")]
    pub(crate) parts: Vec<Part>,
    #[prost(message, optional, tag = "6")]
    pub(crate) metadata: Option<Struct>,
    #[prost(string, repeated, tag = "7")]
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
    #[prost(bool, tag = "4")]
    pub(crate) r#final: bool,
    #[prost(message, optional, tag = "5")]
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

/// A webhook. `Debug` hides what it holds.
#[derive(Clone, PartialEq, ProstMessage)]
#[prost(skip_debug)]
pub(crate) struct PushNotificationConfig {
    #[prost(string, tag = "1")]
    pub(crate) id: String,
    #[prost(string, tag = "2")]
    pub(crate) url: String,
    #[prost(string, tag = "3")]
    pub(crate) token: String,
    #[prost(message, optional, tag = "4")]
    pub(crate) authentication: Option<AuthenticationInfo>,
}

/// How to authenticate at a webhook. `Debug` hides what it holds.
#[derive(Clone, PartialEq, ProstMessage)]
#[prost(skip_debug)]
pub(crate) struct AuthenticationInfo {
    #[prost(string, repeated, tag = "1")]
    pub(crate) schemes: Vec<String>,
    #[prost(string, tag = "2")]
    pub(crate) credentials: String,
}

/// A webhook of a task; `name` is `tasks/{task}/pushNotificationConfigs/{id}`.
#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct TaskPushNotificationConfig {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) push_notification_config: Option<PushNotificationConfig>,
}

#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct SendMessageRequest {
    #[prost(message, optional, tag = "1")]
    pub(crate) request: Option<Message>,
    #[prost(message, optional, tag = "2")]
    pub(crate) configuration: Option<SendMessageConfiguration>,
    #[prost(message, optional, tag = "3")]
    pub(crate) metadata: Option<Struct>,
}

#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct GetTaskRequest {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(int32, tag = "2")]
    pub(crate) history_length: i32,
}

/// What is named and nothing else: `CancelTaskRequest`, `TaskSubscriptionRequest`,
/// `GetTaskPushNotificationConfigRequest` and `DeleteTaskPushNotificationConfigRequest`.
#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct Named {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
}

#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct CreateTaskPushNotificationConfigRequest {
    #[prost(string, tag = "1")]
    pub(crate) parent: String,
    #[prost(string, tag = "2")]
    pub(crate) config_id: String,
    #[prost(message, optional, tag = "3")]
    pub(crate) config: Option<TaskPushNotificationConfig>,
}

#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct ListTaskPushNotificationConfigRequest {
    #[prost(string, tag = "1")]
    pub(crate) parent: String,
    #[prost(int32, tag = "2")]
    pub(crate) page_size: i32,
    #[prost(string, tag = "3")]
    pub(crate) page_token: String,
}

#[derive(Clone, PartialEq, ProstMessage)]
pub(crate) struct ListTaskPushNotificationConfigResponse {
    #[prost(message, repeated, tag = "1")]
    pub(crate) configs: Vec<TaskPushNotificationConfig>,
    #[prost(string, tag = "2")]
    pub(crate) next_page_token: String,
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
    Msg(Message),
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
    Msg(Message),
    #[prost(message, tag = "3")]
    StatusUpdate(TaskStatusUpdateEvent),
    #[prost(message, tag = "4")]
    ArtifactUpdate(TaskArtifactUpdateEvent),
}

hidden!(AuthenticationInfo, PushNotificationConfig);
