//! The time budget of a run, and turns that are cancelled.

use std::sync::Arc;

use mas_contracts::{ErrorKind, EventKind, TurnRequest, TurnStatus};
use mas_testkit::{FnModel, says};

use crate::team::{Member, SECOND, ask, say, team};

#[cfg(unix)]
mod child;

#[tokio::test(start_paused = true)]
async fn a_run_ends_at_its_time_budget() {
    let model = FnModel::new(|_, _| Ok(says("late"))).thinking(SECOND * 600);
    let team = team(vec![Member::new("a", Arc::new(model))]).await;
    let began = tokio::time::Instant::now();
    let (reply, events) = ask(&team, TurnRequest { timeout: Some(SECOND * 5), ..say("go") }).await;
    assert_eq!(reply.expect_err("it is over").kind(), ErrorKind::Timeout);
    assert_eq!(began.elapsed(), SECOND * 5);
    assert!(
        matches!(events.last(), Some(EventKind::TurnEnded { status, .. }) if *status != TurnStatus::Completed)
    );
}
