//! What the fixtures say, in the types of the operations.
#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "helpers of tests")]

use std::{sync::Arc, time::Duration};

use mas_contracts::{Artifact, Content, Part, PartMeta, Speaker, Task, TaskMessage, TaskState, TaskStatus};
use serde_json::{Map, Value, json};

use crate::model::{ArtifactUpdate, Authentication, Dialect, PushConfig, StatusUpdate, TaskView};

pub(super) fn object(of: &Value) -> Map<String, Value> {
    of.as_object().cloned().expect("an object")
}

fn file(metadata: &Value) -> Option<Box<PartMeta>> {
    let metadata = object(metadata);
    Some(Box::new(PartMeta {
        media_type: Some("image/png".into()),
        filename: Some("p.png".into()),
        metadata,
    }))
}

/// The message of the fixtures, as that version can say it.
pub(super) fn message(dialect: Dialect) -> TaskMessage {
    let data = match dialect {
        Dialect::V1 => {
            let data = json!({"big": 9_007_199_254_740_991_i64, "half": 0.5, "list": [null, true, "x"]});
            [Part::data(data), Part::data(Value::Null)]
        }
        Dialect::V03 => [Part::data(json!({"n": 1})), Part::data(json!([1]))],
    };
    let mut parts = vec![
        Part::text("hi"),
        Part { content: Content::Raw(vec![0, 255].into()), meta: file(&json!({"a": 1})) },
        Part { content: Content::Url("https://example.com/x".into()), meta: None },
    ];
    parts.extend(data);
    TaskMessage {
        id: "m1".into(),
        from: Speaker::User,
        context: Some("c1".into()),
        task: Some("t1".into()),
        parts,
        metadata: object(&json!({"k": "v"})),
        extensions: vec!["urn:x".into()],
        references: if dialect == Dialect::V1 { vec!["t0".into()] } else { Vec::new() },
    }
}

/// The status of the fixtures, as that version can say it.
pub(super) fn status(dialect: Dialect) -> TaskStatus {
    let (state, text) = match dialect {
        Dialect::V1 => (TaskState::InputRequired, "which?"),
        Dialect::V03 => (TaskState::Canceled, "gone"),
    };
    let message = TaskMessage {
        id: "m2".into(),
        from: Speaker::Agent,
        context: Some("c1".into()),
        task: Some("t1".into()),
        parts: vec![Part::text(text)],
        metadata: Map::new(),
        extensions: Vec::new(),
        references: Vec::new(),
    };
    TaskStatus { state, message: Some(Arc::new(message)), since: Duration::from_millis(1_761_647_400_007) }
}

/// The artifact of the fixtures.
pub(super) fn artifact() -> Artifact {
    Artifact {
        name: Some("n".into()),
        description: Some("d".into()),
        metadata: object(&json!({"k": [1, 2]})),
        extensions: vec!["urn:x".into()],
        ..Artifact::new("a1", vec![Part::text("one")])
    }
}

/// The task of the fixtures.
pub(super) fn task(dialect: Dialect) -> TaskView {
    TaskView::whole(Arc::new(Task {
        id: "t1".into(),
        owner: Some("nobody's business".into()),
        agent: "a".into(),
        context: "c1".into(),
        revision: 3,
        status: status(dialect),
        history: vec![Arc::new(message(dialect))],
        artifacts: vec![Arc::new(artifact())],
        metadata: object(&json!({"k": {}})),
    }))
}

/// The change of status of the fixtures.
pub(super) fn status_update(dialect: Dialect) -> StatusUpdate {
    StatusUpdate { task: "t1".into(), context: "c1".into(), status: status(dialect), last: true }
}

/// The piece of an artifact of the fixtures.
pub(super) fn artifact_update() -> ArtifactUpdate {
    ArtifactUpdate {
        task: "t1".into(),
        context: "c1".into(),
        artifact: Arc::new(artifact()),
        append: true,
        last_chunk: true,
    }
}

/// The webhook of the fixtures.
pub(super) fn push(dialect: Dialect) -> PushConfig {
    PushConfig {
        id: "p1".into(),
        task: "t1".into(),
        url: "https://example.com/hook".into(),
        token: Some("t".into()),
        authentication: Some(Authentication { scheme: "Bearer".into(), credentials: Some("c".into()) }),
        dialect,
    }
}
