use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::Stream;
use tokio::sync::oneshot;

use super::*;
use crate::{
    grpc::proto::{v1, v03},
    model::Item,
};

/// Items without an end, whose reader is told when nobody reads any more.
struct Endless {
    first: Vec<Item>,
    gone: Option<oneshot::Sender<()>>,
}

impl Stream for Endless {
    type Item = Item;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Item>> {
        self.first.pop().map_or(Poll::Pending, |item| Poll::Ready(Some(item)))
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        self.gone.take().map(|gone| gone.send(()));
    }
}

fn endless(served: &Served) -> oneshot::Receiver<()> {
    let (gone, told) = oneshot::channel();
    let mut first = crate::http::tests::items();
    first.truncate(1);
    *served.script.items.lock().unwrap() = Some(Box::pin(Endless { first, gone: Some(gone) }));
    told
}

fn subscribe() -> v1::SubscribeToTaskRequest {
    v1::SubscribeToTaskRequest { tenant: String::new(), id: "t1".into() }
}

#[tokio::test]
async fn a_stream_is_one_message_an_item() {
    let port = Port::plain().await;
    let method = format!("{}/SubscribeToTask", v1::SERVICE);
    let mut stream: Streaming<v1::StreamResponse> = port.open(&method, subscribe()).await.unwrap();
    let mut kinds = Vec::new();
    while let Some(event) = stream.message().await.unwrap() {
        kinds.push(match event.payload {
            Some(v1::Event::Task(task)) => format!("task {}", task.id),
            Some(v1::Event::ArtifactUpdate(update)) => format!("artifact {}", update.last_chunk),
            Some(v1::Event::StatusUpdate(update)) => format!("status {}", update.status.unwrap().state),
            other => format!("{other:?}"),
        });
    }
    assert_eq!(kinds, ["task t1", "artifact true", "status 3"]);
    let method = format!("{}/TaskSubscription", v03::SERVICE);
    let named = v03::Named { name: "tasks/t1".into() };
    let mut stream: Streaming<v03::StreamResponse> = port.open(&method, named).await.unwrap();
    let mut last = None;
    while let Some(event) = stream.message().await.unwrap() {
        last = event.payload;
    }
    assert!(matches!(last, Some(v03::Event::StatusUpdate(update)) if update.r#final));
    assert_eq!(port.heard("fares"), ["subscribe t1 None", "subscribe t1 None"]);
}

#[tokio::test]
async fn a_caller_that_goes_ends_its_stream() {
    let port = Port::plain().await;
    let gone = endless(&port.served["fares"]);
    let method = format!("{}/SubscribeToTask", v1::SERVICE);
    let mut stream: Streaming<v1::StreamResponse> = port.open(&method, subscribe()).await.unwrap();
    assert!(stream.message().await.unwrap().is_some());
    drop(stream);
    gone.await.expect("the items are dropped");
}

#[tokio::test]
async fn an_error_before_the_first_item_is_no_stream() {
    use crate::model::{Failure, Reason};
    let port = Port::plain().await;
    port.served["fares"].fail(Failure::new(Reason::UnsupportedOperation, "the task has ended"));
    let method = format!("{}/SubscribeToTask", v1::SERVICE);
    let status = port.open::<_, v1::StreamResponse>(&method, subscribe()).await.unwrap_err();
    assert_eq!((status.code(), status.message()), (tonic::Code::FailedPrecondition, "the task has ended"));
}

#[tokio::test(start_paused = true)]
async fn a_stream_breaks_off_at_its_deadline() {
    let served = Served::plain();
    let agents = Agents::new(served.agent.clone(), HashMap::new());
    let gone = endless(&served);
    let method = format!("{}/SubscribeToTask", v1::SERVICE);
    let body = framed(&subscribe().encode_to_vec());
    let response = answer(&agents, direct(&method, &[("grpc-timeout", "5S")], body)).await;
    let before = tokio::time::Instant::now();
    let status = status_of(response).await;
    assert_eq!(status.code(), tonic::Code::DeadlineExceeded);
    assert_eq!(before.elapsed().as_secs(), 5);
    gone.await.expect("the items are dropped");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_arrive_is_waited_for_until_the_deadline() {
    struct Never;
    impl http_body::Body for Never {
        type Data = Bytes;
        type Error = Infallible;
        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
            Poll::Pending
        }
    }
    let served = Served::plain();
    let agents = Agents::new(served.agent.clone(), HashMap::new());
    let method = format!("{}/GetTask", v1::SERVICE);
    for (headers, seconds) in [(&[("grpc-timeout", "2S")][..], 2), (&[], 30)] {
        let before = tokio::time::Instant::now();
        let request = direct(&method, headers, Bytes::new()).map(|_| Never);
        let status = status_of(answer(&agents, request).await).await;
        assert_eq!(status.code(), tonic::Code::DeadlineExceeded);
        assert_eq!(before.elapsed().as_secs(), seconds);
    }
}
