//! `card show`, `card sign` and `card verify`.

use std::{path::Path, time::Duration};

use mas_a2a::{
    card::{LARGEST, Signed, agent_card, check_params, sign_card, verify_card},
    client::{Options, fetch_card},
};
use mas_contracts::{Error, ErrorKind, Problem, Result};
use mas_core::{
    blueprint::Blueprint,
    diagnostic::{Diagnostic, Report, nearest},
    wiring::{Hosting, plan_exposures},
};
use serde_json::{Value, json};

use crate::{
    cli::{CardCommand, CardShowArgs, CardSignArgs, CardVerifyArgs, RouteArgs},
    console,
    conversation::build_context,
    exit::Exit,
    report::ErrorReport,
    setup,
    surroundings::Surroundings,
};

/// How long an agent may take to tell its card.
const LONGEST: Duration = Duration::from_secs(10);

/// Shows, signs or verifies a card.
pub(crate) async fn run(command: &CardCommand, around: &Surroundings) -> Exit {
    match command {
        CardCommand::Show(args) => show(args, around),
        CardCommand::Sign(args) => sign(args, around),
        CardCommand::Verify(args) => verify(args, around).await,
    }
}

fn show(args: &CardShowArgs, around: &Surroundings) -> Exit {
    let resolved = match setup::blueprint(&args.manifest, &args.team, &RouteArgs::default(), around) {
        Ok(resolved) => resolved,
        Err(report) => return setup::invalid(&report, args.json),
    };
    match card_of(&resolved.blueprint, args, around) {
        Ok(Ok(card)) => {
            console::out(&format!("{card:#}\n"));
            console::err_report(&resolved.warnings);
            Exit::Done
        }
        Ok(Err(error)) => failed(&error, args.json),
        Err(report) => setup::invalid(&report, args.json),
    }
}

/// The card that `serve` would publish.
fn card_of(
    blueprint: &Blueprint,
    args: &CardShowArgs,
    around: &Surroundings,
) -> std::result::Result<Result<Value>, Report> {
    let refuse = |diagnostic: Diagnostic| -> Report { [diagnostic].into_iter().collect() };
    let id = args.agent.as_deref().unwrap_or(&blueprint.entry.value);
    let hosted = || blueprint.agents.iter().filter(|agent| !agent.external);
    let Some(agent) = hosted().find(|agent| agent.id.value == id) else {
        let asked = setup::flag("--agent", id);
        let message = format!("there is no agent `{}` that runs here", asked.shown());
        let near = nearest(id, hosted().map(|agent| agent.id.value.as_str()));
        let help = near.map(|near| format!("did you mean `{near}`?"));
        return Err(refuse(Diagnostic::error("mas::a2a::no_agent", &asked.at, message).help_if(help)));
    };
    let exposures = plan_exposures(blueprint, Hosting::Agent(id));
    let exposure = exposures.iter().find(|exposure| exposure.endpoint.protocol.value == "a2a");
    let (mut params, base) = match exposure {
        Some(exposure) => (exposure.hosted(agent).params, exposure.endpoint.dir.as_path()),
        None => (json!({"usage": "deploy"}), around.cwd.as_path()),
    };
    if let (Some(url), Some(params)) = (&args.url, params.as_object_mut()) {
        params.insert("url".to_owned(), url.as_str().into());
    }
    let problems = check_params(&params);
    match exposure {
        Some(exposure) if !problems.is_empty() => {
            return Err(problems.into_iter().map(|problem| exposure.refused(problem)).collect());
        }
        None if args.url.is_none() => {
            let message = format!("nothing says where `{id}` is served: no endpoint of it deploys");
            let help = "say `--url`, or give it an endpoint with `usage: deploy` in an infra Application";
            return Err(refuse(Diagnostic::error("mas::a2a::no_endpoint", &agent.at, message).help(help)));
        }
        _ => {}
    }
    let card = agent_card(&agent.profile(), &params, &build_context(around, base));
    match (card, exposure) {
        (Err(error), Some(exposure)) if error.code() == "mas::a2a::keys" => {
            Err(refuse(exposure.refused(Problem::new(error.message()).at("a2a.signing.key"))))
        }
        (card, _) => Ok(card),
    }
}

