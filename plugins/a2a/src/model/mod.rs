//! What the operations of A2A say, whatever the binding and the version: requests, replies, stream items, errors.
//!
//! Bindings decode into these types and encode from them; [`Operations`] is what they call. Tasks, messages,
//! artifacts and parts are those of the contracts.

mod failure;
mod kind;
mod operations;
mod reply;
mod request;

pub(crate) use failure::{Failure, Reason, Violation};
pub(crate) use kind::{RESPONSE_KIND, RESPONSE_KIND_DOMAIN, ResponseKind};
pub(crate) use operations::{Caller, Dialect, Operations};
pub(crate) use reply::{
    ArtifactUpdate, Item, ItemStream, Listing, SendReply, StatusUpdate, StreamItem, TaskView,
};
pub(crate) use request::{
    Authentication, CancelTask, GetTask, ListTasks, PushConfig, PushKey, SendMessage, SubscribeToTask,
};
