//! The platform's own API, as far as a send needs it.

use std::{fmt, fs::File, io::Read, path::PathBuf, sync::Arc};

use bytes::Bytes;
use mas_comm_kit::{Secret, http::encoded, phases::Budget};
use mas_contracts::{Delivery, Error, ErrorKind, Result, Retry};
use serde_json::{Map, Value};

use crate::{
    access::RuntimeAccess,
    address::Base,
    exchange::{Call, Exchange},
    failure::Side,
    profile::Profile,
};

/// The largest file of a token: 64 KiB.
const LARGEST_TOKEN: u64 = 64 * 1024;

/// Where the token for the platform comes from. Debug shows no token.
#[derive(Clone, Debug)]
pub enum Bearer {
    /// This one.
    Token(Secret),
    /// A file, which is read each time, for it may be renewed.
    File(PathBuf),
}

impl Bearer {
    /// The token as it is now.
    ///
    /// # Errors
    /// `mas::platform::token` for a file that cannot be read, or holds none.
    pub fn token(&self) -> Result<Secret> {
        let path = match self {
            Self::Token(token) => return Ok(token.clone()),
            Self::File(path) => path,
        };
        let refused = |what: String| {
            let text = format!("the file `{}` of the platform's token {what}", path.display());
            Error::new(ErrorKind::Unauthenticated, text)
                .with_code("mas::platform::token")
                .with_retry(Retry::Never)
        };
        let mut text = String::new();
        let read = File::open(path).and_then(|file| file.take(LARGEST_TOKEN).read_to_string(&mut text));
        read.map_err(|error| refused(format!("cannot be read: {error}")))?;
        match text.trim() {
            "" => Err(refused("is empty".to_owned())),
            token => Ok(Secret::new(token)),
        }
    }
}

/// A session that is found by a handle, and made if there is none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Handle {
    /// The agent.
    pub agent_uid: String,
    /// The handle, unique for the agent.
    pub handle: String,
    /// What a fresh session is called.
    pub session_name: Option<String>,
    /// The session that a fresh one belongs to.
    pub parent_session_uid: Option<String>,
}

/// The platform.
pub(crate) struct Service {
    pub(crate) base: Base,
    pub(crate) bearer: Bearer,
    pub(crate) exchange: Exchange,
}

impl Service {
    /// Asks for access to the runtime of a session, once.
    pub(crate) async fn resolve(&self, session: &str, budget: &Budget) -> Result<RuntimeAccess> {
        let path = format!("/api/v1/agent-sessions/{}/resolve-runtime-access/", encoded(session));
        let answer = self.ask("POST", &path, Some(&Bytes::from_static(b"{}")), &[200], budget).await?;
        RuntimeAccess::read(answer)
    }

    /// The agent of a session, if the session says so.
    pub(crate) async fn agent_of(&self, session: &str, budget: &Budget) -> Result<Option<String>> {
        let path = format!("/api/v1/agent-sessions/{}/", encoded(session));
        let answer = self.ask("GET", &path, None, &[200], budget).await?;
        Ok(answer.get("agent_uid").and_then(Value::as_str).filter(|uid| !uid.is_empty()).map(str::to_owned))
    }

    /// What an agent says of the kinds of response that it offers.
    pub(crate) async fn profile(&self, agent: &str, uri: &str, budget: &Budget) -> Result<Profile> {
        let path = format!("/api/v1/agents/{}/", encoded(agent));
        let answer = self.ask("GET", &path, None, &[200], budget).await?;
        let profile = ["a2a_profile", "a2aProfile"].iter().find_map(|name| answer.get(*name));
        Profile::read(profile.unwrap_or(&Value::Null), uri)
    }

    /// The session of a handle, which is made if there is none.
    pub(crate) async fn session(&self, handle: &Handle, budget: &Budget) -> Result<Arc<str>> {
        let path = format!("/api/v1/agents/{}/sessions/get-or-create-session/", encoded(&handle.agent_uid));
        let mut body = Map::from_iter([("handle_unique_id".to_owned(), handle.handle.clone().into())]);
        let more = [("name", &handle.session_name), ("parent_session_uid", &handle.parent_session_uid)];
        for (name, value) in more {
            if let Some(value) = value {
                body.insert(name.to_owned(), value.clone().into());
            }
        }
        let body = Bytes::from(Value::Object(body).to_string());
        let answer = self.ask("POST", &path, Some(&body), &[200, 201], budget).await?;
        let uid = answer.get("uid").and_then(Value::as_str).filter(|uid| !uid.trim().is_empty());
        uid.map(Into::into).ok_or_else(|| unreadable("names no session (`uid`)"))
    }

    async fn ask(
        &self,
        method: &'static str,
        path: &str,
        body: Option<&Bytes>,
        good: &[u16],
        budget: &Budget,
    ) -> Result<Value> {
        let token = self.bearer.token()?;
        let json = "application/json".to_owned();
        let mut headers = vec![("accept", json.clone())];
        if body.is_some() {
            headers.push(("content-type", json));
        }
        let call = Call {
            side: Side::Platform,
            method,
            base: &self.base,
            path,
            token: &token,
            headers: &headers,
            body,
        };
        let answer = self.exchange.ask(&call, budget).await?;
        if !good.contains(&answer.status) {
            return Err(self.exchange.refused(&call, &answer));
        }
        match serde_json::from_slice(&answer.body) {
            Ok(document @ Value::Object(_)) => Ok(document),
            Ok(_) => Err(unreadable("is no JSON object")),
            Err(_) => Err(unreadable("is no JSON")),
        }
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("base", &self.base).finish_non_exhaustive()
    }
}

fn unreadable(what: &str) -> Error {
    Error::new(ErrorKind::Failed, format!("the platform's answer {what}; nothing was sent to the session"))
        .with_code(crate::access::INVALID)
        .with_delivery(Delivery::NotSent)
        .with_retry(Retry::Never)
}
