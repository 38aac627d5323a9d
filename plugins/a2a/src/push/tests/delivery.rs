use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

use super::*;

const URL: &str = "https://hooks.example.com/T0/path-key";

#[tokio::test(start_paused = true)]
async fn events_come_in_order_though_the_webhook_fails_at_first() {
    let at = Hooks::new(|number, _| match number {
        0 => Act::Answer(500),
        1 => Act::Refuse,
        _ => Act::Answer(204),
    });
    at.hook("t1", URL).await;
    at.tell("t1", 1, TaskState::Submitted, "one");
    at.changed("t1", 2, &piece("t1", "two"));
    at.tell("t1", 3, TaskState::Completed, "three");
    at.done().await;
    assert_eq!(at.script.texts(), ["one", "one", "one", "", "three"]);
    let seen = at.script.seen();
    let pause = |from: usize, to: usize| seen[to].at - seen[from].at;
    let between = |low, high| Duration::from_millis(low)..=Duration::from_millis(high);
    assert!(between(250, 500).contains(&pause(0, 1)), "{:?}", pause(0, 1));
    assert!(between(500, 1000).contains(&pause(1, 2)), "{:?}", pause(1, 2));
    assert_eq!(pause(2, 4), Duration::ZERO);
    let told = Told { taken: 3, brought: 3, again: 2, ..Told::default() };
    assert_eq!(at.hooks.told(), told);
}

#[tokio::test(start_paused = true)]
async fn a_notification_speaks_the_version_of_its_webhook() {
    let at = Hooks::new(|_, _| Act::Answer(200));
    let v03 = PushConfig { dialect: Dialect::V03, ..secretive("t1", "http://127.0.0.1:9/v03") };
    at.hooks.create(&scope("me"), secretive("t1", "http://127.0.0.1:9/v1")).await.expect("registered");
    at.hooks.create(&scope("me"), v03).await.expect("registered");
    at.tell("t1", 1, TaskState::Working, "one");
    at.done().await;
    let mut seen = at.script.seen();
    seen.sort_by(|one, other| one.url.cmp(&other.url));
    let mut text = String::new();
    for seen in &seen {
        text.push_str(&format!("{}\n", seen.url));
        for (name, value) in &seen.headers {
            text.push_str(&format!("{name}: {value}\n"));
        }
        text.push_str(&format!("{}\n\n", seen.body));
    }
    insta::assert_snapshot!(text, @r#"
    http://127.0.0.1:9/v03
    content-type: application/json
    a2a-version: 0.3
    x-a2a-notification-token: tok-1234
    a2a-notification-token: tok-1234
    authorization: Bearer cred-1234
    {"kind":"task","id":"t1","contextId":"c1","status":{"state":"working","message":{"kind":"message","messageId":"m1","role":"agent","parts":[{"kind":"text","text":"now"}]},"timestamp":"2026-01-01T00:00:00.000Z"},"artifacts":[{"artifactId":"r1","parts":[{"kind":"text","text":"whole"}]}]}

    http://127.0.0.1:9/v1
    content-type: application/a2a+json
    a2a-version: 1.0
    x-a2a-notification-token: tok-1234
    a2a-notification-token: tok-1234
    authorization: Bearer cred-1234
    {"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING","message":{"messageId":"m1","role":"ROLE_AGENT","parts":[{"text":"one"}]},"timestamp":"2026-01-01T00:00:00.000Z"}}}
    "#);
}

