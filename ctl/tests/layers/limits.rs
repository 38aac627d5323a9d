//! `timeout`, `rate_limit` and `circuit_breaker`.

use std::{sync::Arc, time::Duration};

use futures_util::{FutureExt, future::join_all};
use mas_contracts::{AgentCommContract, CancelReason, Delivery, Error, ErrorKind, Retry};
use mas_core::wiring::layers::{BreakerSettings, Layers, RateSettings, RetrySettings, wrap};
use mas_testkit::{CallContextBuilder, call_context};

use crate::peer::{Scripted, Turn, down, fares, message};

const SECOND: Duration = Duration::from_secs(1);

fn timed(limit: Duration) -> Layers {
    Layers { timeout: Some(limit), ..Layers::default() }
}

fn rated(requests_per_minute: f64, burst: u32) -> Layers {
    Layers { rate_limit: Some(RateSettings { requests_per_minute, burst }), ..Layers::default() }
}

fn guarded(failure_threshold: u32) -> Layers {
    let reset_timeout = 10 * SECOND;
    Layers {
        circuit_breaker: Some(BreakerSettings { failure_threshold, reset_timeout }),
        ..Layers::default()
    }
}

async fn ask(comm: &Arc<dyn AgentCommContract>) -> Result<(), Error> {
    comm.send(&call_context(), &fares(), message("m1")).await.map(|_| ())
}

