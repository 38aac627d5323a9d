//! v1.0 over gRPC: its messages, read into and written from the operations, and read as answers by a client.

mod read;
mod replies;
mod write;

pub(crate) use read::{cancel, create_push, get_task, list_push, list_tasks, push_key, send, subscribe};
pub(crate) use replies::{read_event, read_listing, read_task};
pub(crate) use write::{card, event, listing, message, push_config, push_configs, sent, task};
