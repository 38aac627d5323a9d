//! Registry, manifests, wiring, sessions and turns of mas.
