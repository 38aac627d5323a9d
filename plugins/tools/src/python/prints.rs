//! What tools print.

use std::sync::Arc;

use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader},
    task::JoinHandle,
};

use crate::secrets::Secrets;

/// The longest piece that is logged in one go.
const LONGEST: u64 = 4096;
/// How much of the end is told when the process ends.
const TAIL: usize = 2048;
/// How much of it is kept, so that a secret in what is told is whole.
const KEPT: usize = 8 * TAIL;

/// Logs what is read, line by line; at its end gives the last of it.
pub(super) fn collect<R: AsyncRead + Unpin + Send + 'static>(
    output: R,
    secrets: Arc<Secrets>,
) -> JoinHandle<String> {
    tokio::spawn(async move {
        let mut lines = BufReader::new(output);
        let (mut last, mut whole) = (Vec::new(), true);
        let mut begun = String::new();
        let mut piece = Vec::new();
        while let Ok(1..) = (&mut lines).take(LONGEST).read_until(b'\n', &mut piece).await {
            begun.push_str(&String::from_utf8_lossy(&piece));
            begun = if piece.ends_with(b"\n") {
                log(&secrets.hide(begun));
                String::new()
            } else {
                let (shown, waiting) = secrets.settled(begun);
                log(&shown);
                waiting
            };
            last.append(&mut piece);
            let surplus = last.len().saturating_sub(KEPT);
            whole &= surplus == 0;
            last.drain(..surplus);
        }
        log(&secrets.hide(begun));
        secrets.tail(&last, whole, TAIL)
    })
}

fn log(text: &str) {
    let text = text.trim_end();
    if !text.is_empty() {
        tracing::debug!(target: "mas::python", "{text}");
    }
}
