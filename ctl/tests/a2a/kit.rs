//! One case for each requirement of the official compatibility kit (branch `1.0-dev`), under the kit's id, on every
//! binding that it is about. Those of gRPC go through the stubs of the official Python SDK.

mod access;
mod cards;
mod messages;
mod model;
mod push;
mod secure;
mod streams;
mod wire;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU64, Ordering},
};

use rcgen::generate_simple_self_signed;
use serde_json::{Value, json};

use crate::{
    bridge::bridge,
    calls::{Binding, Refused, call},
    served::Served,
};

/// What the cases ask: servers of one agent, and the binding.
pub(crate) struct Kit {
    /// Everything on.
    full: Served,
    /// Neither streams nor webhooks; text only.
    plain: Served,
    /// With an extension that callers have to name.
    strict: Served,
    /// For `alice` and `bob` only, with a signed card.
    guarded: Served,
    /// Over TLS, with a certificate in `cert.pem`.
    secure: Served,
}

impl Kit {
    fn open() -> Self {
        let keys = generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
        let (cert, key) = (keys.cert.pem(), keys.signing_key.serialize_pem());
        let key_of_card = secure::KEY.to_string();
        Self {
            full: Served::start("infra.yaml"),
            plain: Served::start("no-streaming.yaml"),
            strict: Served::start("required-extension.yaml"),
            guarded: Served::with(GUARDED, &[("card.jwk", &key_of_card)]),
            secure: Served::with(SECURE, &[("cert.pem", &cert), ("key.pem", &key)]),
        }
    }
}

const GUARDED: &str = "
apiVersion: infra/v1
kind: Application
metadata: {name: guarded}
spec:
  endpoints:
    a2a-conformance:
      protocol: a2a
      usage: deploy
      url: http://127.0.0.1:9999
      a2a:
        grpc_port: 9998
        capabilities: {pushNotifications: true, extendedAgentCard: true}
        extended_card: {description: For those who are let in.}
        security: {token: {bearer: {tokens: {alice: of-alice, bob: of-bob}}}}
        signing: {key: card.jwk}
";

const SECURE: &str = "
apiVersion: infra/v1
kind: Application
metadata: {name: secure}
spec:
  endpoints:
    a2a-conformance:
      protocol: a2a
      usage: deploy
      url: https://127.0.0.1:9999
      a2a: {grpc_port: 9998, tls: {cert: cert.pem, key: key.pem}}
";

type Case = fn(&Kit, Binding);

const RPC: &[Binding] = &[Binding::JsonRpc];
const REST: &[Binding] = &[Binding::Rest];
const GRPC: &[Binding] = &[Binding::Grpc];
const WEB: &[Binding] = &[Binding::JsonRpc, Binding::Rest];
const ALL: &[Binding] = &[Binding::JsonRpc, Binding::Rest, Binding::Grpc];
/// What no binding has a part in, such as the public card.
const NONE: &[Binding] = RPC;

