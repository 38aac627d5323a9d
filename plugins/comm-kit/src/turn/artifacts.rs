//! The artifacts of a task elsewhere, put together from their pieces, and what is new of them.
//!
//! One of them is the answer: the last that is called so, as agents of mas call it, else the first. Its text is told as
//! text for as long as it only grows; everything else is told as artifacts, the answer too once it was replaced.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use mas_contracts::{Artifact, Audience, EventKind, Part, text_of};

use super::{
    pieces::{Pieces, Told},
    weight::{weight_of, weight_of_metadata},
};

/// What an artifact weighs beside its content, so that none is for nothing.
const FRAME: usize = 128;

/// Artifacts in order of appearance.
#[derive(Debug, Default)]
pub(super) struct Artifacts {
    list: Vec<Entry>,
    places: HashMap<Arc<str>, usize>,
    /// Those that were there before the message was sent.
    old: HashMap<Arc<str>, Entry>,
    /// The last that is called the answer.
    called: Option<usize>,
    /// The answer, once it is known which it is.
    answer: Option<usize>,
    /// Those that there may be something to tell of.
    changed: BTreeSet<usize>,
    /// Whether text was told that is not the answer's any more.
    spoiled: bool,
    /// What all that is kept weighs.
    weight: usize,
}

/// When artifacts are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// While more may come.
    Meanwhile,
    /// At the end, where one of them is the answer.
    Answered,
    /// At the end, where none of them is the answer that was not taken for it already.
    Beside,
}

#[derive(Debug)]
struct Entry {
    /// All but the parts.
    frame: Artifact,
    pieces: Pieces,
    weight: usize,
    complete: bool,
    told: Told,
    /// Whether some of it was told as text.
    said: bool,
    /// Whether a piece of it was told as an artifact.
    shown: bool,
    /// Whether it was told that it is complete.
    ended: bool,
}

/// Whether an artifact of this id is called the answer: `answer` or `answer-2`, as agents of mas call it.
fn is_called_answer(id: &str) -> bool {
    let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    id == "answer" || id.strip_prefix("answer-").is_some_and(is_number)
}

fn weight_of_artifact(artifact: &Artifact) -> usize {
    let weight = weight_of(&artifact.parts).saturating_add(weight_of_metadata(&artifact.metadata));
    weight.saturating_add(FRAME)
}

impl Artifacts {
    /// About how many bytes are kept.
    pub(super) fn weight(&self) -> usize {
        self.weight
    }

    /// Whether any of them holds anything.
    pub(super) fn has_content(&self) -> bool {
        self.list.iter().any(|entry| !entry.pieces.is_empty())
    }

    /// Takes in an artifact or a piece of one.
    pub(super) fn take(&mut self, artifact: &Artifact, append: bool, complete: bool) {
        if let Some(before) = self.old.remove(&artifact.id) {
            self.weight = self.weight.saturating_sub(before.weight);
            let mut entry = Entry::new(artifact);
            if append {
                entry.told = before.pieces.after(Told::default()).1;
                (entry.pieces, entry.weight) = (before.pieces, before.weight);
            }
            self.push(entry);
            if append {
                self.change(artifact, true, complete);
            }
            return;
        }
        self.change(artifact, append, complete);
    }

    fn change(&mut self, artifact: &Artifact, append: bool, complete: bool) {
        let Some(&at) = self.places.get(&artifact.id) else {
            return self.push(Entry { complete, ..Entry::new(artifact) });
        };
        let Some(entry) = self.list.get_mut(at) else { return };
        self.weight = self.weight.saturating_sub(entry.weight);
        if append {
            entry.pieces.extend(&artifact.parts);
            entry.weight = entry.weight.saturating_add(weight_of(&artifact.parts));
        } else {
            self.spoiled |= entry.replace(artifact);
        }
        self.weight = self.weight.saturating_add(entry.weight);
        entry.complete = complete;
        self.changed.insert(at);
    }

    fn push(&mut self, entry: Entry) {
        let at = self.list.len();
        if is_called_answer(&entry.frame.id) {
            self.called = Some(at);
        }
        self.places.insert(entry.frame.id.clone(), at);
        self.changed.insert(at);
        self.weight = self.weight.saturating_add(entry.weight);
        self.list.push(entry);
    }

    /// Takes in all artifacts of a task as they are. None at all says nothing: not every agent keeps them.
    pub(super) fn replace(&mut self, artifacts: &[Arc<Artifact>], ended: bool) {
        if artifacts.is_empty() {
            return;
        }
        let mut before: Vec<_> = std::mem::take(&mut self.list).into_iter().map(Some).collect();
        let places = std::mem::take(&mut self.places);
        (self.called, self.answer) = (None, None);
        for artifact in artifacts {
            let pieces = Pieces::of(&artifact.parts);
            if self.old.get(&artifact.id).is_some_and(|old| old.pieces == pieces) {
                continue;
            }
            self.old.remove(&artifact.id);
            let known = places.get(&artifact.id).and_then(|at| before.get_mut(*at)).and_then(Option::take);
            let mut entry = match known {
                Some(mut entry) => {
                    self.spoiled |= entry.replace(artifact);
                    entry
                }
                None => Entry::new(artifact),
            };
            entry.complete |= ended;
            self.push(entry);
        }
        self.spoiled |= before.iter().flatten().any(|gone| gone.said);
        self.weigh();
    }

