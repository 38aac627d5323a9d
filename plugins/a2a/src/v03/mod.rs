//! A2A v0.3: its JSON, read into and written from the same operations as v1.0.
//!
//! The version has two shapes of JSON. Over JSON-RPC: a `kind` in every object, roles and states in lower case,
//! files as `bytes` or `uri`. Over HTTP+JSON: protobuf's JSON of `a2a.v1`, with `content` for the parts of a message,
//! names of enums in upper case, and no `kind`.

mod decode;
mod encode;
mod names;
#[cfg(test)]
mod tests;

pub(crate) use decode::{
    cancel, create_push, get_task, list_push, part, push_key, resubscribe, send, set_push, unwrapped, wrapped,
};
pub(crate) use encode::{Event, PushShown, Pushes, Sent, TaskShown};
pub(crate) use names::{Shape, code, role, state};
