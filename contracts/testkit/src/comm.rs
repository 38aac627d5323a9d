//! The conformance kit of `agent_comm`: one test per rule of the contract.
//!
//! A backend implements [`CommHarness`] in a test and calls [`comm_conformance!`](crate::comm_conformance).
//! Every rule also looks at what the peer saw, so that a backend that does nothing passes none.

use std::{future::Future, sync::Arc, time::Duration};

use async_trait::async_trait;
use mas_contracts::{
    AgentCommContract, CallContext, CancelReason, Delivery, End, Error, ErrorKind, Outbound, Part, Peer,
    Reply, Result, Stop, TaskRef, TaskState, Thread, ThreadName,
};

pub use crate::rules::Verdict;
use crate::{Behaviour, CallContextBuilder, RecordingSink, ScriptedHost, Seen};

/// How a backend is built against scripted peers.
#[async_trait]
pub trait CommHarness: Send + Sync {
    /// Whether the rules run on a paused clock; not for a backend that uses sockets.
    fn paused(&self) -> bool {
        true
    }

    /// Whether a peer is told that its caller stops: [`Capability::cancel`](mas_contracts::Capability) or in
    /// process.
    fn tells_peers(&self, comm: &dyn AgentCommContract) -> bool {
        comm.capability().cancel
    }

    /// Whether each thread is a conversation of its own; false where a peer has one conversation, which all of them are.
    fn keeps_threads(&self) -> bool {
        true
    }

    /// Whether a caller is told how a turn ended; false where it gets an answer or an error: then a question is an
    /// answer, and a turn that failed or was refused is an error, of which it is not known what was done.
    fn tells_ends(&self) -> bool {
        true
    }

    /// A secret that the backend is given and that no error may show.
    fn secret(&self) -> Option<&'static str> {
        None
    }

    /// The backend that reaches the agents of `host`; what it needs lives as long as the backend or the harness.
    async fn connect(&self, host: Arc<ScriptedHost>) -> Arc<dyn AgentCommContract>;
}

/// A connected backend with the scripted peers behind it.
struct Bench {
    host: Arc<ScriptedHost>,
    comm: Arc<dyn AgentCommContract>,
    sink: Arc<RecordingSink>,
}

const GRACE: Duration = Duration::from_millis(500);
const LONG: Duration = Duration::from_secs(20);

impl Bench {
    async fn new(harness: &dyn CommHarness, peer: Behaviour) -> Self {
        let host = ScriptedHost::new([("peer", peer), ("other", Behaviour::Echo)]);
        let comm = harness.connect(host.clone()).await;
        Self { host, comm, sink: RecordingSink::new() }
    }

    fn cx(&self, timeout: Duration) -> CallContext {
        CallContextBuilder::new("root").sink(self.sink.clone()).timeout(timeout).build()
    }

    async fn say(&self, cx: &CallContext, to: &str, text: &str, id: &str, name: ThreadName) -> Result<Reply> {
        let thread = Thread { parent: "parent".into(), name };
        let message = Outbound { parts: vec![Part::text(text)], message_id: id.into(), thread, task: None };
        self.comm.send(cx, &Peer { id: to.into() }, message).await
    }

    async fn send(&self, text: &str) -> std::result::Result<Reply, String> {
        let reply = self.say(&self.cx(LONG), "peer", text, "m1", ThreadName::Main).await;
        reply.map_err(|error| format!("the send failed: {error:?}"))
    }

    async fn fails(&self, cx: &CallContext, to: &str) -> std::result::Result<Error, String> {
        match self.say(cx, to, "hello", "m2", ThreadName::Main).await {
            Ok(reply) => Err(format!("a reply instead of an error: {reply:?}")),
            Err(error) => Ok(error),
        }
    }

    fn only(&self) -> std::result::Result<Seen, String> {
        let seen = self.host.seen();
        match <[Seen; 1]>::try_from(seen) {
            Ok([one]) => Ok(one),
            Err(seen) => Err(format!("the peer got {} messages instead of one", seen.len())),
        }
    }

