//! Reads what agents answer, in every shape of both versions, and as kindly as can be: what is missing and can be
//! done without is done without, and members that nobody knows are ignored (A2A v1.0, section 3.2.3).

use std::{borrow::Cow, sync::Arc, time::Duration};

use mas_contracts::{Artifact, Part, Speaker, Task, TaskMessage, TaskState, TaskStatus};

use crate::{
    http::Tongue,
    json::{Node, Object, Path, Problems},
    model::{ArtifactUpdate, Failure, Listing, SendReply, StatusUpdate, StreamItem, TaskView},
    v1, v03,
};

/// What SendMessage is answered with.
///
/// # Errors
/// Every field that cannot be read.
pub(super) fn sent(node: Node<'_>, tongue: Tongue) -> Result<SendReply, Failure> {
    match item(node, tongue)? {
        Some(StreamItem::Task(task)) => Ok(SendReply::Task(task)),
        Some(StreamItem::Message(message)) => Ok(SendReply::Message(message)),
        _ => Err(wrong("is neither a task nor a message")),
    }
}

/// What GetTask and CancelTask are answered with.
///
/// # Errors
/// Every field that cannot be read.
pub(super) fn task(node: Node<'_>, tongue: Tongue) -> Result<TaskView, Failure> {
    let mut problems = Problems::default();
    let read = task_of(node, Path::Root, tongue, &mut problems);
    let read = problems.none(read)?;
    read.map(|task| TaskView::whole(Arc::new(task))).ok_or_else(|| wrong("is no task"))
}

/// What ListTasks is answered with.
///
/// # Errors
/// Every field that cannot be read.
pub(super) fn listing(node: Node<'_>) -> Result<Listing, Failure> {
    let mut problems = Problems::default();
    let Some(mut object) = Object::of(node, Path::Root, &mut problems) else {
        return Err(wrong("is no list of tasks"));
    };
    let list = Path::Field(&Path::Root, "tasks");
    let nodes = object.list("tasks", &mut problems);
    let mut tasks = Vec::with_capacity(nodes.len());
    for (at, node) in nodes.into_iter().enumerate() {
        let task = task_of(node, Path::Index(&list, at), Tongue::V1, &mut problems);
        tasks.extend(task.map(|task| TaskView::whole(Arc::new(task))));
    }
    let listing = Listing {
        next_page_token: object.filled("nextPageToken", &mut problems).unwrap_or_default().into_owned(),
        page_size: object.count("pageSize", &mut problems).unwrap_or_default(),
        total_size: object
            .count("totalSize", &mut problems)
            .and_then(|size| usize::try_from(size).ok())
            .unwrap_or(tasks.len()),
        tasks,
    };
    problems.none(listing)
}

/// An event of a stream; none for one of a kind that is not known.
///
/// # Errors
/// Every field that cannot be read.
pub(super) fn item(node: Node<'_>, tongue: Tongue) -> Result<Option<StreamItem>, Failure> {
    let mut problems = Problems::default();
    let read = match tongue {
        Tongue::V03(v03::Shape::Rpc) => bare(node, tongue, &mut problems),
        Tongue::V1 | Tongue::V03(v03::Shape::Rest) => named(node, tongue, &mut problems),
    };
    problems.none(read)
}

/// An event under the name of its kind.
fn named(node: Node<'_>, tongue: Tongue, problems: &mut Problems) -> Option<StreamItem> {
    let root = Path::Root;
    let mut object = Object::of(node, root, problems)?;
    for kind in ["task", "message", "statusUpdate", "artifactUpdate"] {
        if let Some(node) = object.value(kind) {
            return of_kind(kind, node, Path::Field(&root, kind), tongue, problems);
        }
    }
    None
}

/// An event that says its kind itself; where it does not, by what it has.
fn bare(node: Node<'_>, tongue: Tongue, problems: &mut Problems) -> Option<StreamItem> {
    let kind = match &node {
        Node::Object(fields) => {
            let has = |name: &str| fields.iter().any(|(field, _)| field == name);
            let kind = fields.iter().find_map(|(name, value)| match value {
                Node::Text(kind) if name == "kind" => Some(kind.clone()),
                _ => None,
            });
            match kind.as_deref() {
                Some("status-update") => "statusUpdate",
                Some("artifact-update") => "artifactUpdate",
                Some("task") => "task",
                Some("message") => "message",
                None if has("messageId") => "message",
                None if has("artifact") => "artifactUpdate",
                None if has("taskId") => "statusUpdate",
                None if has("id") => "task",
                _ => return None,
            }
        }
        other => {
            problems.add(Path::Root, format!("is {}, not an object", other.kind()));
            return None;
        }
    };
    of_kind(kind, node, Path::Root, tongue, problems)
}

fn of_kind(
    kind: &str,
    node: Node<'_>,
    path: Path<'_>,
    tongue: Tongue,
    problems: &mut Problems,
) -> Option<StreamItem> {
    Some(match kind {
        "task" => StreamItem::Task(TaskView::whole(Arc::new(task_of(node, path, tongue, problems)?))),
        "message" => StreamItem::Message(Arc::new(message(node, path, tongue, problems)?)),
        "statusUpdate" => {
            let mut object = Object::of(node, path, problems)?;
            let status = object.value("status");
            let status = status_of(status, Path::Field(&path, "status"), tongue, problems)?;
            let ends = status.state.is_terminal() || status.state == TaskState::InputRequired;
            let last = object.flag("final", problems).unwrap_or(ends);
            let (task, context) = names(&mut object, problems);
            StreamItem::Status(StatusUpdate { task, context, status, last })
        }
        _ => {
            let mut object = Object::of(node, path, problems)?;
            let artifact = object.value("artifact").unwrap_or(Node::Null);
            let artifact = artifact_of(artifact, Path::Field(&path, "artifact"), tongue, problems)?;
            let append = object.flag("append", problems).unwrap_or_default();
            let last_chunk = object.flag("lastChunk", problems).unwrap_or_default();
            let (task, context) = names(&mut object, problems);
            StreamItem::Artifact(ArtifactUpdate {
                task,
                context,
                artifact: Arc::new(artifact),
                append,
                last_chunk,
            })
        }
    })
}

