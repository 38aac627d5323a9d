//! One end for everything: requests, waits, bodies, the second try.

mod support;

use mas_comm_kit::phases::Phases;
use mas_contracts::{Delivery, ErrorKind};
use mas_platform::{Letter, ResponseKind};
use mas_platform_stand_in::{Access, Manner, Script, Step, Turn};
use support::{Bench, hello};

#[tokio::test(start_paused = true)]
async fn a_server_that_drips_does_not_extend_it() {
    let bench = Bench::new();
    let drip = || Step::from(Access::ready()).written(Manner::Drip(900));
    bench.stand_in.script(Script::new([drip()]), Script::default());
    let (sent, took) = bench.send_within(&hello(), 5.0).await;
    let error = sent.unwrap_err();
    assert_eq!((error.kind(), error.delivery(), took), (ErrorKind::Timeout, Delivery::NotSent, 5.0));
    assert_eq!(bench.posts(), 0);

    let drip = Step::from(Turn::Echo).written(Manner::Drip(900));
    bench.stand_in.script(Script::default(), Script::new([drip]));
    let (sent, took) = bench.send_within(&hello(), 5.0).await;
    let error = sent.unwrap_err();
    assert_eq!((error.kind(), error.delivery(), took), (ErrorKind::Timeout, Delivery::Unknown, 5.0));
    assert_eq!((bench.posts(), bench.stand_in.executed()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_pair_is_one_budget_and_its_second_number_the_longest_silence() {
    let bench = Bench::new();
    let silent = Step::from(Turn::Echo).written(Manner::Silent);
    bench.stand_in.script(Script::default(), Script::new([silent]));
    let budget = bench.platform.budget(Some(Phases::from_pair(100.0, 3.0).unwrap()));
    let began = bench.clock.now();
    let error = bench.platform.send(&bench.session, &hello(), None, &budget).await.unwrap_err();
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Timeout, Delivery::Unknown));
    assert_eq!((bench.clock.now() - began).as_secs_f64(), 103.0, "connecting comes on top before the head");

    let slow = Step::from(Turn::Echo).written(Manner::Drip(3_001));
    bench.stand_in.script(Script::default(), Script::new([slow]));
    let budget = bench.platform.budget(Some(Phases::from_pair(100.0, 3.0).unwrap()));
    let began = bench.clock.now();
    let error = bench.platform.send(&bench.session, &hello(), None, &budget).await.unwrap_err();
    assert_eq!((error.kind(), (bench.clock.now() - began).as_secs_f64()), (ErrorKind::Timeout, 3.0));
}

#[tokio::test(start_paused = true)]
async fn the_default_is_five_and_nine_hundred_seconds() {
    let bench = Bench::new();
    let budget = bench.platform.budget(None);
    assert_eq!(budget.total().as_secs(), 905);
    let limits = budget.request(bench.clock.now()).unwrap();
    assert_eq!((limits.connect.as_secs(), limits.read.as_secs(), limits.total.as_secs()), (5, 900, 905));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_once_it_is_spent() {
    let bench = Bench::new();
    let budget = bench.platform.budget(Some(Phases::from_secs(2.0).unwrap()));
    bench.pass(2).await;
    let error = bench.platform.send(&bench.session, &hello(), None, &budget).await.unwrap_err();
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Timeout, Delivery::NotSent));
    let task = Letter { kind: ResponseKind::Task, ..hello() };
    assert!(bench.platform.send(&bench.session, &task, None, &budget).await.is_err());
    assert!(bench.platform.task(&bench.session, "task-1", &budget).await.is_err());
    assert!(bench.platform.cancel(&bench.session, "task-1", &budget).await.is_err());
    assert_eq!(bench.stand_in.calls().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn discovery_waits_the_message_and_the_second_try_share_it() {
    let bench = Bench::new();
    let slow = |access: Access| Step::from(access).after_ms(1_000);
    let access = [slow(Access::blocked("waking", Some(1_000))), slow(Access::ready()), slow(Access::ready())];
    let turns = [Step::from(Turn::Refused(401)).after_ms(1_000), Step::from(Turn::Echo).after_ms(60_000)];
    bench.stand_in.script(Script::new(access), Script::new(turns));
    let (sent, took) = bench.send_within(&Letter { kind: ResponseKind::Task, ..hello() }, 10.0).await;
    let error = sent.unwrap_err();
    assert_eq!((error.kind(), error.delivery(), took), (ErrorKind::Timeout, Delivery::Unknown, 10.0));
    assert_eq!((bench.resolves(), bench.posts()), (3, 2));
}

#[tokio::test(start_paused = true)]
async fn no_second_message_goes_out_where_renewing_took_all_of_it() {
    let bench = Bench::new();
    let access = [Step::from(Access::ready()), Step::from(Access::ready()).after_ms(60_000)];
    bench.stand_in.script(Script::new(access), Script::new([Turn::Refused(401), Turn::Echo]));
    let (sent, took) = bench.send_within(&hello(), 4.0).await;
    let error = sent.unwrap_err();
    assert_eq!((error.kind(), took), (ErrorKind::Timeout, 4.0));
    assert_eq!((bench.resolves(), bench.posts()), (2, 1));
    assert!(error.may_resend(), "the first was refused: {error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_budget_within_another_is_no_longer() {
    let bench = Bench::new();
    let silent = Step::from(Turn::Echo).written(Manner::Silent);
    bench.stand_in.script(Script::default(), Script::new([silent]));
    let outer = bench.platform.budget(Some(Phases::from_secs(3.0).unwrap()));
    bench.pass(1).await;
    let inner = outer.child(Phases::from_secs(60.0).unwrap(), bench.clock.now());
    let began = bench.clock.now();
    assert!(bench.platform.send(&bench.session, &hello(), None, &inner).await.is_err());
    assert_eq!((bench.clock.now() - began).as_secs_f64(), 2.0);
}
