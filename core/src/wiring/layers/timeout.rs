//! `timeout`: an end for one attempt, earlier than the deadline of the whole.

use std::time::Duration;

use async_trait::async_trait;
use mas_contracts::{CallContext, Delivery, Error, ErrorKind, Outbound, Peer, Reply, Result};

use super::{Layer, Next, shown};
use crate::turn::{CANCEL_GRACE, Stopped, bounded};

/// Gives an attempt no longer than this. The backend is told by its deadline; one that does not keep it is dropped.
pub(super) struct Limit(pub(super) Duration);

#[async_trait]
impl Layer for Limit {
    async fn send(&self, cx: &CallContext, to: &Peer, message: Outbound, next: Next<'_>) -> Result<Reply> {
        let inner = cx.clone().within(cx.clock().now(), self.0);
        let sent =
            bounded(&inner, Some(inner.deadline()), CANCEL_GRACE, next.send(&inner, to, message)).await;
        let error = match sent {
            Ok(Ok(reply)) => return Ok(reply),
            Ok(Err(error)) => error,
            Err(Stopped::Deadline) => {
                Error::new(ErrorKind::Timeout, format!("no reply of `{}` within {}", to.id, shown(self.0)))
                    .with_code("mas::layers::timeout")
                    .with_delivery(Delivery::Unknown)
            }
            Err(Stopped::Cancelled(reason)) => CallContext::stopped(reason),
        };
        let cut = error.kind() == ErrorKind::Timeout && inner.deadline() < cx.deadline();
        Err(if cut { error.with("timeout of the endpoint's layers", shown(self.0)) } else { error })
    }
}
