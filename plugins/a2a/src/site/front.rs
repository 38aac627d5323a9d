//! Which agent a request is for, and what the site says of itself.
//!
//! | path | what |
//! |---|---|
//! | `/agents` | the agents of the socket |
//! | `/agents/<id>/…` | an agent, whatever else its address is |
//! | `/healthz`, `/readyz`, `/metrics` | for supervisors and Prometheus |
//! | the path of an endpoint's url, and below | that agent |
//! | everything else | the entry agent, or the only one |

use std::{
    collections::HashMap,
    fmt::Write,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, header};
use hyper::body::Incoming;
use serde::Serialize;

use super::{cors::Origins, counts::Counts};
use crate::{
    http::{self as binding, Answer},
    model::{Failure, Reason},
    push::{Told, Webhooks},
    service::Service,
    url,
};

/// Paths that are the site's own.
pub(crate) const OWN: [&str; 4] = ["/agents", "/healthz", "/readyz", "/metrics"];

/// An agent at a socket.
pub(crate) struct Seat {
    pub(crate) listed: Listed,
    /// The path of its url; empty for the root.
    pub(crate) path: String,
    pub(crate) agent: Arc<binding::Agent>,
    pub(crate) service: Arc<Service>,
    /// Its webhooks, if its card promises push notifications.
    pub(crate) webhooks: Option<Arc<Webhooks>>,
    pub(crate) cors: Option<Origins>,
}

/// An agent as `/agents` lists it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Listed {
    pub(crate) id: Arc<str>,
    pub(crate) name: Arc<str>,
    pub(crate) description: Arc<str>,
    pub(crate) version: Arc<str>,
    /// Whether it is the one at the root.
    pub(crate) entry: bool,
    pub(crate) url: String,
    pub(crate) card: String,
    /// `host:port` of gRPC, where it is spoken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) grpc: Option<String>,
}

/// The agents of a socket.
pub(crate) struct Front {
    root: Option<Arc<Seat>>,
    by_id: HashMap<Arc<str>, Arc<Seat>>,
    /// Those with a path of their own, the longest path first.
    by_path: Vec<Arc<Seat>>,
    /// In order, the entry agent first.
    all: Vec<Arc<Seat>>,
    counts: Arc<Counts>,
    ready: AtomicBool,
}

