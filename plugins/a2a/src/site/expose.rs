//! The exposure `a2a`: endpoints that share sockets, bound and served.

use std::{borrow::Cow, sync::Arc};

use async_trait::async_trait;
use mas_contracts::{
    AgentExposeContract, Build, BuildContext, Builder, Claim, Descriptor, Exposure, HostedEndpoint, Problem,
    Result, Serving, inventory, schema_of,
};

use super::{claim, neighbour, open};
use crate::params::Params;

inventory::submit! {
    Descriptor {
        name: Cow::Borrowed("a2a"),
        aliases: Cow::Borrowed(&[]),
        origin: Cow::Borrowed(env!("CARGO_PKG_NAME")),
        version: Cow::Borrowed(env!("CARGO_PKG_VERSION")),
        summary: Cow::Borrowed("Serves agents over A2A: v1.0 and v0.3, by JSON-RPC, HTTP+JSON and gRPC."),
        example: Cow::Borrowed(
            "fares: {protocol: a2a, usage: deploy, url: \"http://127.0.0.1:9006\", a2a: {capabilities: {streaming: true}}}\n",
        ),
        schema: schema_of::<Params>,
        check: Params::check,
        builder: Builder::AgentExpose(Build::Linked(|_, _| Ok(Arc::new(A2a)))),
    }
}

/// The protocol A2A.
struct A2a;

#[async_trait]
impl AgentExposeContract for A2a {
    fn claims(
        &self,
        endpoint: &HostedEndpoint,
        foreground: bool,
    ) -> std::result::Result<Vec<Claim>, Vec<Problem>> {
        claim::claims(endpoint, foreground)
    }

    async fn bind(&self, serving: Serving, endpoints: &[HostedEndpoint]) -> Result<Box<dyn Exposure>> {
        Ok(Box::new(open::open(&serving, endpoints).await?))
    }

    async fn is_served(&self, build: &BuildContext, endpoint: &HostedEndpoint) -> Result<bool> {
        neighbour::serves(build, endpoint).await
    }
}
