//! One caller: requests in, replies and events out.

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures_util::StreamExt;
use mas_contracts::{Actor, Error, ErrorKind, EventStream, Result, SessionKey, SessionView, Verb};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt, BufReader, split},
    sync::{mpsc, watch},
    task::{AbortHandle, JoinSet},
    time::{Instant, timeout, timeout_at},
};

use super::{CONNECTION, Served, Wire};
use crate::{
    line,
    wire::{self, Request},
};

/// How long one may be connected without a token.
const ADMISSION: Duration = Duration::from_secs(10);

/// How long one line may take to be taken.
const WRITE: Duration = Duration::from_secs(30);

/// How long the last reply may take.
const LAST: Duration = Duration::from_secs(1);

/// How many lines wait for a slow reader.
const WAITING: usize = 256;

/// How many sessions one caller follows.
const FOLLOWED: usize = 16;

/// The longest name of a caller.
const NAME: usize = 64;

/// Serves a caller until it leaves, or the server stops.
pub(super) async fn serve(wire: Box<dyn Wire>, served: Arc<Served>, mut stopped: watch::Receiver<bool>) {
    let (reading, writing) = split(wire);
    let (out, lines) = mpsc::channel(WAITING);
    let mut writer = tokio::spawn(write(lines, writing));
    let mut caller = Caller { served, actor: None, out, followed: HashMap::new(), followers: JoinSet::new() };
    let mut reading = BufReader::new(reading);
    let mut line = Vec::new();
    let admitted_by = Instant::now() + ADMISSION;
    loop {
        let read = async {
            match caller.actor {
                Some(_) => Ok(wire::read_line(&mut reading, &mut line).await),
                None => timeout_at(admitted_by, wire::read_line(&mut reading, &mut line)).await,
            }
        };
        let read = tokio::select! {
            // Between requests only: one that was begun is replied to.
            _ = stopped.changed() => break,
            _ = &mut writer => break,
            read = read => read,
        };
        let goes_on = match read {
            Ok(Ok(Some(text))) => caller.request(text).await,
            Ok(Ok(None)) => false,
            Ok(Err(error)) if error.kind() == std::io::ErrorKind::FileTooLarge => {
                let error = Error::new(ErrorKind::Limit, error.to_string()).with_code("mas::control::line");
                caller.reply(&Value::Null, &Err(error)).await;
                false
            }
            Ok(Err(_)) | Err(_) => false,
        };
        line.clear();
        if !goes_on {
            break;
        }
    }
    // The writer ends with the last sender; a reader that does not read is not waited for.
    drop(caller);
    if timeout(LAST, &mut writer).await.is_err() {
        writer.abort();
    }
}

async fn write(mut lines: mpsc::Receiver<String>, mut writing: impl AsyncWrite + Unpin) {
    while let Some(line) = lines.recv().await {
        if !matches!(timeout(WRITE, writing.write_all(line.as_bytes())).await, Ok(Ok(()))) {
            return;
        }
    }
    drop(writing.shutdown().await);
}

struct Caller {
    served: Arc<Served>,
    actor: Option<Actor>,
    out: mpsc::Sender<String>,
    followed: HashMap<SessionKey, AbortHandle>,
    followers: JoinSet<()>,
}

impl Caller {
    /// Does what a line asks; whether the connection goes on.
    async fn request(&mut self, text: &[u8]) -> bool {
        let request: Request = match serde_json::from_slice(text) {
            Ok(request) => request,
            // The text of the problem is not repeated from the line, which may hold a token.
            Err(error) => {
                let message = format!("the request is not understood, at column {}", error.column());
                let error = Error::invalid(message).with_code("mas::control::request");
                return self.reply(&Value::Null, &Err(error)).await && self.actor.is_some();
            }
        };
        let Some(actor) = self.admit(&request) else {
            let message = "the token is missing or is not the one of this session";
            let error = Error::new(ErrorKind::Unauthenticated, message).with_code("mas::control::token");
            self.reply(&request.id, &Err(error)).await;
            return false;
        };
        self.followers_ended();
        if request.method == "attach" {
            return self.attach(&actor, request).await;
        }
        let result = self.perform(actor, &request).await;
        self.reply(&request.id, &result).await
    }

    /// Who asks. A token that is shown counts, be it wrong, whatever was shown before.
    fn admit(&mut self, request: &Request) -> Option<Actor> {
        if let Some(shown) = &request.token {
            let admitted = self.served.actor(shown)?;
            if self.actor.as_ref().is_none_or(|known| known.methods != admitted.methods) {
                self.actor = Some(admitted);
            }
        }
        self.actor.clone()
    }

    async fn perform(&mut self, actor: Actor, request: &Request) -> Result<Value> {
        let method = request.method.as_str();
        let session = request.session_id.as_deref();
        match method {
            "hello" | "capabilities" => self.hello(request.args.as_ref()),
            "list_sessions" => Ok(json!({"sessions": self.served.host.sessions()})),
            "detach" => {
                let key = self.key(session)?;
                let handle = self.followed.remove(&key);
                if let Some(handle) = &handle {
                    handle.abort();
                }
                Ok(json!({"detached": handle.is_some()}))
            }
            _ => {
                let verb = verb(method, request.args.as_ref())?;
                if !actor.may(method) {
                    return Err(denied(method));
                }
                let key = self.key(session)?;
                let reply = self.served.host.control(&actor, &key, verb).await?;
                serde_json::to_value(reply)
                    .map_err(|error| Error::internal(format!("the reply is no JSON: {error}")))
            }
        }
    }