fn sign(args: &CardSignArgs, around: &Surroundings) -> Exit {
    let signed = || -> Result<Signed> {
        let card = json_of(&args.card, around)?;
        let key = read(&args.key, around)?;
        let signed = sign_card(card, &key, args.kid.as_deref(), args.jku.as_deref());
        signed.map_err(|error| match &*error.code() {
            "mas::a2a::keys" => of_file(&args.key, &error),
            _ => of_file(&args.card, &error),
        })
    };
    match signed() {
        Ok(Signed { card, public_key }) if args.json => {
            console::out_json(&json!({"card": card, "public_key": public_key}));
            Exit::Done
        }
        Ok(Signed { card, .. }) => {
            console::out(&format!("{card:#}\n"));
            Exit::Done
        }
        Err(error) => failed(&error, args.json),
    }
}

async fn verify(args: &CardVerifyArgs, around: &Surroundings) -> Exit {
    let verified = async {
        let mut keys = Vec::new();
        for path in &args.keys {
            let key = read(path, around)?;
            keys.push(key);
        }
        let is_address = args.card.starts_with("http://") || args.card.starts_with("https://");
        let card = if is_address {
            let options = Options { timeout: LONGEST, ..Options::default() };
            fetch_card(&args.card, &options, &build_context(around, &around.cwd)).await?
        } else {
            json_of(Path::new(&args.card), around)?
        };
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        verify_card(&card, &keys).map_err(|error| {
            // Which of the key files it is, is said where there is only one.
            match (&*error.code(), args.keys.as_slice()) {
                ("mas::a2a::keys", [one]) => of_file(one, &error),
                ("mas::a2a::keys", _) => error,
                _ => of_file(Path::new(&args.card), &error),
            }
        })
    };
    match verified.await {
        Ok(found) if args.json => {
            console::out_json(&json!({
                "status": "verified",
                "signature": found.signature,
                "kid": found.kid,
                "algorithm": found.algorithm,
                "without_empty": found.without_empty,
            }));
            Exit::Done
        }
        Ok(found) => {
            let (kid, algorithm) = (&found.kid, found.algorithm);
            let mut text =
                format!("signatures[{}] is right: {algorithm} by the key {kid}\n", found.signature);
            if found.without_empty {
                text.push_str("It does not cover members that are empty, as the official SDKs sign.\n");
            }
            console::out(&text);
            Exit::Done
        }
        Err(error) => failed(&error, args.json),
    }
}

/// Reads a file of 1 MiB at most.
fn read(path: &Path, around: &Surroundings) -> Result<String> {
    use std::io::Read;
    let refused = |problem: String| {
        let message = format!("{} cannot be read: {problem}", path.display());
        Error::invalid(message).with_code("mas::a2a::file")
    };
    let mut text = String::new();
    let file = std::fs::File::open(around.cwd.join(path)).map_err(|error| refused(error.to_string()))?;
    let most = u64::try_from(LARGEST).unwrap_or(u64::MAX);
    file.take(most.saturating_add(1))
        .read_to_string(&mut text)
        .map_err(|error| refused(error.to_string()))?;
    if text.len() > LARGEST {
        return Err(refused("it is larger than 1 MiB".to_owned()));
    }
    Ok(text)
}

fn json_of(path: &Path, around: &Surroundings) -> Result<Value> {
    let text = read(path, around)?;
    serde_json::from_str(&text).map_err(|error| {
        let place = format!("{}:{}:{}", path.display(), error.line(), error.column());
        Error::invalid(format!("{place}: it is no JSON: {error}")).with_code("mas::a2a::card")
    })
}

fn of_file(path: &Path, error: &Error) -> Error {
    let message = format!("{}: {}", path.display(), error.message());
    Error::new(error.kind(), message).with_code(error.code().into_owned())
}

/// Ends a command with an error: 3 where what was given is wrong, 1 where a peer fails or a signature is not right.
fn failed(error: &Error, json: bool) -> Exit {
    if json {
        console::out_json(&json!({"status": "failed", "error": ErrorReport::from(error)}));
    } else {
        console::err(&format!("error[{}]: {error:#}\n", error.code()));
    }
    let is_wrong = error.kind() == ErrorKind::Invalid && error.code() != "mas::a2a::signature";
    if is_wrong { Exit::Invalid } else { Exit::Failed }
}
