//! What is posted, in the dialect of the webhook (A2A v1.0, section 4.3.3; v0.3, section 9.5).

use std::sync::Arc;

use bytes::Bytes;
use mas_comm_kit::{
    Secret,
    http::{HeaderText, Request},
};
use mas_contracts::Task;

use crate::{
    model::{Dialect, PushConfig, StreamItem, TaskView},
    v1,
    v03::{Shape, TaskShown},
};

/// The body of one notification.
#[derive(Clone, Debug)]
pub(super) struct Post {
    pub(super) dialect: Dialect,
    /// The place of its event among those of the task.
    pub(super) seq: u64,
    pub(super) body: Bytes,
}

/// The item as v1.0 posts it; nothing if it cannot be written, which is a defect.
pub(super) fn body_v1(item: &StreamItem) -> Option<Bytes> {
    serde_json::to_vec(&v1::Shown(item)).ok().map(Bytes::from)
}

/// The whole task as v0.3 posts it.
pub(super) fn body_v03(task: Arc<Task>) -> Option<Bytes> {
    serde_json::to_vec(&TaskShown(Shape::Rpc, &TaskView::whole(task))).ok().map(Bytes::from)
}

/// The request that brings a notification to a webhook.
pub(super) fn request(config: &PushConfig, post: &Post) -> Request {
    let (media, version) = match post.dialect {
        Dialect::V1 => ("application/a2a+json", "1.0"),
        Dialect::V03 => ("application/json", "0.3"),
    };
    let plain = |name: &str, value: &str| (name.to_owned(), HeaderText::Plain(value.to_owned()));
    let secret = |name: &str, value: String| (name.to_owned(), HeaderText::Secret(Secret::new(value)));
    let mut headers = vec![plain("content-type", media), plain("a2a-version", version)];
    if let Some(token) = config.token.as_ref().filter(|token| !token.is_empty()) {
        // The name is that of v0.3; v1.0 says none, and peers differ.
        headers.push(secret("x-a2a-notification-token", token.clone()));
        headers.push(secret("a2a-notification-token", token.clone()));
    }
    if let Some(authentication) = &config.authentication {
        let credentials = authentication.credentials.as_deref().unwrap_or("");
        let value = format!("{} {credentials}", authentication.scheme);
        headers.push(secret("authorization", value.trim_end().to_owned()));
    }
    Request {
        method: "POST".to_owned(),
        url: config.url.clone(),
        headers,
        body: Some(post.body.clone()),
        ..Request::default()
    }
}