/// The ids of the kit, in its order.
const TABLE: [(&str, &[Binding], Case); 129] = [
    ("CORE-SEND-001", ALL, messages::send),
    ("CORE-SEND-002", ALL, messages::send_to_a_finished_task),
    ("CORE-SEND-003", ALL, messages::unknown_media_type),
    ("CORE-STREAM-001", ALL, streams::opens),
    ("CORE-STREAM-002", ALL, streams::message_only),
    ("CORE-STREAM-003", ALL, streams::task_first_and_closed_at_its_end),
    ("CORE-GET-001", ALL, messages::get),
    ("CORE-GET-002", ALL, messages::get_unknown),
    ("CORE-LIST-001", ALL, messages::list_of_a_context),
    ("CORE-LIST-002", ALL, messages::list_by_pages),
    ("CORE-LIST-003", ALL, messages::list_newest_first),
    ("CORE-LIST-004", ALL, messages::list_ends_with_an_empty_token),
    ("CORE-LIST-005", ALL, messages::list_without_artifacts),
    ("CORE-CANCEL-001", ALL, messages::cancel),
    ("CORE-CANCEL-002", ALL, messages::cancel_a_finished_task),
    ("CORE-CANCEL-003", ALL, messages::cancel_unknown),
    ("CORE-EXECUTION-MODE-001", ALL, messages::waits),
    ("CORE-EXECUTION-MODE-002", ALL, messages::does_not_wait),
    ("CORE-ERR-001", ALL, wire::errors_say_what),
    ("CORE-ERR-002", ALL, wire::input_is_checked),
    ("CORE-CAP-001", ALL, wire::no_webhooks),
    ("CORE-CAP-002", ALL, wire::no_streams),
    ("CORE-CAP-003", ALL, wire::no_extended_card),
    ("CORE-CAP-004", ALL, wire::required_extension),
    ("CORE-MULTI-001", ALL, messages::makes_a_context),
    ("CORE-MULTI-001a", ALL, messages::makes_a_context),
    ("CORE-MULTI-002", ALL, messages::takes_a_context),
    ("CORE-MULTI-002a", ALL, messages::takes_a_context),
    ("CORE-MULTI-003", ALL, messages::task_ids_differ),
    ("CORE-MULTI-004", ALL, messages::send_to_an_unknown_task),
    ("CORE-MULTI-005", ALL, messages::context_of_the_task),
    ("CORE-MULTI-006", ALL, messages::context_of_another_task),
    ("CORE-HIST-001", ALL, messages::no_history_on_get),
    ("CORE-HIST-002", ALL, messages::some_history_on_get),
    ("CORE-HIST-003", ALL, messages::no_history_on_send),
    ("CORE-HIST-004", ALL, messages::history_in_order),
    ("CORE-HIST-005", ALL, messages::history_in_order),
    ("CORE-HIST-006", ALL, messages::history_in_order),
    ("DM-TASK-001", ALL, model::task),
    ("DM-TASK-002", ALL, model::states),
    ("DM-MSG-001", ALL, model::message),
    ("DM-MSG-002", ALL, model::message),
    ("DM-PART-001", ALL, model::parts),
    ("DM-ART-001", ALL, model::parts),
    ("DM-STATUS-001", ALL, model::task),
    ("DM-SERIAL-001", WEB, model::names),
    ("DM-SERIAL-002", WEB, model::states),
    ("DM-SERIAL-003", WEB, model::times),
    ("DM-SERIAL-004", ALL, wire::input_is_checked),
    ("DM-SERIAL-005", WEB, model::unknown_fields),
    ("STREAM-ORDER-001", ALL, streams::in_order),
    ("STREAM-ORDER-002", ALL, streams::to_all_alike),
    ("STREAM-ORDER-003", ALL, streams::to_all_alike),
    ("STREAM-ORDER-004", ALL, streams::one_closes_and_the_other_goes_on),
    ("STREAM-SUB-001", ALL, streams::subscribe_begins_with_the_task),
    ("STREAM-SUB-002", ALL, streams::subscribe_ends_with_the_task),
    ("STREAM-SUB-003", ALL, streams::subscribe_to_a_finished_task),
    ("STREAM-SUB-004", ALL, streams::subscribe_to_an_unknown_task),
    ("PUSH-CREATE-001", ALL, push::create),
    ("PUSH-CREATE-002", ALL, push::kept),
    ("PUSH-GET-001", ALL, push::kept),
    ("PUSH-GET-002", ALL, push::unknown),
    ("PUSH-LIST-001", ALL, push::listed),
    ("PUSH-DEL-001", ALL, push::deleted),
    ("PUSH-DEL-002", ALL, push::deleted),
    ("PUSH-DELIVER-001", ALL, push::delivered),
    ("PUSH-DELIVER-002", ALL, push::delivered),
    ("PUSH-DELIVER-003", ALL, push::delivered),
    ("CARD-DISC-001", NONE, cards::found),
    ("CARD-PROTO-001", NONE, cards::interfaces),
    ("CARD-PROTO-002", NONE, cards::interfaces),
    ("CARD-STRUCT-001", NONE, cards::fields),
    ("CARD-EXT-001", ALL, access::extended_card),
    ("CARD-EXT-002", ALL, wire::no_extended_card),
    ("CARD-SIGN-001", NONE, secure::signed),
    ("CARD-SIGN-002", NONE, secure::signed),
    ("CARD-SIGN-003", NONE, secure::signed),
    ("CARD-SIGN-004", NONE, secure::key_that_is_not_trusted),
    ("CARD-CACHE-001", NONE, cards::caching),
    ("CARD-CACHE-002", NONE, cards::caching),
    ("CARD-CACHE-003", NONE, cards::caching),
    ("AUTH-TLS-001", ALL, secure::tls),
    ("AUTH-TLS-002", NONE, secure::versions_of_tls),
    ("AUTH-SERVER-001", WEB, secure::caller_checks_the_certificate),
    ("AUTH-SERVER-002", ALL, access::every_call),
    ("AUTH-INTASK-001", ALL, access::asks),
    ("AUTH-INTASK-002", ALL, access::asks),
    ("AUTH-INTASK-003", ALL, access::asks),
    ("AUTH-INTASK-004", ALL, access::asks),
    ("AUTH-INTASK-005", ALL, access::stream_stays_open),
    ("AUTH-INTASK-006", ALL, access::takes_messages),
    ("AUTH-SCOPE-001", ALL, access::every_call),
    ("AUTH-SCOPE-002", ALL, access::own_tasks_only),
    ("AUTH-SCOPE-003", ALL, access::own_tasks_only),
    ("VER-CLIENT-001", WEB, secure::caller_sends_the_version),
    ("VER-SERVER-001", ALL, wire::version),
    ("VER-SERVER-002", ALL, wire::unknown_version),
    ("VER-SERVER-003", ALL, wire::no_version),
    ("VER-CLIENT-002", ALL, wire::patch_version),
    ("BIND-EQUIV-001", ALL, wire::bindings_agree),
    ("BIND-EQUIV-002", ALL, wire::bindings_agree),
    ("BIND-EQUIV-003", ALL, wire::errors_of_the_binding),
    ("BIND-EQUIV-004", ALL, access::same_schemes),
    ("BIND-FIELD-001", NONE, cards::interfaces),
    ("JSONRPC-FMT-001", RPC, wire::json_rpc),
    ("JSONRPC-FMT-002", RPC, wire::media_types),
    ("JSONRPC-SVC-001", RPC, wire::json_rpc),
    ("JSONRPC-SVC-002", RPC, wire::unknown_version),
    ("JSONRPC-ERR-001", RPC, wire::json_rpc),
    ("JSONRPC-ERR-002", RPC, wire::errors_of_the_binding),
    ("JSONRPC-ERR-003", RPC, wire::errors_of_the_binding),
    ("JSONRPC-SSE-001", RPC, streams::media_type),
    ("JSONRPC-SSE-002", RPC, wire::errors_of_the_binding),
    ("GRPC-SVC-001", GRPC, wire::bindings_agree),
    ("GRPC-SVC-002", GRPC, wire::bindings_agree),
    ("GRPC-SVC-003", GRPC, secure::tls),
    ("GRPC-META-001", GRPC, wire::required_extension),
    ("GRPC-ERR-001", GRPC, wire::errors_of_the_binding),
    ("GRPC-ERR-002", GRPC, wire::errors_of_the_binding),
    ("GRPC-ERR-003", GRPC, streams::opens),
    ("HTTP_JSON-URL-001", REST, wire::bindings_agree),
    ("HTTP_JSON-URL-002", REST, wire::bindings_agree),
    ("HTTP_JSON-SVC-001", REST, wire::media_types),
    ("HTTP_JSON-SVC-002", REST, wire::unknown_version),
    ("HTTP_JSON-QP-001", REST, messages::list_by_pages),
    ("HTTP_JSON-ERR-001", REST, wire::errors_say_what),
    ("HTTP_JSON-ERR-002", REST, wire::errors_of_the_binding),
    ("HTTP_JSON-STATUS-001", REST, wire::errors_of_the_binding),
    ("HTTP_JSON-SSE-001", REST, streams::media_type),
];

