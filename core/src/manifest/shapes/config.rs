//! `config.yaml`.

use super::rules::{FREE, TEXTS};
use crate::manifest::shape::{Shape, closed, may, open};

const NAMES: Shape = Shape::Either(&[Shape::Name, TEXTS]);
const CHOICE: Shape = Shape::Either(&[
    Shape::Name,
    Shape::Record(&closed(&[
        may("type", Shape::Name),
        may("ref", Shape::Name),
        may("protocol", Shape::Name),
        may("params", FREE),
    ])),
]);

pub(in crate::manifest) const CONFIG: Shape = Shape::Record(&closed(&[
    may(
        "mas_ctl",
        Shape::Record(&open(&[
            may("flavour", Shape::Name),
            may("env", Shape::Text),
            may("deployment", Shape::Text),
            may("runtime_id", Shape::Text),
            may("runtime_profile", Shape::Text),
        ])),
    ),
    may("mas_lab", FREE),
    may("infra_refs", NAMES),
    may("infra_interceptors", NAMES),
    may("manifest_libraries", Shape::MapOf(&Shape::Text)),
    may("aliases", Shape::MapOf(&Shape::Text)),
    may(
        "defaults",
        Shape::Record(&open(&[
            may("model", Shape::Name),
            may("design_pattern", CHOICE),
            may("context_manager", CHOICE),
            may("agent_comm", CHOICE),
        ])),
    ),
    may("paths", Shape::MapOf(&Shape::Text)),
]));
