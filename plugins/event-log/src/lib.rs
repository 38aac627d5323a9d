//! Event log: one chronological JSON Lines file per run.
