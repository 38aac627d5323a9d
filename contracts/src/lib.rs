//! Traits, messages, events, errors and descriptors that every part of mas agrees on.
