//! Webhooks of a service: the tasks of a scripted host tell of themselves.

use futures_util::StreamExt;
use mas_testkit::{Behaviour, ScriptedHost};
use serde_json::json;

use super::*;
use crate::{
    card::{Place, Published},
    model::{Caller, Operations, Reason, SendMessage, SendReply},
    params::Params,
    service::{Options, Service},
};

const SECOND: Duration = Duration::from_secs(1);

struct Bench {
    hooks: Arc<Webhooks>,
    script: Arc<Script>,
    service: Service,
}

impl Bench {
    fn new(behaviour: Behaviour, does: impl Fn(usize, &str) -> Act + Send + Sync + 'static) -> Self {
        let host = ScriptedHost::new([("agent", behaviour)]);
        let Hooks { hooks, script, states } = Hooks::new(does);
        let hooks = Arc::new(hooks);
        let params = Params::read(&json!({"url": "http://127.0.0.1:9"})).expect("parameters");
        let profile = mas_contracts::AgentHost::describe(host.as_ref(), "agent").expect("a profile");
        let place = Place::declared(&params, true).expect("a place");
        let card = Published::new(&profile, &params, &place, None, Duration::ZERO).expect("a card");
        let (push, options) = (Some(hooks.clone() as Arc<dyn Push>), Options::default());
        let service = Service::new(&build(), "agent".into(), host, states, options, push, Arc::new(card));
        Self { hooks, script, service }
    }

    /// What each notification tells of.
    fn told(&self) -> Vec<String> {
        let told = |seen: Seen| match seen.body["statusUpdate"]["status"]["state"].as_str() {
            Some(state) => state.trim_start_matches("TASK_STATE_").to_owned(),
            None => seen.body["artifactUpdate"]["artifact"]["parts"][0]["text"].to_string(),
        };
        self.script.seen().into_iter().map(told).collect()
    }
}

fn said(url: &str, return_immediately: bool) -> SendMessage {
    SendMessage {
        message: TaskMessage {
            id: "m".into(),
            from: Speaker::User,
            context: None,
            task: None,
            parts: vec![Part::text("hello")],
            metadata: serde_json::Map::new(),
            extensions: Vec::new(),
            references: Vec::new(),
        },
        accepted_output_modes: Vec::new(),
        push: Some(config("", url)),
        history_length: None,
        return_immediately,
        kind: None,
        metadata: serde_json::Map::new(),
    }
}

const URL: &str = "http://127.0.0.1:1/";

#[tokio::test(start_paused = true)]
async fn every_kind_of_call_tells_of_the_whole_task() {
    let whole = ["WORKING", "\"hello\"", "COMPLETED"];
    let bench = Bench::new(Behaviour::EchoAfter(SECOND), |_, _| Act::Answer(200));
    // Who reads its webhooks' notifications right after the reply finds them all.
    let reply = bench.service.send(&Caller::default(), said(URL, false)).await.expect("a reply");
    assert_eq!(bench.told(), whole);
    let SendReply::Task(view) = reply else { panic!("no task: {reply:?}") };
    let listed = bench.service.list_push(&Caller::default(), view.task.id.clone()).await.expect("listed");
    assert_eq!(listed.len(), 1);

    let bench = Bench::new(Behaviour::EchoAfter(SECOND), |_, _| Act::Answer(200));
    bench.service.send(&Caller::default(), said(URL, true)).await.expect("a reply");
    tokio::time::sleep(2 * SECOND).await;
    assert_eq!(bench.told(), whole);

    let bench = Bench::new(Behaviour::EchoAfter(SECOND), |_, _| Act::Answer(200));
    let stream = bench.service.stream(&Caller::default(), said(URL, false)).await.expect("a stream");
    assert_eq!(stream.count().await, 4);
    assert_eq!(bench.hooks.close(SECOND).await, 0);
    assert_eq!(bench.told(), whole);
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_hangs_holds_no_call_up() {
    let bench = Bench::new(Behaviour::Echo, |_, _| Act::Hold);
    let began = now();
    bench.service.send(&Caller::default(), said(URL, true)).await.expect("a reply");
    assert_eq!(now() - began, Duration::ZERO);
    let reply = bench.service.send(&Caller::default(), said(URL, false)).await.expect("a reply");
    assert_eq!(now() - began, SECOND);
    let SendReply::Task(view) = reply else { panic!("no task: {reply:?}") };
    assert_eq!(view.task.status.state, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_is_refused_runs_nothing() {
    let bench = Bench::new(Behaviour::Echo, |_, _| Act::Answer(200));
    let refused = bench.service.send(&Caller::default(), said("file:///etc/passwd", false)).await;
    assert_eq!(refused.expect_err("refused").reason, Reason::InvalidParams);
    assert_eq!((bench.hooks.told(), bench.told()), (Told::default(), Vec::new()));
}
