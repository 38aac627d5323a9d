use super::*;
use crate::model::{Failure, Reason};

async fn refused(at: &Hooks, config: PushConfig) -> Failure {
    at.hooks.create(&scope("me"), config).await.expect_err("refused")
}

#[tokio::test(start_paused = true)]
async fn secrets_are_shown_to_who_registers_and_then_no_more() {
    let at = Hooks::new(|_, _| Act::Answer(200));
    let asked = secretive("t1", "https://example.com/a");
    let made = at.hooks.create(&scope("me"), asked.clone()).await.expect("registered");
    assert_eq!(made, PushConfig { id: "id-1".into(), ..asked.clone() });
    let named = PushConfig { id: "mine".into(), ..asked.clone() };
    assert_eq!(at.hooks.create(&scope("me"), named.clone()).await.expect("registered"), named);

    let bare = |id: &str| {
        let authentication = Some(Authentication { scheme: "Bearer".to_owned(), credentials: None });
        PushConfig { id: id.into(), token: None, authentication, ..asked.clone() }
    };
    let got = |id: &'static str| {
        let at = &at;
        async move { at.hooks.get(&scope("me"), &key("t1", id)).await }
    };
    assert_eq!(got("mine").await, Ok(bare("mine")));
    // v0.3 may leave the id out: the first.
    assert_eq!(got("").await, Ok(bare("id-1")));
    let listed = at.hooks.list(&scope("me"), &"t1".into()).await.expect("listed");
    assert_eq!(listed, [bare("id-1"), bare("mine")]);

    for _ in 0..2 {
        at.hooks.delete(&scope("me"), &key("t1", "mine")).await.expect("deleted, also twice");
    }
    let missing = got("mine").await.expect_err("deleted");
    assert_eq!(
        (missing.reason, &*missing.message),
        (Reason::TaskNotFound, "the task `t1` has no webhook `mine`")
    );
    at.hooks.forget(&scope("me"), "t1");
    assert_eq!(&*got("").await.expect_err("forgotten").message, "the task `t1` has no webhook");
    assert!(!at.hooks.wants(&scope("me"), "t1"));
}

#[tokio::test(start_paused = true)]
async fn webhooks_of_others_are_as_if_they_were_not() {
    let at = Hooks::new(|_, _| Act::Answer(200));
    let made = at.hook("t1", "https://example.com/a").await;
    let you = scope("you");
    assert!(at.hooks.wants(&scope("me"), "t1") && !at.hooks.wants(&you, "t1"));
    assert_eq!(
        at.hooks.get(&you, &key("t1", &made.id)).await.expect_err("hidden").reason,
        Reason::TaskNotFound
    );
    assert_eq!(at.hooks.list(&you, &"t1".into()).await, Ok(vec![]));
    at.hooks.delete(&you, &key("t1", &made.id)).await.expect("nothing to delete");
    at.hooks.forget(&you, "t1");
    let taken = at.hooks.create(&you, config("t1", "https://example.com/b")).await;
    assert_eq!(taken, Err(Failure::no_task("t1")));
    assert_eq!(at.hooks.list(&scope("me"), &"t1".into()).await.map(|all| all.len()), Ok(1));
}

