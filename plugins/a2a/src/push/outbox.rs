//! Brings notifications to webhooks: at least once, in order for each webhook, never in the way of a task.
//!
//! A webhook with something to bring has one worker; a limit holds for each host and for all of them. A webhook that
//! keeps failing gets one attempt for each notification until one is taken again.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use futures_util::future::{Either, select};
use mas_comm_kit::{
    http::{Response, Transport, shown},
    retry::{Jitter, Policy, is_transient, retry_after},
};
use mas_contracts::{Clock, Error, Retry};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};

use super::{
    counts::Counts,
    lane::{Lane, Taken, Target},
    post::{Post, request},
};
use crate::params::Push;

/// Posts to one host at once.
const OF_ONE_HOST: usize = 4;

/// The pauses between attempts.
const BASE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The longest pause that a webhook may ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(60);

/// How much of an answer is read, and for how long, so that its connection can be used again.
const READ: usize = 4 * 1024;
const READ_TIME: Duration = Duration::from_secs(1);

/// What the outbox keeps to.
#[derive(Clone, Debug)]
struct Limits {
    posts: usize,
    bytes: usize,
    of_one_lane: usize,
    at_once: usize,
    time: Duration,
    policy: Policy,
}

pub(super) struct Outbox {
    transport: Arc<dyn Transport>,
    clock: Arc<dyn Clock>,
    limits: Limits,
    gate: Arc<Semaphore>,
    hosts: Mutex<Hosts>,
    room: Mutex<Room>,
    emptied: Notify,
    closing: AtomicBool,
    stop: watch::Sender<bool>,
    pub(super) counts: Counts,
}

#[derive(Default)]
struct Hosts {
    gates: HashMap<Arc<str>, Weak<Semaphore>>,
    /// At this size those that nobody uses are thrown out.
    swept_at: usize,
}

#[derive(Default)]
struct Room {
    posts: usize,
    bytes: usize,
}

/// The room that a notification takes up; given back when it is dropped.
pub(super) struct Place {
    outbox: Arc<Outbox>,
    bytes: usize,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut room = self.outbox.room();
        room.posts = room.posts.saturating_sub(1);
        room.bytes = room.bytes.saturating_sub(self.bytes);
        if room.posts == 0 {
            self.outbox.emptied.notify_waiters();
        }
    }
}

/// What one attempt came to. No text in it holds a secret.
enum Outcome {
    /// With the answer to read, and the right to hold a connection meanwhile.
    Brought(Response, [OwnedSemaphorePermit; 2]),
    /// Another attempt would end the same.
    Refused(String),
    /// Another attempt may succeed, after the pause that was asked for.
    Failed(String, Option<Duration>),
}

impl Outbox {
    pub(super) fn new(params: &Push, transport: Arc<dyn Transport>, clock: Arc<dyn Clock>) -> Arc<Self> {
        let policy = Policy { attempts: params.attempts, base: BASE, max: LONGEST_PAUSE };
        let at_once = params.at_once.min(Semaphore::MAX_PERMITS);
        let limits = Limits {
            posts: params.queue,
            bytes: params.queue_bytes,
            // So that no dead webhook takes all the room.
            of_one_lane: params.queue.div_ceil(2),
            at_once,
            time: params.time(),
            policy,
        };
        Arc::new(Self {
            transport,
            clock,
            gate: Arc::new(Semaphore::new(at_once)),
            limits,
            hosts: Mutex::default(),
            room: Mutex::default(),
            emptied: Notify::new(),
            closing: AtomicBool::new(false),
            stop: watch::Sender::new(false),
            counts: Counts::default(),
        })
    }

