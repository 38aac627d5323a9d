//! Agents that call each other over every binding, in one process.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests; the exemption in clippy.toml reaches test functions only"
)]

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use mas_a2a::client::{Answer, Binding, How, Listed, Options, Remote, Update, Version};
use mas_a2a_interop::{
    CallAgent, CallKind, Instruction, Order, PushNotification, ResponseGenerator, Resubscribe,
    ReturnResponse, SendMessage, Steps, part_of,
};
use mas_contracts::{
    BoxFuture, BuildContext, Clock, Env, Part, Shared, Speaker, Task, TaskMessage, TaskState, text_of,
};
use mas_core::{
    blueprint::{EndpointBlueprint, ResolveInput, ResolveOptions, resolve},
    clock::{RandomIds, TokioClock},
    diagnostic::{Location, Report},
    exposure::{Exposed, ExposurePlan},
    manifest::{self, Environment, Located, Params, Usage},
    team::Team,
    wiring::{Connection, Hosting, connect, wire},
};
use mas_testkit::http::{Act, RawServer};
use rstest::rstest;
use serde_json::{Value, json};
use tokio::sync::watch;

/// A clock whose short sleeps, those of a held task, last until the gate opens.
#[derive(Debug)]
struct Gated(watch::Receiver<bool>);

impl Clock for Gated {
    fn now(&self) -> Instant {
        TokioClock.now()
    }

    fn unix_time(&self) -> Duration {
        TokioClock.unix_time()
    }

    fn sleep_until(&self, at: Instant) -> BoxFuture<'static, ()> {
        if at.saturating_duration_since(self.now()) > Duration::from_secs(2) {
            return TokioClock.sleep_until(at);
        }
        let mut gate = self.0.clone();
        Box::pin(async move {
            let _ = gate.wait_for(|open| *open).await;
        })
    }
}

fn open() -> Arc<dyn Clock> {
    Arc::new(Gated(watch::channel(true).1))
}

/// An agent that listens.
struct Served {
    url: String,
    team: Arc<Team>,
    exposed: Exposed,
}

fn build() -> BuildContext {
    BuildContext {
        host: std::sync::Weak::<Team>::new(),
        env: Env::default(),
        clock: Arc::new(TokioClock),
        ids: Arc::new(RandomIds),
        base: env!("CARGO_MANIFEST_DIR").into(),
        shared: Shared::default(),
    }
}

impl Served {
    /// Serves the agent of the example at ports of its own.
    async fn start(clock: Arc<dyn Clock>) -> Self {
        Self::try_start(clock).await.unwrap_or_else(|report| panic!("{report:?}"))
    }

    async fn try_start(clock: Arc<dyn Clock>) -> Result<Self, Report> {
        let (options, environment) = (manifest::Options::default(), Environment::default());
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("agent.yaml");
        let loaded = manifest::load(&path, &options, &environment)?;
        let mut blueprint = resolve(ResolveInput {
            loaded: &loaded,
            flavour: None,
            workspace_infra: &[],
            flag_infra: &[],
            defaults: &Default::default(),
            environment: &environment,
            options: &ResolveOptions::default(),
        })?
        .blueprint;
        let at = Location::named("test");
        let a2a = json!({
            "listen": {"host": "127.0.0.1", "port": 0},
            "grpc_port": 0,
            "input_modes": ["*/*"],
            "capabilities": {"streaming": true, "pushNotifications": true},
            "push": {"allow_private": true},
        });
        blueprint.endpoints.push(EndpointBlueprint {
            agent: Located::unplaced("a2a-interop"),
            protocol: Located::unplaced("a2a"),
            usage: Located::unplaced(Usage::Deploy),
            url: None,
            headers: Vec::new(),
            timeout_seconds: None,
            a2a: Some(Params::new(a2a)),
            layers: None,
            params: Params::none(at.clone()),
            dir: std::path::PathBuf::new(),
            missing: Vec::new(),
            at,
        });
        let registry = mas_ctl::linked_registry().expect("no name is claimed twice");
        let wiring = wire(&blueprint, &registry, &environment, Hosting::Everything)?;
        let plan = ExposurePlan::of(&wiring, &registry, &build(), true)?;
        let connection = Connection {
            registry: &registry,
            env: Env::default(),
            clock,
            ids: Arc::new(RandomIds),
            store: None,
            observers: Vec::new(),
            base: Path::new(env!("CARGO_MANIFEST_DIR")),
        };
        let (team, _) = connect(&wiring, connection).await?;
        let exposed = plan.bind(&team).await?;
        let url = exposed.served().iter().find(|it| it.what == "http").map(|it| it.url.clone());
        Ok(Self { url: url.expect("it listens"), team, exposed })
    }

