//! Whatever the servers do: two messages at most, with the same bytes, none while the gate is closed, never too long.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "functions that tests share")]

mod support;

use std::{path::Path, sync::Arc, time::Duration};

use mas_comm_kit::{Secret, access::Expiry, http::Settings, phases::Phases};
use mas_contracts::Delivery;
use mas_platform::{Bearer, Caching, Connection, Letter, Platform, ResponseKind, Terms};
use mas_platform_stand_in::{Access, Half, Manner, Script, Server, StandIn, Step, Turn};
use mas_testkit::{SeqIds, TokioClock, build_context};
use proptest::{prelude::*, test_runner::TestCaseError};
use serde_json::{Map, json};
use support::{Bench, RESOLVE, SEND, TOKEN, hello};

fn manner() -> impl Strategy<Value = Manner> {
    prop_oneof![
        6 => Just(Manner::Whole),
        1 => (1u64..400).prop_map(Manner::Drip),
        1 => Just(Manner::Cut),
        1 => Just(Manner::Silent),
    ]
}

/// A closed gate, with an address and a token all the same.
fn closed(state: &str, retry_after_ms: Option<u64>) -> Access {
    let rpc_url = format!("http://runtime.localhost/rt/{}/", StandIn::SESSION);
    let patch = [("mode", json!("token")), ("token", json!("closed")), ("rpc_url", json!(rpc_url))];
    let patch = patch.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Access::Blocked { state: state.to_owned(), retry_after_ms, patch }
}

/// What the runtime is shown by who goes through a closed gate: `Bearer closed`.
const CLOSED: &str = "sha256:970eb9eec587a675b37ee1e8c38a56b834504ba0599c9762b9f95fd05a4f616f";

fn access() -> impl Strategy<Value = Access> {
    let state = prop_oneof![
        Just("waking"),
        Just("starting"),
        Just("checking"),
        Just("updating"),
        Just("unavailable"),
        Just("ready"),
        Just("of_later_days"),
    ];
    let without_token = Map::from_iter([("token".to_owned(), json!(null))]);
    prop_oneof![
        4 => proptest::option::of(-100i64..400).prop_map(|expires_in| Access::Ready { expires_in, patch: Map::new() }),
        4 => (state, proptest::option::of(0u64..5_000)).prop_map(|(state, ms)| closed(state, ms)),
        1 => Just(Access::Ready { expires_in: None, patch: without_token }),
        1 => Just(Access::Body(json!({}))),
        1 => prop_oneof![Just(401u16), Just(403), Just(404), Just(500)].prop_map(Access::Status),
    ]
}

fn turn() -> impl Strategy<Value = Turn> {
    prop_oneof![
        3 => Just(Turn::Echo),
        4 => prop_oneof![Just(401u16), Just(403)].prop_map(Turn::Refused),
        1 => prop_oneof![Just(502u16), Just(504)].prop_map(Turn::Page),
        1 => Just(Turn::Body(200, json!({}))),
        1 => Just(Turn::Body(503, json!({}))),
    ]
}

fn steps<T: std::fmt::Debug + Clone + Default>(
    what: impl Strategy<Value = T>,
    slowest: u64,
) -> impl Strategy<Value = Vec<Step<T>>> {
    let step = (what, prop_oneof![3 => Just(0u64), 1 => 0u64..slowest], manner())
        .prop_map(|(what, delay, manner)| Step::from(what).after_ms(delay).written(manner));
    proptest::collection::vec(step, 1..6)
}

/// One send after the other, whatever becomes of each.
#[derive(Clone, Debug)]
struct Scenario {
    access: Vec<Step<Access>>,
    turns: Vec<Step<Turn>>,
    limit: Duration,
    kinds: Vec<ResponseKind>,
}

