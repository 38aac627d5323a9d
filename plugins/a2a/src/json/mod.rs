//! JSON as the protocol has it (ProtoJSON): read leniently, with every wrong field named.

mod node;
mod read;
mod write;

pub(crate) use node::{Fields, Node};
pub(crate) use read::{Object, Path, Problems};
pub(crate) use write::write;
