//! The agents of the host, which are out of reach: a type of which there is no value.

use std::{convert::Infallible, future::Future, pin::Pin, sync::Arc};

use mas_contracts::{
    AgentHost, AgentProfile, CallContext, CancelReason, EventSink, EventStream, Outbound, Reply, Result,
    TurnKey, TurnRequest, TurnTicket,
};

/// No agents.
pub(super) struct Nobody(Infallible);

impl AgentHost for Nobody {
    fn run<'life0, 'life1, 'life2, 'async_trait>(
        &'life0 self,
        _: &'life1 CallContext,
        _: &'life2 str,
        _: Outbound,
    ) -> Pin<Box<dyn Future<Output = Result<Reply>> + Send + 'async_trait>>
    where
        'life0: 'async_trait,
        'life1: 'async_trait,
        'life2: 'async_trait,
        Self: 'async_trait,
    {
        match self.0 {}
    }

    fn submit(&self, _: TurnRequest) -> Result<TurnTicket> {
        match self.0 {}
    }

    fn begin(&self, _: TurnRequest, _: Arc<dyn EventSink>) -> Result<TurnTicket> {
        match self.0 {}
    }

    fn cancel(&self, _: &TurnKey, _: CancelReason) -> bool {
        match self.0 {}
    }

    fn subscribe(&self, _: &TurnKey, _: u64) -> Option<EventStream> {
        match self.0 {}
    }

    fn describe(&self, _: &str) -> Option<AgentProfile> {
        match self.0 {}
    }

    fn agents(&self) -> Vec<Arc<str>> {
        match self.0 {}
    }
}
