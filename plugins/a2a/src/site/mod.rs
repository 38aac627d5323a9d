//! What listens: sockets, connections and their limits, and which agent a request is for.
//!
//! ```text
//!   exposure `a2a` ── claim ──▶ sockets of an endpoint                  pure
//!                  ── open ───▶ Site: Listener ── Front ── Seat ── http::Agent ── Service
//!                                     connections  paths    CORS
//! ```

mod claim;
mod cors;
mod counts;
mod expose;
mod front;
mod held;
mod listener;
mod neighbour;
mod open;
mod paced;
mod tls;
