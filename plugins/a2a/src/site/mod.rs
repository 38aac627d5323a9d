//! What listens: sockets, connections and their limits, and which agent a request is for.
//!
//! ```text
//!   exposure `a2a` ── claim ──▶ sockets of an endpoint                  pure
//!                  ── open ───▶ Site: Listener ── Door ─┬─ Front ── Seat ── http::Agent ── Service
//!                                     connections       │  paths    CORS
//!                                                       └─ grpc::Agents
//! ```

mod claim;
mod cors;
mod counts;
mod door;
mod expose;
mod front;
mod guest;
mod held;
mod listener;
mod neighbour;
pub(crate) mod open;
mod paced;
mod shared;
#[cfg(test)]
mod tests;
pub(crate) mod tls;
