//! Endpoints, grouped by the sockets that they claim.

use std::{sync::Arc, time::Duration};

use futures_util::future::join_all;
use mas_contracts::{
    AgentExposeContract, BuildContext, Error, ErrorKind, Exposure, HostedEndpoint, Result, Serving,
    StoreContract, TaskStore,
};

use super::{
    claims::{Contracts, Member, claimed, socket_of},
    exposed::Exposed,
};
use crate::{
    blueprint::Blueprint,
    diagnostic::{Diagnostic, Report},
    manifest::Usage,
    registry::Registry,
    team::Team,
    wiring::{Wiring, failed},
};

/// How long a neighbour may take to say which agent it serves.
const NEIGHBOUR: Duration = Duration::from_secs(2);

/// What listens, before it does.
pub struct ExposurePlan<'a> {
    groups: Vec<Group<'a>>,
    store: Option<Arc<dyn StoreContract>>,
    build: BuildContext,
    foreground: bool,
}

/// Endpoints that are bound together.
struct Group<'a> {
    contract: Arc<dyn AgentExposeContract>,
    members: Vec<Member<'a>>,
}

impl<'a> ExposurePlan<'a> {
    /// Plans what a wiring exposes; nothing is bound. `foreground` says that the program is there to serve.
    ///
    /// # Errors
    /// Every problem at its place: a row whose claims cannot be told, one socket claimed twice.
    pub fn of(
        wiring: &Wiring<'a>,
        registry: &Registry,
        build: &BuildContext,
        foreground: bool,
    ) -> std::result::Result<Self, Report> {
        let mut report = Report::new();
        let (members, contracts) = claimed(wiring, registry, build, foreground, &mut report);
        let groups = grouped(members, &contracts);
        let store = wiring.store.as_ref().and_then(|store| {
            match registry.build_store(&store.name, build, &store.params) {
                Ok(built) => Some(built),
                Err(error) => {
                    report.push(failed(&store.at, &format!("the store `{}`", store.name), &error));
                    None
                }
            }
        });
        report.sorted().into_result(Self { groups, store, build: build.clone(), foreground })
    }

    /// Whether nothing listens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Agents with `usage: use-and-deploy` that another process serves at their socket already: they are to be
    /// used as peers. The entry agent is never among them.
    pub async fn neighbours(&self) -> Vec<Arc<str>> {
        let candidates = self.groups.iter().flat_map(|group| {
            let usable =
                |member: &&Member<'_>| member.row.usage.value == Usage::UseAndDeploy && !member.hosted.entry;
            group.members.iter().filter(usable).map(|member| (&group.contract, &member.hosted))
        });
        let asked = candidates.map(async |(contract, hosted)| {
            let clock = &self.build.clock;
            let now = clock.now();
            let late = clock.sleep_until(now.checked_add(NEIGHBOUR).unwrap_or(now));
            let served = futures_util::future::select(contract.is_served(&self.build, hosted), late).await;
            match served {
                futures_util::future::Either::Left((Ok(true), _)) => Some(hosted.agent.clone()),
                // Whatever else there is, the bind will tell.
                _ => None,
            }
        });
        join_all(asked).await.into_iter().flatten().collect()
    }

    /// Binds every socket, for the agents of `team`. When it returns, all of them listen.
    ///
    /// # Errors
    /// What could not be bound, at its place; nothing listens then.
    pub async fn bind(self, team: &Arc<Team>) -> std::result::Result<Exposed, Report> {
        let mut exposures: Vec<Box<dyn Exposure>> = Vec::new();
        let mut report = Report::new();
        let tasks = self.tasks();
        for group in &self.groups {
            let place = group.members.first().map(|member| &member.row.at);
            let bound = async {
                let serving = Serving {
                    build: BuildContext { host: team.host(), ..self.build.clone() },
                    host: team.clone(),
                    tasks: tasks.clone()?,
                    foreground: self.foreground,
                };
                let endpoints: Vec<HostedEndpoint> =
                    group.members.iter().map(|member| member.hosted.clone()).collect();
                group.contract.bind(serving, &endpoints).await
            };
            match (bound.await, place) {
                (Ok(exposure), _) => exposures.push(exposure),
                (Err(error), Some(at)) => report.push(not_bound(group, at, &error)),
                (Err(_), None) => {}
            }
        }
        report.sorted().into_result(Exposed::new(exposures))
    }

    fn tasks(&self) -> Result<Arc<dyn TaskStore>> {
        self.store.as_ref().and_then(|store| store.tasks()).ok_or_else(|| {
            Error::invalid(
                "the chosen store keeps sessions, but no tasks; `defaults.store: memory` keeps both",
            )
            .with_code("mas::exposure::store")
        })
    }
}

/// Turns the endpoints of agents that another process serves into ways to reach them.
pub fn use_as_peers(blueprint: &mut Blueprint, agents: &[Arc<str>]) {
    for row in &mut blueprint.endpoints {
        if agents.iter().any(|agent| **agent == *row.agent.value) {
            row.usage.value = Usage::Use;
        }
    }
}

fn not_bound(group: &Group<'_>, at: &crate::diagnostic::Location, error: &Error) -> Diagnostic {
    let names: Vec<String> =
        group.members.iter().map(|member| format!("`{}`", member.row.agent.shown())).collect();
    let diagnostic = failed(at, &format!("the listener of {}", names.join(", ")), error);
    if error.kind() == ErrorKind::Unavailable {
        return diagnostic
            .help("end what listens there, or choose another port: in the endpoint, or by --listen");
    }
    diagnostic
}

/// Endpoints that share a socket, however indirectly, come into one group.
fn grouped<'a>(members: Vec<(&str, Member<'a>)>, contracts: &Contracts<'_>) -> Vec<Group<'a>> {
    struct Joined<'p, 'a> {
        protocol: &'p str,
        sockets: Vec<(String, u16)>,
        members: Vec<Member<'a>>,
    }
    let mut groups: Vec<Joined<'_, 'a>> = Vec::new();
    for (protocol, member) in members {
        let mut joined =
            Joined { protocol, sockets: member.claims.iter().map(socket_of).collect(), members: Vec::new() };
        let (touched, rest): (Vec<_>, Vec<_>) = groups.into_iter().partition(|known| {
            known.protocol == protocol && known.sockets.iter().any(|socket| joined.sockets.contains(socket))
        });
        groups = rest;
        for known in touched {
            joined.sockets.extend(known.sockets);
            joined.members.extend(known.members);
        }
        joined.members.push(member);
        groups.push(joined);
    }
    let mut groups: Vec<Group<'a>> = groups
        .into_iter()
        .filter_map(|joined| {
            Some(Group { contract: contracts.get(joined.protocol)?.clone(), members: joined.members })
        })
        .collect();
    groups.sort_by_key(|group| !group.members.iter().any(|member| member.hosted.entry));
    groups
}
