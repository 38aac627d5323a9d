//! Messages of protobuf, written by hand: the definitions are few, and a build needs no compiler for them.

/// Debug that tells nothing of a message but its name: it holds secrets.
macro_rules! hidden {
    ($($message:ident),*) => {
        $(impl std::fmt::Debug for $message {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($message)).finish_non_exhaustive()
            }
        })*
    };
}

pub(super) mod card;
pub(crate) mod rpc;
pub(crate) mod v03;
pub(crate) mod v1;
