//! The commands.

mod a2a;
mod card;
mod completions;
mod config;
mod dev;
mod flavour;
mod infra;
mod live;
mod models;
mod new;
mod plan;
mod registry;
mod schemas;
mod serve;
mod session;
mod validate;

use mas_core::{registry::Registry, wiring::Hosting};

use crate::{
    cli::{Cli, Command},
    console,
    conversation::{Style, converse},
    exit::Exit,
    surroundings::Surroundings,
};

/// Runs the command that was given.
pub(crate) fn run(cli: Cli) -> Exit {
    let exit = dispatch(cli);
    match console::failure() {
        Some(kind) => {
            console::err(&format!("error: stdout cannot be written: {kind}\n"));
            if exit == Exit::Done { Exit::Failed } else { exit }
        }
        None => exit,
    }
}

fn dispatch(cli: Cli) -> Exit {
    let env = cli.env;
    if let Some(command) = cli.command.without_variables().filter(|_| env.is_some()) {
        console::err(&format!("error: `{command}` reads no variables, so `--env` does not go with it\n"));
        return Exit::Usage;
    }
    let around = || Surroundings::take(env.as_deref());
    match cli.command {
        Command::Validate(args) => {
            with_registry(|registry| block_on(validate::run(&args, registry, &around())))
        }
        Command::Config { command } => config::run(&command, &around()),
        Command::Registry { command } => with_registry(|registry| registry::run(&command, registry)),
        Command::Plan(args) => with_registry(|registry| block_on(plan::run(&args, registry, &around()))),
        Command::Models { command } => {
            with_registry(|registry| block_on(models::run(&command, registry, &around())))
        }
        Command::A2a { command } => block_on(a2a::run(&command, &around())),
        Command::Session { command } => block_on(session::run(&command, &around())),
        Command::Dev { command } => block_on(dev::run(&command)),
        Command::Card { command } => block_on(card::run(&command, &around())),
        Command::Flavour { command } => flavour::run(&command, &around()),
        Command::Infra { command } => infra::run(&command, &around()),
        Command::New { command } => new::run(&command),
        Command::Serve(args) => with_registry(|registry| block_on(serve::run(&args, registry, &around()))),
        Command::Schemas(args) => schemas::run(&args),
        Command::Completions { shell } => completions::run(shell),
        Command::RunMas(args) => {
            let style = Style { hosting: Hosting::Everything, speaker: None };
            with_registry(|registry| block_on(converse(&args, style, registry, &around())))
        }
        Command::Chat(args) => {
            let style = Style { hosting: Hosting::Conversation, speaker: Some("Agent") };
            with_registry(|registry| block_on(converse(&args, style, registry, &around())))
        }
    }
}

/// Runs with everything that is linked in.
fn with_registry(run: impl FnOnce(&Registry) -> Exit) -> Exit {
    match crate::linked_registry() {
        Ok(registry) => run(&registry),
        Err(errors) => {
            for error in errors {
                console::err(&format!("error[{}]: {error}\n", error.code()));
            }
            Exit::Failed
        }
    }
}

fn block_on(work: impl Future<Output = Exit>) -> Exit {
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            console::err(&format!("error: no runtime can be started: {error}\n"));
            return Exit::Failed;
        }
    };
    let exit = runtime.block_on(work);
    // A read of stdin that nobody waits for any more must not hold the program.
    runtime.shutdown_background();
    exit
}
