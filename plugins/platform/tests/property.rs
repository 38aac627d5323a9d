//! Whatever the servers do: two messages at most, with the same bytes, none while the gate is closed, never too long.

mod support;

use std::time::Duration;

use mas_contracts::Delivery;
use mas_platform_stand_in::{Access, Half, Manner, Script, StandIn, Step, Turn};
use proptest::prelude::*;
use serde_json::{Map, json};
use support::{Bench, SEND, hello};

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
) -> impl Strategy<Value = Vec<Step<T>>> {
    let step = (what, prop_oneof![3 => Just(0u64), 1 => 0u64..6_000], manner())
        .prop_map(|(what, delay, manner)| Step::from(what).after_ms(delay).written(manner));
    proptest::collection::vec(step, 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_send_keeps_its_rules(
        access in steps(access()),
        turns in steps(turn()),
        limit in 1u64..12_000,
        sends in 1usize..3,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(async {
            let bench = Bench::new();
            bench.stand_in.script(Script::new(access), Script::new(turns));
            for _ in 0..sends {
                let before = bench.posts();
                let limit = Duration::from_millis(limit).as_secs_f64();
                let (sent, took) = bench.send_within(&hello(), limit).await;
                // The clock of the runtime counts whole milliseconds.
                prop_assert!(took <= limit + 0.001, "{took} s of {limit} s");
                let posts = bench.stand_in.calls_of(SEND).split_off(before);
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
            for call in bench.stand_in.calls().iter().filter(|call| call.half == Half::Runtime) {
                prop_assert_ne!(call.header("authorization"), Some(CLOSED));
            }
            prop_assert!(bench.stand_in.legacy().is_empty());
            Ok(())
        })?;
    }
}
