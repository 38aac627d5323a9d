//! Streams of a task's events, each at the pace of its reader.

use std::sync::Arc;

use futures_util::stream;
use mas_contracts::TaskState;

use super::{
    count::Counted,
    live::{Live, Next},
};
use crate::model::{Item, ItemStream, StreamItem, TaskView};

/// When a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// When the task is over.
    Over,
    /// Also when it asks for input: the caller has to say something first (A2A v1.0, section 11.7). Credentials
    /// come by another way (section 7.6.1), so a task that waits for them goes on.
    Interrupted,
}

/// A stream of one item.
pub(super) fn once(item: StreamItem, open: Counted) -> ItemStream {
    Box::pin(stream::iter([Item { seq: 1, item }].into_iter().inspect(move |_| {
        let _ = &open;
    })))
}

struct Reader {
    live: Arc<Live>,
    first: Option<Item>,
    after: u64,
    history_length: Option<u32>,
    until: Until,
    over: bool,
    _open: Counted,
}

/// `first`, and every event of the task after it.
pub(super) fn follow(
    live: Arc<Live>,
    first: Item,
    history_length: Option<u32>,
    until: Until,
    open: Counted,
) -> ItemStream {
    let reader = Reader {
        live,
        after: first.seq,
        first: Some(first),
        history_length,
        until,
        over: false,
        _open: open,
    };
    Box::pin(stream::unfold(reader, |mut reader| async move {
        let item = reader.next().await?;
        Some((item, reader))
    }))
}

impl Reader {
    async fn next(&mut self) -> Option<Item> {
        if self.over {
            return None;
        }
        let mut item = match self.first.take() {
            Some(first) => first,
            None => {
                let after = self.after;
                let next = |live: &Live| match live.next(after) {
                    Next::Item(item) => Some(Some(item)),
                    Next::End => Some(None),
                    Next::Wait => None,
                };
                self.live.wait_for(next).await?
            }
        };
        self.after = item.seq;
        self.over = match &mut item.item {
            StreamItem::Status(update) => {
                update.last = self.ends_at(update.status.state);
                update.last
            }
            StreamItem::Task(view) => self.ends_at(view.task.status.state),
            StreamItem::Message(_) => true,
            StreamItem::Artifact(_) => false,
        };
        Some(self.shown(item))
    }

    fn ends_at(&self, state: TaskState) -> bool {
        state.is_terminal() || (self.until == Until::Interrupted && state == TaskState::InputRequired)
    }

    fn shown(&self, item: Item) -> Item {
        match item.item {
            StreamItem::Task(view) => {
                let view = TaskView { history_length: self.history_length, ..view };
                Item { seq: item.seq, item: StreamItem::Task(view) }
            }
            other => Item { seq: item.seq, item: other },
        }
    }
}
