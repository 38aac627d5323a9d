//! What gRPC reads is what JSON reads, of the same message.

use std::sync::Arc;

use mas_contracts::{Content, Part, PartMeta, Speaker, TaskMessage};
use proptest::prelude::*;
use serde_json::{Map, Value};

use crate::{
    grpc::{proto, v1, v03},
    model::{SendMessage, SendReply},
    v1 as json_v1, v03 as json_v03,
};

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-9_007_199_254_740_992_i64..=9_007_199_254_740_992).prop_map(Value::from),
        // Whole numbers beyond those that a double has exactly are no matter of both.
        (-1.0e6..1.0e6_f64).prop_filter("a fraction", |it| it.fract() != 0.0).prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("\\PC{0,4}", inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn objects() -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec(("\\PC{0,4}", values()), 0..3).prop_map(|fields| fields.into_iter().collect())
}

fn texts() -> impl Strategy<Value = Option<Arc<str>>> {
    prop::option::of("\\PC{1,6}".prop_map(Arc::from))
}

fn parts() -> impl Strategy<Value = Part> {
    let content = prop_oneof![
        "\\PC{0,12}".prop_map(|text| Content::Text(text.into())),
        prop::collection::vec(any::<u8>(), 0..12).prop_map(|bytes| Content::Raw(bytes.into())),
        "https://\\PC{1,8}".prop_map(|url| Content::Url(url.into())),
        values().prop_map(Content::Data),
    ];
    (content, texts(), texts(), objects()).prop_map(|(content, media_type, filename, metadata)| {
        let meta = PartMeta {
            media_type: media_type.map(|it| it.to_string()),
            filename: filename.map(|it| it.to_string()),
            metadata,
        };
        Part { content, meta: (meta != PartMeta::default()).then(|| Box::new(meta)) }
    })
}

fn messages() -> impl Strategy<Value = TaskMessage> {
    let lists = || prop::collection::vec("\\PC{1,6}".prop_map(Arc::<str>::from), 0..3);
    let ids = ("\\PC{1,6}", texts(), texts(), any::<bool>());
    let rest = (prop::collection::vec(parts(), 1..4), objects(), lists(), lists());
    (ids, rest).prop_map(|((id, context, task, agent), (parts, metadata, extensions, references))| {
        let from = if agent { Speaker::Agent } else { Speaker::User };
        TaskMessage { id: id.into(), from, context, task, parts, metadata, extensions, references }
    })
}

fn over_json(message: &TaskMessage) -> SendMessage {
    let params = serde_json::json!({"message": json_v1::Shown(message)});
    json_v1::send(params.into()).expect("a request").asked
}

fn over_grpc(message: &TaskMessage) -> SendMessage {
    let sent = v1::sent(&SendReply::Message(Arc::new(message.clone())));
    let Some(proto::v1::Sent::Message(message)) = sent.payload else { panic!("no message") };
    let request = proto::v1::SendMessageRequest { message: Some(message), ..Default::default() };
    v1::send(through_the_wire(&request)).expect("a request")
}

fn old_over_json(message: &TaskMessage) -> SendMessage {
    let reply = SendReply::Message(Arc::new(message.clone()));
    let params = serde_json::to_value(json_v03::Sent(json_v03::Shape::Rest, &reply)).expect("JSON");
    json_v03::send(params.into(), json_v03::Shape::Rest).expect("a request")
}

fn old_over_grpc(message: &TaskMessage) -> SendMessage {
    let sent = v03::sent(&SendReply::Message(Arc::new(message.clone())));
    let Some(proto::v03::Sent::Msg(message)) = sent.payload else { panic!("no message") };
    let request = proto::v03::SendMessageRequest { request: Some(message), ..Default::default() };
    v03::send(through_the_wire(&request)).expect("a request")
}

#[test]
fn both_bindings_refuse_an_empty_url_by_the_same_name() {
    let message = serde_json::json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"url": ""}]});
    let json = json_v1::send(serde_json::json!({"message": message}).into()).expect_err("an empty URL");
    let part =
        proto::v1::Part { content: Some(proto::v1::Content::Url(String::new())), ..Default::default() };
    let message =
        proto::v1::Message { message_id: "m".into(), role: 1, parts: vec![part], ..Default::default() };
    let grpc = v1::send(proto::v1::SendMessageRequest { message: Some(message), ..Default::default() });
    assert_eq!(grpc.expect_err("an empty URL"), json);
    assert_eq!(json.violations[0].field, "message.parts[0].url");
}

fn through_the_wire<M: prost::Message + Default>(message: &M) -> M {
    M::decode(message.encode_to_vec().as_slice()).expect("protobuf")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_bindings_of_v1_read_the_same(message in messages()) {
        let read = over_grpc(&message);
        prop_assert_eq!(&read.message, &message);
        prop_assert_eq!(read, over_json(&message));
    }

    #[test]
    fn both_bindings_of_v03_read_the_same(message in messages()) {
        prop_assert_eq!(old_over_grpc(&message), old_over_json(&message));
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        use prost::Message;
        if let Ok(request) = proto::v1::SendMessageRequest::decode(bytes.as_slice()) {
            let _ = v1::send(request);
        }
        if let Ok(request) = proto::v03::SendMessageRequest::decode(bytes.as_slice()) {
            let _ = v03::send(request);
        }
    }
}
