//! The operations, as bindings call them.

use std::sync::Arc;

use async_trait::async_trait;
use mas_contracts::TaskState;
use serde_json::Value;

use super::{Found, Inner, OnCancel, Service, check::of_metadata, view};
use crate::model::{
    Caller, CancelTask, Failure, GetTask, ItemStream, ListTasks, Listing, Operations, PushConfig, PushKey,
    Reason, SendMessage, SendReply, SubscribeToTask, TaskView,
};

#[async_trait]
impl Operations for Service {
    async fn send(&self, caller: &Caller, request: SendMessage) -> Result<SendReply, Failure> {
        self.0.send(caller, request).await
    }

    async fn stream(&self, caller: &Caller, request: SendMessage) -> Result<ItemStream, Failure> {
        self.0.stream(caller, request).await
    }

    async fn get(&self, caller: &Caller, request: GetTask) -> Result<TaskView, Failure> {
        self.0.get(caller, request).await
    }

    async fn list(&self, caller: &Caller, request: ListTasks) -> Result<Listing, Failure> {
        self.0.list(caller, request).await
    }

    async fn cancel(&self, caller: &Caller, request: CancelTask) -> Result<TaskView, Failure> {
        self.0.cancel(caller, request).await
    }

    async fn subscribe(&self, caller: &Caller, request: SubscribeToTask) -> Result<ItemStream, Failure> {
        self.0.subscribe(caller, request).await
    }

    async fn create_push(&self, caller: &Caller, config: PushConfig) -> Result<PushConfig, Failure> {
        let scope = self.0.scope(caller);
        self.0.push_of(&scope, &config.task).await?.create(&scope, config).await
    }

    async fn get_push(&self, caller: &Caller, key: PushKey) -> Result<PushConfig, Failure> {
        let scope = self.0.scope(caller);
        self.0.push_of(&scope, &key.task).await?.get(&scope, &key).await
    }

    async fn list_push(&self, caller: &Caller, task: Arc<str>) -> Result<Vec<PushConfig>, Failure> {
        let scope = self.0.scope(caller);
        self.0.push_of(&scope, &task).await?.list(&scope, &task).await
    }

    async fn delete_push(&self, caller: &Caller, key: PushKey) -> Result<(), Failure> {
        let scope = self.0.scope(caller);
        self.0.push_of(&scope, &key.task).await?.delete(&scope, &key).await
    }

    async fn extended_card(&self, caller: &Caller) -> Result<Arc<Value>, Failure> {
        self.0.card.extended(caller.dialect, caller.owner.as_deref()).cloned()
    }
}

impl Inner {
    async fn cancel(&self, caller: &Caller, request: CancelTask) -> Result<TaskView, Failure> {
        if let Some(wrong) = of_metadata("metadata", &request.metadata, &self.kit.options) {
            return Err(Failure::invalid(vec![wrong]));
        }
        let live = match self.live(&self.scope(caller), &request.id).await? {
            Found::Live(live) => live,
            Found::Over(task) => return Err(not_cancelable(&request.id, task.status.state)),
        };
        let turns = {
            let mut state = live.lock();
            if state.ended {
                return Err(not_cancelable(&request.id, state.status.state));
            }
            state.canceling = true;
            let mut turns = state.turns.clone();
            turns.extend(state.asked.clone());
            turns
        };
        let waits = live.lock().turns.is_empty();
        match self.kit.options.cancel {
            OnCancel::Interrupt => {
                self.stop(&live, turns);
                if !waits {
                    // A turn that does not stop is left behind: the caller is told in time all the same.
                    let _ = self.within(self.kit.options.cancel_grace, live.settled()).await;
                }
            }
            OnCancel::Detach => {}
        }
        live.end(TaskState::Canceled, None);
        self.keep(&live).await;
        let task = live.task(&mut live.lock());
        if task.status.state == TaskState::Canceled {
            return Ok(view(task, None));
        }
        Err(not_cancelable(&request.id, task.status.state))
    }
}

fn not_cancelable(id: &str, state: TaskState) -> Failure {
    let text = format!("task `{id}` is over already ({})", state.as_str());
    Failure::new(Reason::TaskNotCancelable, text).with("taskId", id)
}
