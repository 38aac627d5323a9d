//! Event log: observability `native`, one chronological JSON Lines file per run.
//!
//! The file is `path` (or `events_file`), to which a run appends; else a new `<run id>.jsonl` below
//! `$XDG_STATE_HOME/mas/runs` or `$HOME/.local/state/mas/runs`, so that runs side by side never meet; there the
//! 1000 newest files are kept. Folders are made with mode 0700, files with 0600.
//!
//! Every line has `ts` (Unix seconds), `run_id`, `kind`, `agent_id`, `session_id`, `turn_id`, `call_id`, `depth`;
//! a delegated turn also has `parent_call_id` (the operation that it is) and `root_turn_id` (call ids are unique
//! within a root turn). Lines are in the order of the events, and `ts` never goes back.
//!
//! | kind | of | further fields |
//! |---|---|---|
//! | `execution_start` | a turn began | message_id, message |
//! | `execution_end` | a turn ended | status, error, usage |
//! | `llm_call_start` | a model call began | model, messages |
//! | `llm_call_end` | a model call ended | model, message_id, message, error, usage, latency_ms |
//! | `tool_call_start` | a tool call began | tool_call_id, tool, arguments |
//! | `tool_call_end` | a tool call ended | tool_call_id, tool, message_id, message, is_error, latency_ms |
//! | `delegation_start` | a delegation began | to, route, tool_call_id, message_id, message |
//! | `delegation_end` | a delegation ended | to, route, tool_call_id, state, error, latency_ms |
//! | `task_accepted` | a remote peer accepted the work | task |
//! | `task_status` | a remote task changed its state | state, text |
//! | `artifact` | a piece of an artifact | artifact_id, name, content, append, last |
//! | `user_response` | the answer of a turn | message_id, message |
//! | `wait_state_start` | a turn waits for a person | question |
//! | `notice` | something worth knowing | text |
//! | `lagged` | events that a subscriber lost | missed |
//! | `other` | an event of a kind unknown here | event |
//! | `dropped` | events that this log lost | count |
//!
//! A message is written once: the first line about it has `message`, every line has `message_id`, the hash of
//! its content. Fields without a value are left out. Pieces of a model's text are not logged; the whole message
//! is in `llm_call_end`.
//!
//! ```text
//! observe ─ queue (bounded) ─ writer thread ─ file
//! ```
//!
//! `observe` takes a lock for a push and returns. Where the writer falls behind, artifact pieces, status changes
//! and notices are dropped from 4096 waiting events on, everything else from 8192 on; a `dropped` line says how
//! many. `flush` waits for the file 5 seconds at most, dropping the log 2 seconds.

mod event_log;
mod line;
mod place;
mod queue;
mod writer;

pub use event_log::EventLog;
pub use line::KINDS;
