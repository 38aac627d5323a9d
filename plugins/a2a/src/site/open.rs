//! Sockets bound, agents seated, and both ended again.

use std::{collections::HashMap, net::SocketAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures_util::future::{join, join_all};
use mas_contracts::{BuildContext, Clock, Error, Exposure, HostedEndpoint, Result, Served, Serving};

use super::{
    claim,
    cors::Origins,
    counts::Counts,
    front::{Front, Listed, Seat},
    listener::{Bound, Listener, Terms},
    tls,
};
use crate::{
    auth::Gate,
    card::{Place, Published, Signer},
    http::Agent,
    params::{self, ApiKeyPlace, Params, Scheme},
    push::Webhooks,
    service::{OnCancel, Options, Push, Service},
};

/// How long answers may take to be sent once no turn runs any more.
const SENDING: Duration = Duration::from_secs(1);

/// How long webhooks may take to be told by then. One that is down is not waited for.
const TELLING: Duration = Duration::from_secs(2);

/// Endpoints that are served.
pub(super) struct Site {
    fronts: Vec<Arc<Front>>,
    listeners: Vec<Listener>,
    services: Vec<Arc<Service>>,
    webhooks: Vec<Arc<Webhooks>>,
    served: Vec<Served>,
    clock: Arc<dyn Clock>,
}

/// An endpoint with what has been read of it.
struct Guest<'a> {
    endpoint: &'a HostedEndpoint,
    params: Params,
    build: BuildContext,
    /// Host and port of HTTP, as declared.
    http: (String, u16),
}

/// Binds the sockets of the endpoints, the entry agent's first, and serves them.
pub(super) async fn open(serving: &Serving, endpoints: &[HostedEndpoint]) -> Result<Site> {
    let guests = endpoints.iter().map(|endpoint| Guest::of(serving, endpoint)).collect::<Result<Vec<_>>>()?;
    let counts = Arc::new(Counts::default());
    let mut bound: Vec<((String, u16), Bound)> = Vec::new();
    for guest in &guests {
        if !bound.iter().any(|(known, _)| *known == guest.http) {
            bound.push((guest.http.clone(), Bound::at(&guest.http.0, guest.http.1).await?));
        }
    }
    let mut site = Site {
        fronts: Vec::new(),
        listeners: Vec::new(),
        services: Vec::new(),
        webhooks: Vec::new(),
        served: Vec::new(),
        clock: serving.build.clock.clone(),
    };
    for (address, bound) in bound {
        let here: Vec<&Guest<'_>> = guests.iter().filter(|guest| guest.http == address).collect();
        let Some(first) = here.first() else { continue };
        let tls = match shared_tls(&here)? {
            Some(files) => Some(tls::acceptor(files, &first.build.base)?),
            None => None,
        };
        let root = root_of(&here);
        let mut seats = Vec::new();
        for (at, guest) in here.iter().enumerate() {
            let seat = guest.seat(serving, bound.socket(), root == Some(at))?;
            site.served.push(Served {
                agent: guest.endpoint.agent.clone(),
                what: "http",
                url: seat.listed.url.clone(),
                socket: bound.socket(),
            });
            site.services.push(seat.service.clone());
            site.webhooks.extend(seat.webhooks.clone());
            seats.push(Arc::new(seat));
        }
        let front = Arc::new(Front::new(seats, counts.clone()));
        let terms = Terms {
            limits: first.params.a2a.limits.clone(),
            tls,
            clock: serving.build.clock.clone(),
            counts: counts.clone(),
        };
        site.fronts.push(front.clone());
        site.listeners.push(bound.open(front, terms));
    }
    Ok(site)
}