#[tokio::test(start_paused = true)]
async fn a_timeout_cuts_a_backend_that_keeps_no_deadline() {
    let comm = Scripted::new([Turn::Hang]);
    let began = tokio::time::Instant::now();
    let error = ask(&wrap(&timed(5 * SECOND), comm)).await.unwrap_err();
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Timeout, Delivery::Unknown));
    assert_eq!(error.message(), "no reply of `fares` within 5 s");
    assert_eq!(began.elapsed(), 5 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_later_than_the_deadline_changes_nothing() {
    let comm = Scripted::new([Turn::Hang]);
    let cx = CallContextBuilder::new("root").timeout(SECOND).build();
    let layered = wrap(&timed(5 * SECOND), comm);
    let error = layered.send(&cx, &fares(), message("m1")).await.unwrap_err();
    assert_eq!((error.kind(), cx.remaining()), (ErrorKind::Timeout, Duration::ZERO));
    assert_eq!(error.context().count(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_is_cut_is_not_sent_again() {
    let comm = Scripted::deduping([Turn::Hang]);
    let layers = Layers { retry: Some(RetrySettings::default()), ..timed(5 * SECOND) };
    ask(&wrap(&layers, comm.clone())).await.unwrap_err();
    assert_eq!(comm.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn sends_wait_for_their_turn() {
    let comm = Scripted::new([]);
    let layered = wrap(&rated(60.0, 2), comm.clone());
    join_all((0..5).map(|_| ask(&layered))).await.into_iter().collect::<Result<Vec<_>, _>>().unwrap();
    assert_eq!(comm.gaps(), [Duration::ZERO, SECOND, SECOND, SECOND]);
}

#[tokio::test(start_paused = true)]
async fn a_turn_after_the_deadline_is_told_at_once() {
    let comm = Scripted::new([]);
    let layered = wrap(&rated(1.0, 1), comm.clone());
    ask(&layered).await.unwrap();
    let cx = CallContextBuilder::new("root").timeout(50 * SECOND).build();
    let error = layered.send(&cx, &fares(), message("m2")).await.unwrap_err();
    insta::assert_snapshot!(error.message(), @"`fares` is sent 1 message a minute: the next turn is in 60 s, and the deadline in 50 s");
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::RateLimited, Delivery::NotSent));
    assert_eq!(error.retry(), Retry::After(60 * SECOND));
    assert_eq!((comm.count(), cx.remaining()), (1, 50 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn whoever_stops_waiting_leaves_the_turn() {
    let comm = Scripted::new([]);
    let layered = wrap(&rated(60.0, 1), comm.clone());
    ask(&layered).await.unwrap();
    let mut dropped = Box::pin(ask(&layered));
    assert!((&mut dropped).now_or_never().is_none());
    let cx = call_context();
    let (to, cancelled) = (fares(), message("m2"));
    let cancelled = layered.send(&cx, &to, cancelled);
    drop(dropped);
    let stop = async { cx.cancel().cancel(CancelReason::Requested) };
    let (cancelled, first) = tokio::join!(cancelled, stop);
    let error = cancelled.unwrap_err();
    assert_eq!((error.kind(), error.delivery(), first), (ErrorKind::Cancelled, Delivery::NotSent, true));
    ask(&layered).await.unwrap();
    assert_eq!(comm.gaps(), [SECOND], "neither of those that stopped took a turn");
}

#[tokio::test(start_paused = true)]
async fn a_circuit_opens_probes_and_closes() {
    let comm = Scripted::new([down(), down(), down()]);
    let layered = wrap(&guarded(2), comm.clone());
    for _ in 0..2 {
        assert_eq!(ask(&layered).await.unwrap_err().message(), "no luck");
    }
    tokio::time::advance(4 * SECOND).await;
    let error = ask(&layered).await.unwrap_err();
    insta::assert_snapshot!(format!("{error:#}"), @"`fares` is left alone: 2 sends in a row failed; it is asked again in 6 s: no luck");
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Unavailable, Delivery::NotSent));
    assert_eq!((error.retry(), &*error.code()), (Retry::After(6 * SECOND), "mas::layers::circuit_open"));
    assert_eq!(comm.count(), 2);

    tokio::time::advance(6 * SECOND).await;
    assert_eq!(ask(&layered).await.unwrap_err().message(), "no luck", "the probe is asked");
    assert_eq!(ask(&layered).await.unwrap_err().retry(), Retry::After(10 * SECOND));
    tokio::time::advance(10 * SECOND).await;
    for _ in 0..3 {
        ask(&layered).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn one_probe_at_a_time_and_a_dropped_one_leaves_its_place() {
    let comm = Scripted::new([down(), Turn::Hang]);
    let layered = wrap(&guarded(1), comm.clone());
    ask(&layered).await.unwrap_err();
    tokio::time::advance(10 * SECOND).await;
    let mut probe = Box::pin(ask(&layered));
    assert!((&mut probe).now_or_never().is_none());
    let error = ask(&layered).await.unwrap_err();
    insta::assert_snapshot!(error.message(), @"`fares` is left alone: the last send failed; it is asked again once the one that tries again is answered");
    assert_eq!((error.retry(), comm.count()), (Retry::Backoff, 2));
    drop(probe);
    ask(&layered).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_cancel_is_no_failure() {
    // Whatever error a backend makes of it.
    let comm = Scripted::new((0..4).map(|_| down()));
    let layered = wrap(&guarded(1), comm.clone());
    let cx = call_context();
    cx.cancel().cancel(CancelReason::Requested);
    for _ in 0..3 {
        layered.send(&cx, &fares(), message("m1")).await.unwrap_err();
    }
    assert_eq!(comm.count(), 3);
    ask(&layered).await.unwrap_err();
    ask(&layered).await.unwrap_err();
    assert_eq!(comm.count(), 4, "the one that was no cancel opened it");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_an_answer() {
    let refusal = Turn::Fail(ErrorKind::Denied, Delivery::Rejected, Retry::Never);
    let comm = Scripted::new([down(), refusal, down(), down()]);
    let layered = wrap(&guarded(2), comm.clone());
    for _ in 0..5 {
        ask(&layered).await.unwrap_err();
    }
    assert_eq!(comm.count(), 4);
}

#[tokio::test(start_paused = true)]
async fn an_open_circuit_ends_the_attempts() {
    let comm = Scripted::new((0..9).map(|_| down()));
    let layers =
        Layers { retry: Some(RetrySettings { attempts: 9, ..RetrySettings::default() }), ..guarded(2) };
    let error = ask(&wrap(&layers, comm.clone())).await.unwrap_err();
    assert_eq!((comm.count(), &*error.code()), (2, "mas::layers::circuit_open"));
    assert_eq!(error.causes(), ["no luck"]);
}