#[test]
fn every_requirement_of_the_kit_holds() {
    let kit = Kit::open();
    let has_grpc = bridge().is_some();
    let mut failed = Vec::new();
    for (id, bindings, case) in TABLE {
        for binding in bindings.iter().copied().filter(|one| has_grpc || *one != Binding::Grpc) {
            if catch_unwind(AssertUnwindSafe(|| case(&kit, binding))).is_err() {
                failed.push(format!("{id} on {binding:?}"));
            }
        }
    }
    assert!(failed.is_empty(), "do not hold: {failed:?}");
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

/// A failure of v1.0.1, section 5.4: its reason, its code of JSON-RPC, its status of HTTP and its code of gRPC.
struct Due(&'static str, i64, i64, i64);

impl Due {
    fn code(&self, binding: Binding) -> i64 {
        match binding {
            Binding::JsonRpc => self.1,
            Binding::Rest => self.2,
            Binding::Grpc => self.3,
        }
    }
}

fn assert_refused<T>(result: Result<T, Refused>, binding: Binding, due: &Due) {
    let refused = result.err().unwrap_or_else(|| panic!("{} is due, and it is answered", due.0));
    assert_eq!((refused.reason.as_str(), refused.code), (due.0, due.code(binding)), "{}", refused.error);
}

const NOT_FOUND: &Due = &Due("TASK_NOT_FOUND", -32001, 404, 5);
const NOT_CANCELABLE: &Due = &Due("TASK_NOT_CANCELABLE", -32002, 400, 9);
const NO_PUSH: &Due = &Due("PUSH_NOTIFICATION_NOT_SUPPORTED", -32003, 400, 9);
const UNSUPPORTED: &Due = &Due("UNSUPPORTED_OPERATION", -32004, 400, 9);
const NO_SUCH_TYPE: &Due = &Due("CONTENT_TYPE_NOT_SUPPORTED", -32005, 400, 3);
const EXTENSION: &Due = &Due("EXTENSION_SUPPORT_REQUIRED", -32008, 400, 9);
const VERSION: &Due = &Due("VERSION_NOT_SUPPORTED", -32009, 400, 9);
const INVALID: &Due = &Due("INVALID_PARAMS", -32602, 400, 3);
