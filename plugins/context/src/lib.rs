//! Context managers: stack and sliding-window.
