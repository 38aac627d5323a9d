//! One case for each requirement of the official compatibility kit (branch `1.0-dev`), under the kit's id, on the two
//! bindings over HTTP; what holds gRPC, and what has to do with other than one server, stands elsewhere and is named.

mod cards;
mod messages;
mod model;
mod push;
mod streams;
mod wire;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU64, Ordering},
};

use serde_json::{Value, json};

use crate::served::{BINDINGS, Binding, Refused, Served, call};

/// What the cases ask: servers of the infra files of the example, and the binding.
pub(crate) struct Kit {
    /// Everything on.
    full: Served,
    /// Neither streams nor webhooks; text only.
    plain: Served,
    /// With an extension that callers have to name.
    strict: Served,
}

/// Where a requirement is held.
enum Held {
    /// By a case on both bindings.
    Here(fn(&Kit, Binding)),
    /// By tests of another file, or by nobody but a client.
    There(&'static str),
}
use Held::{Here, There};

const GRPC: &str = "plugins/a2a/src/grpc/tests";
const AUTH: &str = "plugins/a2a/src/auth/tests.rs";
const SIGNED: &str = "plugins/a2a/tests/signatures.rs";
const CALLER: &str = "a duty of clients: plugins/a2a/src/client";

/// The ids of the kit, in its order.
const TABLE: [(&str, Held); 129] = [
    ("CORE-SEND-001", Here(messages::send)),
    ("CORE-SEND-002", Here(messages::send_to_a_finished_task)),
    ("CORE-SEND-003", Here(messages::unknown_media_type)),
    ("CORE-STREAM-001", Here(streams::opens)),
    ("CORE-STREAM-002", Here(streams::message_only)),
    ("CORE-STREAM-003", Here(streams::task_first_and_closed_at_its_end)),
    ("CORE-GET-001", Here(messages::get)),
    ("CORE-GET-002", Here(messages::get_unknown)),
    ("CORE-LIST-001", Here(messages::list_of_a_context)),
    ("CORE-LIST-002", Here(messages::list_by_pages)),
    ("CORE-LIST-003", Here(messages::list_newest_first)),
    ("CORE-LIST-004", Here(messages::list_ends_with_an_empty_token)),
    ("CORE-LIST-005", Here(messages::list_without_artifacts)),
    ("CORE-CANCEL-001", Here(messages::cancel)),
    ("CORE-CANCEL-002", Here(messages::cancel_a_finished_task)),
    ("CORE-CANCEL-003", Here(messages::cancel_unknown)),
    ("CORE-EXECUTION-MODE-001", Here(messages::waits)),
    ("CORE-EXECUTION-MODE-002", Here(messages::does_not_wait)),
    ("CORE-ERR-001", Here(wire::errors_say_what)),
    ("CORE-ERR-002", Here(wire::input_is_checked)),
    ("CORE-CAP-001", Here(wire::no_webhooks)),
    ("CORE-CAP-002", Here(wire::no_streams)),
    ("CORE-CAP-003", Here(wire::no_extended_card)),
    ("CORE-CAP-004", Here(wire::required_extension)),
    ("CORE-MULTI-001", Here(messages::makes_a_context)),
    ("CORE-MULTI-001a", Here(messages::makes_a_context)),
    ("CORE-MULTI-002", Here(messages::takes_a_context)),
    ("CORE-MULTI-002a", Here(messages::takes_a_context)),
    ("CORE-MULTI-003", Here(messages::task_ids_differ)),
    ("CORE-MULTI-004", Here(messages::send_to_an_unknown_task)),
    ("CORE-MULTI-005", Here(messages::context_of_the_task)),
    ("CORE-MULTI-006", Here(messages::context_of_another_task)),
    ("CORE-HIST-001", Here(messages::no_history_on_get)),
    ("CORE-HIST-002", Here(messages::some_history_on_get)),
    ("CORE-HIST-003", Here(messages::no_history_on_send)),
    ("CORE-HIST-004", Here(messages::history_in_order)),
    ("CORE-HIST-005", Here(messages::history_in_order)),
    ("CORE-HIST-006", Here(messages::history_in_order)),
    ("DM-TASK-001", Here(model::task)),
    ("DM-TASK-002", Here(model::states)),
    ("DM-MSG-001", Here(model::message)),
    ("DM-MSG-002", Here(model::message)),
    ("DM-PART-001", Here(model::parts)),
    ("DM-ART-001", Here(model::parts)),
    ("DM-STATUS-001", Here(model::task)),
    ("DM-SERIAL-001", Here(model::names)),
    ("DM-SERIAL-002", Here(model::states)),
    ("DM-SERIAL-003", Here(model::times)),
    ("DM-SERIAL-004", Here(wire::input_is_checked)),
    ("DM-SERIAL-005", Here(model::unknown_fields)),
    ("STREAM-ORDER-001", Here(streams::in_order)),
    ("STREAM-ORDER-002", Here(streams::to_all_alike)),
    ("STREAM-ORDER-003", Here(streams::to_all_alike)),
    ("STREAM-ORDER-004", Here(streams::one_closes_and_the_other_goes_on)),
    ("STREAM-SUB-001", Here(streams::subscribe_begins_with_the_task)),
    ("STREAM-SUB-002", Here(streams::subscribe_ends_with_the_task)),
    ("STREAM-SUB-003", Here(streams::subscribe_to_a_finished_task)),
    ("STREAM-SUB-004", Here(streams::subscribe_to_an_unknown_task)),
    ("PUSH-CREATE-001", Here(push::create)),
    ("PUSH-CREATE-002", Here(push::kept)),
    ("PUSH-GET-001", Here(push::kept)),
    ("PUSH-GET-002", Here(push::unknown)),
    ("PUSH-LIST-001", Here(push::listed)),
    ("PUSH-DEL-001", Here(push::deleted)),
    ("PUSH-DEL-002", Here(push::deleted)),
    ("PUSH-DELIVER-001", Here(push::delivered)),
    ("PUSH-DELIVER-002", Here(push::delivered)),
    ("PUSH-DELIVER-003", Here(push::delivered)),
    ("CARD-DISC-001", Here(cards::found)),
    ("CARD-PROTO-001", Here(cards::interfaces)),
    ("CARD-PROTO-002", Here(cards::interfaces)),
    ("CARD-STRUCT-001", Here(cards::fields)),
    ("CARD-EXT-001", There(AUTH)),
    ("CARD-EXT-002", Here(wire::no_extended_card)),
    ("CARD-SIGN-001", There(SIGNED)),
    ("CARD-SIGN-002", There(SIGNED)),
    ("CARD-SIGN-003", There(SIGNED)),
    ("CARD-SIGN-004", There(CALLER)),
    ("CARD-CACHE-001", Here(cards::caching)),
    ("CARD-CACHE-002", Here(cards::caching)),
    ("CARD-CACHE-003", Here(cards::caching)),
    ("AUTH-TLS-001", There("plugins/a2a/src/site/listener/tests.rs")),
    ("AUTH-TLS-002", There("plugins/a2a/src/site/listener/tests.rs")),
    ("AUTH-SERVER-001", There(CALLER)),
    ("AUTH-SERVER-002", There(AUTH)),
    ("AUTH-INTASK-001", There("plugins/a2a/src/service/tests")),
    ("AUTH-INTASK-002", There("plugins/a2a/src/service/tests")),
    ("AUTH-INTASK-003", There("plugins/a2a/src/service/tests")),
    ("AUTH-INTASK-004", There("plugins/a2a/src/service/tests")),
    ("AUTH-INTASK-005", There("plugins/a2a/src/service/tests")),
    ("AUTH-INTASK-006", There("plugins/a2a/src/service/tests")),
    ("AUTH-SCOPE-001", There(AUTH)),
    ("AUTH-SCOPE-002", There("plugins/a2a/src/service/tests")),
    ("AUTH-SCOPE-003", There("plugins/a2a/src/service/tests")),
    ("VER-CLIENT-001", There(CALLER)),
    ("VER-SERVER-001", Here(wire::version)),
    ("VER-SERVER-002", Here(wire::unknown_version)),
    ("VER-SERVER-003", Here(wire::no_version)),
    ("VER-CLIENT-002", Here(wire::patch_version)),
    ("BIND-EQUIV-001", Here(wire::bindings_agree)),
    ("BIND-EQUIV-002", Here(wire::bindings_agree)),
    ("BIND-EQUIV-003", Here(wire::errors_of_the_bindings)),
    ("BIND-EQUIV-004", There(AUTH)),
    ("BIND-FIELD-001", Here(cards::interfaces)),
    ("JSONRPC-FMT-001", Here(wire::json_rpc)),
    ("JSONRPC-FMT-002", Here(wire::media_types)),
    ("JSONRPC-SVC-001", Here(wire::json_rpc)),
    ("JSONRPC-SVC-002", Here(wire::unknown_version)),
    ("JSONRPC-ERR-001", Here(wire::json_rpc)),
    ("JSONRPC-ERR-002", Here(wire::errors_of_the_bindings)),
    ("JSONRPC-ERR-003", Here(wire::errors_of_the_bindings)),
    ("JSONRPC-SSE-001", Here(streams::media_type)),
    ("JSONRPC-SSE-002", Here(wire::errors_of_the_bindings)),
    ("GRPC-SVC-001", There(GRPC)),
    ("GRPC-SVC-002", There(GRPC)),
    ("GRPC-SVC-003", There(GRPC)),
    ("GRPC-META-001", There(GRPC)),
    ("GRPC-ERR-001", There(GRPC)),
    ("GRPC-ERR-002", There(GRPC)),
    ("GRPC-ERR-003", There(GRPC)),
    ("HTTP_JSON-URL-001", Here(wire::bindings_agree)),
    ("HTTP_JSON-URL-002", Here(wire::bindings_agree)),
    ("HTTP_JSON-SVC-001", Here(wire::media_types)),
    ("HTTP_JSON-SVC-002", Here(wire::unknown_version)),
    ("HTTP_JSON-QP-001", Here(messages::list_by_pages)),
    ("HTTP_JSON-ERR-001", Here(wire::errors_say_what)),
    ("HTTP_JSON-ERR-002", Here(wire::errors_of_the_bindings)),
    ("HTTP_JSON-STATUS-001", Here(wire::errors_of_the_bindings)),
    ("HTTP_JSON-SSE-001", Here(streams::media_type)),
];

#[test]
fn every_requirement_of_the_kit_holds() {
    let kit = Kit {
        full: Served::start("infra.yaml"),
        plain: Served::start("no-streaming.yaml"),
        strict: Served::start("required-extension.yaml"),
    };
    let mut failed = Vec::new();
    for (id, held) in &TABLE {
        let Here(case) = held else { continue };
        for binding in BINDINGS {
            if catch_unwind(AssertUnwindSafe(|| case(&kit, binding))).is_err() {
                failed.push(format!("{id} on {binding:?}"));
            }
        }
    }
    assert!(failed.is_empty(), "do not hold: {failed:?}");
}

#[test]
fn what_is_held_elsewhere_is_there() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (id, held) in &TABLE {
        if let There(place) = held {
            let path = place.rsplit(' ').next().expect("a path");
            assert!(root.join(path).exists(), "{id}: `{path}` is not there");
        }
    }
}

