//! A2A v1.0: its JSON, read into and written from the operations. One shape for JSON-RPC and HTTP+JSON.

mod decode;
mod encode;
mod names;
#[cfg(test)]
mod tests;

pub(crate) use decode::{
    Request, cancel, create_push, extended_card, get_task, list_push, list_tasks, part, push_key, send,
    shared, subscribe,
};
pub(crate) use encode::{Shown, Write};
pub(crate) use names::{code, state, state_name};