/// Which of them owns the root: the entry agent, else the one that asks for it, else the only one.
fn root_of(here: &[&Guest<'_>]) -> Option<usize> {
    let asks = |guest: &&Guest<'_>| claim::path_of(guest.endpoint, &guest.params).is_empty();
    let entry = here.iter().position(|guest| guest.endpoint.entry);
    entry.or_else(|| here.iter().position(asks)).or_else(|| (here.len() == 1).then_some(0))
}

/// The certificate of a socket; those of one socket have to name the same.
fn shared_tls<'a>(here: &[&'a Guest<'_>]) -> Result<Option<&'a params::Tls>> {
    let files = |guest: &'a Guest<'_>| guest.params.a2a.tls.as_ref();
    let first = here.first().and_then(|guest| files(guest));
    let paths = |guest: &'a Guest<'_>| {
        files(guest).map(|tls| (guest.build.base.join(&tls.cert), guest.build.base.join(&tls.key)))
    };
    let mut all = here.iter().map(|guest| (guest.endpoint, paths(guest)));
    let Some((one, wanted)) = all.next() else { return Ok(None) };
    match all.find(|(_, other)| *other != wanted) {
        None => Ok(first),
        Some((other, _)) => {
            let (one, other) = (&one.agent, &other.agent);
            let message = format!("`{one}` and `{other}` share a socket, but not `a2a.tls`");
            Err(Error::invalid(message).with_code("mas::a2a::tls"))
        }
    }
}

impl<'a> Guest<'a> {
    fn of(serving: &Serving, endpoint: &'a HostedEndpoint) -> Result<Self> {
        let params = Params::read(&endpoint.params)?;
        let listen = params.listen().ok_or_else(|| Error::invalid("nothing says where to listen"))?;
        let build = BuildContext { base: endpoint.base.clone(), ..serving.build.clone() };
        let host =
            if listen.host.eq_ignore_ascii_case("localhost") { "127.0.0.1".to_owned() } else { listen.host };
        Ok(Self { endpoint, params, build, http: (host, listen.port) })
    }

    /// Where callers find it.
    fn place(&self, socket: SocketAddr, root: bool) -> Result<Place> {
        if let Some(place) = self.params.url.as_ref().and_then(|_| Place::declared(&self.params, false)) {
            return Ok(place);
        }
        let mut address = self
            .params
            .address()
            .ok_or_else(|| Error::internal("an endpoint without an address is bound"))?;
        address.port = socket.port();
        if !root {
            address.path = claim::below(&self.endpoint.agent);
        }
        Ok(Place::at(&address))
    }

    fn seat(&self, serving: &Serving, socket: SocketAddr, root: bool) -> Result<Seat> {
        let (endpoint, params, build) = (self.endpoint, &self.params, &self.build);
        let place = self.place(socket, root)?;
        let signer = params.a2a.signing.as_ref().map(|signing| Signer::open(signing, build)).transpose()?;
        let now = build.clock.unix_time();
        let card = Arc::new(Published::new(&endpoint.profile, params, &place, signer.as_ref(), now)?);
        let open = || Webhooks::open(&params.a2a.push, &params.a2a.keep, serving.tasks.clone(), build);
        let webhooks = card.capabilities().push_notifications.then(open).transpose()?.map(Arc::new);
        let service = Arc::new(Service::new(
            build,
            endpoint.agent.clone(),
            serving.host.clone(),
            serving.tasks.clone(),
            options(params),
            webhooks.clone().map(|webhooks| webhooks as Arc<dyn Push>),
            card.clone(),
        ));
        let profile = &endpoint.profile;
        let keys = params.a2a.security.values().filter_map(|scheme| match scheme {
            Scheme::ApiKey(key) if key.place == ApiKeyPlace::Header => Some(key.name.as_str()),
            _ => None,
        });
        Ok(Seat {
            listed: Listed {
                id: endpoint.agent.clone(),
                name: profile.name.clone(),
                description: profile.description.clone(),
                version: profile.version.clone(),
                entry: root,
                card: format!("{}/.well-known/agent-card.json", place.base),
                url: place.base,
            },
            path: claim::path_of(endpoint, params),
            agent: Arc::new(Agent {
                operations: service.clone(),
                gate: Arc::new(Gate::open(params, build)?),
                card,
                clock: build.clock.clone(),
                limits: params.a2a.limits.clone(),
            }),
            service,
            webhooks,
            cors: params.a2a.cors.as_ref().map(|cors| Origins::new(cors, keys)),
        })
    }
}

/// The limits and choices of an agent's tasks.
fn options(params: &Params) -> Options {
    let a2a = &params.a2a;
    Options {
        cancel: match a2a.cancel {
            params::Cancel::Interrupt => OnCancel::Interrupt,
            params::Cancel::Detach => OnCancel::Detach,
        },
        turns: a2a.limits.tasks,
        streams: a2a.limits.streams,
        history: a2a.keep.history,
        ..Options::default()
    }
}

#[async_trait]
impl Exposure for Site {
    fn served(&self) -> Vec<Served> {
        self.served.clone()
    }

    async fn close(&self, limit: Duration) -> Result<()> {
        self.fronts.iter().for_each(|front| front.unready());
        self.listeners.iter().for_each(Listener::drain);
        let begun = self.clock.now();
        join_all(self.services.iter().map(|service| service.close(limit))).await;
        // Who only listens to a task that waits for somebody would hold the end up for ever.
        let left = limit.saturating_sub(self.clock.now().saturating_duration_since(begun));
        let now = self.clock.now();
        let late = self.clock.sleep_until(now.checked_add(left.min(SENDING)).unwrap_or(now));
        let sent = async {
            tokio::select! {
                biased;
                _ = join_all(self.listeners.iter().map(Listener::drained)) => {}
                () = late => self.listeners.iter().for_each(Listener::end),
            }
        };
        let told = join_all(self.webhooks.iter().map(|webhooks| webhooks.close(left.min(TELLING))));
        let ((), _left) = join(sent, told).await;
        Ok(())
    }
}
