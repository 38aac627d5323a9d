//! `llm_provider`: one chat call.

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Audience, CallContext, Message, Result, ToolCall, ToolSpec, Usage};

/// What a model is asked. The messages are `history`, then `turn`, then `prompt`.
#[derive(Clone, Copy, Debug)]
pub struct ChatRequest<'a> {
    /// The model's name, as the manifest gives it.
    pub model: &'a Arc<str>,
    /// The system prompt; empty for none.
    pub system: &'a str,
    /// The past that is shown.
    pub history: &'a [Arc<Message>],
    /// The running turn, its user message first.
    pub turn: &'a [Arc<Message>],
    /// What the pattern adds for this call only.
    pub prompt: &'a [Arc<Message>],
    /// The tools on offer, delegation first.
    pub tools: &'a [Arc<ToolSpec>],
    /// Whom the text is for.
    pub audience: Audience,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Most tokens to write.
    pub max_tokens: Option<u64>,
    /// The JSON schema that the text must fit, where the caller wants JSON.
    pub output_schema: Option<&'a Value>,
}

impl<'a> ChatRequest<'a> {
    /// All messages, oldest first.
    pub fn messages(&self) -> impl DoubleEndedIterator<Item = &'a Arc<Message>> {
        self.history.iter().chain(self.turn).chain(self.prompt)
    }
}

/// The code of the error for a request that is longer than the model takes.
pub const CONTEXT_LENGTH: &str = "mas::model::context_length";

/// Why a model stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It was done, or asks for tools.
    #[default]
    Stop,
    /// It reached the token limit.
    Length,
    /// A filter of the provider stopped it.
    Filtered,
}

/// What a model said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    /// The text, whole.
    pub text: Arc<str>,
    /// Reasoning that the provider keeps apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Arc<str>>,
    /// The calls it asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// What the provider wants to see again with this message; see [`Message::Assistant`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_data: Option<Arc<Value>>,
    /// Why it stopped.
    #[serde(default)]
    pub finish: FinishReason,
    /// Tokens spent, as the provider counts them; `model_calls` is core's business.
    #[serde(default)]
    pub usage: Usage,
}

/// A provider of models.
///
/// Rules:
///
/// - The text is emitted as it comes, by [`CallContext::emit_text`] with the audience of the request; the pieces
///   together are the text of the completion. Reasoning is emitted for [`Audience::Reasoning`] alone.
/// - A call is made again only while nothing of it was emitted. Once a piece is out, a failure is an error.
/// - An answer that is cut off is an error, never a shorter answer.
/// - A call ends soon after the tree is cancelled, and at its deadline.
/// - A request that is longer than the model takes fails with the code [`CONTEXT_LENGTH`], so that core can
///   show it less of the past.
#[async_trait]
pub trait ModelContract: Send + Sync {
    /// Makes one call.
    ///
    /// # Errors
    /// When there is no whole answer.
    async fn chat(&self, cx: &CallContext, request: ChatRequest<'_>) -> Result<Completion>;
}
