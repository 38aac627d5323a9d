//! B3.1 to B3.6: which conversation a message belongs to.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use mas_comm_kit::{
    ContextIds, ContextMode, IDENTITY_SECRETS,
    turn::{Answer, TurnEngine, TurnPolicy, Update},
};
use mas_contracts::{
    Artifact, CallContext, Clock, Delivery, Env, ErrorKind, NoEvents, Outbound, Part, Scope, TaskMessage,
    TaskState, Thread, ThreadName, Tree, TreeLimits,
};
use mas_testkit::TokioClock;

use crate::kit::{
    Act, Bench, Scripted, Then, message, outbound, refused, say, status, task_of, tells, turns,
};

use TaskState::{Completed, Working};

/// What is logged while it lives, on this thread.
struct Log {
    text: Arc<Mutex<Vec<u8>>>,
    _scope: tracing::subscriber::DefaultGuard,
}

#[derive(Clone)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn begin() -> Self {
        let text = Arc::new(Mutex::new(Vec::new()));
        let written = Written(text.clone());
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_ansi(false)
            .without_time()
            .with_writer(move || written.clone())
            .finish();
        Self { text, _scope: tracing::subscriber::set_default(subscriber) }
    }

    fn lines(&self) -> Vec<String> {
        let text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()
    }
}

/// An agent that answers each message in the next of these conversations; "" for none.
fn answers_in(contexts: &[&str]) -> Arc<Scripted> {
    let answer = |agent: Scripted, context: &&str| {
        let mut task = task_of(Completed, Some("ok"), &[]);
        task.context = (*context).into();
        agent.on_send(Then::now(Ok(Answer::Task(Arc::new(task)))))
    };
    Arc::new(contexts.iter().fold(Scripted::blocking(), answer))
}

fn named(name: &str) -> Outbound {
    Outbound { thread: Thread { parent: "s1".into(), name: ThreadName::Named(name.into()) }, ..outbound("m") }
}

