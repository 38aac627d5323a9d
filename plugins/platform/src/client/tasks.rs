//! Tasks of a session: looked at, waited for, ended.

use std::sync::Arc;

use mas_comm_kit::phases::{Budget, Phases};
use mas_contracts::{Delivery, Error, ErrorKind, Result};

use super::{A2A_JSON, At, From, Platform};
use crate::{answer::Received, kind::ResponseKind, letter};

/// What a task id must not hold, for it is a segment of a path.
const NOT_IN_IDS: [char; 5] = ['/', '?', '#', '%', ':'];

impl Platform {
    /// A task as it is.
    ///
    /// # Errors
    /// As [`send`](Self::send), and [`ErrorKind::NotFound`] for an unknown task.
    pub async fn task(&self, session: &Arc<str>, task: &str, budget: &Budget) -> Result<Received> {
        self.of_task(session, "GET", task, "", budget).await
    }

    /// Stops a task.
    ///
    /// # Errors
    /// As [`task`](Self::task).
    pub async fn cancel(&self, session: &Arc<str>, task: &str, budget: &Budget) -> Result<Received> {
        self.of_task(session, "POST", task, ":cancel", budget).await
    }

    /// Waits until a task is over or waits for somebody, and returns it as it is then. It takes no longer than the
    /// budget, nor than the terms say of it.
    ///
    /// # Errors
    /// As [`task`](Self::task); `mas::platform::task_timeout` when the time is over, and the task goes on.
    pub async fn wait(&self, session: &Arc<str>, task: &str, budget: &Budget) -> Result<Received> {
        let limit = Phases::total_of(self.terms.task_wait_timeout);
        let budget = limit.map_or(*budget, |limit| budget.child(limit, self.clock.now()));
        let pause = self.terms.task_poll_interval;
        loop {
            let received = self.task(session, task, &budget).await?;
            if received.rests() {
                return Ok(received);
            }
            let now = self.clock.now();
            if !budget.fits(pause, now) {
                let text = format!(
                    "the task `{task}` is not over yet, and the {} s for it are spent; it goes on",
                    budget.total().as_secs_f64()
                );
                return Err(Error::new(ErrorKind::Timeout, text)
                    .with_code("mas::platform::task_timeout")
                    .with_delivery(Delivery::Answered)
                    .with("task", task));
            }
            self.clock.sleep_until(now.checked_add(pause).unwrap_or(now)).await;
        }
    }

    async fn of_task(
        &self,
        session: &Arc<str>,
        method: &'static str,
        task: &str,
        verb: &str,
        budget: &Budget,
    ) -> Result<Received> {
        if task.trim().is_empty() || task.contains(NOT_IN_IDS) || task.chars().any(char::is_whitespace) {
            return Err(letter::invalid(format!("`{task}` is no id of a task")));
        }
        let path = format!("/api/a2a/v1/tasks/{task}{verb}");
        let headers = [("accept", A2A_JSON.to_owned()), ("a2a-version", "1.0".to_owned())];
        let asked = At { method, path: &path, headers: &headers, body: None };
        let grant = self.grant(session, From::Anywhere, budget).await?;
        self.at_runtime(session, &asked, ResponseKind::Task, grant, &|| true, budget).await
    }
}
