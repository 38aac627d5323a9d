//! Messages that are taken, and given back: nothing of them is left.

use futures_util::FutureExt;
use mas_contracts::{Task, TaskScope, TaskState};
use mas_testkit::Behaviour;

use super::{super::Changed, *};
use crate::model::{Dialect, PushConfig, PushKey};

/// Webhooks that are never registered.
struct Slow;

#[async_trait]
impl Push for Slow {
    fn wants(&self, _scope: &TaskScope, _task: &str) -> bool {
        false
    }

    fn task_changed(&self, _changed: Changed<'_>) {}

    fn forget(&self, _scope: &TaskScope, _task: &str) {}

    async fn posted(&self, _scope: &TaskScope, _task: &str, _limit: Duration) {}

    async fn create(&self, _scope: &TaskScope, _config: PushConfig) -> Result<PushConfig, Failure> {
        std::future::pending().await
    }

    async fn get(&self, _scope: &TaskScope, key: &PushKey) -> Result<PushConfig, Failure> {
        Err(Failure::no_task(&key.task))
    }

    async fn list(&self, _scope: &TaskScope, _task: &Arc<str>) -> Result<Vec<PushConfig>, Failure> {
        Ok(Vec::new())
    }

    async fn delete(&self, _scope: &TaskScope, _key: &PushKey) -> Result<(), Failure> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_the_store_has_no_room_for_refuses_its_message_which_may_come_again() {
    let bench = Bench::new(Behaviour::EchoAfter(SECOND));
    bench.store.set_full(true);
    let request = || said_in("c", "m", "go");
    let expected = (Reason::ResourceExhausted, Some(SECOND));
    for request in [request(), at_once(request())] {
        let failure = bench.send(request).await.unwrap_err();
        assert_eq!((failure.reason, failure.retry_after), expected);
    }
    let failure = bench.service.stream(&Caller::default(), request()).await.err().unwrap();
    assert_eq!((failure.reason, failure.retry_after), expected);
    assert!(bench.service.0.lives.all().is_empty());
    assert_eq!((bench.service.running(), bench.service.streams()), (0, 0));
    bench.store.set_full(false);
    assert_eq!(bench.task(request()).await.status.state, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_while_its_webhook_is_registered_has_said_nothing() {
    let push = json!({"capabilities": {"pushNotifications": true}});
    let bench = Bench::telling(Behaviour::Echo, Options::default(), &push, Some(Arc::new(Slow)));
    let mut request = said_in("c", "m", "go");
    request.push = Some(PushConfig {
        id: Arc::from(""),
        task: Arc::from(""),
        url: "http://127.0.0.1:9/hook".to_owned(),
        token: None,
        authentication: None,
        dialect: Dialect::V1,
    });
    let mut sending = Box::pin(bench.send(request));
    assert!((&mut sending).now_or_never().is_none());
    // The same message, meanwhile, is told what becomes of the first.
    let mut again = Box::pin(bench.task(said_in("c", "m", "go")));
    assert!((&mut again).now_or_never().is_none());
    drop(sending);
    let task: Arc<Task> = again.await;
    assert_eq!(task.status.state, TaskState::Rejected);
    assert_eq!(status_text(&task), "the message that began the task was not taken");
    assert!(bench.service.0.lives.all().is_empty() && bench.host.seen().is_empty());
    assert_eq!(bench.service.running(), 0);
    assert_eq!(bench.task(said_in("c", "m", "go")).await.status.state, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_reply_of_no_parts_is_a_task_since_a_message_needs_one() {
    let reply =
        mas_contracts::Reply { form: mas_contracts::Form::Message, ..mas_contracts::Reply::done(Vec::new()) };
    let bench = Bench::new(Behaviour::Give(reply));
    assert_eq!(bench.task(said("1", "go")).await.status.state, TaskState::Completed);
}
