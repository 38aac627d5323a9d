//! The program `mas-ctl`: validate, plan and run teams of agents declared in YAML.
//!
//! ```text
//! main ─ cli ─ commands ─┬─ validate, plan, registry, config    print and end
//!                        └─ run-mas, chat ─ conversation ─ team  turns, streamed
//! ```
//!
//! stdout is the conversation, the listing or one JSON document; everything else goes to stderr.

mod built_ins;
