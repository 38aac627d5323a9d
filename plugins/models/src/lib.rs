//! Offline models: scripted and mock.
