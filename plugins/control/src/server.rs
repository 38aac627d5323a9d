//! The side of the session: listens, says that it lives, and serves callers.

mod caller;

use std::{
    fs, io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use mas_contracts::{
    Actor, Clock, ControlHost, Controlled, Controlling, Error, ErrorKind, Result, SessionKey,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, UnixListener},
    sync::watch,
    task::{JoinHandle, JoinSet},
    time::timeout,
};

use crate::{ControlDirectory, Entry, Params, Token, Transport, wire};

/// How many callers are connected.
const CALLERS: usize = 256;

/// How often a session says that it lives.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// How long a caller too many is told so.
const REFUSAL: Duration = Duration::from_millis(100);

/// How long nothing is accepted where the system has no room for more.
const FULL: Duration = Duration::from_millis(100);

/// The longest path of a socket, as systems have it.
const LONGEST_PATH: usize = 103;

/// The methods of the connection itself.
const CONNECTION: [&str; 5] = ["hello", "capabilities", "list_sessions", "attach", "detach"];

/// The verbs of one who only looks.
const LOOKING: [&str; 4] = ["inspect", "inspect_queue", "inspect_context", "list_checkpoints"];

/// All that one may do who only looks.
fn looking() -> Vec<String> {
    CONNECTION.iter().chain(&LOOKING).map(|method| (*method).to_owned()).collect()
}

/// A connection of either kind.
trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// What serving a caller needs.
#[derive(Debug)]
struct Served {
    host: Arc<dyn ControlHost>,
    session: SessionKey,
    token: Token,
    read_token: Token,
}

impl Served {
    /// Who shows this token.
    fn actor(&self, shown: &Token) -> Option<Actor> {
        let (full, looking) = (self.token.is(shown), self.read_token.is(shown));
        if full {
            return Some(Actor::named("control"));
        }
        looking.then(|| Actor { name: "control".into(), methods: Some(self::looking()) })
    }
}

/// Where callers arrive.
enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl Listener {
    async fn accept(&self) -> io::Result<Box<dyn Wire>> {
        Ok(match self {
            Self::Unix(listener) => Box::new(listener.accept().await?.0),
            Self::Tcp(listener) => Box::new(listener.accept().await?.0),
        })
    }
}

/// What is advertised; withdrawn when it is dropped.
#[derive(Debug)]
struct Advertised {
    directory: ControlDirectory,
    entry: Entry,
}

impl Drop for Advertised {
    fn drop(&mut self) {
        self.directory.withdraw(&self.entry);
        if let Some(socket) = self.entry.socket() {
            drop(fs::remove_file(socket));
        }
    }
}

/// A session that is served.
pub(crate) struct Server {
    address: String,
    stop: watch::Sender<bool>,
    task: Mutex<Option<JoinHandle<()>>>,
    advertised: Arc<Mutex<Option<Advertised>>>,
}

impl Server {
    /// Listens and advertises.
    pub(crate) async fn start(params: &Params, controlling: Controlling) -> Result<Self> {
        let Controlling { build, host, session, label } = controlling;
        let directory = ControlDirectory::open(
            params.dir.as_deref().map(|dir| build.base.join(dir)).as_deref(),
            &build.env,
        )?;
        if let Some(other) = directory.find(&session.session, build.clock.unix_time()) {
            let message = format!("the session `{}` is live in the process {}", session.session, other.pid);
            return Err(Error::new(ErrorKind::Conflict, message).with_code("mas::control::taken"));
        }
        let (listener, rpc) = listen(params, &directory).await?;
        let (token, read_token) = (Token::fresh()?, Token::fresh()?);
        let entry = Entry {
            session_id: session.session.to_string(),
            agent: session.agent.to_string(),
            label: label.to_string(),
            rpc: rpc.clone(),
            persist_path: None,
            pid: std::process::id(),
            heartbeat_at: build.clock.unix_time().as_secs_f64(),
            token: token.clone(),
            read_token: Some(read_token.clone()),
        };
        // From here on what is left behind is removed, whatever fails.
        let advertised = Advertised { directory, entry };
        advertised.directory.write(&advertised.entry).map_err(|error| {
            let message =
                format!("the session cannot be advertised in `{}`", advertised.directory.path().display());
            Error::new(ErrorKind::Unavailable, message).with_code("mas::control::folder").caused_by(error)
        })?;
        let advertised = Arc::new(Mutex::new(Some(advertised)));
        let (stop, stopped) = watch::channel(false);
        let served = Arc::new(Served { host, session, token, read_token });
        let work = run(listener, served, advertised.clone(), build.clock, stopped);
        let task = Mutex::new(Some(tokio::spawn(work)));
        Ok(Self { address: rpc, stop, task, advertised })
    }