#[tokio::test(start_paused = true)]
async fn a_task_has_so_many_webhooks_and_no_more() {
    let at = Hooks::new(|_, _| Act::Answer(200));
    for number in 0..50 {
        let id = format!("w{number}").into();
        let config = PushConfig { id, ..config("t1", "https://example.com/a") };
        at.hooks.create(&scope("me"), config).await.expect("registered");
    }
    let failure = refused(&at, config("t1", "https://example.com/a")).await;
    assert_eq!(failure.reason, Reason::ResourceExhausted);
    assert_eq!(&*failure.message, "a task has 50 webhooks at most; delete one of `t1`");
    let again = PushConfig { id: "w7".into(), ..config("t1", "https://example.com/b") };
    at.hooks.create(&scope("me"), again).await.expect("replaced");
    at.hook("t2", "https://example.com/a").await;
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_is_told_by_field() {
    let at = Hooks::with(&params::Push::default(), |_, _| Act::Answer(200));
    let auth = |scheme: &str, credentials: Option<&str>| {
        let (scheme, credentials) = (scheme.to_owned(), credentials.map(ToOwned::to_owned));
        Some(Authentication { scheme, credentials })
    };
    let fine = config("t1", "https://example.com/a");
    let long = "x".repeat(9000);
    let cases = [
        PushConfig { id: "a\nb".into(), ..fine.clone() },
        PushConfig { id: long.as_str().into(), ..fine.clone() },
        PushConfig { token: Some("a\r\nx: y".to_owned()), ..fine.clone() },
        PushConfig { token: Some(long.clone()), ..fine.clone() },
        PushConfig { authentication: auth("", None), ..fine.clone() },
        PushConfig { authentication: auth("Bearer x", None), ..fine.clone() },
        PushConfig { authentication: auth("Bearer", Some("a\nb")), ..fine.clone() },
        PushConfig { authentication: auth("Bearer", Some(" a")), ..fine.clone() },
        PushConfig { authentication: auth("Bearer", Some(&long)), ..fine.clone() },
        PushConfig { token: Some("\u{7f}".to_owned()), ..config("t1", "nonsense") },
        config("t1", &format!("https://example.com/{long}")),
    ];
    let mut told = String::new();
    for case in cases {
        let failure = refused(&at, case).await;
        assert_eq!(failure.reason, Reason::InvalidParams);
        told.push_str(&format!("{}\n", failure.message));
    }
    insta::assert_snapshot!(told, @r"
    `id` holds a control character
    `id` has to be 256 bytes long at most
    `token` holds a character that no header may, such as a line break, or white space around it
    `token` is too long
    `authentication.scheme` has to be a word such as `Bearer`
    `authentication.scheme` has to be a word such as `Bearer`
    `authentication.credentials` holds a character that no header may, such as a line break, or white space around it
    `authentication.credentials` holds a character that no header may, such as a line break, or white space around it
    `authentication.credentials` is too long
    `url` is no URL; write it as `https://host/path` (and 1 more)
    `url` has to be 2048 bytes long at most
    ");
    let spared = [("Digest", Some("a=\"b\", c=d")), ("Bearer", None), ("bearer", Some(""))];
    for (scheme, credentials) in spared {
        let config = PushConfig { authentication: auth(scheme, credentials), ..fine.clone() };
        at.hooks.create(&scope("me"), config).await.expect("registered");
    }
}

#[tokio::test(start_paused = true)]
async fn webhooks_go_when_their_tasks_have_been_over_for_long() {
    let at = Hooks::new(|_, _| Act::Answer(200));
    let hour = Duration::from_secs(3600);
    // One that ends, one that had ended before, one that is gone, and one that waits for a person.
    for task in ["ends", "ended", "gone", "waits"] {
        at.hook(task, "https://example.com/a").await;
    }
    at.states.set("ended", TaskState::Failed);
    at.states.set("waits", TaskState::InputRequired);
    at.tell("ends", 1, TaskState::Completed, "end");
    tokio::time::sleep(hour - Duration::from_secs(1)).await;
    at.hook("new", "https://example.com/a").await;
    let here = |task: &str| at.hooks.wants(&scope("me"), task);
    assert!(["ends", "ended", "gone", "waits"].into_iter().all(here));
    tokio::time::sleep(Duration::from_secs(1)).await;
    at.hook("newer", "https://example.com/a").await;
    assert!(!["ends", "ended", "gone"].into_iter().any(here));
    assert!(["waits", "new", "newer"].into_iter().all(here));
}

#[tokio::test(start_paused = true)]
async fn tasks_that_are_over_make_room_for_others() {
    let at = Hooks::new(|_, _| Act::Answer(200));
    for number in 0..10_000 {
        let task = format!("t{number}");
        at.states.set(&task, TaskState::Working);
        at.hook(&task, "https://example.com/a").await;
    }
    let failure = refused(&at, config("more", "https://example.com/a")).await;
    assert_eq!(failure.reason, Reason::ResourceExhausted);
    assert!(failure.retry_after.is_some());
    // The first 32 have just been looked at.
    at.states.set("t40", TaskState::Completed);
    at.hook("more", "https://example.com/a").await;
    assert!(!at.hooks.wants(&scope("me"), "t40"));
    assert!(at.hooks.wants(&scope("me"), "t0") && at.hooks.wants(&scope("me"), "more"));
}
