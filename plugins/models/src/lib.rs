//! Models: the providers of the category `llm_provider`. Linking this crate registers them.
//!
//! | name | is |
//! |---|---|
//! | `scripted` | rules from a YAML file; examples, documents and tests use it |
//! | `mock` | a fixed algorithm that answers anything, so that any manifest runs offline |
//! | `openai` | any server that speaks the OpenAI chat completions |
//! | `ollama` | Ollama, which is one |
//! | `anthropic` | Claude, by the Messages API of Anthropic |
//! | `gemini` | Gemini, by the Generative Language API of Google |
//!
//! The first two need no key and no network and give the same answer every time. Both stream: a text leaves in
//! pieces, split where a word begins, and the pieces together are the text. Both count tokens as words (runs of
//! characters other than white space): of the system prompt and of all messages with their tool arguments for the
//! input, of the text and the tool arguments for the output.
//!
//! The others share one exchange over HTTP: its limits, its retries and its rules for answers that end early.

mod anthropic;
#[cfg(test)]
mod chaos;
mod exchange;
mod gemini;
mod mock;
mod native;
mod openai;
mod outline;
mod params;
mod refusal;
mod scripted;
mod speech;
mod tool_schema;
mod wire;

pub use mock::Mock;
pub use scripted::Scripted;
