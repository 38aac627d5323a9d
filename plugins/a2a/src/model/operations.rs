//! The operations of an agent (A2A v1.0, section 3.1), as bindings call them.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use super::{
    CancelTask, Failure, GetTask, ItemStream, ListTasks, Listing, PushConfig, PushKey, SendMessage,
    SendReply, SubscribeToTask, TaskView,
};

/// The version that a caller speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Dialect {
    /// 1.0.
    #[default]
    V1,
    /// 0.3.
    V03,
}

/// Who calls, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Caller {
    /// Who it is; none where the agent asks nobody to authenticate.
    pub(crate) owner: Option<Arc<str>>,
    /// The tenant that the request names; no proof of anything.
    pub(crate) tenant: Option<Arc<str>>,
    /// The version that it speaks.
    pub(crate) dialect: Dialect,
    /// The extensions that it asks for.
    pub(crate) extensions: Vec<Arc<str>>,
    /// The W3C trace to continue.
    pub(crate) traceparent: Option<Arc<str>>,
}

/// The operations of one agent. Every one is within what the caller owns.
///
/// Bindings check shapes (required fields, types), version and authentication; the rest is checked here.
#[async_trait]
pub(crate) trait Operations: Send + Sync {
    /// SendMessage. Dropped, the work goes on.
    async fn send(&self, caller: &Caller, request: SendMessage) -> Result<SendReply, Failure>;

    /// SendStreamingMessage. An error that is known before the first item is an error; dropped, the work goes on.
    async fn stream(&self, caller: &Caller, request: SendMessage) -> Result<ItemStream, Failure>;

    /// GetTask.
    async fn get(&self, caller: &Caller, request: GetTask) -> Result<TaskView, Failure>;

    /// ListTasks.
    async fn list(&self, caller: &Caller, request: ListTasks) -> Result<Listing, Failure>;

    /// CancelTask.
    async fn cancel(&self, caller: &Caller, request: CancelTask) -> Result<TaskView, Failure>;

    /// SubscribeToTask: the task, then every later event.
    async fn subscribe(&self, caller: &Caller, request: SubscribeToTask) -> Result<ItemStream, Failure>;

    /// CreateTaskPushNotificationConfig: the config with its id.
    async fn create_push(&self, caller: &Caller, config: PushConfig) -> Result<PushConfig, Failure>;

    /// GetTaskPushNotificationConfig, without secrets. An empty id in v0.3 means the first.
    async fn get_push(&self, caller: &Caller, key: PushKey) -> Result<PushConfig, Failure>;

    /// ListTaskPushNotificationConfigs, without secrets.
    async fn list_push(&self, caller: &Caller, task: Arc<str>) -> Result<Vec<PushConfig>, Failure>;

    /// DeleteTaskPushNotificationConfig; one that is not there is deleted.
    async fn delete_push(&self, caller: &Caller, key: PushKey) -> Result<(), Failure>;

    /// GetExtendedAgentCard, in the caller's dialect.
    async fn extended_card(&self, caller: &Caller) -> Result<Arc<Value>, Failure>;
}
