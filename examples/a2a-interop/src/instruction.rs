//! The instruction of a message: `protos/instruction.proto` of the kit, by hand.

use base64::{Engine, engine::general_purpose::STANDARD};
use mas_contracts::{Content, Error, Part, PartMeta, Result};
use prost::Message;

/// The media type of a part that holds an instruction.
const MEDIA_TYPE: &str = "application/x-protobuf";

/// The file name of a part that holds an instruction.
const FILE_NAME: &str = "instruction.bin";

/// What an agent is to do.
#[derive(Clone, PartialEq, Message)]
pub struct Instruction {
    /// The one thing to do.
    #[prost(oneof = "Order", tags = "1, 2, 3")]
    pub order: Option<Order>,
}

/// The one thing to do.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Order {
    /// To call another agent.
    #[prost(message, boxed, tag = "1")]
    CallAgent(Box<CallAgent>),
    /// To answer with a text.
    #[prost(message, tag = "2")]
    ReturnResponse(ReturnResponse),
    /// To do one thing after another.
    #[prost(message, tag = "3")]
    Steps(Steps),
}

/// Calls another agent.
#[derive(Clone, PartialEq, Message)]
pub struct CallAgent {
    /// The binding: `JSONRPC`, `HTTP+JSON` (or `HTTP_JSON`, `REST`) or `GRPC`, in any case.
    #[prost(string, tag = "1")]
    pub transport: String,
    /// Where its card is, or the address below which it is.
    #[prost(string, tag = "2")]
    pub agent_card_uri: String,
    /// What it is to do.
    #[prost(message, optional, boxed, tag = "3")]
    pub instruction: Option<Box<Instruction>>,
    /// Whether the answer is streamed.
    #[prost(bool, tag = "4")]
    pub streaming: bool,
    /// How it is called; as [`CallKind::SendMessage`] if absent.
    #[prost(oneof = "CallKind", tags = "5, 6, 7")]
    pub kind: Option<CallKind>,
}

/// How an agent is called.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum CallKind {
    /// Its answer is waited for.
    #[prost(message, tag = "5")]
    SendMessage(SendMessage),
    /// The same, with a webhook.
    #[prost(message, tag = "6")]
    PushNotification(PushNotification),
    /// Its stream is dropped after the first event, and subscribed to.
    #[prost(message, tag = "7")]
    Resubscribe(Resubscribe),
}

/// A plain call.
#[derive(Clone, PartialEq, Message)]
pub struct SendMessage {}

/// A call with a webhook.
#[derive(Clone, PartialEq, Message)]
pub struct PushNotification {
    /// The receiver, which takes posts at `/notifications` below it.
    #[prost(string, tag = "1")]
    pub url: String,
}

/// A call that loses its stream.
#[derive(Clone, PartialEq, Message)]
pub struct Resubscribe {}

/// Answers with a text.
#[derive(Clone, PartialEq, Message)]
pub struct ReturnResponse {
    /// The text.
    #[prost(string, tag = "1")]
    pub response: String,
    /// Whether the task goes on for a while after everything is done.
    #[prost(bool, tag = "2")]
    pub hold_task: bool,
}

/// Does one thing after another.
#[derive(Clone, PartialEq, Message)]
pub struct Steps {
    /// The things.
    #[prost(message, repeated, tag = "1")]
    pub instructions: Vec<Instruction>,
    /// How one answer is made of theirs.
    #[prost(enumeration = "ResponseGenerator", tag = "2")]
    pub response_generator: i32,
}

/// How one answer is made of many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum ResponseGenerator {
    /// Not said; as [`ResponseGenerator::Concat`].
    Unspecified = 0,
    /// Joined by line breaks.
    Concat = 1,
}

impl Instruction {
    /// Whether anything in it, however deep, asks for the task to be held.
    #[must_use]
    pub fn holds(&self) -> bool {
        match &self.order {
            Some(Order::ReturnResponse(it)) => it.hold_task,
            Some(Order::Steps(steps)) => steps.instructions.iter().any(Self::holds),
            Some(Order::CallAgent(call)) => call.instruction.as_deref().is_some_and(Self::holds),
            None => false,
        }
    }
}

/// A part that holds an instruction.
#[must_use]
pub fn part_of(instruction: &Instruction) -> Part {
    let meta = PartMeta {
        media_type: Some(MEDIA_TYPE.to_owned()),
        filename: Some(FILE_NAME.to_owned()),
        ..PartMeta::default()
    };
    Part { content: Content::Raw(instruction.encode_to_vec().into()), meta: Some(Box::new(meta)) }
}