    async fn until_stopped(&self, index: usize) -> std::result::Result<Stop, String> {
        for _ in 0..50 {
            if let Some(stop) = self.host.seen().get(index).and_then(|seen| seen.stopped) {
                return Ok(stop);
            }
            tokio::time::sleep(GRACE / 50).await;
        }
        Err("the peer was not told that its caller stopped".to_owned())
    }

    /// Waits until the peer has a message.
    async fn arrived(&self) {
        while self.host.seen().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Runs `work` and, once the peer has its message, `then`.
    async fn meanwhile<T>(&self, work: impl Future<Output = T>, then: impl FnOnce()) -> T {
        let began = async {
            self.arrived().await;
            then();
            std::future::pending::<()>().await;
        };
        tokio::select! { out = work => out, () = began => unreachable!() }
    }
}

/// The reply is returned, and text comes back as it was sent.
pub async fn text_is_intact(harness: &dyn CommHarness) -> Verdict {
    for text in ["plain", "Émile 研究员 🦀 \u{200d}\n\t\"\\{}<&", &"ü".repeat(512 * 1024)] {
        let bench = Bench::new(harness, Behaviour::Echo).await;
        let reply = bench.send(text).await?;
        ensure!(reply.end == End::Done, "the end is {:?}", reply.end);
        ensure!(*reply.text() == *text, "{} bytes came back changed", text.len());
        ensure!(bench.only()?.text == text, "{} bytes arrived changed", text.len());
    }
    Ok(None)
}

/// Text arrives while the peer works, in order, if and only if the backend says that it streams.
pub async fn text_streams(harness: &dyn CommHarness) -> Verdict {
    let gap = Duration::from_millis(100);
    let pieces = ["one ", "two ", "three"].map(str::to_owned).to_vec();
    let bench = Bench::new(harness, Behaviour::Stream(pieces, gap)).await;
    let reply = bench.send("go").await?;
    let returned = tokio::time::Instant::now();
    ensure!(&*reply.text() == "one two three", "the reply is {:?}", reply.text());
    bench.only()?;
    let got = bench.sink.pieces();
    let early = got.iter().filter(|(at, _)| returned.duration_since(*at) >= gap / 2).count();
    if bench.comm.capability().stream {
        let text: String = got.iter().map(|(_, piece)| &**piece).collect();
        ensure!(text == "one two three", "the events say {text:?}");
        ensure!(early >= 2, "{early} pieces arrived while the peer worked");
    } else {
        ensure!(early == 0, "it says that it does not stream, and does");
    }
    Ok(None)
}

/// A send ends by its deadline, as a timeout that does not claim that nothing was sent; the peer is told.
pub async fn the_deadline_holds(harness: &dyn CommHarness) -> Verdict {
    let bench = Bench::new(harness, Behaviour::Hang).await;
    // Over sockets long enough for a busy machine to have the message out.
    let cx = bench.cx(Duration::from_millis(if harness.paused() { 300 } else { 1_500 }));
    let error = bench.fails(&cx, "peer").await?;
    let late = cx.clock().now().saturating_duration_since(cx.deadline());
    ensure!(
        cx.remaining().is_zero() && late <= GRACE,
        "it ended {late:?} after, {:?} before",
        cx.remaining()
    );
    ensure!(error.kind() == ErrorKind::Timeout, "the error is {error:?}");
    ensure!(error.delivery() == Delivery::Unknown, "the delivery is {:?}", error.delivery());
    bench.only()?;
    if harness.tells_peers(&*bench.comm) {
        ensure!(bench.until_stopped(0).await? == Stop::Cancel, "the peer was left alone");
    }
    Ok(None)
}

/// A cancel of the tree ends the send soon; the peer is told what the reason says.
pub async fn a_cancel_ends_the_send(harness: &dyn CommHarness) -> Verdict {
    for reason in [CancelReason::Requested, CancelReason::Shutdown] {
        let bench = Bench::new(harness, Behaviour::Hang).await;
        let cx = bench.cx(LONG);
        let began = cx.clock().now();
        let cancel = || {
            cx.cancel().cancel(reason);
        };
        let error = bench.meanwhile(bench.fails(&cx, "peer"), cancel).await?;
        ensure!(cx.clock().now() - began <= GRACE, "it took {:?}", cx.clock().now() - began);
        ensure!(error.kind() == ErrorKind::Cancelled, "the error is {error:?}");
        ensure!(error.delivery() == Delivery::Unknown, "the delivery is {:?}", error.delivery());
        if harness.tells_peers(&*bench.comm) && reason.stop() == Stop::Cancel {
            ensure!(bench.until_stopped(0).await? == Stop::Cancel, "the peer was left alone");
        } else {
            tokio::time::sleep(GRACE / 5).await;
            ensure!(bench.only()?.stopped != Some(Stop::Cancel), "the peer was cancelled");
        }
    }
    Ok(None)
}

/// Dropping a send stops it, and the next one works.
pub async fn a_dropped_send_is_safe(harness: &dyn CommHarness) -> Verdict {
    let bench = Bench::new(harness, Behaviour::Hang).await;
    let cx = bench.cx(LONG);
    tokio::select! {
        ended = bench.fails(&cx, "peer") => return Err(format!("the send ended by itself: {ended:?}")),
        () = bench.arrived() => {}
    }
    bench.only()?;
    if harness.tells_peers(&*bench.comm) {
        ensure!(bench.until_stopped(0).await? == Stop::Cancel, "the peer was left alone");
    }
    let next = bench.say(&bench.cx(LONG), "other", "next", "m3", ThreadName::Main).await;
    ensure!(next.as_ref().is_ok_and(|reply| &*reply.text() == "next"), "the next send gave {next:?}");
    Ok(None)
}

/// A peer that executed and failed, or asks, is a reply; one that refused proves that nothing was executed. Where peers
/// have tasks, a refusal and a breakdown are states of one.
pub async fn ends_are_told_apart(harness: &dyn CommHarness) -> Verdict {
    if !harness.tells_ends() {
        return answers_and_errors(harness).await;
    }
    for state in [TaskState::Failed, TaskState::Rejected, TaskState::Canceled] {
        let bench = Bench::new(harness, Behaviour::Fail(state, "quota".to_owned())).await;
        let reply = bench.send("go").await?;
        ensure!(reply.end == End::Failed(state), "{state:?} became {:?}", reply.end);
        ensure!(&*reply.text() == "quota", "the reason became {:?}", reply.text());
    }
    let bench = Bench::new(harness, Behaviour::Ask("Which day?".to_owned())).await;
    match bench.send("go").await?.end {
        End::Interrupted(asked) if &*asked.question == "Which day?" => {}
        other => return Err(format!("a question became {other:?}")),
    }
    let bench = Bench::new(harness, Behaviour::Refuse("busy".to_owned())).await;
    let sent = bench.say(&bench.cx(LONG), "peer", "go", "m2", ThreadName::Main).await;
    ensure!(ended(&sent, TaskState::Rejected, Error::may_resend), "a refusal became {sent:?}");
    bench.only()?;
    let bench = Bench::new(harness, Behaviour::Crash).await;
    let sent = bench.say(&bench.cx(LONG), "peer", "go", "m2", ThreadName::Main).await;
    ensure!(ended(&sent, TaskState::Failed, |error| !error.may_resend()), "a crash became {sent:?}");
    bench.only()?;
    Ok(None)
}

/// The same where there are answers and errors only.
async fn answers_and_errors(harness: &dyn CommHarness) -> Verdict {
    let failed = [TaskState::Failed, TaskState::Rejected, TaskState::Canceled];
    let failed = failed.map(|state| Behaviour::Fail(state, "quota".to_owned()));
    for behaviour in failed.into_iter().chain([Behaviour::Refuse("quota".to_owned()), Behaviour::Crash]) {
        let shown = format!("{behaviour:?}");
        let crashed = matches!(behaviour, Behaviour::Crash);
        let bench = Bench::new(harness, behaviour).await;
        let error = bench.fails(&bench.cx(LONG), "peer").await?;
        ensure!(!error.may_resend(), "{shown} became {error:?}");
        ensure!(crashed || error.message().contains("quota"), "the reason became {error:?}");
        bench.only()?;
    }
    let bench = Bench::new(harness, Behaviour::Ask("Which day?".to_owned())).await;
    let reply = bench.send("go").await?;
    ensure!(reply.end == End::Done && &*reply.text() == "Which day?", "a question became {reply:?}");
    Ok(None)
}

/// Whether a send ended with a task in this state, or with such an error.
fn ended(sent: &Result<Reply>, state: TaskState, error: impl Fn(&Error) -> bool) -> bool {
    match sent {
        Ok(reply) => reply.end == End::Failed(state),
        Err(sent) => error(sent),
    }
}

/// An unknown peer is not found, by a send and by a probe; a probe executes nothing.
pub async fn unknown_peers_are_not_found(harness: &dyn CommHarness) -> Verdict {
    let bench = Bench::new(harness, Behaviour::Echo).await;
    let cx = bench.cx(LONG);
    let error = bench.fails(&cx, "ghost").await?;
    ensure!(error.kind() == ErrorKind::NotFound, "the error is {error:?}");
    ensure!(error.delivery() == Delivery::NotSent, "the delivery is {:?}", error.delivery());
    let probe = bench.comm.probe(&cx, &Peer { id: "ghost".into() }).await;
    ensure!(probe.as_ref().is_err_and(|e| e.kind() == ErrorKind::NotFound), "the probe gave {probe:?}");
    let probe = bench.comm.probe(&cx, &Peer { id: "peer".into() }).await;
    let streams = bench.comm.capability().stream;
    ensure!(
        probe.as_ref().is_ok_and(|probe| streams || !probe.stream),
        "the probe of a live peer gave {probe:?}"
    );
    ensure!(bench.host.seen().is_empty(), "a probe executed something");
    Ok(None)
}

/// A hundred sends at once run side by side and are answered apart. Where a peer has one conversation, in which turns take
/// their turn, they are as many as may wait there, and one may run after the other.
pub async fn concurrent_sends_stay_apart(harness: &dyn CommHarness) -> Verdict {
    let bench = Bench::new(harness, Behaviour::EchoAfter(Duration::from_millis(100))).await;
    let cx = bench.cx(LONG);
    let began = cx.clock().now();
    let one = |n: u64| {
        let (bench, cx) = (&bench, cx.next_operation());
        async move {
            let id = format!("m{n}");
            let sent = bench.say(&cx, "peer", &id, &id, ThreadName::Once(cx.call().to_string().into())).await;
            (id, sent.map(|reply| reply.text()))
        }
    };
    let count = if harness.keeps_threads() { 100 } else { 50 };
    for (id, text) in futures_util::future::join_all((0..count).map(one)).await {
        ensure!(text.as_ref().is_ok_and(|text| **text == *id), "{id} was answered with {text:?}");
    }
    let soon = cx.clock().now() - began < Duration::from_secs(5);
    ensure!(soon || !harness.keeps_threads(), "they ran one after the other");
    let seen = u64::try_from(bench.host.seen().len()).unwrap_or(u64::MAX);
    ensure!(seen == count, "the peer got {seen} messages");
    Ok(None)
}

/// The same thread goes on; others begin anew and never mix. A peer with one conversation has everything in it, in order.
pub async fn threads_keep_conversations(harness: &dyn CommHarness) -> Verdict {
    let bench = Bench::new(harness, Behaviour::Recall).await;
    let cx = bench.cx(LONG);
    let named = |name: &str| ThreadName::Named(name.into());
    let script = [
        (ThreadName::Main, "a", "a"),
        (named("x"), "b", "b"),
        (ThreadName::Main, "c", "a|c"),
        (named("y"), "d", "d"),
        (named("x"), "e", "b|e"),
    ];
    let all = ["a", "a|b", "a|b|c", "a|b|c|d", "a|b|c|d|e"];
    for (index, ((name, told, wanted), all)) in script.into_iter().zip(all).enumerate() {
        let wanted = if harness.keeps_threads() { wanted } else { all };
        let reply = bench.say(&cx, "peer", told, &format!("m{index}"), name).await;
        ensure!(reply.as_ref().is_ok_and(|r| &*r.text() == wanted), "{wanted:?} expected, got {reply:?}");
    }
    Ok(None)
}

/// A closed backend sends nothing and says that it is unavailable.
pub async fn a_closed_backend_is_unavailable(harness: &dyn CommHarness) -> Verdict {
    let bench = Bench::new(harness, Behaviour::Echo).await;
    bench.send("before").await?;
    bench.comm.close().await.map_err(|error| format!("close failed: {error:?}"))?;
    let error = bench.fails(&bench.cx(LONG), "peer").await?;
    ensure!(error.kind() == ErrorKind::Unavailable, "the error is {error:?}");
    ensure!(error.delivery() == Delivery::NotSent, "the delivery is {:?}", error.delivery());
    ensure!(bench.only()?.text == "before", "something was sent after the close");
    Ok(None)
}

/// Attach and cancel of an unknown task are errors of the kind that the capability says.
pub async fn capabilities_are_true(harness: &dyn CommHarness) -> Verdict {
    let bench = Bench::new(harness, Behaviour::Echo).await;
    let cx = bench.cx(LONG);
    let task = TaskRef { peer: "peer".into(), task: "no-such-task".into() };
    let wanted = |can| if can { ErrorKind::NotFound } else { ErrorKind::Unsupported };
    let can = bench.comm.capability();
    let attach = bench.comm.attach(&cx, &task).await.err().map(|error| error.kind());
    ensure!(attach == Some(wanted(can.attach)), "attach gave {attach:?}");
    let cancel = bench.comm.cancel(&cx, &task, Stop::Cancel).await.err().map(|error| error.kind());
    ensure!(cancel == Some(wanted(can.cancel)), "cancel gave {cancel:?}");
    Ok(None)
}

/// A message sent twice under one id runs once.
pub async fn repeated_messages_run_once(harness: &dyn CommHarness) -> Verdict {
    let bench = Bench::new(harness, Behaviour::Echo).await;
    if !bench.comm.capability().dedupes {
        return Ok(Some("the backend does not deduplicate"));
    }
    let (first, second) = (bench.send("same").await?, bench.send("same").await?);
    ensure!(first.text() == second.text(), "the replies differ");
    bench.only()?;
    Ok(None)
}

/// No error shows a secret.
pub async fn errors_hold_no_secret(harness: &dyn CommHarness) -> Verdict {
    let Some(secret) = harness.secret() else { return Ok(Some("the harness has no secret")) };
    let bench = Bench::new(harness, Behaviour::Hang).await;
    for to in ["ghost", "peer"] {
        let error = bench.fails(&bench.cx(Duration::from_millis(100)), to).await?;
        ensure!(!format!("{error:?} {error:#}").contains(secret), "an error of `{to}` shows the secret");
    }
    Ok(None)
}

/// Runs one rule on a runtime of its own.
///
/// # Panics
/// When the rule is broken.
pub fn check<H: CommHarness>(harness: &H, rule: impl AsyncFnOnce(&dyn CommHarness) -> Verdict) {
    crate::rules::check(harness.paused(), rule(harness));
}

/// Makes one test per rule of `agent_comm`, for the harness that the expression gives.
#[macro_export]
macro_rules! comm_conformance {
    ($harness:expr) => {
        $crate::comm_conformance!(@rules $harness;
            text_is_intact text_streams the_deadline_holds a_cancel_ends_the_send a_dropped_send_is_safe
            ends_are_told_apart unknown_peers_are_not_found concurrent_sends_stay_apart
            threads_keep_conversations a_closed_backend_is_unavailable capabilities_are_true
            repeated_messages_run_once errors_hold_no_secret);
    };
    (@rules $harness:expr; $($rule:ident)+) => {
        $(
            #[test]
            fn $rule() {
                $crate::comm::check(&$harness, $crate::comm::$rule);
            }
        )+
    };
}
