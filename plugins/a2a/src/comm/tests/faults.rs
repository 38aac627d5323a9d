//! A thousand schedules of faults between the backend and agents that are served here, over real sockets, each from a
//! seed: nothing is executed twice, no send outlasts its time, and no end is lost of a task that was named.

use std::{net::SocketAddr, time::Duration};

use futures_util::StreamExt;
use mas_comm_kit::retry::Jitter;
use mas_contracts::{
    AgentCommContract, End, Error, ErrorKind, Outbound, Part, Peer, Reply, TaskState, Thread, ThreadName,
};
use mas_testkit::{Behaviour, RecordingSink, ScriptedHost, build_context};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
};

use super::{Comm, comm, context, serve, url_of};
use crate::client::{self, Options};

const SCHEDULES: u64 = 1000;

/// How many run at once.
const AT_ONCE: usize = 48;

/// How long a send may take; every fault is over long before.
const BUDGET: Duration = Duration::from_secs(30);

/// By how much it may be missed on a machine that has other things to do.
const LATE: Duration = Duration::from_secs(5);

/// What happens to a connection.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// It is closed before anything goes through.
    Closed,
    /// It is cut after so many bytes of the request.
    CutUp(usize),
    /// It is cut after so many bytes of the answer.
    CutDown(usize),
    /// It falls silent after so many bytes of the answer, and is cut a while later.
    Silent(usize),
    /// It takes this long to get through.
    Late(Duration),
    /// What is sent arrives twice, over two connections.
    Twice,
    /// The next connection gets through before it.
    Overtaken,
}

struct Dice(Jitter);

impl Dice {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is below the limit")]
    fn below(&mut self, limit: u32) -> usize {
        (self.0.next() * f64::from(limit)) as usize
    }

    fn fault(&mut self) -> Fault {
        match self.below(8) {
            0 => Fault::Closed,
            1 => Fault::CutUp(self.below(1500)),
            2 | 3 => Fault::CutDown(self.below(3000)),
            4 => Fault::Silent(self.below(3000)),
            5 => Fault::Late(Duration::from_millis(u64::try_from(self.below(100)).unwrap_or(0))),
            6 => Fault::Twice,
            _ => Fault::Overtaken,
        }
    }
}

/// A way to `target` on which the first connections meet with faults. Returns where it begins; it is there as long as
/// what is returned beside.
async fn proxy(target: SocketAddr, mut faults: Vec<Fault>) -> (SocketAddr, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let here = listener.local_addr().unwrap();
    let running = tokio::spawn(async move {
        let mut relays = tokio::task::JoinSet::new();
        let mut overtaken: Option<oneshot::Sender<()>> = None;
        while let Ok((client, _)) = listener.accept().await {
            if let Some(before) = overtaken.take() {
                // It goes on a little after this one.
                relays.spawn(async move {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    let _ = before.send(());
                });
            }
            let fault = faults.pop();
            let turn = matches!(fault, Some(Fault::Overtaken)).then(|| {
                let (go, wait) = oneshot::channel();
                overtaken = Some(go);
                wait
            });
            relays.spawn(async move {
                if let Some(turn) = turn {
                    let _ = tokio::time::timeout(Duration::from_millis(50), turn).await;
                }
                relay(client, target, fault).await;
            });
        }
    });
    (here, running)
}

async fn relay(mut client: TcpStream, target: SocketAddr, fault: Option<Fault>) {
    match fault {
        Some(Fault::Closed) => return,
        Some(Fault::Late(late)) => tokio::time::sleep(late).await,
        _ => {}
    }
    let Ok(mut server) = TcpStream::connect(target).await else { return };
    let mut second = match fault {
        Some(Fault::Twice) => TcpStream::connect(target).await.ok(),
        _ => None,
    };
    let (mut up, mut down) = (0, 0);
    let (mut asked, mut answered) = ([0; 4096], [0; 4096]);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(n @ 1..) = read else { return };
                let most = if let Some(Fault::CutUp(most)) = fault { most } else { usize::MAX };
                let through = n.min(most.saturating_sub(up));
                if server.write_all(&asked[..through]).await.is_err() || through < n {
                    return;
                }
                up += through;
                if let Some(second) = &mut second {
                    let _ = second.write_all(&asked[..n]).await;
                }
            }
            read = server.read(&mut answered) => {
                let Ok(n @ 1..) = read else { return };
                let most = match fault {
                    Some(Fault::CutDown(most) | Fault::Silent(most)) => most,
                    _ => usize::MAX,
                };
                let through = n.min(most.saturating_sub(down));
                if client.write_all(&answered[..through]).await.is_err() {
                    return;
                }
                down += through;
                if through < n {
                    if matches!(fault, Some(Fault::Silent(_))) {
                        tokio::time::sleep(Duration::from_millis(700)).await;
                    }
                    return;
                }
            }
        }
    }
}