/// The task and the conversation that an event names.
fn names(object: &mut Object<'_>, problems: &mut Problems) -> (Arc<str>, Arc<str>) {
    let mut name = |field| object.filled(field, problems).unwrap_or_default().into();
    (name("taskId"), name("contextId"))
}

fn task_of(node: Node<'_>, path: Path<'_>, tongue: Tongue, problems: &mut Problems) -> Option<Task> {
    let mut object = Object::of(node, path, problems)?;
    let id = object.required("id", problems).into();
    let context = object.filled("contextId", problems).unwrap_or_default().into();
    let status = status_of(object.value("status"), Path::Field(&path, "status"), tongue, problems);
    let list = Path::Field(&path, "history");
    let mut history = Vec::new();
    for (at, node) in object.list("history", problems).into_iter().enumerate() {
        history.extend(message(node, Path::Index(&list, at), tongue, problems).map(Arc::new));
    }
    let list = Path::Field(&path, "artifacts");
    let mut artifacts = Vec::new();
    for (at, node) in object.list("artifacts", problems).into_iter().enumerate() {
        artifacts.extend(artifact_of(node, Path::Index(&list, at), tongue, problems).map(Arc::new));
    }
    Some(Task {
        id,
        owner: None,
        agent: Arc::from(""),
        context,
        revision: 0,
        status: status?,
        history,
        artifacts,
        metadata: object.map("metadata", problems),
    })
}

fn status_of(
    node: Option<Node<'_>>,
    path: Path<'_>,
    tongue: Tongue,
    problems: &mut Problems,
) -> Option<TaskStatus> {
    let mut object = Object::of(node.unwrap_or(Node::Null), path, problems)?;
    let state = object.choice("state", |of| Some(state(of)), problems);
    let said = object.value("message");
    let message = said.and_then(|node| message(node, Path::Field(&path, "message"), tongue, problems));
    Some(TaskStatus {
        // A state that says nothing is told of a task that is being worked on.
        state: state.flatten().unwrap_or(TaskState::Working),
        message: message.map(Arc::new),
        since: object.moment("timestamp", problems).unwrap_or(Duration::ZERO),
    })
}

/// A state in the words of either version and in those that agents write for them; none for one that nobody knows.
fn state(of: Result<&str, i64>) -> Option<TaskState> {
    v03::state(of).unwrap_or_else(|| {
        let word = of.ok()?.to_ascii_lowercase().replace('_', "-");
        match word.strip_prefix("task-state-").unwrap_or(&word) {
            "cancelled" => Some(TaskState::Canceled),
            other => v03::state(Ok(other)).flatten(),
        }
    })
}

fn message(node: Node<'_>, path: Path<'_>, tongue: Tongue, problems: &mut Problems) -> Option<TaskMessage> {
    let mut object = Object::of(node, path, problems)?;
    let name = match tongue {
        Tongue::V1 => "parts",
        Tongue::V03(shape) => shape.parts(),
    };
    let role = object.choice("role", |of| Some(v03::role(of)), problems);
    let text = |text: Option<Cow<'_, str>>| text.map(Arc::<str>::from);
    Some(TaskMessage {
        id: object.filled("messageId", problems).unwrap_or_default().into(),
        // Nobody but the agent speaks where it does not say who.
        from: role.flatten().unwrap_or(Speaker::Agent),
        context: text(object.filled("contextId", problems)),
        task: text(object.filled("taskId", problems)),
        parts: parts(&mut object, name, tongue, problems),
        metadata: object.map("metadata", problems),
        extensions: v1::shared(object.texts("extensions", problems)),
        references: v1::shared(object.texts("referenceTaskIds", problems)),
    })
}

fn artifact_of(node: Node<'_>, path: Path<'_>, tongue: Tongue, problems: &mut Problems) -> Option<Artifact> {
    let mut object = Object::of(node, path, problems)?;
    let text = |text: Option<Cow<'_, str>>| text.map(Arc::<str>::from);
    Some(Artifact {
        id: object.filled("artifactId", problems).unwrap_or_default().into(),
        name: text(object.filled("name", problems)),
        description: text(object.filled("description", problems)),
        parts: parts(&mut object, "parts", tongue, problems),
        metadata: object.map("metadata", problems),
        extensions: v1::shared(object.texts("extensions", problems)),
    })
}

fn parts(object: &mut Object<'_>, name: &str, tongue: Tongue, problems: &mut Problems) -> Vec<Part> {
    let above = object.path();
    let list = Path::Field(&above, name);
    let nodes = object.list(name, problems);
    let mut parts = Vec::with_capacity(nodes.len());
    for (at, node) in nodes.into_iter().enumerate() {
        let path = Path::Index(&list, at);
        parts.extend(match tongue {
            Tongue::V1 => v1::part(node, path, problems),
            Tongue::V03(shape) => v03::part(node, path, shape, problems),
        });
    }
    parts
}

fn wrong(what: &'static str) -> Failure {
    Failure::invalid(vec![crate::model::Violation::new("result", what)])
}
