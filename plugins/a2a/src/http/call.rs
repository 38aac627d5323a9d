//! An operation as both HTTP bindings see it: decoded, performed, encoded.

use std::sync::Arc;

use http::HeaderMap;
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

use super::terms;
use crate::{
    json::Node,
    model::{
        Caller, CancelTask, Dialect, Failure, GetTask, ItemStream, ListTasks, Listing, Operations,
        PushConfig, PushKey, Reason, SendMessage, SendReply, StreamItem, SubscribeToTask, TaskView,
    },
    v1, v03,
};

/// The operations (A2A v1.0, section 5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Send,
    Stream,
    Get,
    List,
    Cancel,
    Subscribe,
    CreatePush,
    GetPush,
    ListPush,
    DeletePush,
    ExtendedCard,
}

/// The JSON that a caller speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tongue {
    V1,
    V03(v03::Shape),
}

impl Tongue {
    /// The version.
    pub(super) fn dialect(self) -> Dialect {
        match self {
            Self::V1 => Dialect::V1,
            Self::V03(_) => Dialect::V03,
        }
    }
}

/// An operation with what it is asked.
pub(crate) enum Call {
    Send(SendMessage),
    Stream(SendMessage),
    Get(GetTask),
    List(ListTasks),
    Cancel(CancelTask),
    Subscribe(SubscribeToTask),
    CreatePush(PushConfig),
    GetPush(PushKey),
    ListPush(Arc<str>),
    DeletePush(PushKey),
    ExtendedCard,
}

/// What came of a call.
pub(crate) enum Outcome {
    Reply(Reply),
    Stream(ItemStream),
}

/// What came of a call that is answered at once.
pub(crate) enum Reply {
    Sent(SendReply),
    Task(TaskView),
    Listing(Listing),
    Push(PushConfig),
    Pushes(Vec<PushConfig>),
    Deleted,
    Card(Arc<Value>),
}

impl Call {
    /// Reads what an operation is asked, and puts the tenant where the operations look for it.
    ///
    /// # Errors
    /// Every field that is missing or wrong.
    pub(super) fn read(
        operation: Operation,
        tongue: Tongue,
        params: Node<'_>,
        headers: &HeaderMap,
        caller: &mut Caller,
    ) -> Result<Self, Failure> {
        if !matches!(params, Node::Object(_) | Node::Null) {
            let message = format!("the parameters are {}, not an object", params.kind());
            return Err(Failure::new(Reason::InvalidParams, message));
        }
        match tongue {
            Tongue::V1 => Self::read_v1(operation, params, headers, caller),
            Tongue::V03(shape) => Self::read_v03(operation, shape, params, headers),
        }
    }

    fn read_v1(
        operation: Operation,
        params: Node<'_>,
        headers: &HeaderMap,
        caller: &mut Caller,
    ) -> Result<Self, Failure> {
        fn asked<T>(request: Result<v1::Request<T>, Failure>, caller: &mut Caller) -> Result<T, Failure> {
            let v1::Request { tenant, asked } = request?;
            caller.tenant = tenant;
            Ok(asked)
        }
        Ok(match operation {
            Operation::Send => Self::Send(asked(v1::send(params), caller)?),
            Operation::Stream => Self::Stream(asked(v1::send(params), caller)?),
            Operation::Get => Self::Get(asked(v1::get_task(params), caller)?),
            Operation::List => Self::List(asked(v1::list_tasks(params), caller)?),
            Operation::Cancel => Self::Cancel(asked(v1::cancel(params), caller)?),
            Operation::Subscribe => {
                Self::Subscribe(asked(v1::subscribe(params, terms::last_event(headers)), caller)?)
            }
            Operation::CreatePush => Self::CreatePush(asked(v1::create_push(params), caller)?),
            Operation::GetPush => Self::GetPush(asked(v1::push_key(params), caller)?),
            Operation::ListPush => Self::ListPush(asked(v1::list_push(params), caller)?),
            Operation::DeletePush => Self::DeletePush(asked(v1::push_key(params), caller)?),
            Operation::ExtendedCard => {
                asked(v1::extended_card(params), caller)?;
                Self::ExtendedCard
            }
        })
    }

