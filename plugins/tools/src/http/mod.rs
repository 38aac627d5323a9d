//! `http`: a declared request.
//!
//! Arguments stand as `{argument}` in segments of the path, in values of the query and of headers, and in the body;
//! in a URL they are percent-encoded, so that none can change the host, the depth of the path or the keys of the
//! query. `{env:NAME}` is a variable of the environment, read when the team connects.
//!
//! ```yaml
//! url: https://fares.example/v1/routes/{route}
//! query: {class: "{class}"}
//! headers: {Authorization: "Bearer {env:FARES_TOKEN}"}
//! ```
//!
//! The result is the body of the answer: JSON is shown indented, other text as it is. A status that is no success
//! is a failure, told with the status and the beginning of the body. Bounds: 4 MiB of an answer, 2 KiB of it in a
//! failure. A cancel closes the connection. No redirect is followed unless `redirects` says so, and then within the
//! same origin only.
//!
//! What a variable gave, and headers that sound like secrets, are starred out in everything that comes back.

mod address;
mod answer;
mod params;
mod request;
mod shape;
mod template;

use std::{borrow::Cow, sync::Arc, time::Duration};

use async_trait::async_trait;
use mas_comm_kit::http::Client;
use mas_contracts::{
    Build, BuildContext, Builder, CallContext, Cancel, CancelReason, Descriptor, Result, ToolCall,
    ToolContract, ToolOutput, ToolSpec, inventory, schema_of,
};
use serde_json::Value;

use crate::declared::{NO_OBJECT, check, check_name, closed, read};
use answer::Reading;
use params::Params;
use request::Prepared;

/// How long a call may take where no manifest says.
const DEFAULT_LIMIT: Duration = Duration::from_secs(30);

inventory::submit! {
    Descriptor {
        name: Cow::Borrowed("http"),
        aliases: Cow::Borrowed(&[]),
        origin: Cow::Borrowed(env!("CARGO_PKG_NAME")),
        version: Cow::Borrowed(env!("CARGO_PKG_VERSION")),
        summary: Cow::Borrowed("A declared HTTP request, with places for arguments."),
        example: Cow::Borrowed(
            "impl:\n  kind: http\n  params:\n    url: https://fares.example/v1/routes/{route}\n    query: {class: \"{class}\"}\n    headers: {Authorization: \"Bearer {env:FARES_TOKEN}\"}\n",
        ),
        schema: schema_of::<Params>,
        check: check::<Params>,
        builder: Builder::Tool(Build::Linked(|cx, params| Ok(Arc::new(Http::open(cx, params)?)))),
    }
}

struct Http {
    spec: ToolSpec,
    client: Arc<Client>,
    request: Prepared,
    reading: Reading,
    closed: Cancel,
}

impl Http {
    fn open(cx: &BuildContext, params: &Value) -> Result<Self> {
        let params: Params = read(params)?;
        let run = &params.params;
        let request = Prepared::new(run, &cx.env)?;
        let own = ToolSpec {
            name: "http_request".into(),
            description: format!("Sends a {} request.", run.method().as_str()).into(),
            parameters: request.parameters(),
            idempotent: run.method().is_safe(),
            timeout: Some(DEFAULT_LIMIT),
        };
        let spec = match &params.spec {
            Some(declared) => declared.over(own),
            None => own,
        };
        let client = run.settings().connect(cx)?;
        let reading = Reading { ok: run.ok.clone(), output: run.output, redirects: run.redirects };
        Ok(Self { spec, client, request, reading, closed: Cancel::default() })
    }

    async fn run(&self, call: &ToolCall) -> std::result::Result<String, String> {
        let Some(arguments) = call.arguments.as_object() else {
            return Err(NO_OBJECT.to_owned());
        };
        let request = self.request.filled(arguments).map_err(|refusal| refusal.0)?;
        self.reading.ask(&*self.client, request, self.request.origin(), &self.request.secrets).await
    }
}

#[async_trait]
impl ToolContract for Http {
    async fn list(&self) -> Result<Vec<ToolSpec>> {
        Ok(vec![self.spec.clone()])
    }

    async fn call(&self, cx: &CallContext, call: &ToolCall) -> Result<ToolOutput> {
        check_name(&self.spec, call)?;
        let done = tokio::select! {
            biased;
            reason = cx.cancel().cancelled() => return Err(CallContext::stopped(reason)),
            _ = self.closed.cancelled() => return Err(closed("mas::http::closed_tool")),
            done = self.run(call) => done,
        };
        let secrets = &self.request.secrets;
        Ok(match done {
            Ok(text) => ToolOutput::text(secrets.hide(text)),
            Err(message) => {
                ToolOutput::error(secrets.hide(format!("`{}` failed: {message}", self.spec.name)))
            }
        })
    }

    async fn close(&self) {
        self.closed.cancel(CancelReason::Shutdown);
    }
}
