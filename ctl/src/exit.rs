//! Exit codes.

use std::process::ExitCode;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: done.
    Done,
    /// 1: the run failed: a turn, a tool, a peer.
    Failed,
    /// 2: the command line is wrong.
    Usage,
    /// 3: manifests or wiring are invalid.
    Invalid,
    /// 130: interrupted.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Invalid => 3,
            Exit::Interrupted => 130,
        })
    }
}
