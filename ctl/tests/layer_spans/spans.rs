//! `tracing`: what a log holds of an attempt.

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::FutureExt;
use mas_core::wiring::layers::{Layers, RetrySettings, wrap};
use mas_testkit::call_context;
use tracing_subscriber::fmt::format::FmtSpan;

use crate::peer::{Scripted, Turn, down, fares, message};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn each_attempt_has_a_span_that_says_how_it_ended_and_nothing_of_what_was_said() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .with_span_events(FmtSpan::NONE)
        .with_ansi(false)
        .with_target(false)
        .without_time()
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let layers =
        Layers { retry: Some(RetrySettings::default()), tracing: true, timeout: None, ..Layers::default() };
    let layered = wrap(&layers, Scripted::new([down(), Turn::Answer, Turn::Hang]));
    layered.send(&call_context(), &fares(), message("m1")).await.unwrap();
    let cx = call_context();
    let to = fares();
    let mut dropped = Box::pin(layered.send(&cx, &to, message("m2")));
    assert!((&mut dropped).now_or_never().is_none());
    tokio::time::advance(Duration::from_secs(2)).await;
    drop(dropped);
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(!log.contains("content"), "{log}");
    insta::assert_snapshot!(log);
}
