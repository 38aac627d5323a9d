//! The artifacts of a task under way: pieces are appended in place, and the whole is put together when asked for.

use std::sync::Arc;

use mas_comm_kit::turn::weight_of;
use mas_contracts::{Artifact, Content, Part, TaskMessage};

/// Artifacts in order of appearance.
#[derive(Debug, Default)]
pub(super) struct Artifacts {
    list: Vec<Entry>,
    weight: usize,
}

#[derive(Debug)]
struct Entry {
    id: Arc<str>,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Whole(Arc<Artifact>),
    /// Streamed text; put together at most once between two pieces.
    Text(String, Option<Arc<Artifact>>),
    /// Streamed parts.
    Parts(Box<Artifact>, Option<Arc<Artifact>>),
}

impl Artifacts {
    pub(super) fn of(kept: &[Arc<Artifact>]) -> Self {
        let mut artifacts = Self::default();
        for artifact in kept {
            artifacts.put(artifact.clone());
        }
        artifacts
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// About how many bytes they hold.
    pub(super) fn weight(&self) -> usize {
        self.weight
    }

    /// Adds an artifact, or replaces the one of its id.
    pub(super) fn put(&mut self, artifact: Arc<Artifact>) {
        self.weight = self.weight.saturating_add(weight_of(&artifact.parts));
        match self.list.iter_mut().find(|entry| entry.id == artifact.id) {
            Some(entry) => entry.body = Body::Whole(artifact),
            None => self.list.push(Entry { id: artifact.id.clone(), body: Body::Whole(artifact) }),
        }
    }

    /// Appends the parts of a piece to the artifact of its id; without one, the piece begins it.
    pub(super) fn append(&mut self, piece: &Artifact) {
        self.weight = self.weight.saturating_add(weight_of(&piece.parts));
        let Some(entry) = self.list.iter_mut().find(|entry| entry.id == piece.id) else {
            let body = Body::Parts(Box::new(piece.clone()), None);
            self.list.push(Entry { id: piece.id.clone(), body });
            return;
        };
        if let Body::Parts(artifact, whole) = &mut entry.body {
            artifact.parts.extend(piece.parts.iter().cloned());
            *whole = None;
            return;
        }
        let mut artifact = (*entry.body.share(&entry.id)).clone();
        artifact.parts.extend(piece.parts.iter().cloned());
        entry.body = Body::Parts(Box::new(artifact), None);
    }

    /// Appends to the streamed text of this id, or begins it anew.
    pub(super) fn text(&mut self, id: &Arc<str>, append: bool, text: &str) {
        self.weight = self.weight.saturating_add(text.len());
        match self.list.iter_mut().find(|entry| entry.id == *id) {
            Some(Entry { body: Body::Text(all, whole), .. }) if append => {
                all.push_str(text);
                *whole = None;
            }
            Some(entry) => entry.body = Body::Text(text.to_owned(), None),
            None => self.list.push(Entry { id: id.clone(), body: Body::Text(text.to_owned(), None) }),
        }
    }

    /// Whether the streamed text of this id is exactly this.
    pub(super) fn is_text(&self, id: &str, parts: &[Part]) -> bool {
        let [Part { content: Content::Text(text), meta: None }] = parts else { return false };
        self.list
            .iter()
            .any(|entry| &*entry.id == id && matches!(&entry.body, Body::Text(all, _) if **all == **text))
    }

    /// Whether this very artifact is among them.
    pub(super) fn contains(&mut self, artifact: &Artifact) -> bool {
        let found = self.list.iter_mut().find(|entry| entry.id == artifact.id);
        found.is_some_and(|entry| *entry.body.share(&entry.id) == *artifact)
    }

    /// All of them, whole.
    pub(super) fn share(&mut self) -> Vec<Arc<Artifact>> {
        self.list.iter_mut().map(|entry| entry.body.share(&entry.id)).collect()
    }
}

impl Body {
    fn share(&mut self, id: &Arc<str>) -> Arc<Artifact> {
        match self {
            Self::Whole(artifact) => artifact.clone(),
            Self::Text(text, whole) => whole
                .get_or_insert_with(|| Arc::new(Artifact::new(id.clone(), vec![Part::text(text.as_str())])))
                .clone(),
            Self::Parts(artifact, whole) => {
                whole.get_or_insert_with(|| Arc::new((**artifact).clone())).clone()
            }
        }
    }
}

/// About how many bytes a message holds.
pub(super) fn weight_of_message(message: &TaskMessage) -> usize {
    weight_of(&message.parts)
}