    /// Says that what is there is older than the message.
    pub(super) fn are_old(&mut self) {
        self.old = self.list.drain(..).map(|entry| (entry.frame.id.clone(), entry)).collect();
        self.places.clear();
        self.changed.clear();
        (self.called, self.answer) = (None, None);
        self.weigh();
    }

    /// Weighs all that is kept anew.
    fn weigh(&mut self) {
        let kept = self.list.iter().chain(self.old.values());
        self.weight = kept.map(|entry| entry.weight).fold(0, usize::saturating_add);
    }

    /// Finds out which artifact is the answer, as far as that can be known.
    fn decide(&mut self, ended: bool) {
        let first = || {
            // One that comes whole may be a result beside the answer that follows it.
            let known = ended || self.list.len() > 1 || self.list.first().is_some_and(|it| !it.complete);
            (known && !self.list.is_empty()).then_some(0)
        };
        let answer = self.called.or(self.answer).or_else(first);
        if answer == self.answer {
            return;
        }
        self.answer = answer;
        let other = |(at, entry): (usize, &Entry)| entry.said && Some(at) != answer;
        self.spoiled |= self.list.iter().enumerate().any(other);
        self.changed = (0..self.list.len()).collect();
    }

    /// Tells what is new. What an artifact is has to be known before it is told.
    pub(super) fn tell(&mut self, when: When, out: &mut Vec<EventKind>) {
        match when {
            When::Meanwhile => self.decide(false),
            When::Answered => self.decide(true),
            When::Beside => {}
        }
        if self.answer.is_none() && when == When::Meanwhile {
            return;
        }
        for at in std::mem::take(&mut self.changed) {
            let Some(entry) = self.list.get_mut(at) else { continue };
            if Some(at) == self.answer && !self.spoiled {
                entry.tell_text(out);
            } else {
                entry.tell_pieces(out);
            }
        }
    }

    /// The answer, and the artifacts beside it.
    pub(super) fn into_answer(mut self) -> (Vec<Part>, Vec<Artifact>) {
        self.decide(true);
        let (mut answer, mut beside) = (Vec::new(), Vec::new());
        for (at, entry) in self.list.into_iter().enumerate().filter(|(_, entry)| !entry.pieces.is_empty()) {
            if Some(at) == self.answer {
                answer = entry.pieces.to_parts();
            } else {
                beside.push(entry.into_artifact());
            }
        }
        (answer, beside)
    }

    /// All of them, beside another answer.
    pub(super) fn into_list(self) -> Vec<Artifact> {
        self.list.into_iter().filter(|entry| !entry.pieces.is_empty()).map(Entry::into_artifact).collect()
    }

    /// The beginning of the answer, at most so many bytes.
    pub(super) fn excerpt(&self, most: usize) -> Option<String> {
        let entry = self.list.get(self.called.or(self.answer).unwrap_or(0))?;
        let text = text_of(&entry.pieces.to_parts());
        let head = text.get(..text.floor_char_boundary(most))?;
        (!head.is_empty()).then(|| head.to_owned())
    }

    /// Whether text was told.
    pub(super) fn has_spoken(&self) -> bool {
        self.spoiled || self.list.iter().any(|entry| entry.said)
    }
}

impl Entry {
    fn new(artifact: &Artifact) -> Self {
        Self {
            frame: Artifact { parts: Vec::new(), ..artifact.clone() },
            pieces: Pieces::of(&artifact.parts),
            weight: weight_of_artifact(artifact),
            complete: false,
            told: Told::default(),
            said: false,
            shown: false,
            ended: false,
        }
    }

    fn into_artifact(self) -> Artifact {
        Artifact { parts: self.pieces.to_parts(), ..self.frame }
    }

    /// Takes the place of what is there; what was told still counts where the new goes on with it. Returns whether
    /// text was told that is not so any more.
    fn replace(&mut self, artifact: &Artifact) -> bool {
        let pieces = Pieces::of(&artifact.parts);
        let goes_on = pieces.extends(&self.pieces, self.told);
        self.frame = Artifact { parts: Vec::new(), ..artifact.clone() };
        self.pieces = pieces;
        self.weight = weight_of_artifact(artifact);
        if goes_on {
            return false;
        }
        let was_said = self.said;
        self.retell();
        was_said
    }

    /// Begins to be told anew.
    fn retell(&mut self) {
        (self.told, self.said, self.shown, self.ended) = (Told::default(), false, false, false);
    }

    fn tell_text(&mut self, out: &mut Vec<EventKind>) {
        let (news, told) = self.pieces.after(self.told);
        self.told = told;
        for part in news {
            if let Some(text) = part.as_text() {
                self.said = true;
                out.push(EventKind::TextDelta { audience: Audience::Answer, text: text.clone() });
            } else {
                out.push(self.piece(vec![part], false));
            }
        }
    }

    fn tell_pieces(&mut self, out: &mut Vec<EventKind>) {
        if self.said {
            self.retell();
        }
        let (news, told) = self.pieces.after(self.told);
        self.told = told;
        if !news.is_empty() || (self.complete && !self.ended) {
            let last = self.complete;
            out.push(self.piece(news, last));
        }
    }

    fn piece(&mut self, parts: Vec<Part>, last: bool) -> EventKind {
        let artifact = Arc::new(Artifact { parts, ..self.frame.clone() });
        let append = std::mem::replace(&mut self.shown, true);
        self.ended = last;
        EventKind::ArtifactChunk { artifact, append, last }
    }
}