    fn read_v03(
        operation: Operation,
        shape: v03::Shape,
        params: Node<'_>,
        headers: &HeaderMap,
    ) -> Result<Self, Failure> {
        Ok(match operation {
            Operation::Send => Self::Send(v03::send(params, shape)?),
            Operation::Stream => Self::Stream(v03::send(params, shape)?),
            Operation::Get => Self::Get(v03::get_task(params)?),
            Operation::List => return Err(Failure::new(Reason::MethodNotFound, "0.3 has no list of tasks")),
            Operation::Cancel => Self::Cancel(v03::cancel(params)?),
            Operation::Subscribe => Self::Subscribe(v03::resubscribe(params, terms::last_event(headers))?),
            Operation::CreatePush => Self::CreatePush(match shape {
                v03::Shape::Rpc => v03::set_push(params)?,
                v03::Shape::Rest => v03::create_push(params)?,
            }),
            Operation::GetPush => Self::GetPush(v03::push_key(params, false)?),
            Operation::ListPush => Self::ListPush(v03::list_push(params)?),
            Operation::DeletePush => Self::DeletePush(v03::push_key(params, true)?),
            Operation::ExtendedCard => Self::ExtendedCard,
        })
    }

    /// Asks the agent.
    ///
    /// # Errors
    /// Why it is refused or failed.
    pub(crate) async fn perform(self, agent: &dyn Operations, caller: &Caller) -> Result<Outcome, Failure> {
        Ok(Outcome::Reply(match self {
            Self::Send(request) => Reply::Sent(agent.send(caller, request).await?),
            Self::Get(request) => Reply::Task(agent.get(caller, request).await?),
            Self::List(request) => Reply::Listing(agent.list(caller, request).await?),
            Self::Cancel(request) => Reply::Task(agent.cancel(caller, request).await?),
            Self::CreatePush(config) => Reply::Push(agent.create_push(caller, config).await?),
            Self::GetPush(key) => Reply::Push(agent.get_push(caller, key).await?),
            Self::ListPush(task) => Reply::Pushes(agent.list_push(caller, task).await?),
            Self::DeletePush(key) => {
                agent.delete_push(caller, key).await?;
                Reply::Deleted
            }
            Self::ExtendedCard => Reply::Card(agent.extended_card(caller).await?),
            Self::Stream(request) => return Ok(Outcome::Stream(agent.stream(caller, request).await?)),
            Self::Subscribe(request) => {
                return Ok(Outcome::Stream(agent.subscribe(caller, request).await?));
            }
        }))
    }
}

/// A reply in a caller's JSON.
pub(super) struct Told<'a>(pub(super) Tongue, pub(super) &'a Reply);

impl Serialize for Told<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self.0, self.1) {
            (Tongue::V1, Reply::Sent(reply)) => v1::Shown(reply).serialize(serializer),
            (Tongue::V1, Reply::Task(task)) => v1::Shown(task).serialize(serializer),
            (Tongue::V1, Reply::Push(config)) => v1::Shown(config).serialize(serializer),
            (Tongue::V1, Reply::Pushes(configs)) => v1::Shown(configs).serialize(serializer),
            (Tongue::V03(shape), Reply::Sent(reply)) => v03::Sent(shape, reply).serialize(serializer),
            (Tongue::V03(shape), Reply::Task(task)) => v03::TaskShown(shape, task).serialize(serializer),
            (Tongue::V03(shape), Reply::Push(config)) => v03::PushShown(shape, config).serialize(serializer),
            (Tongue::V03(shape), Reply::Pushes(configs)) => v03::Pushes(shape, configs).serialize(serializer),
            (_, Reply::Listing(listing)) => v1::Shown(listing).serialize(serializer),
            (Tongue::V03(v03::Shape::Rpc), Reply::Deleted) => serializer.serialize_unit(),
            (_, Reply::Deleted) => serializer.serialize_map(Some(0))?.end(),
            (_, Reply::Card(card)) => card.serialize(serializer),
        }
    }
}

/// An item of a stream in a caller's JSON.
pub(super) struct Event<'a>(pub(super) Tongue, pub(super) &'a StreamItem);

impl Serialize for Event<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Tongue::V1 => v1::Shown(self.1).serialize(serializer),
            Tongue::V03(shape) => v03::Event(shape, self.1).serialize(serializer),
        }
    }
}
