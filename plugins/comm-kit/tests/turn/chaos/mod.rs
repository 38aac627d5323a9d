//! A thousand schedules of faults, each from a seed: a turn never sends twice what may have been executed, never
//! outlasts its time, and never loses the end of a task that can be asked for.

mod agent;

use std::sync::Arc;

use mas_comm_kit::turn::{TurnPolicy, Upstream};
use mas_contracts::{
    End, Error, ErrorKind, EventKind, InterruptionKind, Peer, Reply, Result, TaskState,
    TaskState::{AuthRequired, Completed, InputRequired},
};
use tokio::time::Instant;

use self::agent::{Agent, Network, Step};
use crate::kit::{Bench, outbound, secs};

/// How long a turn has.
const BUDGET: f64 = 1200.0;

/// A task that ends by then is seen to, whatever happens: what is left is more than the faults can cost.
const IN_TIME: f64 = 400.0;

/// How a run ended, to be compared.
fn ended(reply: &Reply) -> (TaskState, String, Vec<String>) {
    let state = match &reply.end {
        End::Done => Completed,
        End::Failed(state) => *state,
        End::Interrupted(asked) if asked.kind == InterruptionKind::Auth => AuthRequired,
        End::Interrupted(_) => InputRequired,
    };
    let beside = reply.artifacts.iter().map(|artifact| artifact.id.to_string()).collect();
    (state, mas_contracts::text_of(&reply.parts).to_string(), beside)
}

/// The answer as a reader of the events has it: its text, unless it was told as an artifact in the end.
fn told(bench: &Bench) -> String {
    let mut pieces = String::new();
    for kind in bench.sink.kinds() {
        if let EventKind::ArtifactChunk { artifact, append, .. } = kind
            && &*artifact.id == "answer"
        {
            if !append {
                pieces.clear();
            }
            pieces.push_str(&mas_contracts::text_of(&artifact.parts));
        }
    }
    if pieces.is_empty() { bench.text() } else { pieces }
}

async fn play(seed: u64) {
    let agent = Arc::new(Agent::new(seed));
    let upstream: Arc<dyn Upstream> = Arc::new(Network(agent.clone()));
    let bench = Bench::within(TurnPolicy::default(), secs(BUDGET));
    let peer = Peer { id: "fares".into() };
    let began = Instant::now();
    let gives_up = agent.dice.chance(0.15).then(|| agent.dice.roll() * 60.0);
    let turn = bench.engine.run(&upstream, &bench.cx, &peer, outbound("m1"));
    let result: Option<Result<Reply, Error>> = match gives_up {
        Some(after) => tokio::time::timeout(secs(after), turn).await.ok(),
        None => Some(turn.await),
    };
    let took = began.elapsed().as_secs_f64();
    assert!(took <= BUDGET + 0.001, "seed {seed}: it took {took} s");
    let (over, was_known) = (agent.is_over(), agent.world().named);
    // As the caller knows it, the task may still wait.
    let seen = agent.plan.iter().take(agent.steps_so_far());
    let waits =
        seen.clone().any(|(_, step)| matches!(step, Step::Status(state, _) if state.is_interrupted()));
    let left = Instant::now();
    bench.engine.close().await;
    assert!(left.elapsed() <= secs(10.0), "seed {seed}: what was left took {:?}", left.elapsed());
    let world = agent.world();
    assert!(world.executed <= 1, "seed {seed}: it was executed {} times", world.executed);
    assert!(!world.sent_again, "seed {seed}: it was sent again though its outcome was unknown");
    assert!(
        world.sends <= 4 && world.cancels <= 1,
        "seed {seed}: {} sends, {} cancels",
        world.sends,
        world.cancels
    );
    match result {
        Some(Ok(reply)) => {
            let (state, text, beside) = agent.wanted();
            assert_eq!(ended(&reply), (state, text.clone(), beside), "seed {seed}: {:#?}", bench.events());
            if state == Completed {
                assert_eq!(told(&bench), text, "seed {seed}: {:#?}", bench.events());
            }
            assert_eq!(world.cancels, 0, "seed {seed}");
        }
        Some(Err(error)) => {
            assert!(world.executed == 0 || !error.may_resend(), "seed {seed}: {error:?}");
            let lost = world.named && agent.ends_at() <= IN_TIME;
            assert!(!lost, "seed {seed}: the end is lost: {error:?} {:#?}", bench.events());
            assert!(error.kind() == ErrorKind::Timeout || world.cancels == 0, "seed {seed}: {error:?}");
        }
        None if was_known && !over && !waits => {
            assert_eq!(world.cancels, 1, "seed {seed}: it was left at work");
        }
        None => {}
    }
}

#[test]
fn b3_a_thousand_schedules_of_faults() {
    for seed in 0..1000 {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.expect("a runtime").block_on(play(seed));
    }
}
