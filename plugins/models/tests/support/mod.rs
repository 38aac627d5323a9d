//! A turn, and providers, for tests.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // a test may stop short

use std::{path::Path, sync::Arc, time::Instant};

use mas_contracts::{
    Audience, BuildContext, Builder, CallContext, ChatRequest, Completion, Descriptor, Error, EventKind,
    ModelContract, Result, inventory,
};
use mas_models as _; // links the registrations
use mas_testkit::{CallContextBuilder, OwnedRequest, RecordingSink};
use serde_json::Value;

pub(crate) use mas_testkit::build_context;

pub(crate) fn descriptor(name: &str) -> &'static Descriptor {
    inventory::iter::<Descriptor>().find(|d| d.name == name).unwrap()
}

pub(crate) fn build(name: &str, cx: &BuildContext, params: &Value) -> Result<Arc<dyn ModelContract>> {
    match &descriptor(name).builder {
        Builder::Model(build) => build.build(cx, params),
        other => Err(Error::internal(other.category().as_str())),
    }
}

/// The provider with these parameters and, beside them, `more`; the key is in `THE_KEY`.
pub(crate) fn keyed(name: &str, key: &str, mut params: Value, more: &Value) -> Arc<dyn ModelContract> {
    params["api_key_env"] = "THE_KEY".into();
    params.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    build(name, &build_context(Path::new("."), &[("THE_KEY", key)]), &params).unwrap()
}

/// A turn of one agent, to be asked about.
pub(crate) struct Turn {
    pub(crate) cx: CallContext,
    pub(crate) sink: Arc<RecordingSink>,
    pub(crate) asks: OwnedRequest,
}

impl Turn {
    /// Agent, what the user says.
    pub(crate) fn new(agent: &str, text: &str) -> Self {
        let sink = RecordingSink::new();
        let cx = CallContextBuilder::new(agent).session("s").turn("t").sink(sink.clone()).build();
        let mut asks = OwnedRequest::new(text);
        (asks.model, asks.system) = ("gpt-4o".into(), "You help.".to_owned());
        Self { cx, sink, asks }
    }

    pub(crate) async fn ask(&self, model: &dyn ModelContract) -> Result<Completion> {
        model.chat(&self.cx, self.request()).await
    }

    pub(crate) fn request(&self) -> ChatRequest<'_> {
        self.asks.borrow()
    }

    /// The text that was emitted, reasoning too, with when it came.
    fn heard(&self) -> Vec<(Instant, String)> {
        let recorded = self.sink.recorded().into_iter();
        recorded
            .filter_map(|recorded| match recorded.event.kind {
                EventKind::TextDelta { text, .. } => Some((recorded.at.into_std(), text.to_string())),
                _ => None,
            })
            .collect()
    }

    pub(crate) fn pieces(&self) -> Vec<String> {
        self.heard().into_iter().map(|(_, text)| text).collect()
    }

    pub(crate) fn times(&self) -> Vec<Instant> {
        self.heard().into_iter().map(|(at, _)| at).collect()
    }

    /// The pieces of the answer, together.
    pub(crate) fn said(&self) -> String {
        self.sink.text(Audience::Answer)
    }

    /// How many notices there were.
    pub(crate) fn notices(&self) -> usize {
        self.sink.kinds().into_iter().filter(|kind| matches!(kind, EventKind::Notice { .. })).count()
    }
}