/// The card of an agent, with all its addresses led through a proxy.
fn through(card: &Value, from: SocketAddr, to: SocketAddr) -> Value {
    let text = card.to_string().replace(&from.to_string(), &to.to_string());
    serde_json::from_str(&text).unwrap()
}

fn client_of(card: &Value, binding: &str) -> Value {
    json!({
        "card": card,
        "bindings": [binding],
        "stream_idle": 0.3,
        "reconnect": {"attempts": 3, "backoff": [0.02, 0.1]},
        "poll": {"initial": 0.02, "factor": 1.5, "max": 0.2, "tolerate": 6},
        "cancel_timeout": 2,
        // The certificates of the machine are not needed, and take long to read.
        "verify": false,
    })
}

/// The agents, their behaviour, and what a send to them ends in.
fn agents() -> [(&'static str, Behaviour); 3] {
    let pieces = ["one ", "two ", "three"].map(str::to_owned).to_vec();
    [
        ("peer", Behaviour::Stream(pieces, Duration::from_millis(15))),
        ("asks", Behaviour::Ask("Which day?".to_owned())),
        ("fails", Behaviour::Fail(TaskState::Failed, "quota".to_owned())),
    ]
}

fn is_right(agent: &str, reply: &Reply) -> bool {
    match (agent, &reply.end) {
        ("peer", End::Done) => &*reply.text() == "one two three",
        ("asks", End::Interrupted(asked)) => &*asked.question == "Which day?",
        ("fails", End::Failed(TaskState::Failed)) => &*reply.text() == "quota",
        _ => false,
    }
}

struct Played {
    seed: u64,
    agent: &'static str,
    what: String,
    result: Result<Reply, Error>,
    took: Duration,
}

async fn play(seed: u64, cards: &[(&'static str, Value)], http: SocketAddr, grpc: SocketAddr) -> Played {
    let mut dice = Dice(Jitter::seeded(seed));
    let (agent, card) = &cards[usize::from(dice.below(4) == 0) * (1 + dice.below(2))];
    let (binding, target) = [("jsonrpc", http), ("http+json", http), ("grpc", grpc)][dice.below(3)];
    let faults: Vec<_> = (0..=dice.below(4)).map(|_| dice.fault()).collect();
    let what = format!("{agent} over {binding}, {faults:?}");
    let (here, way) = proxy(target, faults).await;
    let card = through(card, target, here);
    let url = format!("http://{here}/agents/{agent}");
    let backend: Comm = comm(&url, &client_of(&card, binding));
    let cx = context(BUDGET, &RecordingSink::new());
    let id = format!("m{seed}");
    let thread = Thread { parent: "parent".into(), name: ThreadName::Named(id.as_str().into()) };
    let message =
        Outbound { parts: vec![Part::text(id.as_str())], message_id: id.into(), thread, task: None };
    let began = tokio::time::Instant::now();
    let result = backend.send(&cx, &Peer { id: (*agent).into() }, message).await;
    let took = began.elapsed();
    backend.close().await.unwrap();
    way.abort();
    Played { seed, agent, what, result, took }
}

#[tokio::test]
async fn a_thousand_schedules_of_faults_over_sockets() {
    let host = ScriptedHost::new(agents());
    let site = serve(&host).await;
    let socket = |what: &str| site.served().into_iter().find(|served| served.what == what).unwrap().socket;
    let (http, grpc) = (socket("http"), socket("grpc"));
    let mut cards = Vec::new();
    for (agent, _) in agents() {
        let cx = build_context("/".as_ref(), &[]);
        let card = client::fetch_card(&url_of(&*site, agent), &Options::default(), &cx).await.unwrap();
        cards.push((agent, card));
    }
    let cards = &cards;
    let played = futures_util::stream::iter((0..SCHEDULES).map(|seed| play(seed, cards, http, grpc)));
    let played: Vec<Played> = played.buffer_unordered(AT_ONCE).collect().await;
    let mut runs = std::collections::HashMap::new();
    for seen in host.seen() {
        *runs.entry(seen.text).or_insert(0u32) += 1;
    }
    let mut answered = 0;
    for Played { seed, agent, what, result, took } in played {
        let runs = runs.get(&format!("m{seed}")).copied().unwrap_or(0);
        assert!(runs <= 1, "{seed}, {what}: executed {runs} times");
        assert!(took < BUDGET + LATE, "{seed}, {what}: it took {took:?}");
        match result {
            Ok(reply) => {
                assert!(is_right(agent, &reply) && runs == 1, "{seed}, {what}: {reply:?}");
                answered += 1;
            }
            Err(error) => {
                let named = error.context().any(|(key, _)| key == "task");
                assert!(!named, "{seed}, {what}: the end is lost: {error:?}");
                assert!(runs == 0 || !error.may_resend(), "{seed}, {what}: {error:?}");
                assert!(error.kind() != ErrorKind::Internal, "{seed}, {what}: {error:?}");
            }
        }
    }
    // Some are cut before anything is known of them, by far not all.
    assert!(answered > SCHEDULES / 3, "only {answered} were answered");
}
