//! Answers the calls of a host, on a runtime of its own.

use std::{
    collections::HashMap,
    fmt,
    future::Future,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use mas_contracts::{
    AgentCommContract, BoxFuture, BuildContext, Builder, CallContext, CancelReason, Category, Clock,
    Delivery, Descriptor, Env, Error, ErrorKind, Event, EventSink, Ids, Result, Scope, Shared, Tree,
    TreeLimits, inventory,
};
use serde::Serialize;

mod nobody;
#[cfg(test)]
mod tests;

use nobody::Nobody;

use crate::{
    abi::{END, EVENT, FAIL},
    protocol::{Built, CommOp, Context, Described, Offer, Request},
};

/// How long a call may go on after its cancel or its deadline, to tell the peer, before it is dropped.
const GRACE: Duration = Duration::from_millis(300);

/// Takes frames; returns whether it did.
pub(crate) trait Frames: Send + Sync {
    fn frame(&self, call: u64, kind: u32, payload: &[u8]) -> bool;
}

struct Guest {
    host: Box<dyn Frames>,
    runtime: tokio::runtime::Runtime,
    calls: Mutex<HashMap<u64, Arc<Tree>>>,
    instances: Mutex<HashMap<u64, Arc<dyn AgentCommContract>>>,
    next: AtomicU64,
    shared: Shared,
}

static GUEST: OnceLock<Guest> = OnceLock::new();

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the runtime; returns whether it runs. A second time is refused.
pub(crate) fn begin(host: Box<dyn Frames>) -> bool {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("mas-plugin")
        .enable_all()
        .build();
    let Ok(runtime) = runtime else { return false };
    let guest = Guest {
        host,
        runtime,
        calls: Mutex::default(),
        instances: Mutex::default(),
        next: AtomicU64::new(1),
        shared: Shared::default(),
    };
    match GUEST.set(guest) {
        Ok(()) => true,
        Err(second) => {
            second.runtime.shutdown_background();
            false
        }
    }
}

/// Starts a call; `false` before [`begin`] and for a number that is in use.
pub(crate) fn start(call: u64, request: &[u8]) -> bool {
    let Some(guest) = GUEST.get() else { return false };
    let request = serde_json::from_slice::<Request>(request);
    let mut tree = Tree::new(TreeLimits::default(), Arc::new(GuestClock));
    if let Ok(Request::Comm { context: Some(context), .. }) = &request {
        let above = context.path.split_last().map(|(_, above)| above.to_vec()).unwrap_or_default();
        tree = tree.owned_by(context.owner.clone()).below(above).traced(context.traceparent.clone());
    }
    let tree = Arc::new(tree);
    {
        let mut calls = locked(&guest.calls);
        if calls.contains_key(&call) {
            return false;
        }
        calls.insert(call, tree.clone());
    }
    let mut ending = Ending { guest, call, ended: false };
    guest.runtime.spawn(async move {
        let answer = match request {
            Ok(request) => guest.answer(call, request, tree).await,
            Err(error) => Err(Error::invalid(format!("the request cannot be read: {error}"))),
        };
        ending.end(answer);
    });
    true
}

/// Stops a call; `false` for one that does not run.
pub(crate) fn cancel(call: u64, reason: u32) -> bool {
    let reason = match reason {
        0 => CancelReason::Requested,
        1 => CancelReason::Abandoned,
        2 => CancelReason::Deadline,
        3 => CancelReason::Shutdown,
        _ => return false,
    };
    let tree = GUEST.get().and_then(|guest| locked(&guest.calls).get(&call).cloned());
    tree.is_some_and(|tree| {
        tree.cancel().cancel(reason);
        true
    })
}

/// Ends a call exactly once, after a panic too.
struct Ending {
    guest: &'static Guest,
    call: u64,
    ended: bool,
}

impl Ending {
    fn end(&mut self, answer: Result<Vec<u8>>) {
        self.ended = true;
        locked(&self.guest.calls).remove(&self.call);
        let (kind, payload) = match answer {
            Ok(reply) => (END, reply),
            Err(error) => (FAIL, serde_json::to_vec(&error).unwrap_or_default()),
        };
        self.guest.host.frame(self.call, kind, &payload);
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if !self.ended {
            let error = Error::internal("the plugin panicked").with_code("mas::plugin::panic");
            self.end(Err(error.with_delivery(Delivery::Unknown)));
        }
    }
}

fn written<T: Serialize>(reply: &T) -> Result<Vec<u8>> {
    serde_json::to_vec(reply)
        .map_err(|error| Error::internal(format!("the reply cannot be written: {error}")))
}

fn find(category: Category, name: &str) -> Result<&'static Descriptor> {
    inventory::iter::<Descriptor>()
        .find(|known| known.builder.category() == category && known.name == name)
        .ok_or_else(|| Error::new(ErrorKind::NotFound, format!("the plugin has no {category} `{name}`")))
}