/// An id that no message had: what it begins with decides what the agent does.
fn id(prefix: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("{prefix}-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A request to send a message.
fn said(prefix: &str, text: &str) -> Value {
    json!({"message": {"role": "ROLE_USER", "messageId": id(prefix), "parts": [{"text": text}]}})
}

/// The same to a task.
fn said_to(task: &Value, prefix: &str, text: &str) -> Value {
    let mut request = said(prefix, text);
    request["message"]["taskId"] = task["id"].clone();
    request
}

/// Sends and takes the task of the reply.
fn sent(served: &Served, binding: Binding, request: &Value) -> Value {
    let reply = call(served, binding, "SendMessage", request).expect("a reply");
    assert!(reply["task"].is_object(), "{reply}");
    reply["task"].clone()
}

/// A task that the agent ended.
fn finished(served: &Served, binding: Binding) -> Value {
    let task = sent(served, binding, &said("tck-complete-task", "Hello"));
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    task
}

/// A task that waits for its caller.
fn waiting(served: &Served, binding: Binding) -> Value {
    let task = sent(served, binding, &said("tck-input-required", "Hello"));
    assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
    task
}

/// Checks a failure by its reason, its code of JSON-RPC and its status of HTTP, of v1.0.1, section 5.4.
fn assert_refused<T>(result: Result<T, Refused>, binding: Binding, (reason, code, status): (&str, i64, i64)) {
    let refused = result.err().unwrap_or_else(|| panic!("{reason} is due, and it is answered"));
    let due = if binding == Binding::JsonRpc { code } else { status };
    assert_eq!((refused.reason.as_str(), refused.code), (reason, due), "{}", refused.error);
}

const NOT_FOUND: (&str, i64, i64) = ("TASK_NOT_FOUND", -32001, 404);
const NOT_CANCELABLE: (&str, i64, i64) = ("TASK_NOT_CANCELABLE", -32002, 400);
const NO_PUSH: (&str, i64, i64) = ("PUSH_NOTIFICATION_NOT_SUPPORTED", -32003, 400);
const UNSUPPORTED: (&str, i64, i64) = ("UNSUPPORTED_OPERATION", -32004, 400);
