//! Where webhooks are told of tasks.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use mas_contracts::{Task, TaskScope};

use crate::model::{Failure, PushConfig, PushKey, StreamItem};

/// A task whose webhooks are told of an event. Called under the lock of the task.
pub(crate) struct Changed<'a> {
    /// Whose it is.
    pub(crate) scope: &'a TaskScope,
    /// Its id.
    pub(crate) task: &'a Arc<str>,
    /// The place of the event among those of the task.
    pub(crate) seq: u64,
    /// A status or a piece of an artifact.
    pub(crate) item: &'a StreamItem,
    /// Puts together the whole task as it is by now (v0.3 posts it); costs as much as the task is long.
    pub(crate) snapshot: &'a mut dyn FnMut() -> Arc<Task>,
}

/// The webhooks of tasks. Whether the caller may see the task has been checked by whoever calls.
#[async_trait]
pub(crate) trait Push: Send + Sync {
    /// Whether a task has webhooks.
    fn wants(&self, scope: &TaskScope, task: &str) -> bool;

    /// Takes an event of a task that has webhooks. It never blocks and never fails.
    fn task_changed(&self, changed: Changed<'_>);

    /// The task never came to be, or is gone: its webhooks are forgotten.
    fn forget(&self, scope: &TaskScope, task: &str);

    /// Waits until every event taken so far was posted once, at most this long.
    async fn posted(&self, scope: &TaskScope, task: &str, limit: Duration);

    /// Adds or replaces a webhook and returns it with its id.
    async fn create(&self, scope: &TaskScope, config: PushConfig) -> Result<PushConfig, Failure>;

    /// A webhook without its secrets.
    async fn get(&self, scope: &TaskScope, key: &PushKey) -> Result<PushConfig, Failure>;

    /// The webhooks of a task, without their secrets.
    async fn list(&self, scope: &TaskScope, task: &Arc<str>) -> Result<Vec<PushConfig>, Failure>;

    /// Removes a webhook; one that is not there is removed.
    async fn delete(&self, scope: &TaskScope, key: &PushKey) -> Result<(), Failure>;
}
