//! `session`: sends to agent sessions of a managed platform, for people and scripts.
//!
//! stdout is the answer as it came, always JSON. A failure is told once on stderr, with the id of the message, so that
//! it can be sent again as the same one.

mod target;
mod words;

use std::sync::Arc;

use mas_comm_kit::phases::{Budget, Phases};
use mas_contracts::{BuildContext, Error, Result};
use mas_platform::{Letter, Output, Platform, Received};

use crate::{
    cli::session::{PlatformArgs, SessionCommand, SessionSendArgs, SessionTaskArgs, SessionTaskCommand},
    console,
    exit::Exit,
    stop::Stop,
    surroundings::Surroundings,
};
use target::Reached;

/// Asks a session.
pub(crate) async fn run(command: &SessionCommand, around: &Surroundings) -> Exit {
    let mut stop = Stop::new();
    let args = match command {
        SessionCommand::Send(args) => &args.platform,
        SessionCommand::Task { command } => &task_of(command).platform,
    };
    let (params, cx) = match target::endpoint(args, around) {
        Ok(found) => found,
        // The contract of this command has one code for every failure.
        Err(report) => {
            console::err_report(&report);
            return Exit::Failed;
        }
    };
    let mut asked = Asked { command, args, message_id: None };
    let done = tokio::select! {
        biased;
        // What was sent goes on where it is.
        _ = stop.requested() => None,
        done = asked.ask(&params, &cx) => Some(done),
    };
    let exit = match done {
        Some(Ok(received)) => {
            console::out(&format!("{}\n", String::from_utf8_lossy(received.body()).trim()));
            return if words::has_failed(&received) { Exit::Failed } else { Exit::Done };
        }
        Some(Err(error)) => {
            console::err(&format!("error[{}]: {error:#}\n", error.code()));
            Exit::Failed
        }
        None => Exit::Interrupted,
    };
    if let Some(id) = &asked.message_id {
        console::err(&format!("A2A message id for request retry: {id}\n"));
    }
    exit
}

fn task_of(command: &SessionTaskCommand) -> &SessionTaskArgs {
    match command {
        SessionTaskCommand::Get(args) | SessionTaskCommand::Wait(args) | SessionTaskCommand::Cancel(args) => {
            args
        }
    }
}

/// What was asked for, and how far it is.
struct Asked<'a> {
    command: &'a SessionCommand,
    args: &'a PlatformArgs,
    /// From the moment that there is one.
    message_id: Option<Arc<str>>,
}

impl Asked<'_> {
    async fn ask(&mut self, params: &serde_json::Value, cx: &BuildContext) -> Result<Received> {
        let platform = Platform::of_endpoint(params, cx)?;
        let letter = match self.command {
            SessionCommand::Send(args) => Some(self.letter(args, &platform).await?),
            SessionCommand::Task { .. } => None,
        };
        let phases = self.args.timeout.map(Phases::from_secs).transpose()?;
        let budget = platform.budget(phases);
        let session = target::reach(&platform, self.args, cx, &budget).await?;
        match (self.command, letter) {
            (SessionCommand::Task { command }, _) => task(&platform, &session, command, &budget).await,
            (SessionCommand::Send(_), letter) => {
                send(&platform, &session, &letter.unwrap_or_default(), &budget).await
            }
        }
    }

    /// What is sent, which is read first: nothing is asked of the network for what cannot be sent.
    async fn letter(&mut self, args: &SessionSendArgs, platform: &Platform) -> Result<Letter> {
        let mut letter = Letter {
            message_id: args.message_id.as_deref().map(Into::into),
            kind: args.response_kind,
            ..Letter::default()
        };
        let id = platform.id_of(&letter);
        self.message_id = Some(id.clone());
        letter.message_id = Some(id);
        if args.strict_dictionary {
            letter.output = Output::Dictionary { repairs: args.json_repair_attempts };
        }
        let (args, largest) = (args.clone(), platform.terms().max_file_bytes);
        // A pipe may take its time: Ctrl-C does not wait for it.
        let read = tokio::task::spawn_blocking(move || words::parts(&args, largest));
        letter.parts = read.await.map_err(|error| Error::internal(error.to_string()))??;
        platform.check(&letter)?;
        Ok(letter)
    }
}

async fn send(platform: &Platform, reached: &Reached, letter: &Letter, budget: &Budget) -> Result<Received> {
    let profile = match (&reached.agent, letter.kind) {
        (Some(agent), mas_platform::ResponseKind::Task) => {
            Some(platform.profile(&reached.session, Some(agent), budget).await?)
        }
        _ => None,
    };
    platform.send(&reached.session, letter, profile.as_ref(), budget).await
}

async fn task(
    platform: &Platform,
    reached: &Reached,
    command: &SessionTaskCommand,
    budget: &Budget,
) -> Result<Received> {
    let (session, task) = (&reached.session, &task_of(command).task);
    match command {
        SessionTaskCommand::Get(_) => platform.task(session, task, budget).await,
        SessionTaskCommand::Wait(_) => platform.wait(session, task, budget).await,
        SessionTaskCommand::Cancel(_) => platform.cancel(session, task, budget).await,
    }
}
