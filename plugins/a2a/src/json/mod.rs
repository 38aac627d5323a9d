//! JSON as the protocol has it (ProtoJSON): read leniently, with every wrong field named.

mod node;
mod read;

pub(crate) use node::{Fields, Node};
pub(crate) use read::{Object, Path, Problems};
