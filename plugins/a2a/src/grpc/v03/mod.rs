//! v0.3 over gRPC: its messages, read into and written from the operations.

mod read;
mod write;

pub(super) use read::{cancel, create_push, get_task, list_push, push_key, send, subscribe};
pub(super) use write::{card, event, push_config, push_configs, sent, task};