/// Whom a path leads to.
enum Found<'a> {
    /// An agent, with the length of the path in front of its own.
    Agent(&'a Arc<Seat>, usize),
    /// The site itself.
    Own(&'static str),
    Nowhere,
}

impl Front {
    /// The front of a socket; the first seat that is the entry agent's, or the only one, is the root.
    pub(crate) fn new(seats: Vec<Arc<Seat>>, counts: Arc<Counts>) -> Self {
        let root = seats.iter().find(|seat| seat.listed.entry).cloned();
        let by_id = seats.iter().map(|seat| (seat.listed.id.clone(), seat.clone())).collect();
        let mut by_path: Vec<_> = seats.iter().filter(|seat| !seat.path.is_empty()).cloned().collect();
        by_path.sort_by_key(|seat| std::cmp::Reverse(seat.path.len()));
        Self { root, by_id, by_path, all: seats, counts, ready: AtomicBool::new(true) }
    }

    /// Says that no more work is taken.
    pub(crate) fn unready(&self) {
        self.ready.store(false, Ordering::Relaxed);
    }

    fn find(&self, path: &str) -> Found<'_> {
        if path == "/"
            && let Some(root) = &self.root
        {
            return Found::Agent(root, 0);
        }
        if let Some(rest) = path.strip_prefix("/agents/").filter(|rest| !rest.is_empty()) {
            let id = rest.split_once('/').map_or(rest, |(id, _)| id);
            let seat = url::segment(id).and_then(|id| self.by_id.get(&*id));
            let below = path.len() - rest.len() + id.len();
            return seat.map_or(Found::Nowhere, |seat| Found::Agent(seat, below));
        }
        let whole = path.strip_suffix('/').unwrap_or(path);
        if let Some(own) = OWN.into_iter().find(|own| *own == whole) {
            return Found::Own(own);
        }
        let below = |seat: &&Arc<Seat>| {
            path.strip_prefix(seat.path.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if let Some(seat) = self.by_path.iter().find(below) {
            return Found::Agent(seat, seat.path.len());
        }
        self.root.as_ref().map_or(Found::Nowhere, |root| Found::Agent(root, 0))
    }

    fn own(&self, path: &str, method: &Method) -> Response<Answer> {
        if !matches!(*method, Method::GET | Method::HEAD) {
            return binding::wrong_verb("GET, HEAD");
        }
        let mut response = match path {
            "/healthz" => binding::document(&serde_json::json!({"status": "ok"})),
            "/readyz" if self.ready.load(Ordering::Relaxed) => {
                binding::document(&serde_json::json!({"status": "ready"}))
            }
            "/readyz" => {
                binding::refused(&Failure::new(Reason::Unavailable, "no more work is taken: it is ending"))
            }
            "/metrics" => self.metrics(),
            _ => {
                #[derive(Serialize)]
                struct Listing<'a> {
                    agents: Vec<&'a Listed>,
                }
                binding::document(&Listing { agents: self.all.iter().map(|seat| &seat.listed).collect() })
            }
        };
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if method == Method::HEAD {
            binding::without_body(&mut response);
        }
        response
    }

    fn metrics(&self) -> Response<Answer> {
        let mut text = self.counts.to_text();
        let mut each = |name: &str, kind: &str, help: &str, value: &dyn Fn(&Seat) -> Option<usize>| {
            let _ = writeln!(text, "# HELP mas_a2a_{name} {help}\n# TYPE mas_a2a_{name} {kind}");
            for (seat, value) in self.all.iter().filter_map(|seat| Some((seat, value(seat)?))) {
                let id = label(&seat.listed.id);
                let _ = writeln!(text, "mas_a2a_{name}{{agent=\"{id}\"}} {value}");
            }
        };
        each("turns", "gauge", "Turns that run or wait.", &|seat| Some(seat.service.running()));
        each("streams", "gauge", "Streams that are open.", &|seat| Some(seat.service.streams()));
        let notifications: [(&str, &str, &str, Read); 5] = [
            ("notifications", "gauge", "Notifications that wait for their webhooks.", |told| told.waiting),
            ("notifications_brought_total", "counter", "Notifications that a webhook took.", |told| {
                told.brought
            }),
            ("notifications_again_total", "counter", "Attempts beyond the first.", |told| told.again),
            ("notifications_given_up_total", "counter", "Notifications that were not taken.", |told| {
                told.given_up
            }),
            ("notifications_dropped_total", "counter", "Notifications without room or time.", |told| {
                told.dropped
            }),
        ];
        for (name, kind, help, value) in notifications {
            each(name, kind, help, &|seat| seat.webhooks.as_ref().map(|webhooks| value(&webhooks.told())));
        }
        let mut response = Response::new(Answer::Whole(Bytes::from(text)));
        let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        response
    }
}

/// Reads one count of notifications.
type Read = fn(&Told) -> usize;

/// The value of a label in the text format of Prometheus.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

impl Front {
    /// Answers a request of HTTP.
    pub(crate) async fn answer(&self, request: Request<Incoming>) -> Response<Answer> {
        match self.find(request.uri().path()) {
            Found::Agent(seat, below) => seat.answer(request, below).await,
            Found::Own(path) => self.own(path, request.method()),
            Found::Nowhere => {
                let message = "there is nothing at this path; `/agents` lists the agents that are here";
                binding::refused(&Failure::new(Reason::MethodNotFound, message))
            }
        }
    }
}

impl Seat {
    async fn answer(&self, request: Request<Incoming>, below: usize) -> Response<Answer> {
        let Some(cors) = &self.cors else { return binding::answer(self.agent.clone(), request, below).await };
        if let Some(answer) = cors.preflight(&request) {
            return answer;
        }
        let origin = cors.admit(request.headers());
        let mut response = binding::answer(self.agent.clone(), request, below).await;
        cors.allow(response.headers_mut(), origin);
        response
    }
}
