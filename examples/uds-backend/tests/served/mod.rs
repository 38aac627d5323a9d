//! Scripted agents behind a socket: the other half of the backend.

use std::{path::PathBuf, sync::Arc, time::Duration};

use mas_contracts::{
    AgentHost, CancelReason, Error, ErrorKind, Event, EventKind, EventSink, Outbound, Stop, Thread,
    ThreadName,
};
use mas_testkit::{CallContextBuilder, ScriptedHost};
use mas_uds_backend::wire::{Agent, FromPeer, Send, ToPeer};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    net::{
        UnixListener, UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::mpsc,
};

/// A socket behind which `host` answers, in a folder that lives as long as this does.
#[derive(Debug)]
pub(crate) struct Served {
    folder: tempfile::TempDir,
    serving: tokio::task::JoinHandle<()>,
}

impl Served {
    pub(crate) fn new(host: Arc<ScriptedHost>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let listener = UnixListener::bind(folder.path().join("peer.sock")).expect("it can be listened on");
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(host.clone(), stream));
            }
        });
        Self { folder, serving }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("peer.sock")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Sends text on as it comes.
#[derive(Debug)]
struct Pieces(mpsc::UnboundedSender<FromPeer>);

impl EventSink for Pieces {
    fn emit(&self, event: Event) {
        if let EventKind::TextDelta { text, .. } = event.kind {
            let _ = self.0.send(FromPeer::Text(text));
        }
    }
}

async fn serve(host: Arc<ScriptedHost>, stream: UnixStream) {
    let (from, mut to) = stream.into_split();
    let mut lines = BufReader::new(from).lines();
    let Ok(Some(first)) = lines.next_line().await else { return };
    match serde_json::from_str(&first).expect("a line of the caller") {
        ToPeer::Probe(id) => {
            let answer = match host.describe(&id) {
                Some(agent) => FromPeer::Agent(Agent { name: agent.name, version: Some(agent.version) }),
                None => FromPeer::Error(Error::new(ErrorKind::NotFound, format!("no agent `{id}` here"))),
            };
            say(&mut to, &answer).await;
        }
        ToPeer::Send(send) => answer(&host, send, lines, to).await,
        ToPeer::Stop(_) => panic!("nothing was said that could stop"),
    }
}

async fn answer(
    host: &ScriptedHost,
    send: Send,
    mut lines: Lines<BufReader<OwnedReadHalf>>,
    mut to: OwnedWriteHalf,
) {
    let (pieces, mut said) = mpsc::unbounded_channel();
    let cx = CallContextBuilder::new("caller")
        .sink(Arc::new(Pieces(pieces)))
        .timeout(Duration::from_millis(send.budget_ms))
        .build();
    let thread = Thread { parent: send.conversation, name: ThreadName::Main };
    let message = Outbound { parts: send.parts, message_id: send.message, thread, task: send.task };
    let stopped = async {
        let line = lines.next_line().await.ok().flatten();
        let stop =
            line.map_or(ToPeer::Stop(Stop::Cancel), |line| serde_json::from_str(&line).expect("a line"));
        if stop == ToPeer::Stop(Stop::Cancel) {
            cx.cancel().cancel(CancelReason::Abandoned);
        }
        std::future::pending::<()>().await;
    };
    let work = host.run(&cx, &send.to, message);
    let streaming = async {
        while let Some(piece) = said.recv().await {
            say(&mut to, &piece).await;
        }
    };
    let result = tokio::select! {
        result = work => result,
        () = stopped => unreachable!(),
        () = streaming => unreachable!(),
    };
    while let Ok(piece) = said.try_recv() {
        say(&mut to, &piece).await;
    }
    let last = match result {
        Ok(reply) => FromPeer::Reply(Box::new(reply)),
        Err(error) => FromPeer::Error(error),
    };
    say(&mut to, &last).await;
}

async fn say(to: &mut OwnedWriteHalf, line: &FromPeer) {
    let mut text = serde_json::to_vec(line).expect("JSON");
    text.push(b'\n');
    // A caller that went away hears nothing.
    let _ = to.write_all(&text).await;
}
