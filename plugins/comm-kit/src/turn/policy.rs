//! How a turn is carried.

use std::time::Duration;

use crate::retry;

/// How a turn is carried: which calls may be made, how long each may take, and what is done when it is given up.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnPolicy {
    /// Whether a stream is opened where the agent says that it streams; default true.
    pub stream: bool,
    /// The longest silence of a stream whose task is known; then it counts as broken. Default 60 s.
    pub idle: Duration,
    /// How often a broken stream is taken up again without news, and the pauses before it; default 3 times, half a
    /// second at first, 5 seconds at most.
    pub reconnect: retry::Policy,
    /// How a task that cannot be listened to is asked for.
    pub poll: Poll,
    /// Whether a task is cancelled when the time is over; default true.
    pub cancel_on_timeout: bool,
    /// Whether a task is cancelled when its caller stops or goes away; default true.
    pub cancel_on_drop: bool,
    /// How long that cancel may take, which nobody waits for; default 5 s.
    pub cancel_timeout: Duration,
    /// Whether an answer to a waiting task names the task; default true. Without it, only the conversation is named.
    pub resume_interrupted: bool,
    /// Media types that the caller takes, the best first; empty for any.
    pub output_modes: Vec<String>,
    /// How long a task may wait for credentials that come from elsewhere; the rest of the time for the call if absent.
    pub auth_wait: Option<Duration>,
    /// How many bytes a reply may have; default 32 MiB.
    pub largest: usize,
}

impl Default for TurnPolicy {
    fn default() -> Self {
        Self {
            stream: true,
            idle: Duration::from_secs(60),
            reconnect: retry::Policy {
                attempts: 3,
                base: Duration::from_millis(500),
                max: Duration::from_secs(5),
            },
            poll: Poll::default(),
            cancel_on_timeout: true,
            cancel_on_drop: true,
            cancel_timeout: Duration::from_secs(5),
            resume_interrupted: true,
            output_modes: Vec::new(),
            auth_wait: None,
            largest: 32 * 1024 * 1024,
        }
    }
}

/// How a task is asked for, again and again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Poll {
    /// The first pause; default 1 s.
    pub first: Duration,
    /// By how much each further one is longer; default 1.5, and never less than 1.
    pub factor: f64,
    /// The longest; default 10 s.
    pub max: Duration,
    /// How many failures in a row are passed over; default 3.
    pub tolerate: u32,
}

impl Poll {
    /// The pause that follows the pause `before`.
    pub(super) fn after(&self, before: Duration) -> Duration {
        let longer = before.as_secs_f64() * if self.factor >= 1.0 { self.factor } else { 1.0 };
        let most = self.max.max(self.first);
        Duration::try_from_secs_f64(longer).map_or(most, |longer| longer.min(most))
    }
}

impl Default for Poll {
    fn default() -> Self {
        Self { first: Duration::from_secs(1), factor: 1.5, max: Duration::from_secs(10), tolerate: 3 }
    }
}
