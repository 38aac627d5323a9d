//! `dev`: stand-ins for what is elsewhere, so that flows can be tried on one machine.

use std::{path::Path, sync::Arc};

use mas_core::clock::TokioClock;
use mas_platform_stand_in::{Server, StandIn, World};

use crate::{
    cli::dev::{DevCommand, DevPlatformArgs},
    console,
    exit::Exit,
    stop::Stop,
};

/// Runs a stand-in.
pub(crate) async fn run(command: &DevCommand) -> Exit {
    let DevCommand::Platform(args) = command;
    let mut stop = Stop::new();
    let server = match open(args).await {
        Ok(server) => server,
        Err(problem) => {
            console::err(&format!("error[mas::dev::platform]: {problem}\n"));
            return Exit::Failed;
        }
    };
    console::out(&told(&server, &args.token));
    stop.requested().await;
    Exit::Done
}

async fn open(args: &DevPlatformArgs) -> Result<Server, String> {
    let world = args.script.as_deref().map(world).transpose()?;
    let server = Server::start(args.token.clone(), args.port, Arc::new(TokioClock));
    let server =
        server.await.map_err(|error| format!("port {} cannot be listened on: {error}", args.port))?;
    if let Some(world) = world {
        server.stand_in().load(world);
    }
    Ok(server)
}

fn world(file: &Path) -> Result<World, String> {
    let shown = file.display();
    let text =
        std::fs::read(file).map_err(|error| format!("the script `{shown}` cannot be read: {error}"))?;
    serde_json::from_slice(&text).map_err(|error| format!("the script `{shown}` is not sound: {error}"))
}

fn told(server: &Server, token: &str) -> String {
    let (platform, runtime, session) = (server.platform_url(), server.runtime_url(), StandIn::SESSION);
    format!(
        "The platform is at {platform}, its runtime at {runtime}. Ctrl-C ends them.\n\
         Send to its session:\n  \
         PLATFORM_TOKEN={token} mas-ctl session send {session} --message hello --platform-url {platform} --platform-token-env PLATFORM_TOKEN\n\
         Say what happens, and see what was asked:\n  \
         curl {platform}/_control/script -d '{{\"access\": [{{\"what\": {{\"blocked\": {{\"state\": \"waking\", \"retry_after_ms\": 1500}}}}}}]}}'\n  \
         curl {platform}/_control/calls\n"
    )
}
