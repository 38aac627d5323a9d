//! Access that is kept: within the process, and between runs where there is a file.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use mas_comm_kit::access::{AccessCache, AccessFile, Expiry, Lookup};
use mas_contracts::{Clock, Result};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::{
    access::RuntimeAccess,
    admission::{Admission, Grant, decide},
    service::Bearer,
};

/// Sessions at most whose access is kept within the process.
const MOST: usize = 1024;

/// Where access is kept.
#[derive(Clone, Debug)]
pub enum Caching {
    /// Nowhere: the platform is asked for each send.
    Off,
    /// Within the process.
    Memory(Expiry),
    /// Within the process, and in a file.
    File(Expiry, AccessFile),
}

/// Access that is kept.
pub(crate) struct Store {
    clock: Arc<dyn Clock>,
    expiry: Expiry,
    memory: Option<AccessCache<Arc<str>, Grant>>,
    file: Option<AccessFile>,
    scope: Scope,
    allow_http: bool,
}

/// Whose access it is: that of a user at a platform.
#[derive(Clone)]
pub(crate) struct Scope {
    pub(crate) backend: String,
    pub(crate) bearer: Bearer,
}

impl Scope {
    /// The key of something in a file: nobody learns from it what it is the key of.
    pub(crate) fn key(&self, of: &str) -> String {
        let user = match self.bearer.token() {
            Ok(token) => format!("access:{}", hex(token.reveal().as_bytes())),
            Err(_) => "anonymous".to_owned(),
        };
        hex(format!("{}|{user}|{of}", self.backend).as_bytes())
    }
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Store {
    pub(crate) fn new(caching: Caching, clock: Arc<dyn Clock>, scope: Scope, allow_http: bool) -> Self {
        let (expiry, file, memory) = match caching {
            Caching::Off => (Expiry::default(), None, false),
            Caching::Memory(expiry) => (expiry, None, true),
            Caching::File(expiry, file) => (expiry, Some(file), true),
        };
        let memory = memory.then(|| AccessCache::new(clock.clone(), expiry, MOST));
        Self { clock, expiry, memory, file, scope, allow_http }
    }

    /// The access to a session: what is kept, else what a lookup gives.
    pub(crate) async fn get(
        &self,
        session: &Arc<str>,
        lookup: impl Future<Output = Lookup<Grant>> + Send,
    ) -> Result<Arc<Grant>> {
        match &self.memory {
            Some(memory) => memory.get(session, lookup).await,
            None => match lookup.await {
                Lookup::Granted(grant, _) => Ok(Arc::new(grant)),
                Lookup::Refused(error) | Lookup::GaveUp(error) => Err(error),
            },
        }
    }

    /// The access that the file keeps, if it still lets a message go.
    pub(crate) fn of_file(&self, session: &str) -> Option<(Grant, Option<Duration>)> {
        let file = self.file.as_ref()?;
        let mut kept = file.get(&self.scope.key(session)).unwrap_or_else(|error| {
            tracing::warn!("{error}");
            None
        })?;
        let is_of = |name: &str, text: &str| kept.get(name).and_then(Value::as_str) == Some(text);
        if !is_of("backend", &self.scope.backend) || !is_of("session", session) {
            return None;
        }
        let access = RuntimeAccess::read(kept.get_mut("access")?.take()).ok()?;
        match decide(&access, self.allow_http) {
            Admission::Go(grant) => Some((grant, access.ends)),
            Admission::Wait(_) | Admission::No(_) => None,
        }
    }

    /// Keeps access that lets a message go in the file, unless another program holds the file until `end`.
    pub(crate) async fn to_file(
        &self,
        session: &str,
        ends: Option<Duration>,
        received: Map<String, Value>,
        end: Instant,
    ) {
        let Some(file) = &self.file else { return };
        let now = self.clock.unix_time();
        let until = self.expiry.until(ends, now);
        if until <= now {
            return;
        }
        let value = json!({"backend": self.scope.backend, "session": session, "access": received});
        let key = self.scope.key(session);
        self.change(file.put(&key, value, Some(until)), end).await;
    }

    /// Waits for a change of the file, until `end` at most.
    async fn change(&self, change: impl Future<Output = Result<()>> + Send, end: Instant) {
        tokio::select! {
            biased;
            done = change => if let Err(error) = done {
                tracing::warn!("{error}");
            },
            () = self.clock.sleep_until(end) => {
                tracing::warn!("the file of cached access was held by another program, and is as it was");
            }
        }
    }

    /// Forgets access that was refused; what took its place meanwhile stays. It takes until `end` at most.
    pub(crate) async fn forget(&self, session: &Arc<str>, grant: &Arc<Grant>, end: Instant) {
        if let Some(memory) = &self.memory {
            memory.drop_value(session, grant);
        }
        let Some(file) = &self.file else { return };
        let refused = grant.token.reveal().to_owned();
        let is = move |kept: &Value| {
            let token = kept.pointer("/access/token").and_then(Value::as_str);
            token.is_none_or(|token| token.trim() == refused)
        };
        let key = self.scope.key(session);
        self.change(file.drop_value(&key, is), end).await;
    }
}
