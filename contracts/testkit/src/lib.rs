//! Conformance kits for the contracts of mas, with scripted hosts and peers.
