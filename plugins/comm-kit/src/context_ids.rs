//! The ids of conversations at agents elsewhere.
//!
//! An id is derived from the agent and the conversation, keyed by a secret, so that the same conversation has the same
//! id in every process that knows the secret, and nothing is kept anywhere. Only the ids that agents gave instead are
//! remembered, and only so many.

mod adopted;

use std::{
    fmt,
    sync::{Arc, Mutex, Once, OnceLock, PoisonError},
};

use mas_contracts::{CallContext, Delivery, Env, Error, ErrorKind, Result, Thread};
use ring::{
    hmac,
    rand::{SecureRandom, SystemRandom},
};

use self::adopted::Adopted;

/// The variables that hold the secret of the derivation; the first that is set counts.
pub const IDENTITY_SECRETS: [&str; 2] = ["MAS_IDENTITY_SECRET", "A4H_IDENTITY_SECRET"];

/// How many conversations are remembered; the one that was not used for longest is forgotten first.
const REMEMBERED: usize = 10_000;

/// The code of the error for an answer in another conversation than the fixed one.
pub(crate) const ELSEWHERE: &str = "mas::turn::context";

/// What keeps these ids apart from whatever else is made with the secret.
const TAG: &[u8] = b"a2a-context-id/v1\0";

/// Where the ids of conversations come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContextMode {
    /// Derived from the agent and the conversation, so that the same conversation has the same id everywhere.
    Derived,
    /// From the agent.
    Server,
    /// This one, always; an answer in another conversation is an error.
    Fixed(Arc<str>),
}

/// The ids of conversations. Neither the secret nor a key is ever shown.
pub struct ContextIds {
    source: Source,
    adopted: Mutex<Adopted>,
    /// The variable that is not set, where the key is that of this process.
    unset: Option<Box<str>>,
}

enum Source {
    Derived(Box<hmac::Key>),
    Server,
    Fixed(Arc<str>),
}

/// The id to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Context {
    /// None where the agent is to give one.
    pub(crate) id: Option<Arc<str>>,
    /// Whether no answer came in this conversation yet, as far as is remembered.
    pub(crate) is_first: bool,
    /// Whether no other will do.
    pub(crate) is_fixed: bool,
}

impl ContextIds {
    /// Ids by `mode`, with the secret of the first of the variables `names` that is set and not blank. Without one, a
    /// key of this process takes its place, of which one warning tells when the first id is derived.
    ///
    /// # Errors
    /// That there is no randomness to be had for that key.
    pub fn from_env(mode: ContextMode, env: &Env, names: &[&str]) -> Result<Self> {
        let secret =
            || names.iter().find_map(|name| env.get(name).filter(|secret| !secret.trim().is_empty()));
        let mut unset = None;
        let source = match mode {
            ContextMode::Derived => Source::Derived(Box::new(match secret() {
                Some(secret) => key(secret.as_bytes()),
                None => {
                    unset = Some(names.first().copied().unwrap_or("a secret").into());
                    process_key()?.clone()
                }
            })),
            ContextMode::Server => Source::Server,
            ContextMode::Fixed(id) => Source::Fixed(id),
        };
        Ok(Self { unset, ..Self::of(source) })
    }

    /// Derived ids with this secret.
    #[must_use]
    pub fn derived(secret: &[u8]) -> Self {
        Self::of(Source::Derived(Box::new(key(secret))))
    }

    fn of(source: Source) -> Self {
        Self { source, adopted: Mutex::new(Adopted::new(REMEMBERED)), unset: None }
    }

    /// The key of a conversation with `agent`. Those of different owners are different conversations.
    pub(crate) fn key(cx: &CallContext, thread: &Thread, agent: &str) -> Arc<str> {
        let key = thread.key(agent);
        match cx.scope().tree.owner() {
            // No key of a conversation begins so: what could be a slash within a name is escaped.
            Some(owner) => format!("//{}/{key}", Thread::root_key(owner.clone())).into(),
            None => key,
        }
    }

    /// The id to send in the conversation `key` with `agent`.
    pub(crate) fn get(&self, agent: &str, key: &str) -> Context {
        let known = self.adopted().get(key);
        let is_first = known.is_none();
        if let Some(name) = &self.unset {
            warn_once(name);
        }
        let id = match &self.source {
            Source::Derived(secret) => Some(known.flatten().unwrap_or_else(|| derive(secret, agent, key))),
            Source::Server => known.flatten(),
            Source::Fixed(id) => Some(id.clone()),
        };
        Context { id, is_first, is_fixed: matches!(self.source, Source::Fixed(_)) }
    }

    /// Takes in that `agent` answered the conversation `key` in `heard`, if it said where; `sent` is what was asked for.
    /// Another id than that is used from now on, and logged once.
    ///
    /// # Errors
    /// That the id is fixed, and the answer is of another conversation.
    pub(crate) fn settle(
        &self,
        agent: &str,
        key: &str,
        sent: Option<&str>,
        heard: Option<&Arc<str>>,
    ) -> Result<()> {
        let other = heard.filter(|heard| sent != Some(&***heard));
        match (&self.source, other) {
            (Source::Fixed(_), Some(heard)) => Err(Error::new(
                ErrorKind::Failed,
                format!("`{agent}` answered in another conversation, `{heard}`, than it was asked in"),
            )
            .with_code(ELSEWHERE)
            .with_delivery(Delivery::Answered)),
            (_, Some(heard)) => {
                self.adopted().put(key, Some(heard.clone()));
                if let Some(sent) = sent {
                    tracing::info!(%agent, %sent, %heard, "the agent names the conversation otherwise; its name is used");
                }
                Ok(())
            }
            (_, None) => {
                self.adopted().touch(key);
                Ok(())
            }
        }
    }

    fn adopted(&self) -> std::sync::MutexGuard<'_, Adopted> {
        self.adopted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ContextIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = match self.source {
            Source::Derived(_) => "derived",
            Source::Server => "server",
            Source::Fixed(_) => "fixed",
        };
        f.debug_struct("ContextIds").field("mode", &mode).finish_non_exhaustive()
    }
}

fn key(secret: &[u8]) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, secret)
}

/// The key of this process: random, the same for everybody in it.
fn process_key() -> Result<&'static hmac::Key> {
    static KEY: OnceLock<hmac::Key> = OnceLock::new();
    if let Some(key) = KEY.get() {
        return Ok(key);
    }
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).map_err(|_| {
        Error::internal("the system has no randomness for the ids of conversations")
            .with_code("mas::turn::random")
    })?;
    Ok(KEY.get_or_init(|| key(&bytes)))
}

/// Tells, once in a process, that conversations end with it.
fn warn_once(name: &str) {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| {
        tracing::warn!(
            "{name} is not set: conversations with agents elsewhere end when this process does; set it to go on with them"
        );
    });
}

/// The id of a conversation: a UUID of version 8 of the first half of the HMAC.
fn derive(secret: &hmac::Key, agent: &str, key: &str) -> Arc<str> {
    let mut mac = hmac::Context::with_key(secret);
    mac.update(TAG);
    for text in [agent, key] {
        // The length before each keeps apart what only looks the same in a row.
        mac.update(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_be_bytes());
        mac.update(text.as_bytes());
    }
    let mut bytes = [0; 16];
    for (byte, made) in bytes.iter_mut().zip(mac.sign().as_ref()) {
        *byte = *made;
    }
    uuid::Builder::from_custom_bytes(bytes).into_uuid().hyphenated().to_string().into()
}

#[cfg(test)]
mod tests;
