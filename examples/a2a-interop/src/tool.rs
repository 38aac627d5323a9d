//! The tool `interop`: runs an instruction, at other agents too.

use std::{borrow::Cow, sync::Arc, time::Duration};

use async_trait::async_trait;
use mas_a2a::client::{Binding, How, Options, Remote, Webhook};
use mas_contracts::{
    BoxFuture, Build, BuildContext, Builder, CallContext, Descriptor, Error, ErrorKind, EventKind, Result,
    Speaker, TaskMessage, TaskState, ToolCall, ToolContract, ToolOutput, ToolSpec, check_params, inventory,
    parse_params, schema_of,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    heard::{FINISHED, Heard},
    instruction::{CallAgent, CallKind, Instruction, Order, from_base64, part_of, wrong},
};

/// The tool, as the pattern calls it.
pub(crate) const TOOL: &str = "run_instruction";

/// How often a held task says that it is there, after the first time.
const HELD: usize = 5;

/// How long it is silent in between.
const BETWEEN: Duration = Duration::from_secs(2);

/// How long an instruction may take, with all that it leads to.
const LONGEST: Duration = Duration::from_secs(300);

/// What the receiver of a push is to be told.
const TOKEN: &str = "itk-token";

inventory::submit! {
    Descriptor {
        name: Cow::Borrowed("interop"),
        aliases: Cow::Borrowed(&[]),
        origin: Cow::Borrowed(env!("CARGO_PKG_NAME")),
        version: Cow::Borrowed(env!("CARGO_PKG_VERSION")),
        summary: Cow::Borrowed("Runs an instruction of an interop kit, at other A2A agents too."),
        example: Cow::Borrowed("tools:\n  - {kind: interop, name: run_instruction}\n"),
        schema: schema_of::<Params>,
        check: check_params::<Params>,
        builder: Builder::Tool(Build::Linked(|cx, params| {
            let Params { name } = parse_params(params)?;
            if name.as_deref().is_some_and(|name| name != TOOL) {
                return Err(Error::invalid(format!("the tool of `interop` is called {TOOL}"))
                    .with_code("mas::params::invalid"));
            }
            Ok(Arc::new(Interop { build: cx.clone() }))
        })),
    }
}

/// What a manifest may say.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// `run_instruction`, the only name it has.
    #[serde(default)]
    name: Option<String>,
}

struct Interop {
    build: BuildContext,
}

#[async_trait]
impl ToolContract for Interop {
    async fn list(&self) -> Result<Vec<ToolSpec>> {
        Ok(vec![ToolSpec {
            name: TOOL.into(),
            description: "Runs an instruction of an interop kit.".into(),
            parameters: json!({
                "type": "object",
                "properties": {"instruction": {"type": "string", "description": "The message, in base64."}},
                "required": ["instruction"],
                "additionalProperties": false,
            }),
            idempotent: false,
            timeout: Some(LONGEST),
        }])
    }

    async fn call(&self, cx: &CallContext, call: &ToolCall) -> Result<ToolOutput> {
        let arguments = call.arguments.as_object();
        let text = arguments.and_then(|map| map.get("instruction")).and_then(Value::as_str);
        let instruction = from_base64(text.unwrap_or_default())?;
        let text = self.run(&instruction).await?.join("\n");
        if instruction.holds() {
            let said: Arc<str> = format!("{text}\n{FINISHED}").into();
            let working = || EventKind::Status { state: TaskState::Working, text: Some(said.clone()) };
            cx.emit(working());
            for _ in 0..HELD {
                let now = self.build.clock.now();
                self.build.clock.sleep_until(now.checked_add(BETWEEN).unwrap_or(now)).await;
                cx.emit(working());
            }
        }
        Ok(ToolOutput::text(text))
    }
}

impl Interop {
    /// Every answer, in order. No deeper than a message may be, which is read first.
    fn run<'a>(&'a self, instruction: &'a Instruction) -> BoxFuture<'a, Result<Vec<String>>> {
        Box::pin(async move {
            match &instruction.order {
                None => Err(wrong("a step says nothing to do")),
                Some(Order::ReturnResponse(it)) => Ok(vec![it.response.clone()]),
                Some(Order::CallAgent(call)) => Ok(vec![self.call_agent(call).await?]),
                Some(Order::Steps(steps)) => {
                    if !matches!(steps.response_generator, 0 | 1) {
                        let number = steps.response_generator;
                        return Err(wrong(format!("the response generator {number} is unknown here")));
                    }
                    let mut answers = Vec::new();
                    for step in &steps.instructions {
                        answers.extend(self.run(step).await?);
                    }
                    Ok(answers)
                }
            }
        })
    }

    async fn call_agent(&self, call: &CallAgent) -> Result<String> {
        let binding = Binding::parse(&call.transport)
            .ok_or_else(|| wrong(format!("`{}` is no transport", call.transport)))?;
        let instruction =
            call.instruction.as_deref().ok_or_else(|| wrong("the agent to call is told nothing"))?;
        let options = Options { binding: Some(binding), timeout: LONGEST, ..Options::default() };
        let remote = Remote::connect(&call.agent_card_uri, &options, &self.build).await?;
        let message = TaskMessage {
            id: self.build.ids.next_id(),
            from: Speaker::User,
            context: None,
            task: None,
            parts: vec![part_of(instruction)],
            metadata: Map::new(),
            extensions: Vec::new(),
            references: Vec::new(),
        };
        let webhook = match &call.kind {
            Some(CallKind::Resubscribe(_)) => return rejoin(&remote, message).await,
            Some(CallKind::PushNotification(push)) => Some(Webhook {
                url: format!("{}/notifications", push.url.trim_end_matches('/')),
                token: Some(TOKEN.to_owned()),
            }),
            Some(CallKind::SendMessage(_)) | None => None,
        };
        let how = How { webhook, ..How::default() };
        let mut heard = Heard::default();
        if call.streaming {
            let mut updates = remote.stream(message, &how).await?;
            while let Some(update) = updates.next().await? {
                heard.update(&update)?;
            }
        } else {
            heard.answer(remote.send(message, &how).await?)?;
        }
        heard.text()
    }
}

/// Drops a stream after its first event, subscribes to the task, and waits until it says that it is done. A task that
/// never says so is cancelled.
async fn rejoin(remote: &Remote, message: TaskMessage) -> Result<String> {
    let mut heard = Heard::default();
    let mut updates = remote.stream(message, &How::default()).await?;
    if let Some(first) = updates.next().await? {
        heard.update(&first)?;
    }
    drop(updates);
    let task = heard.task.clone().ok_or_else(|| silent("its stream does not begin with a task"))?;
    let waited = async {
        let mut updates = remote.subscribe(&task).await?;
        while !heard.finished {
            match updates.next().await? {
                Some(update) => heard.update(&update)?,
                None => return Err(silent(format!("the task {task} ended without {FINISHED}"))),
            }
        }
        Ok(())
    };
    if let Err(error) = waited.await {
        // Why it was never said counts more than whether there is still something to cancel.
        let _ = remote.cancel(&task).await;
        return Err(error);
    }
    heard.text()
}

fn silent(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Failed, format!("the agent that was called cannot be rejoined: {what}"))
        .with_code("mas::interop::peer")
}
