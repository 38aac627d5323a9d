//! The rules of `scripted_response`.

use std::sync::Arc;

use mas_contracts::{Artifact, Content, Form, Part, PartMeta, Problem};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Parameters of `scripted_response`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Params {
    /// The rules, in order; the first whose conditions hold decides. Default none.
    #[serde(default)]
    rules: Vec<Rule>,
    /// The response where no rule holds; without one, such a turn fails.
    #[serde(default)]
    default: Option<Response>,
}

/// A rule: every condition given must hold; a rule without conditions always holds.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Rule {
    /// The turn's id (A2A messageId) begins with this. An answer to a question belongs to the turn that asked it, whatever
    /// id it has of its own.
    #[serde(default)]
    turn_id_prefix: Option<String>,
    /// The user's text is exactly this.
    #[serde(default)]
    prompt: Option<String>,
    /// What is answered.
    response: Response,
}

/// What is answered.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Response {
    /// The text; default the chunks together.
    #[serde(default)]
    text: Option<String>,
    /// Whether the text is what was sent; not beside `text`. Default false.
    #[serde(default)]
    echo: bool,
    /// How it ends in the words of a model; counts where `task_state` is absent. Default stop.
    #[serde(default)]
    pub(super) finish_reason: FinishReason,
    /// The state in which it ends; default completed.
    #[serde(default)]
    pub(super) task_state: Option<State>,
    /// Pieces of text that are streamed first. Default none.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(super) stream_chunks: Vec<Arc<str>>,
    /// Artifacts. Default none.
    #[serde(default)]
    pub(super) artifacts: Vec<ArtifactSpec>,
    /// How long it works before it ends, in milliseconds; default 0.
    #[serde(default)]
    pub(super) delay_ms: u64,
}

/// How a response ends, in the words of a model.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum FinishReason {
    /// As completed.
    #[default]
    Stop,
    /// As failed.
    Error,
    /// As canceled.
    Cancelled,
}

/// The state in which a response ends.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    /// Works for `delay_ms`, then ends well.
    Working,
    /// Ends well.
    Completed,
    /// Asks its text.
    InputRequired,
    /// Waits for credentials.
    AuthRequired,
    /// Is refused.
    Rejected,
    /// Fails.
    Failed,
    /// Not a word of manifests: what `finish_reason: cancelled` means.
    #[serde(skip)]
    Canceled,
}

/// What an artifact holds.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ArtifactKind {
    /// Its `text`.
    Text,
    /// Its `data`.
    Data,
    /// The bytes of its `text`, as a file.
    File,
    /// A reference to its `url`.
    Url,
}

/// An artifact.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ArtifactSpec {
    /// What it holds: text, data, file or url.
    kind: ArtifactKind,
    /// Name for a person.
    #[serde(default)]
    name: Option<String>,
    /// The text of kind text, the content of kind file.
    #[serde(default)]
    text: Option<String>,
    /// The value of kind data.
    #[serde(default)]
    data: Option<Value>,
    /// The address of kind url.
    #[serde(default)]
    url: Option<String>,
    /// Media type.
    #[serde(default)]
    media_type: Option<String>,
    /// File name.
    #[serde(default)]
    filename: Option<String>,
}

impl Params {
    /// The response of the first rule that holds, else the default.
    pub(super) fn respond(&self, turn: &str, prompt: &str) -> Option<&Response> {
        let rule = self.rules.iter().find(|rule| rule.holds(turn, prompt));
        rule.map(|rule| &rule.response).or(self.default.as_ref())
    }

    /// The response to an answer: of a rule with this prompt, else the default unless it asks again.
    pub(super) fn follow_up(&self, turn: &str, answer: &str) -> Option<&Response> {
        let rule = self.rules.iter().find(|rule| rule.prompt.is_some() && rule.holds(turn, answer));
        let default = || {
            self.default
                .as_ref()
                .filter(|response| !matches!(response.task_state, Some(State::InputRequired)))
        };
        rule.map(|rule| &rule.response).or_else(default)
    }

    /// What the types alone cannot say.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.rules.is_empty() && self.default.is_none() {
            problems.push(
                Problem::new("`scripted_response` needs `rules`, a `default`, or both")
                    .help("for one answer to everything: `default: {text: …}`"),
            );
        }
        let rules = self.rules.iter().enumerate();
        let named = rules.map(|(at, rule)| (format!("rules[{at}].response"), &rule.response));
        for (path, response) in named.chain(self.default.iter().map(|it| ("default".to_owned(), it))) {
            if response.echo && response.text.is_some() {
                problems.push(
                    Problem::new("a response has `text` or `echo`, not both").at(format!("{path}.echo")),
                );
            }
            for (at, artifact) in response.artifacts.iter().enumerate() {
                if let Some(missing) = artifact.missing() {
                    problems.push(
                        Problem::new(format!("an artifact of this kind needs `{missing}`"))
                            .at(format!("{path}.artifacts[{at}].{missing}")),
                    );
                }
            }
        }
        problems
    }
}

impl Rule {
    fn holds(&self, turn: &str, prompt: &str) -> bool {
        self.turn_id_prefix.as_ref().is_none_or(|prefix| turn.starts_with(prefix.as_str()))
            && self.prompt.as_ref().is_none_or(|exact| exact == prompt)
    }
}

impl Response {
    /// The text that answers `prompt`.
    pub(super) fn text(&self, prompt: &Arc<str>) -> Arc<str> {
        match &self.text {
            Some(text) => text.as_str().into(),
            None if self.echo => prompt.clone(),
            None => self.stream_chunks.concat().into(),
        }
    }

    /// How the text is shown where there are tasks: pieces and what is joined of them are a result; a text beside a
    /// state or artifacts tells of the end; a text alone is all there is.
    pub(super) fn form(&self) -> Form {
        let spoken = self.text.is_some() || self.echo;
        match (spoken, &self.task_state, &*self.artifacts, &*self.stream_chunks) {
            (true, None, [], []) => Form::Message,
            (true, ..) => Form::Status,
            (false, ..) => Form::Artifact,
        }
    }
}

impl ArtifactSpec {
    fn missing(&self) -> Option<&'static str> {
        match self.kind {
            ArtifactKind::Text | ArtifactKind::File => self.text.is_none().then_some("text"),
            ArtifactKind::Data => self.data.is_none().then_some("data"),
            ArtifactKind::Url => self.url.is_none().then_some("url"),
        }
    }

    /// The artifact, numbered by its place.
    pub(super) fn build(&self, at: usize) -> Artifact {
        let text = self.text.as_deref().unwrap_or_default();
        let content = match self.kind {
            ArtifactKind::Text => Content::Text(text.into()),
            ArtifactKind::Data => Content::Data(self.data.clone().unwrap_or_default()),
            ArtifactKind::File => Content::Raw(text.as_bytes().into()),
            ArtifactKind::Url => Content::Url(self.url.as_deref().unwrap_or_default().into()),
        };
        let meta = (self.media_type.is_some() || self.filename.is_some()).then(|| {
            Box::new(PartMeta {
                media_type: self.media_type.clone(),
                filename: self.filename.clone(),
                metadata: Map::new(),
            })
        });
        Artifact {
            name: self.name.as_deref().map(Into::into),
            ..Artifact::new(format!("artifact-{}", at.saturating_add(1)), vec![Part { content, meta }])
        }
    }
}
