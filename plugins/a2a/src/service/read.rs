//! Reads of tasks: one, a page, and as they go on.

use std::{sync::Arc, time::Duration};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use mas_contracts::{TaskCursor, TaskQuery, TaskScope};

use super::{
    Found, Inner,
    count::Counted,
    failure_of,
    push::Push,
    stream::{Until, follow, once},
    view,
};
use crate::model::{
    Caller, Dialect, Failure, GetTask, Item, ItemStream, ListTasks, Listing, Reason, StreamItem,
    SubscribeToTask, TaskView, Violation,
};

/// Tasks of a page; A2A v1.0, section 3.1.4.
const DEFAULT_PAGE: u32 = 50;
const LARGEST_PAGE: i64 = 100;

impl Inner {
    pub(super) async fn get(&self, caller: &Caller, request: GetTask) -> Result<TaskView, Failure> {
        let task = self.task(&self.scope(caller), &request.id).await?;
        Ok(view(task, request.history_length))
    }

    pub(super) async fn list(&self, caller: &Caller, request: ListTasks) -> Result<Listing, Failure> {
        let page_size = match request.page_size {
            None => DEFAULT_PAGE,
            Some(size @ 1..=LARGEST_PAGE) => u32::try_from(size).unwrap_or(DEFAULT_PAGE),
            Some(_) => {
                let wrong = format!("is not between 1 and {LARGEST_PAGE}");
                return Err(Failure::invalid(vec![Violation::new("pageSize", wrong)]));
            }
        };
        let after = match request.page_token.as_deref().filter(|token| !token.is_empty()) {
            None => None,
            Some(token) => Some(read_token(token).ok_or_else(|| {
                Failure::invalid(vec![Violation::new("pageToken", "is not a token of this server")])
            })?),
        };
        let query = TaskQuery {
            context: request.context,
            state: request.state,
            since: request.since,
            after,
            limit: usize::try_from(page_size).unwrap_or(usize::MAX),
        };
        let scope = self.scope(caller);
        let page = self.tasks.list(&scope, &query).await.map_err(|error| failure_of(&error))?;
        let shown = page.tasks.into_iter().map(|task| {
            // What a task at work has given since its status changed is not in the store.
            let task = match self.lives.get(&scope, &task.id) {
                Some(live) => {
                    let mut state = live.lock();
                    live.task(&mut state)
                }
                None => task,
            };
            TaskView { task, history_length: request.history_length, artifacts: request.include_artifacts }
        });
        Ok(Listing {
            tasks: shown.collect(),
            next_page_token: page.next.as_ref().map(write_token).unwrap_or_default(),
            page_size,
            total_size: page.total,
        })
    }

    pub(super) async fn subscribe(
        &self,
        caller: &Caller,
        request: SubscribeToTask,
    ) -> Result<ItemStream, Failure> {
        let open = self.open_stream()?;
        let live = match self.live(&self.scope(caller), &request.id).await? {
            Found::Live(live) if !live.lock().ended => live,
            // A caller of v0.3 may subscribe to a task that is over, and is shown it.
            found if caller.dialect == Dialect::V03 => {
                let task = match found {
                    Found::Live(live) => live.task(&mut live.lock()),
                    Found::Over(task) => task,
                };
                return Ok(once(StreamItem::Task(TaskView::whole(task)), open));
            }
            Found::Live(_) | Found::Over(_) => {
                let text = format!("task `{}` is over: get it instead", request.id);
                return Err(Failure::new(Reason::UnsupportedOperation, text).with("taskId", &*request.id));
            }
        };
        let mut first = live.snapshot();
        if let Some(after) = request.after
            && live.lock().log.covers(after)
        {
            // The caller has the artifacts up to there; the rest follows piece by piece.
            first = Item { seq: after, item: without_artifacts(first.item) };
        }
        Ok(follow(live, first, None, Until::Over, open))
    }

    /// Counts a stream that opens.
    pub(super) fn open_stream(&self) -> Result<Counted, Failure> {
        if !self.card.capabilities().streaming {
            return Err(Failure::new(Reason::UnsupportedOperation, "this agent does not stream"));
        }
        self.streams.take(self.kit.options.streams).ok_or_else(|| {
            Failure::new(Reason::ResourceExhausted, "too many streams are open; try again later")
                .retry_after(Duration::from_secs(1))
        })
    }

    /// The webhooks, for a task that is the caller's.
    pub(super) async fn push_of(&self, scope: &TaskScope, task: &str) -> Result<&Arc<dyn Push>, Failure> {
        let push = self.push()?;
        self.task(scope, task).await?;
        Ok(push)
    }

    pub(super) fn push(&self) -> Result<&Arc<dyn Push>, Failure> {
        let none = "this agent sends no push notifications";
        self.kit.push.as_ref().ok_or_else(|| Failure::new(Reason::PushNotificationNotSupported, none))
    }
}

fn without_artifacts(item: StreamItem) -> StreamItem {
    match item {
        StreamItem::Task(view) => StreamItem::Task(TaskView { artifacts: false, ..view }),
        other => other,
    }
}

/// A place in a listing as an opaque word.
fn write_token(cursor: &TaskCursor) -> String {
    URL_SAFE_NO_PAD.encode(format!("{}:{}", cursor.since.as_nanos(), cursor.id))
}

fn read_token(token: &str) -> Option<TaskCursor> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
    let (nanos, id) = text.split_once(':')?;
    Some(TaskCursor { since: Duration::from_nanos(nanos.parse().ok()?), id: id.into() })
}
