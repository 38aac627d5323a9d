//! Which platform and which session a command means.

use std::{path::PathBuf, sync::Arc};

use mas_comm_kit::{access::AccessFile, phases::Budget};
use mas_contracts::{BuildContext, Env, Result};
use mas_core::{
    diagnostic::{Diagnostic, Report},
    manifest::{Endpoint, InfraDocument},
};
use mas_platform::{Handle, NAME, Platform};
use serde_json::{Map, Value, json};

use super::words::invalid;
use crate::{
    cli::session::PlatformArgs, commands::infra, console, conversation::build_context, setup,
    surroundings::Surroundings,
};

/// The session, and its agent where that is known.
pub(super) struct Reached {
    pub(super) session: Arc<str>,
    pub(super) agent: Option<String>,
}

/// What a command says of the platform, as the parameters of an endpoint, with what they are built in.
///
/// # Errors
/// Infra that cannot be read, or an endpoint that is not there or is of another protocol.
pub(super) fn endpoint(args: &PlatformArgs, around: &Surroundings) -> Result<(Value, BuildContext), Report> {
    let (mut params, base) = match &args.endpoint {
        Some(name) => of_infra(name, args, around)?,
        None => (Map::new(), around.cwd.clone()),
    };
    if let Some(url) = &args.platform_url {
        params.remove("url");
        params.insert("platform_url".to_owned(), url.as_str().into());
    }
    if let Some(name) = &args.platform_token_env {
        params.remove("token_file");
        params.insert("token_env".to_owned(), name.as_str().into());
    }
    if !params.contains_key("cache")
        && let Some(path) = kept(&around.env, "runtime_access_cache.json")
    {
        params.insert("cache".to_owned(), json!({"mode": "file", "path": path}));
    }
    Ok((Value::Object(params), build_context(around, &base)))
}

fn of_infra(
    name: &str,
    args: &PlatformArgs,
    around: &Surroundings,
) -> Result<(Map<String, Value>, PathBuf), Report> {
    let refused = |what: String| {
        let mut report = Report::new();
        let at = setup::flag("--endpoint", name).at;
        report.push(Diagnostic::error("mas::platform::endpoint", &at, what));
        report
    };
    let (documents, warnings) = infra::documents(&args.infra_refs, around)?;
    console::err_report(&warnings);
    let mut rows = documents.iter().flat_map(|document| match document {
        InfraDocument::Application(application) => application.endpoints.as_slice(),
        _ => &[],
    });
    let named = |row: &&Endpoint| row.agent.value == name;
    let Some(row) = rows.rfind(named) else {
        return Err(refused(format!(
            "the infra has no endpoint `{name}`; `mas-ctl infra list` shows what is chosen"
        )));
    };
    if !matches!(&*row.protocol.value, NAME | "mainsequence") {
        let protocol = row.protocol.shown();
        return Err(refused(format!(
            "the endpoint `{name}` is of the protocol `{protocol}`, and not `{NAME}`"
        )));
    }
    if let Some(missing) = row.missing.first() {
        let variable = &missing.name;
        return Err(refused(format!(
            "the endpoint `{name}` needs the variable `{variable}`, which is not set"
        )));
    }
    let mut params = row.params.value().as_object().cloned().unwrap_or_default();
    if let Some(url) = &row.url {
        params.insert("url".to_owned(), url.value.as_str().into());
    }
    if let Some(timeout) = &row.timeout_seconds {
        params.insert("timeout".to_owned(), timeout.value.clone());
    }
    Ok((params, row.dir.clone()))
}

/// The session that a command means. A handle is remembered from its first use on.
///
/// # Errors
/// A handle that nobody knows and whose agent is not named, or what the platform says.
pub(super) async fn reach(
    platform: &Platform,
    args: &PlatformArgs,
    cx: &BuildContext,
    budget: &Budget,
) -> Result<Reached> {
    let agent = args.target_agent_uid.clone();
    if is_uuid(&args.session) {
        if args.name.is_some() || args.parent_session_uid.is_some() {
            return Err(invalid("--name and --parent-session-uid go with a handle, and this is a session"));
        }
        return Ok(Reached { session: args.session.as_str().into(), agent });
    }
    let handle = &args.session;
    let file = kept(&cx.env, "a2a_handle_cache.json").map(|path| AccessFile::new(path, cx.clock.clone()));
    let key = platform.key(handle);
    let known = file.as_ref().and_then(|file| match file.get(&key) {
        Ok(known) => known,
        Err(error) => {
            tracing::warn!("{error}");
            None
        }
    });
    let text = |name: &str| known.as_ref()?.get(name)?.as_str().map(str::to_owned);
    if let (Some(session), Some(of)) = (text("agent_session_uid"), text("agent_uid"))
        && agent.as_ref().is_none_or(|agent| *agent == of)
    {
        return Ok(Reached { session: session.into(), agent: Some(of) });
    }
    let Some(agent_uid) = agent else {
        return Err(invalid(&format!(
            "the handle `{handle}` was not used here before: name its agent by --target-agent-uid"
        )));
    };
    let wanted = Handle {
        agent_uid: agent_uid.clone(),
        handle: handle.clone(),
        session_name: args.name.clone(),
        parent_session_uid: args.parent_session_uid.clone(),
    };
    let session = platform.session(&wanted, budget).await?;
    if let Some(file) = file {
        let entry = json!({"handle": handle, "agent_uid": agent_uid, "agent_session_uid": *session, "name": args.name});
        if let Err(error) = file.put(&key, entry, None).await {
            tracing::warn!("{error}");
        }
    }
    Ok(Reached { session, agent: Some(agent_uid) })
}

/// A file that is kept between runs: `$XDG_STATE_HOME/mas/platform`, else below `~/.local/state`.
fn kept(env: &Env, name: &str) -> Option<PathBuf> {
    let state = match (env.get("XDG_STATE_HOME"), env.get("HOME")) {
        (Some(state), _) => PathBuf::from(state),
        (None, Some(home)) => PathBuf::from(home).join(".local/state"),
        (None, None) => return None,
    };
    Some(state.join("mas/platform").join(name))
}

/// Whether a text is a UUID, and so the uid of a session.
fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    lengths == [8, 4, 4, 4, 12] && groups.iter().all(|group| group.chars().all(|c| c.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::is_uuid;

    #[test]
    fn a_uuid_is_told_from_a_handle() {
        assert!(
            is_uuid("3f1cc452-43ec-49cb-b2ba-87dbac164d29")
                && is_uuid("3F1CC452-43EC-49CB-B2BA-87DBAC164D29")
        );
        for handle in
            ["", "weekly", "3f1cc452-43ec-49cb-b2ba-87dbac164d2", "3f1cc452-43ec-49cb-b2ba-87dbac164d2g"]
        {
            assert!(!is_uuid(handle), "{handle}");
        }
    }
}
