//! What endpoints claim, and whether all of it can be had.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use mas_contracts::{AgentExposeContract, BuildContext, Category, Claim, HostedEndpoint};
use serde_json::Value;

use crate::{
    blueprint::EndpointBlueprint,
    diagnostic::{Diagnostic, Report},
    registry::Registry,
    wiring::{Wiring, failed, refused_row},
};

/// An endpoint to be bound.
pub(super) struct Member<'a> {
    pub(super) row: &'a EndpointBlueprint,
    pub(super) hosted: HostedEndpoint,
    pub(super) claims: Vec<Claim>,
}

/// Checks that what a wiring exposes can be bound together. Nothing is opened for it.
///
/// # Errors
/// Every problem at its place, as of [`ExposurePlan::of`](super::ExposurePlan::of).
pub fn check_sockets(
    wiring: &Wiring<'_>,
    registry: &Registry,
    build: &BuildContext,
    foreground: bool,
) -> std::result::Result<(), Report> {
    let mut report = Report::new();
    claimed(wiring, registry, build, foreground, &mut report);
    report.sorted().into_result(())
}

/// The protocols by which agents are exposed.
pub(super) type Contracts<'a> = HashMap<&'a str, Arc<dyn AgentExposeContract>>;

/// What a wiring exposes, the entry agent first, and by which protocols.
pub(super) fn claimed<'a, 'w>(
    wiring: &'w Wiring<'a>,
    registry: &'w Registry,
    build: &BuildContext,
    foreground: bool,
    report: &mut Report,
) -> (Vec<(&'w str, Member<'a>)>, Contracts<'w>) {
    let mut contracts = Contracts::new();
    let mut members: Vec<(&'w str, Member<'a>)> = Vec::new();
    for exposure in &wiring.exposures {
        let row = exposure.endpoint;
        let Some(agent) = wiring.blueprint.agent(&row.agent.value) else { continue };
        let protocol = registry
            .find(Category::AgentExpose, &row.protocol.value)
            .map_or(row.protocol.value.as_str(), |found| &found.name);
        let contract = match contracts.get(protocol) {
            Some(contract) => contract.clone(),
            None => match registry.build_agent_expose(protocol, build, &Value::Null) {
                Ok(contract) => contracts.entry(protocol).or_insert(contract).clone(),
                Err(error) => {
                    report.push(failed(&row.protocol.at, &format!("the exposure `{protocol}`"), &error));
                    continue;
                }
            },
        };
        let mut hosted = exposure.hosted(agent);
        if hosted.base.as_os_str().is_empty() {
            hosted.base.clone_from(&build.base);
        }
        match contract.claims(&hosted, foreground) {
            Ok(claims) => members.push((protocol, Member { row, hosted, claims })),
            Err(problems) => {
                problems.into_iter().for_each(|problem| report.push(refused_row(row, problem)));
            }
        }
    }
    // The entry agent first: it owns the root of what it shares.
    members.sort_by_key(|(_, member)| !member.hosted.entry);
    check_claims(&members, report);
    (members, contracts)
}

/// A socket, so that two ways to write one are one.
pub(super) fn socket_of(claim: &Claim) -> (String, u16) {
    let host = claim.host.to_ascii_lowercase();
    (if host == "localhost" { "127.0.0.1".to_owned() } else { host }, claim.port)
}

fn check_claims(members: &[(&str, Member<'_>)], report: &mut Report) {
    let mut told = HashSet::new();
    let all = || {
        members
            .iter()
            .flat_map(|(protocol, member)| member.claims.iter().map(move |claim| (*protocol, member, claim)))
    };
    for (at, (protocol, member, claim)) in all().enumerate() {
        for (other_protocol, other, known) in all().take(at) {
            let problem =
                conflict((protocol, claim), (other_protocol, known)).or_else(|| disagreement(claim, known));
            let Some((code, what, help)) = problem.filter(|_| !std::ptr::eq(member, other)) else { continue };
            let names = format!("`{}` and `{}`", other.row.agent.shown(), member.row.agent.shown());
            let message = format!("{names} {what}");
            // They may share more than one way.
            if !told.insert(message.clone()) {
                continue;
            }
            report.push(
                Diagnostic::error(code, &member.row.at, message)
                    .says("claims it too")
                    .label(&other.row.at, "claims it here")
                    .help(help.replace("{agent}", member.row.agent.shown())),
            );
        }
    }
}

/// Why two claims cannot both be met, and what to do.
fn conflict(
    (protocol, claim): (&str, &Claim),
    (other, known): (&str, &Claim),
) -> Option<(&'static str, String, String)> {
    let (host, port) = socket_of(claim);
    let (known_host, known_port) = socket_of(known);
    if port != known_port {
        return None;
    }
    if host != known_host {
        let anywhere = |host: &str| matches!(host, "0.0.0.0" | "::" | "[::]");
        if port == 0 || !(anywhere(&host) || anywhere(&known_host)) {
            return None;
        }
        let what =
            format!("claim port {port} on `{known_host}` and on `{host}`, one of which holds the other");
        let help = "write the same host in both `a2a.listen`, or choose another port".to_owned();
        return Some(("mas::exposure::two_hosts", what, help));
    }
    if protocol != other {
        let what = format!("claim {host}:{port} for two protocols, `{other}` and `{protocol}`");
        return Some((
            "mas::exposure::two_protocols",
            what,
            "choose another port for one of them".to_owned(),
        ));
    }
    if claim.what != known.what || claim.path != known.path {
        return None;
    }
    let what = match claim.path.as_str() {
        "" => format!("both claim {host}:{port}, and neither has a path of its own"),
        path => format!("both claim `{path}` of {host}:{port}"),
    };
    let help = format!(
        "write `url: http://{host}:{port}/agents/{{agent}}` for the second, or choose another port for it"
    );
    Some(("mas::exposure::one_socket", what, help))
}

/// What two claims of one socket say differently of it.
fn disagreement(claim: &Claim, known: &Claim) -> Option<(&'static str, String, String)> {
    if socket_of(claim) != socket_of(known) {
        return None;
    }
    let theirs = |parameter| known.terms.iter().find(|term| term.parameter == parameter);
    let (mine, other) = claim.terms.iter().find_map(|term| {
        theirs(term.parameter).filter(|other| other.value != term.value).map(|other| (term, other))
    })?;
    let (host, port) = socket_of(claim);
    let what = format!(
        "share {host}:{port}, which has one `{}`, and say `{}` and `{}`",
        mine.parameter, other.value, mine.value
    );
    let help = "say the same in both, or choose another port for one of them".to_owned();
    Some(("mas::exposure::terms", what, help))
}