    fn withdraw(&self) {
        drop(self.advertised.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(task) = self.task.lock().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
        self.withdraw();
    }
}

#[async_trait]
impl Controlled for Server {
    fn address(&self) -> String {
        self.address.clone()
    }

    async fn close(&self, limit: Duration) -> Result<()> {
        self.withdraw();
        let _ = self.stop.send(true);
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut task) = task else { return Ok(()) };
        if timeout(limit, &mut task).await.is_err() {
            task.abort();
            let message = "requests over the control socket did not end in time";
            return Err(Error::new(ErrorKind::Timeout, message).with_code("mas::control::close"));
        }
        Ok(())
    }
}

async fn listen(params: &Params, directory: &ControlDirectory) -> Result<(Listener, String)> {
    match params.transport {
        Transport::Unix => {
            let path = socket_path(directory)?;
            let listener = UnixListener::bind(&path).map_err(|error| cannot(path.display(), &error))?;
            // The folder keeps others out; the mode does so once more.
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600))
                .map_err(|error| cannot(path.display(), &error))?;
            Ok((Listener::Unix(listener), format!("unix:{}", path.display())))
        }
        Transport::Tcp => {
            let host = params.host.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
            let address = SocketAddr::new(host, params.port.unwrap_or(0));
            let listener = TcpListener::bind(address).await.map_err(|error| cannot(address, &error))?;
            let address = listener.local_addr().map_err(|error| cannot(address, &error))?;
            Ok((Listener::Tcp(listener), format!("tcp:{address}")))
        }
    }
}

fn cannot(place: impl std::fmt::Display, error: &io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, format!("control cannot listen at `{place}`"))
        .with_code("mas::control::listen")
        .caused_by(error)
}

fn socket_path(directory: &ControlDirectory) -> Result<PathBuf> {
    let mark = Token::fresh()?.mark();
    let path = directory.path().join(format!("{}-{mark}.sock", std::process::id()));
    let length = path.as_os_str().len();
    if length > LONGEST_PATH {
        let message = format!(
            "the control folder `{}` has too long a path for a socket; choose a shorter one, or `transport: tcp`",
            directory.path().display()
        );
        return Err(Error::invalid(message).with_code("mas::control::folder"));
    }
    Ok(path)
}

async fn run(
    listener: Listener,
    served: Arc<Served>,
    advertised: Arc<Mutex<Option<Advertised>>>,
    clock: Arc<dyn Clock>,
    mut stopped: watch::Receiver<bool>,
) {
    let mut callers = JoinSet::new();
    let mut beat = clock.sleep_until(clock.now() + HEARTBEAT);
    loop {
        tokio::select! {
            // A sender that is gone is an end too.
            _ = stopped.changed() => break,
            () = &mut beat => {
                say_alive(&advertised, clock.unix_time());
                beat = clock.sleep_until(clock.now() + HEARTBEAT);
            }
            Some(_) = callers.join_next(), if !callers.is_empty() => {}
            arrived = listener.accept() => match arrived {
                Ok(mut wire) if callers.len() >= CALLERS => {
                    let full = Error::new(ErrorKind::Limit, format!("{CALLERS} callers are connected already"))
                        .with_code("mas::control::full");
                    let line = format!("{}\n", wire::reply(&serde_json::Value::Null, &Err(full)));
                    drop(timeout(REFUSAL, wire.write_all(line.as_bytes())).await);
                }
                Ok(wire) => {
                    callers.spawn(caller::serve(wire, served.clone(), stopped.clone()));
                }
                Err(error) => {
                    tracing::warn!("a caller of the control socket is not accepted: {error}");
                    clock.sleep_until(clock.now() + FULL).await;
                }
            },
        }
    }
    drop(listener);
    while callers.join_next().await.is_some() {}
}

/// Writes the file anew. A small file in a folder of this machine: no work for another thread.
fn say_alive(advertised: &Mutex<Option<Advertised>>, now: Duration) {
    // Under the lock, so that nothing is written after it was withdrawn.
    let mut advertised = advertised.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(Advertised { directory, entry }) = advertised.as_mut() {
        entry.heartbeat_at = now.as_secs_f64();
        if let Err(error) = directory.write(entry) {
            tracing::warn!("the control folder does not take the sign of life: {error}");
        }
    }
}
