//! Session store: one append-only JSON Lines file per session.