    /// Says who one is; `args.name` is how one is called from here on.
    fn hello(&mut self, args: Option<&Value>) -> Result<Value> {
        if let (Some(actor), Some(name)) = (&mut self.actor, args.and_then(|args| args.get("name"))) {
            let name = name
                .as_str()
                .filter(|name| !name.is_empty() && name.len() <= NAME && !name.chars().any(char::is_control));
            let Some(name) = name else {
                let message =
                    format!("`name` has to be a text of 1 to {NAME} bytes without control characters");
                return Err(Error::invalid(message).with_code("mas::control::name"));
            };
            actor.name = format!("control:{name}").into();
        }
        let actor = self.actor.clone();
        let methods = match actor.as_ref().and_then(|actor| actor.methods.clone()) {
            Some(methods) => methods,
            None => CONNECTION.iter().chain(&Verb::METHODS).map(|method| (*method).to_owned()).collect(),
        };
        Ok(json!({
            "protocol": wire::VERSION,
            "actor": actor.map(|actor| actor.name),
            "methods": methods,
            "session": self.served.session,
            "pid": std::process::id(),
        }))
    }

    async fn attach(&mut self, actor: &Actor, request: Request) -> bool {
        let followed =
            if actor.may("attach") { self.key(request.session_id.as_deref()) } else { Err(denied("attach")) };
        let key = match followed {
            Ok(key) if self.followed.contains_key(&key) => {
                let message =
                    format!("the session `{}` is followed over this connection already", key.session);
                let error = Error::new(ErrorKind::Conflict, message).with_code("mas::control::attached");
                return self.reply(&request.id, &Err(error)).await;
            }
            Ok(_) if self.followed.len() >= FOLLOWED => {
                let message = format!("one connection follows {FOLLOWED} sessions at most");
                let error = Error::new(ErrorKind::Limit, message).with_code("mas::control::attached");
                return self.reply(&request.id, &Err(error)).await;
            }
            Ok(key) => key,
            Err(error) => return self.reply(&request.id, &Err(error)).await,
        };
        // Followed before it is said to be, so that nothing after the reply is missed.
        let events = self.served.host.follow(&key);
        let replied = self.reply(&request.id, &Ok(json!({"attached": key}))).await;
        let handle = self.followers.spawn(follow(events, request.id, self.out.clone()));
        self.followed.insert(key, handle);
        replied
    }

    fn followers_ended(&mut self) {
        while self.followers.try_join_next().is_some() {}
        self.followed.retain(|_, handle| !handle.is_finished());
    }

    /// The session that a request means.
    fn key(&self, wanted: Option<&str>) -> Result<SessionKey> {
        let advertised = &self.served.session;
        let Some(wanted) = wanted.filter(|wanted| **wanted != *advertised.session) else {
            return Ok(advertised.clone());
        };
        let sessions: Vec<SessionView> = self.served.host.sessions();
        let mut named = sessions.iter().map(|view| &view.key).filter(|key| &*key.session == wanted);
        match (named.next(), named.next()) {
            (Some(key), None) => Ok(key.clone()),
            (Some(_), Some(_)) => {
                let message = format!("several agents or owners have a session `{wanted}`");
                Err(Error::new(ErrorKind::Conflict, message).with_code("mas::control::ambiguous"))
            }
            (None, _) => {
                let message = format!("no session `{wanted}` is live here");
                Err(Error::new(ErrorKind::NotFound, message).with_code("mas::control::session"))
            }
        }
    }

    /// Whether the reply was taken.
    async fn reply(&self, id: &Value, result: &Result<Value>) -> bool {
        let line = format!("{}\n", wire::reply(id, result));
        matches!(timeout(WRITE, self.out.send(line)).await, Ok(Ok(())))
    }
}

fn denied(method: &str) -> Error {
    Error::new(ErrorKind::Denied, format!("the token of one who only looks does not allow `{method}`"))
        .with_code("mas::control::denied")
}

fn verb(method: &str, args: Option<&Value>) -> Result<Verb> {
    if !Verb::METHODS.contains(&method) {
        let message = format!("there is no method `{method}`");
        return Err(Error::new(ErrorKind::Unsupported, message).with_code("mas::control::method"));
    }
    let given = args.filter(|args| !args.is_null() && args.as_object().is_none_or(|args| !args.is_empty()));
    // A verb without arguments takes none; one whose arguments may all be absent takes an empty object.
    let read = |args: Option<&Value>| match args {
        Some(args) => serde_json::from_value(json!({"method": method, "args": args})),
        None => serde_json::from_value(json!({"method": method})),
    };
    let verb = match given {
        Some(args) => read(Some(args)),
        None => read(None).or_else(|_| read(Some(&json!({})))),
    };
    verb.map_err(|error| {
        Error::invalid(format!("the arguments of `{method}` are wrong: {error}"))
            .with_code("mas::control::args")
    })
}

/// Passes events on; the ones for which there is no room are counted and told of.
async fn follow(mut events: EventStream, id: Value, out: mpsc::Sender<String>) {
    let mut missed = 0_u64;
    while let Some(event) = events.next().await {
        if missed > 0 {
            match out.try_send(lagged(&id, missed)) {
                Ok(()) => missed = 0,
                Err(mpsc::error::TrySendError::Full(_)) => {
                    missed += 1;
                    continue;
                }
                Err(mpsc::error::TrySendError::Closed(_)) => return,
            }
        }
        match out.try_send(format!("{}\n", json!({"id": id, "event": line::event_record(&event)}))) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Full(_)) => missed += 1,
            Err(mpsc::error::TrySendError::Closed(_)) => return,
        }
    }
    if missed > 0 {
        drop(out.send(lagged(&id, missed)).await);
    }
    drop(out.send(format!("{}\n", json!({"id": id, "end": true}))).await);
}

fn lagged(id: &Value, missed: u64) -> String {
    format!("{}\n", json!({"id": id, "event": {"kind": "lagged", "missed": missed}}))
}