    /// What limits the posts to a host at once.
    pub(super) fn gate_of(&self, host: &Arc<str>) -> Arc<Semaphore> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gate) = hosts.gates.get(host).and_then(Weak::upgrade) {
            return gate;
        }
        if hosts.gates.len() >= hosts.swept_at {
            hosts.gates.retain(|_, gate| gate.strong_count() > 0);
            hosts.swept_at = hosts.gates.len().saturating_mul(2).max(64);
        }
        let gate = Arc::new(Semaphore::new(OF_ONE_HOST.min(self.limits.at_once)));
        hosts.gates.insert(host.clone(), Arc::downgrade(&gate));
        gate
    }

    /// Takes a notification for a webhook, or counts it as dropped. It never waits.
    pub(super) fn offer(self: &Arc<Self>, lane: &Arc<Lane>, post: Post) {
        if self.closing.load(Relaxed) {
            return self.dropped(lane, 1, "the server is shutting down");
        }
        let Some(place) = self.place(post.body.len()) else {
            return self.dropped(lane, 1, "too many notifications wait already");
        };
        match lane.offer(post, place, self.limits.of_one_lane) {
            Taken::Queued => self.counts.taken(),
            Taken::Start => {
                self.counts.taken();
                tokio::spawn(self.clone().work(lane.clone()));
            }
            Taken::Full => self.dropped(lane, 1, "too many notifications wait for it already"),
            Taken::NotNeeded => {}
        }
    }

    /// How many notifications wait or are under way.
    pub(super) fn waiting(&self) -> usize {
        self.room().posts
    }

    /// Takes nothing more, and waits until all is brought; what is left at the limit is dropped. How many those are.
    pub(super) async fn close(&self, limit: Duration) -> usize {
        self.closing.store(true, Relaxed);
        let empty = async {
            loop {
                let emptied = self.emptied.notified();
                tokio::pin!(emptied);
                emptied.as_mut().enable();
                if self.waiting() == 0 {
                    return;
                }
                emptied.await;
            }
        };
        let _late = within(self.clock.as_ref(), limit, empty).await;
        let left = self.waiting();
        self.stop.send_replace(true);
        if left > 0 {
            self.counts.dropped(left);
            tracing::warn!("{left} notifications of tasks were not brought before the server ended");
        }
        left
    }

    /// Ends the work at once.
    pub(super) fn stop(&self) {
        self.closing.store(true, Relaxed);
        self.stop.send_replace(true);
    }

    fn room(&self) -> MutexGuard<'_, Room> {
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn place(self: &Arc<Self>, bytes: usize) -> Option<Place> {
        let mut room = self.room();
        let posts = room.posts.saturating_add(1);
        let total = room.bytes.saturating_add(bytes);
        // One that is larger than all the room is taken when nothing else waits.
        if posts > self.limits.posts || (total > self.limits.bytes && room.posts > 0) {
            return None;
        }
        (room.posts, room.bytes) = (posts, total);
        Some(Place { outbox: self.clone(), bytes })
    }

    fn dropped(&self, lane: &Lane, how_many: usize, why: &str) {
        let total = self.counts.dropped(how_many);
        // A flood of them is not a flood of lines.
        if total.is_power_of_two() {
            let host = lane.target().host.clone();
            tracing::warn!("a notification for the webhook at {host} was dropped ({total} so far): {why}");
        }
    }

    async fn work(self: Arc<Self>, lane: Arc<Lane>) {
        let mut stop = self.stop.subscribe();
        let bring_all = async {
            while let Some((post, _place)) = lane.next() {
                self.bring(&lane, &post).await;
            }
        };
        tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => lane.close(),
            () = bring_all => {}
        }
    }

    /// Brings one notification, or gives it up.
    async fn bring(&self, lane: &Lane, post: &Post) {
        let attempts = if lane.failures() > 0 { 1 } else { self.limits.policy.attempts };
        let mut jitter: Option<Jitter> = None;
        for attempt in 1.. {
            let Some(target) = lane.open_target() else { return };
            let jitter = jitter.get_or_insert_with(|| jitter_of(&target, post));
            let outcome = self.attempt(&target, post).await;
            let last = attempt >= attempts;
            if attempt == 1 {
                lane.tried(matches!(outcome, Outcome::Failed(..)));
            }
            match outcome {
                Outcome::Brought(mut answer, _permits) => {
                    self.counts.brought();
                    lane.recovered();
                    let _rest = within(self.clock.as_ref(), READ_TIME, answer.read(READ)).await;
                    return;
                }
                Outcome::Refused(why) => {
                    self.counts.given_up();
                    lane.recovered();
                    tracing::warn!("the webhook at {} did not take a notification: {why}", target.host);
                    return;
                }
                Outcome::Failed(why, _) if last => {
                    self.counts.given_up();
                    tracing::warn!(
                        "a notification for the webhook at {} is given up after {attempt} attempts: {why}",
                        target.host
                    );
                    let given_up = lane.failed(self.limits.policy.attempts);
                    if given_up > 0 {
                        self.dropped(lane, given_up, "it has failed too often");
                    }
                    return;
                }
                Outcome::Failed(why, asked) => {
                    self.counts.again();
                    let pause = self.limits.policy.pause(attempt, asked, jitter);
                    tracing::debug!("the webhook at {} is tried again in {pause:?}: {why}", target.host);
                    // No chance to overflow: a pause is a minute and a little at most.
                    self.clock.sleep_until(self.clock.now() + pause).await;
                }
            }
        }
    }

    async fn attempt(&self, target: &Target, post: &Post) -> Outcome {
        let closed = || Outcome::Refused("the server is shutting down".to_owned());
        let Ok(of_host) = target.gate.clone().acquire_owned().await else { return closed() };
        let Ok(of_all) = self.gate.clone().acquire_owned().await else { return closed() };
        let request = request(&target.config, post);
        let sent = within(self.clock.as_ref(), self.limits.time, self.transport.send(&request)).await;
        match sent {
            None => Outcome::Failed(format!("no answer within {:?}", self.limits.time), None),
            Some(Err(error)) => {
                let why = told(&error, target);
                match error.retry() {
                    Retry::Never => Outcome::Refused(why),
                    _ => Outcome::Failed(why, None),
                }
            }
            Some(Ok(response)) if response.is_success() => Outcome::Brought(response, [of_host, of_all]),
            Some(Ok(response)) => {
                let status = response.status();
                let asked = response.header("retry-after");
                let asked = asked.and_then(|asked| retry_after(asked, self.clock.unix_time()));
                match status {
                    300..=399 => {
                        Outcome::Refused(format!("it answers {status}, and redirects are not followed"))
                    }
                    _ if is_transient(status) => {
                        let asked = asked.map(|asked| asked.min(LONGEST_ASKED));
                        Outcome::Failed(format!("it answers {status}"), asked)
                    }
                    _ => Outcome::Refused(format!("it answers {status}")),
                }
            }
        }
    }
}

/// What an error says, without what the URL carries behind its host, which may be as good as a key.
fn told(error: &Error, target: &Target) -> String {
    let url = shown(&target.config.url);
    let message = error.message().replace(&url, &target.host);
    let path = url.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map_or("", |(_, path)| path);
    if !path.is_empty() && message.contains(path) { error.code().into_owned() } else { message }
}

/// The chance of one notification, the same each time.
fn jitter_of(target: &Target, post: &Post) -> Jitter {
    let mut hasher = DefaultHasher::new();
    (&target.config.task, &target.config.id, post.seq).hash(&mut hasher);
    Jitter::seeded(hasher.finish())
}

/// What comes within a time; nothing if it does not.
pub(super) async fn within<T>(clock: &dyn Clock, limit: Duration, it: impl Future<Output = T>) -> Option<T> {
    let Some(end) = clock.now().checked_add(limit) else { return Some(it.await) };
    match select(std::pin::pin!(it), clock.sleep_until(end)).await {
        Either::Left((done, _)) => Some(done),
        Either::Right(_) => None,
    }
}