fn bench(mode: ContextMode, env: &[(&str, &str)]) -> Bench {
    let env = Env::new(env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    let contexts = ContextIds::from_env(mode, &env, &IDENTITY_SECRETS).expect("there is randomness");
    Bench { engine: TurnEngine::new(TurnPolicy::default(), Arc::new(contexts)), ..Bench::new() }
}

const SECRET: (&str, &str) = ("MAS_IDENTITY_SECRET", "s3cr3t-of-the-test");

/// The id of the first message to a fresh agent.
async fn id_of(bench: &Bench, message: Outbound) -> Option<String> {
    let agent = answers_in(&[""]);
    bench.send(&agent, message).await.expect("an answer");
    agent.contexts().remove(0)
}

/// The same conversation has the same id in every engine of the same secret; any other has another.
#[tokio::test(start_paused = true)]
async fn b3_01_the_same_conversation_has_the_same_id() {
    let one = id_of(&bench(ContextMode::Derived, &[SECRET]), outbound("m1")).await;
    assert!(one.is_some());
    assert_eq!(one, id_of(&bench(ContextMode::Derived, &[SECRET]), outbound("m2")).await);
    let second = [("MAS_IDENTITY_SECRET", " "), ("A4H_IDENTITY_SECRET", SECRET.1)];
    assert_eq!(
        one,
        id_of(&bench(ContextMode::Derived, &second), outbound("m")).await,
        "a blank one is not set"
    );
    let other = [SECRET, ("A4H_IDENTITY_SECRET", "other")];
    assert_eq!(one, id_of(&bench(ContextMode::Derived, &other), outbound("m")).await, "the first counts");

    let session =
        Outbound { thread: Thread { parent: "s2".into(), name: ThreadName::Main }, ..outbound("m") };
    let others = [
        id_of(&bench(ContextMode::Derived, &[(SECRET.0, "another")]), outbound("m")).await,
        id_of(&bench(ContextMode::Derived, &[SECRET]), session).await,
        id_of(&bench(ContextMode::Derived, &[SECRET]), named("x")).await,
    ];
    assert!(others.iter().all(|other| *other != one), "{others:?}");
}

/// Sessions of one name that belong to different owners are different conversations.
#[tokio::test(start_paused = true)]
async fn b3_01_owners_never_meet() {
    let mut ids = Vec::new();
    for owner in [None, Some("ann"), Some("bob"), Some("ann/s1")] {
        let clock: Arc<dyn Clock> = TokioClock::shared();
        let tree = Tree::new(TreeLimits::default(), clock.clone()).owned_by(owner.map(Into::into));
        let scope = Scope {
            session: "s1".into(),
            turn: "t".into(),
            agent: "desk".into(),
            depth: 0,
            parent: None,
            caller: None,
            sink: Arc::new(NoEvents),
            tree: Arc::new(tree),
        };
        let deadline = clock.now() + crate::kit::BUDGET;
        let bench = Bench {
            cx: CallContext::new(Arc::new(scope), deadline),
            ..bench(ContextMode::Derived, &[SECRET])
        };
        let id = id_of(&bench, outbound("m")).await;
        assert!(!ids.contains(&id), "{owner:?}");
        ids.push(id);
    }
}

/// Without a secret, the engines of a process share a random key, and one warning tells of it. The secret is never shown.
#[tokio::test(start_paused = true)]
async fn b3_03_without_a_secret_there_is_one_warning() {
    let log = Log::begin();
    for secret in [vec![SECRET], vec![("A4H_IDENTITY_SECRET", SECRET.1)]] {
        let set = bench(ContextMode::Derived, &secret);
        id_of(&set, outbound("m")).await;
        assert!(!format!("{:?}", set.engine).contains(SECRET.1));
    }
    let _ = (bench(ContextMode::Server, &[]), bench(ContextMode::Fixed("x".into()), &[]));
    assert!(log.lines().is_empty(), "{:?}", log.lines());
    let (one, two) = (bench(ContextMode::Derived, &[]), bench(ContextMode::Derived, &[(SECRET.0, "  ")]));
    let ids = [
        id_of(&one, outbound("m1")).await,
        id_of(&two, outbound("m2")).await,
        id_of(&one, outbound("m3")).await,
    ];
    assert!(ids[0].is_some() && ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    insta::assert_snapshot!(log.lines().join("\n"), @" WARN mas_comm_kit::context_ids: MAS_IDENTITY_SECRET is not set: conversations with agents elsewhere end when this process does; set it to go on with them");
}

/// Another id than the one that was sent is used from then on, in that conversation alone, and logged once.
#[tokio::test(start_paused = true)]
async fn b3_04_another_id_is_adopted_and_logged_once() {
    let log = Log::begin();
    let bench = bench(ContextMode::Derived, &[SECRET]);
    let agent = answers_in(&["theirs", "theirs", "theirs", "third", "third", ""]);
    for _ in 0..5 {
        bench.run(&agent).await.expect("an answer");
    }
    let other = named("x");
    bench.send(&agent, other.clone()).await.expect("an answer");
    let sent = agent.contexts();
    let sent: Vec<_> = sent.iter().map(|id| id.as_deref().expect("an id")).collect();
    let derived = id_of(&self::bench(ContextMode::Derived, &[SECRET]), outbound("m")).await.expect("an id");
    assert_eq!(sent[..5], [&derived, "theirs", "theirs", "theirs", "third"]);
    assert_eq!(sent[5], id_of(&self::bench(ContextMode::Derived, &[SECRET]), other).await.expect("an id"));
    let lines = log.lines();
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(lines[0].contains("theirs") && lines[1].contains("third"), "{lines:#?}");
    assert!(!lines.join("").contains(SECRET.1));
}

/// In whatever it is said, and only where it is said.
#[tokio::test(start_paused = true)]
async fn b3_04_another_id_is_seen_in_every_kind_of_update() {
    let theirs: Arc<str> = "theirs".into();
    let mut whole = task_of(Completed, Some("ok"), &[]);
    whole.context = theirs.clone();
    let said = |context: Option<&Arc<str>>| {
        let message = TaskMessage { context: context.cloned(), ..(*message("m", "ok")).clone() };
        say(Update::Message(Arc::new(message)))
    };
    let piece = Artifact::new("a", vec![Part::text("ok")]);
    let kinds: [(Vec<Act>, bool); 6] = [
        (vec![say(Update::Task(Arc::new(whole)))], true),
        (
            vec![
                say(Update::Status {
                    task: "t1".into(),
                    context: theirs.clone(),
                    status: status(Working, None),
                    last: false,
                }),
                tells(Completed, "m", "ok"),
            ],
            true,
        ),
        (
            vec![
                say(Update::Artifact {
                    task: "t1".into(),
                    context: theirs.clone(),
                    artifact: Arc::new(piece),
                    append: false,
                    last_chunk: true,
                }),
                turns(Completed),
            ],
            true,
        ),
        (vec![said(Some(&theirs))], true),
        (vec![said(Some(&"".into()))], false),
        (vec![said(None)], false),
    ];
    for (acts, adopts) in kinds {
        let bench = bench(ContextMode::Derived, &[SECRET]);
        let agent = Arc::new(Scripted::streaming().on_stream(acts).on_stream([said(None)]));
        for _ in 0..2 {
            bench.run(&agent).await.expect("an answer");
        }
        let sent = agent.contexts();
        assert_eq!(sent[1].as_deref() == Some("theirs"), adopts, "{sent:?}");
        assert!(adopts || sent[0] == sent[1]);
    }
}

/// An agent that does not take the id of a first message is sent it once without, and gives one itself.
#[tokio::test(start_paused = true)]
async fn b3_05_a_refused_id_is_left_out_once() {
    let refuses = |agent: Scripted| agent.on_send(Then::now(Err(refused(ErrorKind::Invalid))));
    let answer = |context: &str| {
        let mut task = task_of(Completed, Some("ok"), &[]);
        task.context = context.into();
        Then::now(Ok(Answer::Task(Arc::new(task))))
    };
    let bench = bench(ContextMode::Derived, &[SECRET]);
    let agent = refuses(Scripted::blocking()).on_send(answer("theirs")).on_send(answer("theirs"));
    let agent = Arc::new(refuses(agent));
    for _ in 0..2 {
        bench.run(&agent).await.expect("an answer");
    }
    let sent = agent.contexts();
    assert!(sent[0].is_some());
    assert_eq!(sent[1..], [None, Some("theirs".to_owned())]);

    // A conversation that went on may not begin anew unnoticed.
    let error = bench.run(&agent).await.expect_err("it is refused");
    assert_eq!(
        (error.kind(), error.delivery(), agent.names().len()),
        (ErrorKind::Invalid, Delivery::Rejected, 4)
    );

    // Nor one that the agent took as it was.
    let bench = self::bench(ContextMode::Derived, &[SECRET]);
    let agent = Arc::new(refuses(Scripted::blocking().on_send(answer(""))));
    bench.run(&agent).await.expect("an answer");
    bench.run(&agent).await.expect_err("it is refused");
    assert_eq!(agent.names().len(), 2);

    // Once: what is refused without an id, too, is refused.
    let agent = Arc::new(refuses(refuses(Scripted::blocking())));
    let error = self::bench(ContextMode::Derived, &[SECRET]).run(&agent).await.expect_err("it is refused");
    assert_eq!((error.delivery(), agent.names().len()), (Delivery::Rejected, 2));

    // Without proof, never.
    let unknown = refused(ErrorKind::Invalid).with_delivery(Delivery::Unknown);
    let agent = Arc::new(Scripted::blocking().on_send(Then::now(Err(unknown))));
    self::bench(ContextMode::Derived, &[SECRET]).run(&agent).await.expect_err("it is refused");
    assert_eq!(agent.names().len(), 1);

    // A stream that is refused, and then the id.
    let agent = Scripted::streaming().on_stream_then(Then::now(Err(refused(ErrorKind::NotFound))));
    let agent =
        Arc::new(agent.on_send(Then::now(Err(refused(ErrorKind::NotFound)))).on_send(answer("theirs")));
    self::bench(ContextMode::Derived, &[SECRET]).run(&agent).await.expect("an answer");
    assert_eq!(agent.names(), ["stream", "send", "send"]);
}

#[tokio::test(start_paused = true)]
async fn b3_05_ids_may_be_the_agents_or_fixed() {
    let bench = bench(ContextMode::Server, &[]);
    let agent = answers_in(&["theirs", "theirs", ""]);
    for message in [outbound("m1"), outbound("m2"), named("x")] {
        bench.send(&agent, message).await.expect("an answer");
    }
    assert_eq!(agent.contexts(), [None, Some("theirs".to_owned()), None]);

    let bench = self::bench(ContextMode::Fixed("mine".into()), &[]);
    let agent = answers_in(&["mine", "", "theirs"]);
    for _ in 0..2 {
        bench.run(&agent).await.expect("an answer");
    }
    let error = bench.run(&agent).await.expect_err("another conversation");
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Failed, Delivery::Answered));
    insta::assert_snapshot!(error.message(), @"`fares` answered in another conversation, `theirs`, than it was asked in");
    assert_eq!(agent.contexts(), vec![Some("mine".to_owned()); 3]);
}

/// What has to be in one conversation is not sent into another, and is called back from there.
#[tokio::test(start_paused = true)]
async fn b3_05_a_fixed_id_is_not_left_out() {
    let fixed = || bench(ContextMode::Fixed("mine".into()), &[]);
    let agent = Arc::new(Scripted::blocking().on_send(Then::now(Err(refused(ErrorKind::Invalid)))));
    let error = fixed().run(&agent).await.expect_err("it is refused");
    assert_eq!((error.delivery(), agent.names()), (Delivery::Rejected, vec!["send"]));

    let mut task = task_of(Working, None, &[]);
    task.context = "theirs".into();
    let agent = Scripted::blocking().on_send(Then::now(Ok(Answer::Task(Arc::new(task)))));
    let agent = Arc::new(agent.on_cancel(Then::now(Ok(Arc::new(task_of(TaskState::Canceled, None, &[]))))));
    let bench = fixed();
    let error = bench.run(&agent).await.expect_err("another conversation");
    bench.engine.close().await;
    assert_eq!((&*error.code(), agent.names()), ("mas::turn::context", vec!["send", "cancel"]));
}
