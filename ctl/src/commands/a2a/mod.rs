//! `a2a`: a client of agents elsewhere, for people.

mod show;

use std::{io::Read, time::Duration};

use mas_a2a::client::{How, Listed, Options, Remote, Updates, fetch_card};
use mas_comm_kit::{
    Secret,
    http::{HeaderText, Settings},
};
use mas_contracts::{BuildContext, Error, Part, Result, Speaker, TaskMessage, TaskState};
use serde_json::{Map, json};

use crate::{
    cli::a2a::{A2aCommand, ListArgs, RemoteArgs, RemoteCardCommand, SendArgs, TaskCommand},
    console,
    conversation::build_context,
    exit::Exit,
    stop::Stop,
    surroundings::Surroundings,
};
use show::Shown;

/// The longest text that is read from stdin: 16 MiB.
const LONGEST: u64 = 16 * 1024 * 1024;

/// Asks an agent elsewhere.
pub(crate) async fn run(command: &A2aCommand, around: &Surroundings) -> Exit {
    let cx = build_context(around, &around.cwd);
    let mut stop = Stop::new();
    let json = remote(command).json;
    let done = tokio::select! {
        biased;
        // A task that was begun goes on where it is.
        _ = stop.requested() => return Exit::Interrupted,
        done = ask(command, &cx) => done,
    };
    match done {
        Ok(exit) => exit,
        Err(error) => {
            if json {
                console::out_json(&json!({"error": {"code": error.code(), "message": error.to_string()}}));
            } else {
                console::err(&format!("error[{}]: {error:#}\n", error.code()));
            }
            Exit::Failed
        }
    }
}

fn remote(command: &A2aCommand) -> &RemoteArgs {
    match command {
        A2aCommand::Card { command: RemoteCardCommand::Get(args) } => args,
        A2aCommand::Send(args) | A2aCommand::Stream(args) => &args.remote,
        A2aCommand::Task { command } => match command {
            TaskCommand::Get(args) | TaskCommand::Cancel(args) | TaskCommand::Subscribe(args) => &args.remote,
            TaskCommand::List(args) => &args.remote,
        },
    }
}

async fn ask(command: &A2aCommand, cx: &BuildContext) -> Result<Exit> {
    let args = remote(command);
    let options = options(args, cx)?;
    if let A2aCommand::Card { .. } = command {
        console::out_json(&fetch_card(&args.url, &options, cx).await?);
        return Ok(Exit::Done);
    }
    // What is said is read first: an agent does not wait for a person who types.
    let message = match command {
        A2aCommand::Send(args) | A2aCommand::Stream(args) => Some(message(args, cx)?),
        _ => None,
    };
    let agent = Remote::connect(&args.url, &options, cx).await?;
    let shown = Shown { json: args.json };
    match (command, message) {
        (A2aCommand::Send(args), Some(message)) => Ok(shown.answer(&agent.send(message, &how(args)).await?)),
        (A2aCommand::Stream(args), Some(message)) => {
            follow(agent.stream(message, &how(args)).await?, shown).await
        }
        (A2aCommand::Task { command }, _) => match command {
            TaskCommand::Get(args) => Ok(shown.task(&agent.get(&args.id, None).await?)),
            TaskCommand::Cancel(args) => Ok(shown.task(&agent.cancel(&args.id).await?)),
            TaskCommand::Subscribe(args) => follow(agent.subscribe(&args.id).await?, shown).await,
            TaskCommand::List(args) => Ok(shown.page(&agent.list(&listed(args)?).await?)),
        },
        (A2aCommand::Card { .. } | A2aCommand::Send(_) | A2aCommand::Stream(_), _) => Ok(Exit::Done),
    }
}

async fn follow(mut updates: Updates, shown: Shown) -> Result<Exit> {
    let mut seen = show::Seen::default();
    while let Some(update) = updates.next().await? {
        shown.update(&update, &mut seen);
    }
    console::fresh_line();
    if !updates.is_whole() {
        let lost = "the stream was cut before the task was over; `a2a task get` tells what became of it";
        return Err(Error::new(mas_contracts::ErrorKind::Unavailable, lost).with_code("mas::a2a::cut"));
    }
    Ok(seen.exit())
}

fn options(args: &RemoteArgs, cx: &BuildContext) -> Result<Options> {
    let headers = args.headers.iter().map(|header| header_of(header, cx)).collect::<Result<_>>()?;
    let settings = Settings { ca_file: args.ca_file.clone(), ..Settings::default() };
    let timeout = Duration::from_secs_f64(args.timeout);
    Ok(Options {
        binding: args.binding,
        version: args.protocol,
        headers,
        timeout,
        settings,
        ..Options::default()
    })
}

fn header_of(header: &str, cx: &BuildContext) -> Result<(String, HeaderText)> {
    let wrong = |text: String| Error::invalid(text).with_code("mas::a2a::header");
    let (name, value) = header
        .split_once(':')
        .ok_or_else(|| wrong("a header is written `Name: value`; one of them has no colon".to_owned()))?;
    let (name, value) = (name.trim().to_owned(), value.trim());
    let value = match value.strip_prefix("env:") {
        Some(variable) => cx
            .env
            .get(variable)
            .ok_or_else(|| wrong(format!("`{name}`: the variable {variable} is not set")))?,
        None => value,
    };
    Ok((name, HeaderText::Secret(Secret::new(value))))
}

fn message(args: &SendArgs, cx: &BuildContext) -> Result<TaskMessage> {
    let text = if args.text == "-" {
        let mut text = String::new();
        std::io::stdin().lock().take(LONGEST).read_to_string(&mut text).map_err(|error| {
            Error::invalid(format!("stdin cannot be read: {error}")).with_code("mas::a2a::stdin")
        })?;
        text
    } else {
        args.text.clone()
    };
    let shared = |text: &Option<String>| text.as_deref().map(Into::into);
    Ok(TaskMessage {
        id: shared(&args.message_id).unwrap_or_else(|| cx.ids.next_id()),
        from: Speaker::User,
        context: shared(&args.context_id),
        task: shared(&args.task_id),
        parts: vec![Part::text(text)],
        metadata: Map::new(),
        extensions: Vec::new(),
        references: Vec::new(),
    })
}

fn how(args: &SendArgs) -> How {
    How { immediately: args.return_immediately, history_length: args.history_length, ..How::default() }
}

fn listed(args: &ListArgs) -> Result<Listed> {
    let state = match &args.state {
        None => None,
        Some(word) => Some(state_of(word).ok_or_else(|| {
            Error::invalid(format!(
                "`{word}` is no state of a task; such are working, completed, input_required"
            ))
            .with_code("mas::a2a::state")
        })?),
    };
    Ok(Listed {
        context: args.context_id.clone(),
        state,
        page_size: args.page_size,
        page_token: args.page_token.clone(),
        ..Listed::default()
    })
}

fn state_of(word: &str) -> Option<TaskState> {
    let word = word.to_ascii_lowercase().replace('-', "_");
    let word = word.strip_prefix("task_state_").unwrap_or(&word);
    serde_json::from_value(word.into()).ok()
}
