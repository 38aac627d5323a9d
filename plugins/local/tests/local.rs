//! What the rules of `agent_comm` do not say: an ended host, and parameters.

use std::sync::Arc;

use mas_contracts::{
    AgentCommContract, AgentHost, Delivery, ErrorKind, Outbound, Part, Peer, Thread, ThreadName,
};
use mas_local::{Local, descriptor};
use mas_testkit::{Behaviour, ScriptedHost, call_context};
use serde_json::{Value, json};

#[tokio::test]
async fn an_ended_host_is_unavailable() {
    let host: Arc<dyn AgentHost> = ScriptedHost::new([("a", Behaviour::Echo)]);
    let local = Local::new(Arc::downgrade(&host));
    drop(host);
    let thread = Thread { parent: "p".into(), name: ThreadName::Main };
    let message = Outbound { parts: vec![Part::text("t")], message_id: "m".into(), thread, task: None };
    let to = Peer { id: "a".into() };
    let error = local.send(&call_context(), &to, message).await.unwrap_err();
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Unavailable, Delivery::NotSent));
    assert_eq!(error.code(), "mas::local::host_gone");
    assert_eq!(local.probe(&call_context(), &to).await.unwrap_err().kind(), ErrorKind::Unavailable);
}

#[test]
fn it_has_no_parameters() {
    let check = descriptor().check;
    assert!(check(&Value::Null).is_empty() && check(&json!({})).is_empty());
    assert!(check(&json!({"mode": "local"}))[0].message.contains("mode"));
}
