//! What a send goes by, whichever session it is to.

use std::time::Duration;

use mas_comm_kit::phases::Phases;

/// What a send goes by.
#[derive(Clone, Debug)]
pub struct Terms {
    /// How long a send may take with all that it needs; default `[5, 900]`.
    pub timeout: Phases,
    /// What a fresh message id begins with; default `msg-`.
    pub message_id_prefix: String,
    /// How often a task is asked for that is waited for; default every second.
    pub task_poll_interval: Duration,
    /// How long a task is waited for; default 900 s.
    pub task_wait_timeout: Duration,
    /// The most bytes of an answer; default 32 MiB.
    pub max_response_bytes: usize,
    /// The most bytes of one file; default 15 MiB.
    pub max_file_bytes: usize,
    /// Whether tokens may go over plain http to other machines; default false.
    pub allow_http: bool,
    /// What the URIs of the platform's extensions begin with.
    pub extension_base: String,
    /// Whose errors those of the platform are.
    pub limit_domain: String,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            timeout: Phases::of_secs(5, 900),
            message_id_prefix: "msg-".to_owned(),
            task_poll_interval: Duration::from_secs(1),
            task_wait_timeout: Duration::from_secs(900),
            max_response_bytes: 32 * 1024 * 1024,
            max_file_bytes: 15 * 1024 * 1024,
            allow_http: false,
            extension_base: "https://mainsequence.ai/a2a/extensions".to_owned(),
            limit_domain: "mainsequence.ai".to_owned(),
        }
    }
}

impl Terms {
    /// The extension that says what kind of response is wanted.
    pub(crate) fn response_kind(&self) -> String {
        format!("{}/response-kind/v1", self.extension_base)
    }

    /// The extension that says what output is wanted.
    pub(crate) fn output_contract(&self) -> String {
        format!("{}/output-contract/v1", self.extension_base)
    }
}
