//! One endpoint, from its parameters to its seat.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use mas_contracts::{BuildContext, Error, HostedEndpoint, Result, Serving};

use super::{
    claim,
    cors::Origins,
    front::{Listed, Seat},
};
use crate::{
    auth::Gate,
    card::{Place, Published, Signer},
    http::Agent,
    params::{self, ApiKeyPlace, Params, Scheme},
    push::Webhooks,
    service::{OnCancel, Options, Push, Service},
};

/// A socket, as it is declared.
pub(super) type Socket = (String, u16);

/// An endpoint with what has been read of it.
pub(super) struct Guest<'a> {
    pub(super) endpoint: &'a HostedEndpoint,
    pub(super) params: Params,
    pub(super) build: BuildContext,
    pub(super) http: Socket,
    /// Where gRPC is listened on, if it is.
    pub(super) grpc: Option<Socket>,
}

/// Where a guest is seated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seating {
    pub(super) http: SocketAddr,
    pub(super) grpc: Option<SocketAddr>,
    /// Whether the root of the socket of HTTP is its own.
    pub(super) root: bool,
    /// Whether callers of gRPC have to name it.
    pub(super) named: bool,
}

impl<'a> Guest<'a> {
    /// Reads an endpoint.
    ///
    /// # Errors
    /// The first problem of its parameters.
    pub(super) fn of(serving: &Serving, endpoint: &'a HostedEndpoint) -> Result<Self> {
        let params = Params::read(&endpoint.params)?;
        let listen = params.listen().ok_or_else(|| Error::invalid("nothing says where to listen"))?;
        let build = BuildContext { base: endpoint.base.clone(), ..serving.build.clone() };
        let grpc = params.grpc().filter(|_| serving.foreground).map(|grpc| socket(grpc.listen));
        Ok(Self { endpoint, params, build, http: socket(listen), grpc })
    }

    /// Whether anything of it is at a socket.
    pub(super) fn is_at(&self, socket: &Socket) -> bool {
        self.http == *socket || self.grpc.as_ref() == Some(socket)
    }

    /// Where callers find it.
    fn place(&self, seating: &Seating) -> Result<Place> {
        let mut address = self
            .params
            .address()
            .ok_or_else(|| Error::internal("an endpoint without an address is bound"))?;
        if self.params.url.is_none() {
            address.port = seating.http.port();
            if !seating.root {
                address.path = claim::below(&self.endpoint.agent);
            }
        }
        let mut place = Place::at(&address);
        place.grpc = seating.grpc.map(|socket| {
            let told = self.params.grpc().and_then(|grpc| grpc.told);
            told.unwrap_or_else(|| format!("{}:{}", address.host, socket.port()))
        });
        place.tenant = seating.named.then(|| self.endpoint.agent.to_string());
        Ok(place)
    }

    /// Makes everything that the agent is served by.
    ///
    /// # Errors
    /// Which secret, key or card cannot be had.
    pub(super) fn seat(&self, serving: &Serving, seating: &Seating) -> Result<Seat> {
        let (endpoint, params, build) = (self.endpoint, &self.params, &self.build);
        let place = self.place(seating)?;
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
                entry: seating.root,
                card: format!("{}/.well-known/agent-card.json", place.base),
                url: place.base,
                grpc: place.grpc,
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
        turn: a2a.limits.turn_time(),
        queue: a2a.limits.waiting,
        parts: a2a.limits.parts,
        metadata: a2a.limits.metadata,
        streams: a2a.limits.streams,
        events: a2a.keep.events,
        event_bytes: a2a.keep.event_bytes,
        history: a2a.keep.history,
        kinds: a2a.response_kinds.clone(),
        message_limit: a2a.message_limit.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
        ..Options::default()
    }
}

/// One way to write a socket.
fn socket(listen: params::Listen) -> Socket {
    let local = listen.host.eq_ignore_ascii_case("localhost");
    (if local { "127.0.0.1".to_owned() } else { listen.host }, listen.port)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn limits_and_what_is_kept_reach_the_tasks() {
        let a2a = json!({
            "cancel": "detach",
            "limits": {
                "parts": 1, "metadata": 2, "streams": 3, "tasks": 4, "waiting": 5, "turn_seconds": 6,
            },
            "keep": {"history": 7, "events": 8, "event_bytes": 9},
        });
        let params = Params::read(&json!({"url": "http://h:1", "a2a": a2a})).unwrap();
        let wanted = Options {
            cancel: OnCancel::Detach,
            parts: 1,
            metadata: 2,
            streams: 3,
            turns: 4,
            queue: 5,
            turn: std::time::Duration::from_secs(6),
            history: 7,
            events: 8,
            event_bytes: 9,
            ..Options::default()
        };
        assert_eq!(options(&params), wanted);
        let defaults = Params::read(&json!({"url": "http://h:1"})).unwrap();
        let Options { turns, streams, .. } = options(&defaults);
        assert_eq!(options(&defaults), Options { turns, streams, ..Options::default() });
    }
}
