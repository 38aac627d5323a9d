use super::*;

#[tokio::test(start_paused = true)]
async fn what_finds_no_room_is_dropped_and_counted() {
    let params = params::Push { queue: 4, ..local() };
    let at = Hooks::with(&params, |_, _| Act::Hold);
    at.hook("t1", "http://127.0.0.1:1/").await;
    at.tell_all("t1", 1);
    at.hooks.posted(&scope("me"), "t1", Duration::from_secs(1)).await;
    // One is under way, and of four places one webhook may have two more.
    at.tell_all("t1", 9);
    let told = Told { taken: 3, dropped: 7, waiting: 3, ..Told::default() };
    assert_eq!(at.hooks.told(), told);
    at.hook("t2", "http://127.0.0.1:2/").await;
    at.tell_all("t2", 2);
    let told = Told { taken: 4, dropped: 8, waiting: 4, ..Told::default() };
    assert_eq!(at.hooks.told(), told);
}

#[tokio::test(start_paused = true)]
async fn bodies_that_wait_are_bounded_in_bytes() {
    let params = params::Push { queue_bytes: 1000, ..local() };
    let at = Hooks::with(&params, |_, _| Act::Hold);
    let big = "x".repeat(600);
    at.hook("t1", "http://127.0.0.1:1/").await;
    at.changed("t1", 1, &piece("t1", &big));
    at.changed("t1", 2, &piece("t1", &big));
    at.tell("t1", 3, TaskState::Completed, "end");
    let told = Told { taken: 2, dropped: 1, waiting: 2, ..Told::default() };
    assert_eq!(at.hooks.told(), told);
    // One that is larger than all the room is taken when nothing else waits.
    let at = Hooks::with(&params, |_, _| Act::Answer(200));
    at.hook("t1", "http://127.0.0.1:1/").await;
    at.changed("t1", 1, &piece("t1", &"x".repeat(5000)));
    at.done().await;
    assert_eq!(at.hooks.told(), Told { taken: 1, brought: 1, ..Told::default() });
}

#[tokio::test(start_paused = true)]
async fn no_host_gets_more_than_its_share() {
    let at = Hooks::new(|_, _| Act::Hold);
    let posts = |host: &str| at.script.seen().iter().filter(|seen| seen.url.contains(host)).count();
    for number in 0..30 {
        let task = format!("t{number}");
        at.hook(&task, &format!("http://slow.example.com/{number}")).await;
        at.tell_all(&task, 1);
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(posts("slow"), 4);
    for number in 0..9 {
        at.hook("many", &format!("http://h{number}.example.com/a")).await;
        at.hook("many", &format!("http://h{number}.example.com/b")).await;
    }
    at.tell_all("many", 1);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((posts("slow"), posts("//h")), (4, 12));
}

#[tokio::test(start_paused = true)]
async fn an_end_waits_for_what_is_under_way_but_not_for_ever() {
    let at = Hooks::new(|number, _| if number == 0 { Act::Answer(503) } else { Act::Answer(200) });
    at.hook("t1", "http://127.0.0.1:1/").await;
    at.tell_all("t1", 3);
    assert_eq!(at.hooks.close(Duration::from_secs(10)).await, 0);
    assert_eq!(at.script.texts(), ["1", "1", "2", "3"]);
    at.tell_all("t1", 1);
    assert_eq!((at.script.seen().len(), at.hooks.told().dropped), (4, 1));

    let at = Hooks::new(|_, _| Act::Hold);
    at.hook("t1", "http://127.0.0.1:1/").await;
    at.tell_all("t1", 3);
    let began = now();
    assert_eq!(at.hooks.close(Duration::from_secs(2)).await, 3);
    assert_eq!((now() - began, at.hooks.told().dropped), (Duration::from_secs(2), 3));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!((at.script.seen().len(), at.hooks.told().waiting), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn webhooks_that_are_dropped_post_nothing_more() {
    let at = Hooks::new(|_, _| Act::Answer(503));
    at.hook("t1", "http://127.0.0.1:1/").await;
    at.tell_all("t1", 3);
    at.hooks.posted(&scope("me"), "t1", Duration::from_secs(1)).await;
    let script = at.script.clone();
    drop(at);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(script.seen().len(), 1);
}
