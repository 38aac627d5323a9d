//! v1.0 over gRPC: its messages, read into and written from the operations.

mod read;
mod write;

pub(super) use read::{cancel, create_push, get_task, list_push, list_tasks, push_key, send, subscribe};
pub(super) use write::{card, event, listing, push_config, push_configs, sent, task};