impl Guest {
    async fn answer(&'static self, call: u64, request: Request, tree: Arc<Tree>) -> Result<Vec<u8>> {
        match request {
            Request::Describe {} => written(&described()),
            Request::Check { category, name, params } => written(&(find(category, &name)?.check)(&params)),
            Request::Build { category, name, params, base, env } => {
                let cx = self.build_context(base, env);
                let Builder::AgentComm(build) = &find(category, &name)?.builder else {
                    return Err(Error::new(
                        ErrorKind::Unsupported,
                        format!("{category} cannot be built through the ABI yet"),
                    ));
                };
                let comm = build.build(&cx, &params)?;
                let capability = comm.capability();
                let instance = self.next.fetch_add(1, Ordering::Relaxed);
                locked(&self.instances).insert(instance, comm);
                written(&Built { instance, capability })
            }
            Request::Release { instance } => {
                // Dropped outside the lock: it is the author's code.
                let released = locked(&self.instances).remove(&instance);
                drop(released);
                written(&())
            }
            Request::Comm { instance, context, op } => {
                let comm = locked(&self.instances).get(&instance).cloned().ok_or_else(|| {
                    Error::new(ErrorKind::NotFound, format!("the plugin has no instance {instance}"))
                })?;
                let Some(context) = context else {
                    return match op {
                        CommOp::Close {} => written(&comm.close().await?),
                        _ => Err(Error::invalid("the call has no context")),
                    };
                };
                let cx = self.call_context(call, context, tree);
                bounded(&cx, perform(&*comm, &cx, op)).await
            }
        }
    }

    fn build_context(&self, base: PathBuf, env: std::collections::BTreeMap<String, String>) -> BuildContext {
        BuildContext {
            host: Weak::<Nobody>::new(),
            env: Env::new(env),
            clock: Arc::new(GuestClock),
            ids: Arc::new(GuestIds),
            base,
            shared: self.shared.clone(),
        }
    }

    fn call_context(&'static self, call: u64, context: Context, tree: Arc<Tree>) -> CallContext {
        let now = tree.clock().now();
        // A budget beyond what an instant holds is a day.
        let deadline = now
            .checked_add(Duration::from_millis(context.budget_ms))
            .unwrap_or_else(|| now + Duration::from_secs(86_400));
        let scope = Scope {
            session: context.session,
            turn: context.turn,
            agent: context.path.last().cloned().unwrap_or_else(|| "".into()),
            depth: context.depth,
            parent: None,
            caller: None,
            sink: Arc::new(ToCall { guest: self, call }),
            tree,
        };
        CallContext::new(Arc::new(scope), deadline)
    }
}

async fn perform(comm: &dyn AgentCommContract, cx: &CallContext, op: CommOp) -> Result<Vec<u8>> {
    match op {
        CommOp::Send { to, message } => written(&comm.send(cx, &to, message).await?),
        CommOp::Attach { task } => written(&comm.attach(cx, &task).await?),
        CommOp::Cancel { task, stop } => written(&comm.cancel(cx, &task, stop).await?),
        CommOp::Probe { to } => written(&comm.probe(cx, &to).await?),
        CommOp::Close {} => written(&comm.close().await?),
    }
}

/// Drops a call that goes on after its cancel or its deadline.
async fn bounded<T>(cx: &CallContext, work: impl Future<Output = Result<T>>) -> Result<T> {
    let over = async {
        let reason = tokio::select! {
            reason = cx.cancel().cancelled() => reason,
            () = cx.clock().sleep_until(cx.deadline()) => CancelReason::Deadline,
        };
        tokio::time::sleep(GRACE).await;
        reason
    };
    tokio::select! {
        result = work => result,
        reason = over => Err(CallContext::stopped(reason)),
    }
}

fn described() -> Described {
    let offered = |known: &&Descriptor| known.builder.category() == Category::AgentComm;
    let offers = inventory::iter::<Descriptor>().filter(offered).map(|known| Offer {
        category: known.builder.category().as_str().to_owned(),
        name: known.name.to_string(),
        aliases: known.aliases.iter().map(|alias| (*alias).to_owned()).collect(),
        version: known.version.to_string(),
        summary: known.summary.to_string(),
        example: known.example.to_string(),
        schema: (known.schema)(),
    });
    Described { offers: offers.collect() }
}

/// Where the events of a call go.
struct ToCall {
    guest: &'static Guest,
    call: u64,
}

impl fmt::Debug for ToCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "events of call {}", self.call)
    }
}

impl EventSink for ToCall {
    fn emit(&self, event: Event) {
        if let Ok(payload) = serde_json::to_vec(&event.kind) {
            // What a host refuses, it no longer waits for.
            self.guest.host.frame(self.call, EVENT, &payload);
        }
    }
}

#[derive(Debug)]
struct GuestClock;

impl Clock for GuestClock {
    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn unix_time(&self) -> Duration {
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
    }

    fn sleep_until(&self, at: Instant) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep_until(at.into()))
    }
}

#[derive(Debug)]
struct GuestIds;

impl Ids for GuestIds {
    fn next_id(&self) -> Arc<str> {
        uuid::Uuid::now_v7().to_string().into()
    }
}
