//! Sockets bound, agents seated, and both ended again.

use std::{collections::HashMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures_util::future::{join, join_all};
use mas_contracts::{Clock, Error, Exposure, HostedEndpoint, Result, Served, Serving};

use super::{
    claim,
    counts::Counts,
    door::Door,
    front::{Front, Seat},
    guest::{Guest, Seating, Socket},
    listener::{Bound, Listener, Terms},
    shared, tls,
};
use crate::grpc;

/// How long answers may take to be sent once no turn runs any more.
const SENDING: Duration = Duration::from_secs(1);

/// How long webhooks may take to be told by then. One that is down is not waited for.
const TELLING: Duration = Duration::from_secs(2);

/// Endpoints that are served.
pub(crate) struct Site {
    doors: Vec<Arc<Door>>,
    listeners: Vec<Listener>,
    seats: Vec<Arc<Seat>>,
    served: Vec<Served>,
    clock: Arc<dyn Clock>,
}

/// Binds the sockets of the endpoints, the entry agent's first, and serves them.
pub(crate) async fn open(serving: &Serving, endpoints: &[HostedEndpoint]) -> Result<Site> {
    let guests = endpoints.iter().map(|endpoint| Guest::of(serving, endpoint)).collect::<Result<Vec<_>>>()?;
    let mut bound: Vec<(&Socket, Bound)> = Vec::new();
    for guest in &guests {
        for socket in [Some(&guest.http), guest.grpc.as_ref()].into_iter().flatten() {
            if !bound.iter().any(|(known, _)| *known == socket) {
                bound.push((socket, Bound::at(&socket.0, socket.1).await?));
            }
        }
    }
    let seats = seated(serving, &guests, &bound)?;
    let counts = Arc::new(Counts::default());
    let mut site = Site {
        doors: Vec::new(),
        listeners: Vec::new(),
        served: served(&guests, &seats, &bound),
        seats: seats.clone(),
        clock: serving.build.clock.clone(),
    };
    for (socket, bound) in bound {
        let here: Vec<&Guest<'_>> = guests.iter().filter(|guest| guest.is_at(socket)).collect();
        let Some(host) = here.first() else { continue };
        shared::check(&here)?;
        let terms = Terms {
            limits: shared::limits(&here),
            tls: match shared::tls(&here) {
                Some(files) => Some(tls::acceptor(files, &host.build.base)?),
                None => None,
            },
            clock: serving.build.clock.clone(),
            counts: counts.clone(),
        };
        let all = guests.iter().zip(&seats);
        let web = all.clone().filter(|(guest, _)| guest.http == *socket).map(|(_, seat)| seat.clone());
        let web: Vec<Arc<Seat>> = web.collect();
        let named = all.filter(|(guest, _)| guest.grpc.as_ref() == Some(socket));
        let named: Vec<_> =
            named.map(|(guest, seat)| (guest.endpoint.agent.clone(), seat.agent.clone())).collect();
        let entry = named.first().map(|(_, agent)| agent.clone());
        let door = Arc::new(Door {
            front: (!web.is_empty()).then(|| Arc::new(Front::new(web, counts.clone()))),
            grpc: entry.map(|entry| Arc::new(grpc::Agents::new(entry, HashMap::from_iter(named)))),
        });
        site.doors.push(door.clone());
        site.listeners.push(bound.open(door, terms));
    }
    Ok(site)
}

/// Seats the guests at the sockets that are bound.
fn seated(serving: &Serving, guests: &[Guest<'_>], bound: &[(&Socket, Bound)]) -> Result<Vec<Arc<Seat>>> {
    let at = |socket: &Socket| {
        let found = bound.iter().find(|(known, _)| *known == socket);
        found.map(|(_, bound)| bound.socket()).ok_or_else(|| Error::internal("a socket is not bound"))
    };
    let seat = |guest: &Guest<'_>| {
        let neighbours: Vec<&Guest<'_>> = guests.iter().filter(|other| other.http == guest.http).collect();
        let first = guests.iter().find(|other| other.grpc.is_some() && other.grpc == guest.grpc);
        let seating = Seating {
            http: at(&guest.http)?,
            grpc: guest.grpc.as_ref().map(at).transpose()?,
            root: root_of(&neighbours).is_some_and(|root| std::ptr::eq(root, guest)),
            named: first.is_some_and(|first| !std::ptr::eq(first, guest)),
        };
        guest.seat(serving, &seating).map(Arc::new)
    };
    guests.iter().map(seat).collect()
}

/// What is served, as callers and supervisors are told.
fn served(guests: &[Guest<'_>], seats: &[Arc<Seat>], bound: &[(&Socket, Bound)]) -> Vec<Served> {
    let mut served = Vec::new();
    for (guest, seat) in guests.iter().zip(seats) {
        let grpc = guest.grpc.as_ref().zip(seat.listed.grpc.as_ref());
        let all = [Some((&guest.http, "http", &seat.listed.url)), grpc.map(|(at, url)| (at, "grpc", url))];
        for (socket, what, url) in all.into_iter().flatten() {
            if let Some((_, bound)) = bound.iter().find(|(known, _)| *known == socket) {
                let agent = guest.endpoint.agent.clone();
                served.push(Served { agent, what, url: url.clone(), socket: bound.socket() });
            }
        }
    }
    served
}

/// Which of those at a socket owns its root: the entry agent, else the one that asks for it, else the only one.
fn root_of<'g, 'a>(here: &[&'g Guest<'a>]) -> Option<&'g Guest<'a>> {
    let asks = |guest: &&&Guest<'_>| claim::path_of(guest.endpoint, &guest.params).is_empty();
    let entry = here.iter().find(|guest| guest.endpoint.entry);
    let root = entry.or_else(|| here.iter().find(asks)).or_else(|| here.first().filter(|_| here.len() == 1));
    root.copied()
}

#[async_trait]
impl Exposure for Site {
    fn served(&self) -> Vec<Served> {
        self.served.clone()
    }

    async fn close(&self, limit: Duration) -> Result<()> {
        self.doors.iter().for_each(|door| door.unready());
        self.listeners.iter().for_each(Listener::drain);
        let begun = self.clock.now();
        join_all(self.seats.iter().map(|seat| seat.service.close(limit))).await;
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
        let webhooks = self.seats.iter().filter_map(|seat| seat.webhooks.as_ref());
        let told = join_all(webhooks.map(|webhooks| webhooks.close(left.min(TELLING))));
        let ((), _left) = join(sent, told).await;
        Ok(())
    }
}
