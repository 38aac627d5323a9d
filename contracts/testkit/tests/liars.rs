//! The kit is no rubber stamp: each of these backends breaks the rule named beside it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "functions that tests share")]

use std::sync::Arc;

use async_trait::async_trait;
use mas_contracts::{
    AgentCommContract, AgentHost, CallContext, Capability, Error, ErrorKind, Outbound, Part, Peer, Probe,
    Reply, Result, ThreadName,
};
use mas_testkit::{
    ScriptedHost,
    comm::{self, CommHarness},
};
use tokio::sync::Mutex;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Lie {
    None,
    NeverSends,
    Uppercases,
    ClaimsNoStream,
    ClaimsAttach,
    ClaimsCancel,
    ClaimsDedupe,
    NotSent,
    SwallowsFailure,
    KeepsGoing,
    OneAtATime,
    OneThread,
    IgnoresClose,
    ProbesAnything,
    Leaks,
}

struct Comm(Arc<ScriptedHost>, Lie, Mutex<bool>);

#[async_trait]
impl AgentCommContract for Comm {
    fn capability(&self) -> Capability {
        Capability {
            stream: self.1 != Lie::ClaimsNoStream,
            attach: self.1 == Lie::ClaimsAttach,
            cancel: self.1 == Lie::ClaimsCancel,
            dedupes: self.1 == Lie::ClaimsDedupe,
        }
    }

    async fn send(&self, cx: &CallContext, to: &Peer, mut message: Outbound) -> Result<Reply> {
        let closed = self.2.lock().await;
        if *closed && self.1 != Lie::IgnoresClose {
            return Err(Error::new(ErrorKind::Unavailable, "closed"));
        }
        let _one = (self.1 == Lie::OneAtATime).then_some(closed);
        match self.1 {
            Lie::NeverSends => return Ok(Reply::done(message.parts)),
            Lie::OneThread => message.thread.name = ThreadName::Main,
            Lie::Uppercases => {
                message.parts = vec![Part::text(mas_contracts::text_of(&message.parts).to_uppercase())];
            }
            Lie::KeepsGoing => {
                let (host, cx, to) = (self.0.clone(), cx.clone(), to.id.clone());
                return tokio::spawn(async move { host.run(&cx, &to, message).await }).await.unwrap();
            }
            _ => {}
        }
        let result = self.0.run(cx, &to.id, message).await;
        match self.1 {
            Lie::SwallowsFailure => result.map(|reply| Reply::done(reply.parts)),
            Lie::NotSent => result.map_err(|error| error.with_delivery(Default::default())),
            Lie::Leaks => result.map_err(|error| error.with("authorization", "s3cret")),
            _ => result,
        }
    }

    async fn probe(&self, _: &CallContext, to: &Peer) -> Result<Probe> {
        if self.1 == Lie::ProbesAnything || self.0.describe(&to.id).is_some() {
            return Ok(Probe { stream: self.capability().stream, ..Probe::default() });
        }
        Err(Error::new(ErrorKind::NotFound, "no such agent"))
    }

    async fn close(&self) -> Result<()> {
        *self.2.lock().await = true;
        Ok(())
    }
}

struct Harness(Lie);

#[async_trait]
impl CommHarness for Harness {
    fn tells_peers(&self, _: &dyn AgentCommContract) -> bool {
        true
    }
    fn secret(&self) -> Option<&'static str> {
        Some("s3cret")
    }
    async fn connect(&self, host: Arc<ScriptedHost>) -> Arc<dyn AgentCommContract> {
        Arc::new(Comm(host, self.0, Mutex::new(false)))
    }
}

mas_testkit::comm_conformance!(Harness(Lie::None));

macro_rules! breaks {
    ($($name:ident: $lie:ident breaks $($rule:ident)+;)+) => {
        $(
            #[tokio::test(start_paused = true)]
            async fn $name() {
                $(
                    let verdict = comm::$rule(&Harness(Lie::$lie)).await;
                    assert!(verdict.is_err(), "{} let {:?} pass: {verdict:?}", stringify!($rule), Lie::$lie);
                )+
            }
        )+
    };
}

breaks! {
    never_sends: NeverSends breaks text_is_intact text_streams the_deadline_holds a_cancel_ends_the_send
        a_dropped_send_is_safe ends_are_told_apart unknown_peers_are_not_found concurrent_sends_stay_apart
        threads_keep_conversations a_closed_backend_is_unavailable errors_hold_no_secret;
    uppercases: Uppercases breaks text_is_intact;
    claims_no_stream: ClaimsNoStream breaks text_streams;
    claims_attach: ClaimsAttach breaks capabilities_are_true;
    claims_cancel: ClaimsCancel breaks capabilities_are_true;
    claims_dedupe: ClaimsDedupe breaks repeated_messages_run_once;
    not_sent: NotSent breaks the_deadline_holds a_cancel_ends_the_send ends_are_told_apart;
    swallows_failure: SwallowsFailure breaks ends_are_told_apart;
    keeps_going: KeepsGoing breaks a_dropped_send_is_safe;
    one_at_a_time: OneAtATime breaks concurrent_sends_stay_apart;
    one_thread: OneThread breaks threads_keep_conversations;
    ignores_close: IgnoresClose breaks a_closed_backend_is_unavailable;
    probes_anything: ProbesAnything breaks unknown_peers_are_not_found;
    leaks: Leaks breaks errors_hold_no_secret;
}