/// The instruction of the first part that is said to hold one, in bytes or in base64; else of the first text that is
/// one in base64.
///
/// # Errors
/// That no part holds one, or that what is there is none.
pub fn carried(parts: &[Part]) -> Result<Instruction> {
    let said = parts.iter().find(|part| {
        part.meta.as_deref().is_some_and(|meta| {
            meta.media_type.as_deref() == Some(MEDIA_TYPE) || meta.filename.as_deref() == Some(FILE_NAME)
        })
    });
    if let Some(part) = said {
        return match &part.content {
            Content::Raw(bytes) => read(bytes),
            Content::Text(text) => from_base64(text),
            _ => Err(wrong("its part holds neither bytes nor a text")),
        };
    }
    let text = parts.iter().filter_map(Part::as_text).find_map(|text| from_base64(text).ok());
    text.ok_or_else(|| {
        wrong(format!("no part is of the type {MEDIA_TYPE}, named {FILE_NAME}, or one in base64"))
    })
}

/// An instruction in base64.
///
/// # Errors
/// That it is none.
pub(crate) fn from_base64(text: &str) -> Result<Instruction> {
    let bytes = STANDARD.decode(text.trim()).map_err(|error| wrong(error.to_string()))?;
    read(&bytes)
}

/// An instruction as base64.
pub(crate) fn to_base64(instruction: &Instruction) -> String {
    STANDARD.encode(instruction.encode_to_vec())
}

fn read(bytes: &[u8]) -> Result<Instruction> {
    let instruction = Instruction::decode(bytes).map_err(|error| wrong(error.to_string()))?;
    match instruction.order {
        Some(_) => Ok(instruction),
        None => Err(wrong("it says nothing to do")),
    }
}

/// The error for an instruction that cannot be followed.
pub(crate) fn wrong(why: impl std::fmt::Display) -> Error {
    Error::invalid(format!("there is no instruction to follow: {why}")).with_code("mas::interop::instruction")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(text: &str, hold_task: bool) -> Instruction {
        let order = Order::ReturnResponse(ReturnResponse { response: text.to_owned(), hold_task });
        Instruction { order: Some(order) }
    }

    #[test]
    fn the_numbers_of_the_fields_are_those_of_the_kit() {
        let steps = Steps { instructions: vec![says("a", true)], response_generator: 1 };
        let call = CallAgent {
            transport: "t".to_owned(),
            agent_card_uri: "u".to_owned(),
            instruction: Some(Box::new(Instruction { order: Some(Order::Steps(steps)) })),
            streaming: true,
            kind: Some(CallKind::PushNotification(PushNotification { url: "w".to_owned() })),
        };
        let call = Instruction { order: Some(Order::CallAgent(Box::new(call))) };
        let bytes = [
            &b"\x0a\x1c\x0a\x01t\x12\x01u\x1a\x0d\x1a\x0b"[..],
            b"\x0a\x07\x12\x05\x0a\x01a\x10\x01\x10\x01",
            b"\x20\x01\x32\x03\x0a\x01w",
        ]
        .concat();
        assert_eq!(call.encode_to_vec(), bytes);
        assert!(call.holds() && !says("a", false).holds());
    }

    #[test]
    fn an_instruction_is_found_in_bytes_and_in_base64() {
        let instruction = says("hello", false);
        let text = Part::text(to_base64(&instruction));
        let mut named = part_of(&instruction);
        named.content = text.content.clone();
        for parts in
            [vec![Part::text("hi"), part_of(&instruction)], vec![Part::text("hi"), text], vec![named]]
        {
            assert_eq!(carried(&parts).expect("it is found"), instruction);
        }
    }

    #[test]
    fn what_is_no_instruction_is_refused() {
        let refused = |parts: &[Part]| carried(parts).expect_err("it is refused").to_string();
        let mut broken = part_of(&says("a", false));
        broken.content = Content::Raw(b"\x0a\xff".as_slice().into());
        assert!(refused(&[broken]).contains("there is no instruction to follow"));
        assert!(refused(&[Part::text("hello")]).contains("application/x-protobuf"));
        assert!(refused(&[part_of(&Instruction::default())]).contains("it says nothing to do"));
    }
}