    async fn reach(&self, binding: Binding, version: Version) -> Remote {
        let options = Options { binding: Some(binding), version: Some(version), ..Options::default() };
        Remote::connect(&self.url, &options, &build()).await.expect("it is reached")
    }

    async fn close(self) {
        let errors = self.exposed.close(Duration::from_secs(20)).await;
        assert!(errors.is_empty(), "{errors:?}");
        drop(self.team);
    }
}

fn says(text: &str, hold_task: bool) -> Instruction {
    let order = Order::ReturnResponse(ReturnResponse { response: text.to_owned(), hold_task });
    Instruction { order: Some(order) }
}

fn steps(instructions: Vec<Instruction>) -> Instruction {
    let response_generator = ResponseGenerator::Concat.into();
    Instruction { order: Some(Order::Steps(Steps { instructions, response_generator })) }
}

fn call(to: &Served, transport: &str, streaming: bool, kind: CallKind, what: Instruction) -> Instruction {
    Instruction {
        order: Some(Order::CallAgent(Box::new(CallAgent {
            transport: transport.to_owned(),
            agent_card_uri: to.url.clone(),
            instruction: Some(Box::new(what)),
            streaming,
            kind: Some(kind),
        }))),
    }
}

fn plain() -> CallKind {
    CallKind::SendMessage(SendMessage {})
}

fn message(part: Part) -> TaskMessage {
    TaskMessage {
        id: build().ids.next_id(),
        from: Speaker::User,
        context: None,
        task: None,
        parts: vec![part],
        metadata: Default::default(),
        extensions: Vec::new(),
        references: Vec::new(),
    }
}

async fn ask(remote: &Remote, part: Part) -> Arc<Task> {
    match remote.send(message(part), &How::default()).await.expect("it answers") {
        Answer::Task(task) => task,
        Answer::Message(message) => panic!("a task was expected: {message:?}"),
    }
}

fn end(task: &Task) -> (TaskState, String) {
    let text = task.status.message.as_deref().map(|message| text_of(&message.parts).to_string());
    (task.status.state, text.unwrap_or_default())
}

fn done(text: &str) -> (TaskState, String) {
    (TaskState::Completed, text.to_owned())
}

#[rstest]
#[case::json_rpc("jsonrpc", Binding::JsonRpc)]
#[case::rest("HTTP_JSON", Binding::Rest)]
#[case::grpc("GRPC", Binding::Grpc)]
#[tokio::test]
async fn two_agents_call_each_other(
    #[case] transport: &str,
    #[case] binding: Binding,
    #[values(Version::V1, Version::V03)] version: Version,
    #[values(false, true)] streaming: bool,
) {
    let (a, b) = (Served::start(open()).await, Served::start(open()).await);
    let last = steps(vec![says("[b -> a]", false), says("traversal-completed", false)]);
    let back = call(&a, transport, streaming, plain(), last);
    let chain = steps(vec![
        says("[a -> b]", false),
        call(&b, transport, streaming, plain(), steps(vec![says("at b", false), back])),
    ]);
    let task = ask(&a.reach(binding, version).await, part_of(&chain)).await;
    assert_eq!(end(&task), done("[a -> b]\nat b\n[b -> a]\ntraversal-completed"));
    assert!(task.artifacts.is_empty());
    a.close().await;
    b.close().await;
}

#[tokio::test]
async fn a_held_task_works_on_and_completes() {
    let agent = Served::start(open()).await;
    let remote = agent.reach(Binding::JsonRpc, Version::V1).await;
    let held = steps(vec![says("one", false), says("two", true)]);
    let mut updates = remote.stream(message(part_of(&held)), &How::default()).await.expect("it streams");
    let mut seen = Vec::new();
    while let Some(update) = updates.next().await.expect("it goes on") {
        if let Update::Status { status, .. } = update
            && let Some(message) = status.message
        {
            seen.push((status.state, text_of(&message.parts).to_string()));
        }
    }
    let mut expected = vec![(TaskState::Working, "one\ntwo\ntask-finished".to_owned()); 6];
    expected.push(done("one\ntwo"));
    assert_eq!(seen, expected);
    agent.close().await;
}