#[tokio::test(start_paused = true)]
async fn a_webhook_may_say_when_to_come_again() {
    let at = Hooks::new(|number, _| match number {
        0 => Act::Later(503, "7"),
        1 => Act::Later(429, "86400"),
        _ => Act::Answer(200),
    });
    at.hook("t1", URL).await;
    at.tell_all("t1", 1);
    at.done().await;
    let seen = at.script.seen();
    let pauses = [seen[1].at - seen[0].at, seen[2].at - seen[1].at].map(|pause| pause.as_secs_f64());
    assert!((7.0..=7.7).contains(&pauses[0]), "{pauses:?}");
    // No webhook holds what waits for it for a day.
    assert!((60.0..=66.0).contains(&pauses[1]), "{pauses:?}");
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_says_no_is_not_asked_again_for_the_same() {
    for status in [301, 302, 307, 400, 401, 403, 404, 410, 413, 501] {
        let at = Hooks::new(move |number, _| Act::Answer(if number == 0 { status } else { 200 }));
        at.hook("t1", URL).await;
        at.tell_all("t1", 2);
        at.done().await;
        assert_eq!(at.script.texts(), ["1", "2"], "{status}");
        let told = Told { taken: 2, brought: 1, given_up: 1, ..Told::default() };
        assert_eq!(at.hooks.told(), told, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_dead_webhook_is_asked_less_and_less_until_it_is_back() {
    let status = Arc::new(AtomicU16::new(500));
    let does = status.clone();
    let at = Hooks::new(move |_, _| Act::Answer(does.load(Relaxed)));
    at.hook("t1", URL).await;
    at.tell_all("t1", 20);
    while at.hooks.told().waiting > 0 {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    // Five attempts for the first, one for each of the next four, and the rest is dropped.
    assert_eq!(at.script.texts(), ["1", "1", "1", "1", "1", "2", "3", "4", "5"]);
    let told = Told { taken: 20, again: 4, given_up: 5, dropped: 15, ..Told::default() };
    assert_eq!(at.hooks.told(), told);
    at.tell("t1", 21, TaskState::Working, "21");
    at.hooks.posted(&scope("me"), "t1", Duration::from_secs(9)).await;
    assert_eq!(at.script.texts().len(), 10);
    status.store(200, Relaxed);
    at.tell("t1", 22, TaskState::Working, "22");
    at.hooks.posted(&scope("me"), "t1", Duration::from_secs(9)).await;
    status.store(500, Relaxed);
    at.tell("t1", 23, TaskState::Working, "23");
    at.done().await;
    assert_eq!(at.script.texts()[10..], ["22", "23", "23", "23", "23", "23"]);
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_never_answers_costs_the_task_nothing() {
    let at = Hooks::new(|_, url| if url.ends_with("dead") { Act::Hold } else { Act::Answer(200) });
    at.hook("t1", "http://127.0.0.1:1/dead").await;
    at.hook("t1", "http://127.0.0.1:2/alive").await;
    let began = now();
    at.tell_all("t1", 100);
    assert_eq!(now() - began, Duration::ZERO);
    // A blocking call waits for a little while, and not longer.
    at.hooks.posted(&scope("me"), "t1", Duration::from_secs(1)).await;
    assert_eq!(now() - began, Duration::from_secs(1));
    let alive = |at: &Hooks| at.script.seen().iter().filter(|seen| seen.url.ends_with("alive")).count();
    assert_eq!(alive(&at), 100);
    at.done().await;
    // Five attempts of ten seconds, four single ones, and the pauses between.
    assert!(now() - began < Duration::from_secs(110), "{:?}", now() - began);
}

#[tokio::test(start_paused = true)]
async fn a_blocking_call_finds_its_notifications_posted() {
    for (act, posts) in [(Act::Answer(200), 2), (Act::Babble, 2), (Act::Answer(500), 1), (Act::Refuse, 1)] {
        let at = Hooks::new(move |_, _| act);
        at.hook("t1", URL).await;
        let began = now();
        at.tell_all("t1", 1);
        at.hooks.posted(&scope("me"), "t1", Duration::from_secs(1)).await;
        assert_eq!((at.script.seen().len(), now() - began), (1, Duration::ZERO));
        at.tell_all("t1", 1);
        at.hooks.posted(&scope("me"), "t1", Duration::from_secs(2)).await;
        // One that has failed just now is not waited for; an answer without end is left after a second.
        assert_eq!(at.script.seen().len(), posts);
        assert!(now() - began <= Duration::from_secs(1), "{:?}", now() - began);
        at.hooks.posted(&scope("you"), "t1", Duration::from_secs(1)).await;
        at.hooks.posted(&scope("me"), "other", Duration::from_secs(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn of_pieces_v03_is_told_with_the_next_status() {
    let at = Hooks::new(|_, _| Act::Answer(200));
    let v03 = PushConfig { dialect: Dialect::V03, ..config("t1", URL) };
    at.hooks.create(&scope("me"), v03).await.expect("registered");
    for seq in 1..=1000 {
        at.changed("t1", seq, &piece("t1", "x"));
    }
    at.tell("t1", 1001, TaskState::Completed, "end");
    at.done().await;
    let seen = at.script.seen();
    assert_eq!(seen.len(), 2);
    assert!(seen.iter().all(|seen| seen.body["kind"] == "task" && seen.body["id"] == "t1"));
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_is_replaced_gets_what_waits_and_one_that_is_deleted_nothing() {
    let at = Hooks::new(|_, url| if url.ends_with("old") { Act::Hold } else { Act::Answer(200) });
    let made = at.hook("t1", "http://127.0.0.1:1/old").await;
    at.tell_all("t1", 2);
    at.hooks.posted(&scope("me"), "t1", Duration::from_secs(1)).await;
    let new = PushConfig { url: "http://127.0.0.1:2/new".to_owned(), ..made.clone() };
    at.hooks.create(&scope("me"), new).await.expect("replaced");
    at.done().await;
    let urls: Vec<_> = at.script.seen().into_iter().map(|seen| seen.url).collect();
    assert_eq!(urls, ["http://127.0.0.1:1/old", "http://127.0.0.1:2/new", "http://127.0.0.1:2/new"]);

    let at = Hooks::new(|_, _| Act::Answer(503));
    let made = at.hook("t1", URL).await;
    at.tell_all("t1", 3);
    at.hooks.posted(&scope("me"), "t1", Duration::from_secs(1)).await;
    at.hooks.delete(&scope("me"), &key("t1", &made.id)).await.expect("deleted");
    assert!(!at.hooks.wants(&scope("me"), "t1"));
    at.done().await;
    assert_eq!((at.script.seen().len(), at.hooks.told().dropped), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn what_is_logged_holds_no_secret() {
    let (log, _guard) = mas_testkit::Log::of_this_thread();
    let url = "https://hooks.example.com/T0/path-key?token=query-key";
    let at = Hooks::new(|number, _| match number {
        0..=4 => Act::Refuse,
        5 => Act::Answer(404),
        _ => Act::Hold,
    });
    let made = at.hooks.create(&scope("me"), secretive("t1", url)).await.expect("registered");
    at.tell_all("t1", 12);
    let _left = at.hooks.close(Duration::from_secs(20)).await;
    at.tell_all("t1", 1);
    let text = format!("{} {made:?}", log.text());
    for hidden in ["path-key", "query-key", "tok-1234", "cred-1234"] {
        assert!(!text.contains(hidden), "{text}");
    }
    for told in
        ["given up after 5 attempts: no connection to `hooks.example.com:443`: refused", "answers 404"]
    {
        assert!(text.contains(told), "{text}");
    }
}
