//! Reads what agents of v0.3 answer, as kindly as can be: what is missing and can be done without is done without.

use std::{sync::Arc, time::Duration};

use mas_contracts::{Artifact, Part, Speaker, Task, TaskMessage, TaskState, TaskStatus};

use super::read::part;
use crate::{
    grpc::{
        fields::{filled, required, role_or, shared, state},
        proto::v03 as proto,
        values::{read_object, read_time},
    },
    json::{Path, Problems},
    model::{ArtifactUpdate, Failure, StatusUpdate, StreamItem, TaskView},
};

const ROOT: Path<'static> = Path::Root;

/// What SendMessage is answered with, or an event of a stream; none for one of a kind that is not known.
///
/// # Errors
/// Every field that cannot be read.
pub(crate) fn read_event(of: Option<proto::Event>) -> Result<Option<StreamItem>, Failure> {
    let mut problems = Problems::default();
    let item = match of {
        None => None,
        Some(proto::Event::Task(of)) => {
            let task = task(of, Path::Field(&ROOT, "task"), &mut problems);
            Some(StreamItem::Task(TaskView::whole(Arc::new(task))))
        }
        Some(proto::Event::Msg(of)) => {
            let message = message(of, Path::Field(&ROOT, "message"), &mut problems);
            Some(StreamItem::Message(Arc::new(message)))
        }
        Some(proto::Event::StatusUpdate(of)) => {
            let path = Path::Field(&ROOT, "statusUpdate");
            let status = status(of.status, Path::Field(&path, "status"), &mut problems);
            let (task, context) = (of.task_id.into(), of.context_id.into());
            Some(StreamItem::Status(StatusUpdate { task, context, status, last: of.r#final }))
        }
        Some(proto::Event::ArtifactUpdate(of)) => {
            let path = Path::Field(&ROOT, "artifactUpdate");
            let artifact =
                artifact(of.artifact.unwrap_or_default(), Path::Field(&path, "artifact"), &mut problems);
            Some(StreamItem::Artifact(ArtifactUpdate {
                task: of.task_id.into(),
                context: of.context_id.into(),
                artifact: Arc::new(artifact),
                append: of.append,
                last_chunk: of.last_chunk,
            }))
        }
    };
    problems.none(item)
}

/// What GetTask and CancelTask are answered with.
///
/// # Errors
/// Every field that cannot be read.
pub(crate) fn read_task(of: proto::Task) -> Result<TaskView, Failure> {
    let mut problems = Problems::default();
    let task = task(of, ROOT, &mut problems);
    problems.none(TaskView::whole(Arc::new(task)))
}

fn task(of: proto::Task, path: Path<'_>, problems: &mut Problems) -> Task {
    let id = required(of.id, Path::Field(&path, "id"), problems).into();
    let status = status(of.status, Path::Field(&path, "status"), problems);
    let list = Path::Field(&path, "artifacts");
    let artifacts = of.artifacts.into_iter().enumerate();
    let artifacts =
        artifacts.map(|(at, it)| Arc::new(artifact(it, Path::Index(&list, at), problems))).collect();
    let list = Path::Field(&path, "history");
    let history = of.history.into_iter().enumerate();
    let history = history.map(|(at, it)| Arc::new(message(it, Path::Index(&list, at), problems))).collect();
    Task {
        id,
        owner: None,
        agent: Arc::from(""),
        context: of.context_id.into(),
        revision: 0,
        status,
        history,
        artifacts,
        metadata: read_object(of.metadata, Path::Field(&path, "metadata"), problems),
    }
}

fn status(of: Option<proto::TaskStatus>, path: Path<'_>, problems: &mut Problems) -> TaskStatus {
    let of = of.unwrap_or_default();
    let said = of.update.map(|it| Arc::new(message(it, Path::Field(&path, "update"), problems)));
    let since = of.timestamp.and_then(|it| read_time(it, Path::Field(&path, "timestamp"), problems));
    TaskStatus {
        // A state that says nothing is told of a task that is being worked on.
        state: state(of.state, Path::Field(&path, "state"), problems).unwrap_or(TaskState::Working),
        message: said,
        since: since.unwrap_or(Duration::ZERO),
    }
}

fn message(of: proto::Message, path: Path<'_>, problems: &mut Problems) -> TaskMessage {
    TaskMessage {
        id: of.message_id.into(),
        from: role_or(of.role, Speaker::Agent),
        context: filled(of.context_id),
        task: filled(of.task_id),
        parts: parts(of.content, Path::Field(&path, "content"), problems),
        metadata: read_object(of.metadata, Path::Field(&path, "metadata"), problems),
        extensions: shared(of.extensions),
        references: Vec::new(),
    }
}

fn artifact(of: proto::Artifact, path: Path<'_>, problems: &mut Problems) -> Artifact {
    Artifact {
        id: of.artifact_id.into(),
        name: filled(of.name),
        description: filled(of.description),
        parts: parts(of.parts, Path::Field(&path, "parts"), problems),
        metadata: read_object(of.metadata, Path::Field(&path, "metadata"), problems),
        extensions: shared(of.extensions),
    }
}

fn parts(of: Vec<proto::Part>, path: Path<'_>, problems: &mut Problems) -> Vec<Part> {
    let parts = of.into_iter().enumerate();
    parts.filter_map(|(at, it)| part(it, Path::Index(&path, at), problems)).collect()
}
