//! `retry`: what is sent again, when, and what never is.

use std::{sync::Arc, time::Duration};

use mas_contracts::{AgentCommContract, CancelReason, Delivery, ErrorKind, Retry, Stop, TaskRef};
use mas_core::wiring::layers::{Layers, RetrySettings, wrap};
use mas_testkit::{CallContextBuilder, call_context};
use proptest::prelude::*;

use crate::peer::{Scripted, Turn, down, fares, message};

fn retrying(attempts: u32, comm: &Arc<Scripted>) -> Arc<dyn AgentCommContract> {
    let retry = Some(RetrySettings { attempts, ..RetrySettings::default() });
    wrap(&Layers { retry, ..Layers::default() }, comm.clone())
}

#[tokio::test(start_paused = true)]
async fn what_was_not_sent_is_sent_again_as_the_same_message_after_growing_pauses() {
    let comm = Scripted::new([down(), down(), down()]);
    let reply = retrying(4, &comm).send(&call_context(), &fares(), message("m1")).await.unwrap();
    assert_eq!(&*reply.text(), "the content");
    let ids: Vec<_> = comm.asked.lock().unwrap().iter().map(|(_, id)| id.to_string()).collect();
    assert_eq!(ids, ["m1"; 4]);
    for (gap, longest) in comm.gaps().into_iter().zip([200, 400, 800].map(Duration::from_millis)) {
        // A timer of tokio is due at the next millisecond.
        assert!(gap >= longest / 2 && gap <= longest + Duration::from_millis(1), "{gap:?} of {longest:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_error_says_how_often_it_was_tried() {
    let comm = Scripted::new([down(), down(), down(), down()]);
    let error = retrying(3, &comm).send(&call_context(), &fares(), message("m1")).await.unwrap_err();
    assert_eq!((comm.count(), error.kind()), (3, ErrorKind::Unavailable));
    assert_eq!(error.context().collect::<Vec<_>>(), [("attempts", "3")]);
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_the_peer_asks_for_is_kept_if_the_deadline_allows() {
    let busy = |pause| Turn::Fail(ErrorKind::RateLimited, Delivery::Rejected, Retry::After(pause));
    let comm = Scripted::new([busy(Duration::from_secs(20))]);
    retrying(2, &comm).send(&call_context(), &fares(), message("m1")).await.unwrap();
    assert!(comm.gaps()[0] >= Duration::from_secs(20));

    let comm = Scripted::new([busy(Duration::from_secs(61))]);
    let began = tokio::time::Instant::now();
    let error = retrying(2, &comm).send(&call_context(), &fares(), message("m1")).await.unwrap_err();
    assert_eq!((comm.count(), error.kind(), began.elapsed()), (1, ErrorKind::RateLimited, Duration::ZERO));
    let context: Vec<_> = error.context().collect();
    assert_eq!(context, [("not sent again", "the next attempt would begin after the deadline")]);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_the_pause() {
    let comm = Scripted::new([Turn::Fail(
        ErrorKind::Unavailable,
        Delivery::Rejected,
        Retry::After(Duration::from_secs(30)),
    )]);
    let cx = call_context();
    let (layered, to) = (retrying(3, &comm), fares());
    let cancel = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cx.cancel().cancel(CancelReason::Requested);
    };
    let (sent, ()) = tokio::join!(layered.send(&cx, &to, message("m1")), cancel);
    let error = sent.unwrap_err();
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Cancelled, Delivery::Rejected));
    assert_eq!((comm.count(), cx.remaining()), (1, Duration::from_secs(59)));
}

#[tokio::test(start_paused = true)]
async fn an_unknown_fate_is_never_forgotten() {
    let lost = Turn::Fail(ErrorKind::Unavailable, Delivery::Unknown, Retry::Unstated);
    let comm = Scripted::deduping([lost, down(), down()]);
    let error = retrying(3, &comm).send(&call_context(), &fares(), message("m1")).await.unwrap_err();
    assert_eq!((comm.count(), error.delivery()), (3, Delivery::Unknown));
}

#[tokio::test(start_paused = true)]
async fn what_is_no_send_goes_through() {
    let comm = Scripted::new([]);
    let everything = Layers {
        retry: Some(RetrySettings::default()),
        tracing: true,
        timeout: Some(Duration::from_secs(1)),
        ..Layers::default()
    };
    let (layered, cx) = (wrap(&everything, comm.clone()), call_context());
    let task = TaskRef { peer: "fares".into(), task: "t".into() };
    assert_eq!(layered.capability(), comm.capability());
    layered.attach(&cx, &task).await.unwrap();
    layered.cancel(&cx, &task, Stop::Leave).await.unwrap();
    layered.probe(&cx, &fares()).await.unwrap();
    layered.close().await.unwrap();
    assert_eq!(*comm.others.lock().unwrap(), ["attach", "leave", "probe", "close"]);
    let error = layered.send(&cx, &fares(), message("m1")).await.unwrap_err();
    assert_eq!((error.kind(), comm.count()), (ErrorKind::Unavailable, 0));
}

#[tokio::test(start_paused = true)]
async fn without_layers_it_is_the_very_backend() {
    let comm: Arc<dyn AgentCommContract> = Scripted::new([]);
    assert!(Arc::ptr_eq(&wrap(&Layers::default(), comm.clone()), &comm));
}

fn any_turn() -> impl Strategy<Value = Turn> {
    use ErrorKind::{Cancelled, Internal, Invalid, RateLimited, Rejected, Timeout, Unavailable};
    let kind =
        prop::sample::select(vec![Unavailable, Timeout, RateLimited, Rejected, Internal, Invalid, Cancelled]);
    let delivery = prop::sample::select(vec![
        Delivery::NotSent,
        Delivery::Rejected,
        Delivery::Unknown,
        Delivery::Answered,
    ]);
    let second = Duration::from_secs(1);
    let retry = prop::sample::select(vec![
        Retry::Unstated,
        Retry::Never,
        Retry::Backoff,
        Retry::After(second),
        Retry::After(second * 100),
    ]);
    prop_oneof![
        1 => Just(Turn::Answer),
        1 => Just(Turn::Hang),
        6 => (kind, delivery, retry).prop_map(|(kind, delivery, retry)| Turn::Fail(kind, delivery, retry)),
    ]
}

proptest! {
    #[test]
    fn what_may_have_been_executed_is_never_sent_again(
        turns in prop::collection::vec(any_turn(), 1..8),
        attempts in 2_u32..9,
        timeout in prop::option::of(1_u64..40),
        tracing: bool,
        breaker in prop::option::of(1_u32..4),
    ) {
        let layers = Layers {
            retry: Some(RetrySettings { attempts, ..RetrySettings::default() }),
            tracing,
            circuit_breaker: breaker.map(|failure_threshold| mas_core::wiring::layers::BreakerSettings {
                failure_threshold,
                reset_timeout: Duration::from_secs(1),
            }),
            timeout: timeout.map(Duration::from_secs),
            ..Layers::default()
        };
        let comm = Scripted::new(turns.clone());
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let (result, ended_in_time) = runtime.block_on(async {
            let cx = CallContextBuilder::new("root").timeout(Duration::from_secs(30)).build();
            let layered = wrap(&layers, comm.clone());
            let (to, message) = (fares(), message("m1"));
            // As core does it: a backend that keeps no deadline is dropped.
            let send = layered.send(&cx, &to, message);
            (tokio::time::timeout(Duration::from_secs(31), send).await, !cx.remaining().is_zero())
        });
        let count = comm.count();
        prop_assert!(count <= attempts as usize);
        for turn in turns.iter().take(count.saturating_sub(1)) {
            let again = matches!(turn, Turn::Fail(_, Delivery::NotSent | Delivery::Rejected, _));
            prop_assert!(again, "{:?} was sent again", turn);
        }
        let unknown = |turn: &Turn| matches!(turn, Turn::Hang | Turn::Fail(_, Delivery::Unknown, _));
        if let Ok(Err(error)) = &result
            && turns.get(count - 1).is_some_and(unknown)
        {
            prop_assert_eq!(error.delivery(), Delivery::Unknown);
        }
        // Nothing is begun after the deadline, and only a backend that hangs takes it up.
        let hangs = turns.iter().take(count).any(|turn| matches!(turn, Turn::Hang));
        prop_assert!(hangs || (ended_in_time && result.is_ok()));
    }
}
