//! What an agent elsewhere says about its work: the messages of a task's statuses.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use mas_contracts::{Part, TaskMessage, text_of};

use super::{pieces::Pieces, weight::weight_of};

/// What a message weighs beside its content, so that none is for nothing.
const FRAME: usize = 128;

/// What was said, in order.
#[derive(Debug, Default)]
pub(super) struct Said {
    list: Vec<Saying>,
    places: HashMap<Arc<str>, usize>,
    /// The text of it all.
    text: String,
    /// What all that is kept weighs.
    weight: usize,
}

#[derive(Debug)]
struct Saying {
    id: Arc<str>,
    parts: Pieces,
    /// As a text-only reader sees it.
    text: String,
    weight: usize,
}

impl Said {
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// About how many bytes are kept.
    pub(super) fn weight(&self) -> usize {
        self.weight
    }

    /// Takes in a message and returns its text as far as it is new.
    ///
    /// A longer one of the same id takes the place of what it says again; so does one that says again all that was
    /// said, and more, under an id of its own. Anything else goes on behind what was said.
    pub(super) fn take(&mut self, message: &TaskMessage) -> Option<Arc<str>> {
        let text = text_of(&message.parts);
        if text.is_empty() {
            return None;
        }
        let weight = weight_of(&message.parts).saturating_add(FRAME);
        let (id, parts) = (message.id.clone(), Pieces::of(&message.parts));
        let saying = Saying { id, parts, text: text.to_string(), weight };
        let Some(&at) = self.places.get(&message.id) else {
            let again = self.list.last().is_some_and(|last| last.id.is_empty() && last.text == saying.text);
            return (!again || !saying.id.is_empty()).then(|| self.begin(saying));
        };
        let is_last = at.saturating_add(1) == self.list.len();
        let known = self.list.get_mut(at)?;
        if *known.text == *text {
            return None;
        }
        let news: Arc<str> = if text.len() > known.text.len() {
            let rest = text.strip_prefix(known.text.as_str()).map(Arc::from);
            self.weight = self.weight.saturating_sub(known.weight).saturating_add(weight);
            *known = saying;
            match rest {
                Some(rest) if is_last => {
                    self.text.push_str(&rest);
                    return Some(rest);
                }
                rest => rest.unwrap_or(text),
            }
        } else {
            known.parts.extend(&message.parts);
            known.text.push_str(&text);
            known.weight = known.weight.saturating_add(weight);
            self.weight = self.weight.saturating_add(weight);
            if is_last {
                self.text.push_str(&text);
                return Some(text);
            }
            text
        };
        self.text.clear();
        for saying in &self.list {
            self.text.push_str(gap(&self.text, &saying.text));
            self.text.push_str(&saying.text);
        }
        Some(news)
    }

    /// Takes in the first of an id and returns what is new of its text.
    fn begin(&mut self, saying: Saying) -> Arc<str> {
        let rest = saying.text.strip_prefix(self.text.as_str()).filter(|rest| !rest.is_empty());
        let news = rest.unwrap_or(&saying.text).into();
        if rest.is_some() {
            self.clear();
        }
        self.push(saying);
        news
    }

    fn clear(&mut self) {
        self.list.clear();
        self.places.clear();
        self.text.clear();
        self.weight = 0;
    }

    fn push(&mut self, saying: Saying) {
        self.text.push_str(gap(&self.text, &saying.text));
        self.text.push_str(&saying.text);
        // Messages without an id are as many as there are.
        if !saying.id.is_empty() {
            self.places.insert(saying.id.clone(), self.list.len());
        }
        self.weight = self.weight.saturating_add(saying.weight);
        self.list.push(saying);
    }

    /// Puts what is remembered elsewhere before what was heard here.
    pub(super) fn recall<'a>(&mut self, history: impl IntoIterator<Item = &'a TaskMessage>) {
        let heard = std::mem::take(&mut self.list);
        self.clear();
        for message in history {
            self.take(message);
        }
        let nameless = self.list.iter().filter(|saying| saying.id.is_empty());
        let nameless: HashSet<String> = nameless.map(|saying| saying.text.clone()).collect();
        for saying in heard {
            let known = match saying.id.is_empty() {
                true => nameless.contains(&saying.text),
                false => self.places.contains_key(&saying.id),
            };
            if !known {
                self.push(saying);
            }
        }
    }

    /// All that was said, as one message.
    pub(super) fn into_parts(self) -> Vec<Part> {
        let mut all = Pieces::default();
        let mut before = String::new();
        for saying in self.list {
            all.extend(&[Part::text(gap(&before, &saying.text))]);
            all.extend(&saying.parts.to_parts());
            before = saying.text;
        }
        all.to_parts()
    }
}

/// What stands between two messages: a line ends, unless there is a space already.
fn gap(before: &str, after: &str) -> &'static str {
    let apart = before.ends_with(char::is_whitespace) || after.starts_with(char::is_whitespace);
    if before.is_empty() || apart { "" } else { "\n" }
}