fn scenario(limit: std::ops::Range<u64>, slowest: u64) -> impl Strategy<Value = Scenario> {
    let kind = prop_oneof![3 => Just(ResponseKind::Message), 1 => Just(ResponseKind::Task)];
    let kinds = proptest::collection::vec(kind, 1..3);
    (steps(access(), slowest), steps(turn(), slowest), limit, kinds).prop_map(
        |(access, turns, limit, kinds)| Scenario {
            access,
            turns,
            limit: Duration::from_millis(limit),
            kinds,
        },
    )
}

/// Whether the answer about access lets a message go.
fn is_open(access: &Step<Access>) -> bool {
    matches!(access.what, Access::Ready { .. })
}

/// Sends as the scenario says, and checks each send by itself, and that none went through a gate that was closed.
async fn keeps_its_rules(
    stand_in: &StandIn,
    platform: &Platform,
    scenario: &Scenario,
    grace: Duration,
) -> Result<(), TestCaseError> {
    let Scenario { access, turns, limit, kinds } = scenario;
    stand_in.script(Script::new(access.clone()), Script::new(turns.clone()));
    for kind in kinds {
        let before = stand_in.calls_of(SEND).len();
        let (began, budget) = (tokio::time::Instant::now(), platform.budget(Phases::total_of(*limit)));
        let letter = Letter { kind: *kind, ..hello() };
        let sent = platform.send(&StandIn::SESSION.into(), &letter, None, &budget).await;
        let took = began.elapsed();
        prop_assert!(took <= *limit + grace, "{took:?} of {limit:?}");
        let posts = stand_in.calls_of(SEND).split_off(before);
        prop_assert!(posts.len() <= 2);
        prop_assert!(posts.windows(2).all(|pair| pair[0].body_sha256 == pair[1].body_sha256));
        match &sent {
            Ok(_) => prop_assert!(!posts.is_empty()),
            Err(error) if error.delivery() == Delivery::NotSent => {
                // What went out before was refused by its token, and so never ran.
                prop_assert!(posts.len() <= 1, "{error:?}");
            }
            Err(error) => prop_assert!(!posts.is_empty(), "{error:?}"),
        }
    }
    let mut asked = 0;
    for call in stand_in.calls() {
        if call.path.ends_with(RESOLVE) {
            asked += 1;
        } else if call.half == Half::Runtime {
            prop_assert_ne!(call.header("authorization"), Some(CLOSED));
            let last = access[..asked.min(access.len())].last();
            prop_assert!(last.is_some_and(is_open), "the last answer let nothing go: {last:?}");
        }
    }
    prop_assert!(stand_in.legacy().is_empty());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_send_keeps_its_rules(scenario in scenario(1..12_000, 6_000)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(async {
            let bench = Bench::new();
            // The clock of the runtime counts whole milliseconds.
            keeps_its_rules(&bench.stand_in, &bench.platform, &scenario, Duration::from_millis(1)).await
        })?;
    }
}

proptest! {
    // Each takes its time: a second at most.
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 8, ..ProptestConfig::default() })]

    #[test]
    fn a_send_keeps_its_rules_on_sockets(mut scenario in scenario(20..250, 120)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(async {
            let server = Server::start(TOKEN, 0, TokioClock::shared()).await.unwrap();
            let runtime = format!("{}/rt/{}/", server.runtime_url(), StandIn::SESSION);
            for step in &mut scenario.access {
                if let Access::Blocked { patch, .. } = &mut step.what {
                    patch.insert("rpc_url".to_owned(), runtime.clone().into());
                }
            }
            let platform = on_sockets(server.platform_url());
            keeps_its_rules(server.stand_in(), &platform, &scenario, Duration::from_millis(250)).await
        })?;
    }
}

fn on_sockets(url: &str) -> Platform {
    let transport = Settings::default().connect(&build_context(Path::new("."), &[])).unwrap();
    let connection = Connection {
        url: url.to_owned(),
        bearer: Bearer::Token(Secret::new(TOKEN)),
        transport,
        clock: TokioClock::shared(),
        ids: Arc::new(SeqIds::default()),
        terms: Terms::default(),
        caching: Caching::Memory(Expiry::default()),
    };
    Platform::new(connection).unwrap()
}
