//! What listens: sockets, connections and their limits, and which agent a request is for.

mod counts;
mod held;
mod listener;
mod paced;
mod tls;
