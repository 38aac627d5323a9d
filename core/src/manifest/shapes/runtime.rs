//! Kinds that are validated but not run, and the envelope of kinds known by name only.

use super::rules::{FREE, LOOSE_METADATA, NOT_NEGATIVE};
use crate::manifest::shape::{Shape, closed, may, must, open};

pub(in crate::manifest) const ENVELOPE: Shape = Shape::Record(&open(&[
    must("apiVersion", Shape::Text),
    must("kind", Shape::Text),
    may("metadata", FREE),
    must("spec", FREE),
]));

const ADAPTERS: Shape = Shape::Word(&["native", "langgraph", "crewai", "autogen"]);
const ROUTES: Shape = Shape::List(&Shape::Record(&closed(&[
    must("from", Shape::Text),
    must("to", Shape::Text),
    may("egress", Shape::Text),
])));
const BUS: Shape = Shape::Record(&closed(&[
    must("kind", Shape::Word(&["inproc", "unix", "grpc", "k8s"])),
    may("routes", ROUTES),
]));
const SHARED: Shape =
    Shape::Record(&closed(&[may("observability_ref", Shape::Text), may("sink_ref", Shape::Text)]));
const SUPERVISION: Shape = Shape::Record(&closed(&[
    may("health_interval_s", NOT_NEGATIVE),
    may("restart_policy", Shape::Word(&["never", "on-failure", "always"])),
    may("runs_dir", Shape::Text),
]));

pub(in crate::manifest) const DEPLOYMENT: Shape = Shape::Record(&closed(&[
    must("apiVersion", Shape::Text),
    must("kind", Shape::Text),
    may("metadata", LOOSE_METADATA),
    must(
        "spec",
        Shape::Record(&closed(&[
            must("runtime_id", Shape::Name),
            must("strategy", Shape::Word(&["local-inproc", "local-multiprocess", "docker", "kubernetes"])),
            may(
                "runtime",
                Shape::Record(&closed(&[
                    may("image", Shape::Text),
                    may("immutable", Shape::Flag),
                    may("spec_overlay_ref", Shape::Text),
                ])),
            ),
            may(
                "framework",
                Shape::Record(&closed(&[
                    may("default_adapter", ADAPTERS),
                    may("adapters", Shape::MapOf(&Shape::Text)),
                ])),
            ),
            may(
                "agents",
                Shape::List(&Shape::Record(&closed(&[
                    must("id", Shape::Name),
                    may("placement", FREE),
                    may("framework_adapter", ADAPTERS),
                    may("bind_address", Shape::Text),
                ]))),
            ),
            may("bus", BUS),
            may("shared", SHARED),
            may(
                "observability",
                Shape::Record(&closed(&[may("backend", Shape::Text), may("sink_ref", Shape::Text)])),
            ),
            may("supervision", SUPERVISION),
            may("units", Shape::List(&FREE)),
        ])),
    ),
]));

pub(in crate::manifest) const PLACEMENT_PLAN: Shape = Shape::Record(&closed(&[
    must("apiVersion", Shape::Text),
    must("kind", Shape::Text),
    may("metadata", LOOSE_METADATA),
    must(
        "spec",
        Shape::Record(&closed(&[
            must(
                "agents",
                Shape::Filled(&Shape::Record(&closed(&[
                    must("id", Shape::Name),
                    may("manifest", Shape::Name),
                    may("placement", FREE),
                    must("bind_address", Shape::Text),
                ]))),
            ),
            must("bus", BUS),
            may("shared", SHARED),
            may("supervision", SUPERVISION),
            may("executor", FREE),
        ])),
    ),
]));

pub(in crate::manifest) const RUNTIME_PROFILE: Shape = Shape::Record(&closed(&[
    must("apiVersion", Shape::Text),
    must("kind", Shape::Text),
    may("metadata", LOOSE_METADATA),
    must(
        "spec",
        Shape::Record(&closed(&[
            may("runtime_id", Shape::Name),
            may("design_pattern", Shape::Record(&closed(&[may("type", Shape::Name)]))),
            may("gov_policy_profile", Shape::Word(&["permissive", "block_destructive", "strict"])),
            may("enable_observability", Shape::Flag),
            may("enable_coordination", Shape::Flag),
            may("enable_governance", Shape::Flag),
            may("enable_envelope_observability", Shape::Flag),
        ])),
    ),
]));

pub(in crate::manifest) const MEMORY_SEED: Shape = Shape::Record(&closed(&[
    must("apiVersion", Shape::Text),
    must("kind", Shape::Text),
    may("metadata", LOOSE_METADATA),
    must(
        "entries",
        Shape::Filled(&Shape::Record(&closed(&[must("key", Shape::Name), must("content", Shape::Text)]))),
    ),
]));
