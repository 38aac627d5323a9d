//! The floor of a cold start: starts the runtime that a program of mas starts, and ends.

use std::process::ExitCode;

fn main() -> ExitCode {
    match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build() {
        Ok(runtime) => {
            runtime.block_on(async {});
            ExitCode::SUCCESS
        }
        Err(_) => ExitCode::FAILURE,
    }
}
