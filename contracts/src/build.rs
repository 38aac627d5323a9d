//! What a builder is given, and how parameters are checked.

use std::{
    any::{Any, TypeId},
    collections::{BTreeMap, HashMap},
    fmt,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{AgentHost, Clock, Error, Ids, Result};

/// A snapshot of the environment, taken once at the edge. Debug prints names only.
#[derive(Clone, Default)]
pub struct Env(Arc<BTreeMap<String, String>>);

impl Env {
    /// The snapshot that holds these pairs.
    pub fn new(pairs: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(Arc::new(pairs.into_iter().collect()))
    }

    /// The value of a variable; an empty one counts as unset.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Every variable, empty ones too, by name: what a child process is given.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// What the plugins of one team share, such as a child process or a pool of connections: one of each type and
/// key. Clones are the same store; a fresh one is empty.
#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<HashMap<(TypeId, String), Kept>>>);

type Kept = Arc<dyn Any + Send + Sync>;

impl Shared {
    /// The value of this type under `key`; made if there is none yet.
    ///
    /// # Errors
    /// Those of `make`; nothing is kept then.
    pub fn get_or_make<T: Any + Send + Sync>(
        &self,
        key: &str,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<Arc<T>> {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = (TypeId::of::<T>(), key.to_owned());
        if let Some(known) = shared.get(&place).and_then(|known| known.clone().downcast().ok()) {
            return Ok(known);
        }
        let made = Arc::new(make()?);
        shared.insert(place, made.clone());
        Ok(made)
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shared")
    }
}

/// What every builder is given.
#[derive(Clone)]
pub struct BuildContext {
    /// The agents of this process; upgrade it per call, for it ends before the backends do.
    pub host: Weak<dyn AgentHost>,
    /// The environment.
    pub env: Env,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Where ids come from.
    pub ids: Arc<dyn Ids>,
    /// The folder that relative paths of the parameters are relative to.
    pub base: PathBuf,
    /// What the plugins of the team share.
    pub shared: Shared,
}

impl fmt::Debug for BuildContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BuildContext").field("base", &self.base).finish_non_exhaustive()
    }
}

/// A problem of a declaration, found without touching anything outside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Where in the checked value, such as `a2a.listen.port`; empty for the whole.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl Problem {
    /// A problem of the whole value.
    pub fn new(message: impl Into<String>) -> Self {
        Self { path: String::new(), message: message.into(), help: None }
    }

    /// Says where in the checked value.
    #[must_use]
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// Says what to do about it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// Reads parameters; `null` reads as an empty map.
///
/// # Errors
/// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) with the path of the parameter.
pub fn parse_params<P: DeserializeOwned>(params: &Value) -> Result<P> {
    read::<P>(params).map_err(|problem| {
        let place = if problem.path.is_empty() { String::new() } else { format!("`{}`: ", problem.path) };
        Error::invalid(format!("{place}{}", problem.message)).with_code("mas::params::invalid")
    })
}

/// Checks parameters against their type; the `check` of most descriptors.
#[must_use]
pub fn check_params<P: DeserializeOwned>(params: &Value) -> Vec<Problem> {
    read::<P>(params).err().into_iter().collect()
}

/// The JSON schema of a parameter type; the `schema` of most descriptors.
#[must_use]
pub fn schema_of<P: JsonSchema>() -> Value {
    schemars::schema_for!(P).to_value()
}

fn read<P: DeserializeOwned>(params: &Value) -> std::result::Result<P, Problem> {
    let empty = Value::Object(serde_json::Map::new());
    let params = if params.is_null() { &empty } else { params };
    serde_path_to_error::deserialize(params).map_err(|error| {
        let path = error.path().to_string();
        let path = if path == "." { String::new() } else { path };
        Problem::new(error.into_inner().to_string()).at(path)
    })
}