#[rstest]
#[tokio::test]
async fn a_lost_stream_is_subscribed_to(#[values("jsonrpc", "rest", "grpc")] transport: &str) {
    let (gate, closed) = watch::channel(false);
    let (a, b) = (Served::start(open()).await, Served::start(Arc::new(Gated(closed))).await);
    let kind = CallKind::Resubscribe(Resubscribe {});
    let chain = call(&b, transport, true, kind, says("held at b", true));
    let task = ask(&a.reach(Binding::JsonRpc, Version::V1).await, part_of(&chain)).await;
    assert_eq!(end(&task), done("held at b"));
    // The task at `b` is neither over nor cancelled: it is held until the gate opens.
    let there = b.reach(Binding::JsonRpc, Version::V1).await;
    let held = there.list(&Listed::default()).await.expect("a list").tasks;
    assert_eq!(end(&held[0]), (TaskState::Working, "held at b\ntask-finished".to_owned()));
    let mut updates = there.subscribe(&held[0].id).await.expect("it streams");
    gate.send(true).expect("the clock is there");
    while updates.next().await.expect("it goes on").is_some() {}
    let over = there.get(&held[0].id, None).await.expect("the task");
    assert_eq!(end(&over), done("held at b"));
    a.close().await;
    b.close().await;
}

#[tokio::test]
async fn a_task_that_never_says_so_is_an_error() {
    let (a, b) = (Served::start(open()).await, Served::start(open()).await);
    let kind = CallKind::Resubscribe(Resubscribe {});
    let chain = call(&b, "jsonrpc", true, kind, says("not held", false));
    let task = ask(&a.reach(Binding::JsonRpc, Version::V1).await, part_of(&chain)).await;
    let (state, _) = end(&task);
    assert_eq!(state, TaskState::Failed);
    a.close().await;
    b.close().await;
}

#[rstest]
#[tokio::test]
async fn a_webhook_is_told_before_the_call_is_answered(#[values("jsonrpc", "rest", "grpc")] transport: &str) {
    let receiver = RawServer::start(|_, _| vec![Act::answer(200, "application/json", "{}")]).await;
    let receiver = receiver.expect("it listens");
    let (a, b) = (Served::start(open()).await, Served::start(open()).await);
    let kind = CallKind::PushNotification(PushNotification { url: receiver.url().to_owned() });
    let chain = call(&b, transport, false, kind, says("pushed", false));
    let task = ask(&a.reach(Binding::JsonRpc, Version::V1).await, part_of(&chain)).await;
    assert_eq!(end(&task), done("pushed"));
    let told = receiver.requests();
    let posts = told.iter().map(|request| {
        assert_eq!(request.line, "POST /notifications HTTP/1.1");
        assert_eq!(request.headers["x-a2a-notification-token"], "itk-token");
        serde_json::from_str::<Value>(&request.body).expect("JSON")
    });
    let texts: Vec<Value> =
        posts.map(|post| post["statusUpdate"]["status"]["message"]["parts"][0]["text"].clone()).collect();
    assert!(texts.contains(&json!("pushed")), "{told:?}");
    a.close().await;
    b.close().await;
}

#[rstest]
#[case::no_instruction(Part::text("hello"), "there is no instruction to follow")]
#[case::nothing(part_of(&steps(vec![Instruction::default()])), "a step says nothing to do")]
#[case::transport(
    part_of(&Instruction {
        order: Some(Order::CallAgent(Box::new(CallAgent { transport: "smtp".into(), ..CallAgent::default() }))),
    }),
    "`smtp` is no transport"
)]
#[tokio::test]
async fn what_cannot_be_followed_fails_the_task(#[case] part: Part, #[case] why: &str) {
    let agent = Served::start(open()).await;
    let task = ask(&agent.reach(Binding::JsonRpc, Version::V1).await, part).await;
    let (state, text) = end(&task);
    assert!(state == TaskState::Failed && text.contains(why), "{state:?} {text}");
    agent.close().await;
}
