//! One model call against a script: which rule fits, and how its reply is played.

use std::{sync::Arc, time::Duration};

use mas_contracts::{
    Arguments, CallContext, ChatRequest, Completion, Error, ErrorKind, Message, Result, ToolCall, Usage,
};

use super::{
    rule::Rule,
    template::{NoResult, fill, fill_object},
};
use crate::speech;

/// A result of a tool in the running turn.
struct ToolResult<'a> {
    name: &'a str,
    text: Arc<str>,
    failed: bool,
}

/// What the rules are held against.
pub(super) struct Situation<'a> {
    pub(super) agent: Arc<str>,
    pub(super) call: usize,
    request: &'a ChatRequest<'a>,
    input: Arc<str>,
    lower: String,
    results: Vec<ToolResult<'a>>,
}

impl<'a> Situation<'a> {
    pub(super) fn new(cx: &CallContext, request: &'a ChatRequest<'a>) -> Self {
        let input = speech::user_text(request);
        let results = request.turn.iter().filter_map(|message| match &**message {
            Message::Tool { name, output, .. } => {
                Some(ToolResult { name, text: message.text(), failed: output.is_error })
            }
            _ => None,
        });
        Self {
            agent: cx.scope().agent.clone(),
            call: speech::calls_before(request).saturating_add(1),
            request,
            lower: input.to_lowercase(),
            input,
            results: results.collect(),
        }
    }

    /// The user's text.
    pub(super) fn input(&self) -> &str {
        &self.input
    }

    /// The tools that have a result in this turn, in order.
    pub(super) fn tools(&self) -> Vec<&str> {
        self.results.iter().map(|result| result.name).collect()
    }

    fn result(&self, tool: &str) -> Option<&ToolResult<'a>> {
        self.results.iter().rev().find(|result| result.name == tool)
    }

    /// Whether all conditions of a rule hold.
    pub(super) fn fits(&self, rule: &Rule) -> bool {
        let is =
            |condition: &Option<String>, holds: &dyn Fn(&str) -> bool| condition.as_deref().is_none_or(holds);
        is(&rule.agent, &|agent| agent == &*self.agent)
            && is(&rule.model, &|model| model == &**self.request.model)
            && is(&rule.equals, &|text| text == &*self.input)
            && is(&rule.contains, &|part| self.lower.contains(&part.to_lowercase()))
            && is(&rule.matches, &|pattern| glob(&pattern.to_lowercase(), &self.lower))
            && is(&rule.after_tool, &|tool| self.result(tool).is_some())
            && rule.after.iter().all(|tool| self.result(tool).is_some())
            && is(&rule.tool_failed, &|tool| self.result(tool).is_some_and(|result| result.failed))
            && rule.call.is_none_or(|call| call == self.call)
    }

    /// Plays the reply of a rule.
    pub(super) async fn play(&self, cx: &CallContext, rule: &Rule) -> Result<Completion> {
        pause(cx, rule.delay_ms).await?;
        if let Some(failure) = &rule.error {
            return Err(Error::new(failure.kind, failure.message.clone()));
        }
        let calls = self.calls(rule)?;
        let text = match &rule.chunks {
            Some(chunks) => {
                let chunks = chunks.iter().map(|chunk| self.fill(chunk)).collect::<Result<Vec<_>>>()?;
                self.stream(cx, rule, chunks.iter().map(String::as_str)).await?
            }
            None => {
                let text = self.fill(rule.say.as_deref().unwrap_or_default())?;
                self.stream(cx, rule, speech::pieces(&text).into_iter()).await?
            }
        };
        let mut completion = speech::completion(self.request, text, calls);
        if let Some(tokens) = rule.usage {
            completion.usage = Usage {
                input_tokens: tokens.input_tokens,
                output_tokens: tokens.output_tokens,
                model_calls: 0,
            };
        }
        Ok(completion)
    }

    async fn stream(
        &self,
        cx: &CallContext,
        rule: &Rule,
        pieces: impl Iterator<Item = &str> + Send,
    ) -> Result<String> {
        let mut text = String::new();
        for piece in pieces {
            if !text.is_empty() {
                pause(cx, rule.chunk_delay_ms).await?;
            }
            cx.emit_text(self.request.audience, piece);
            text.push_str(piece);
        }
        Ok(text)
    }

    fn calls(&self, rule: &Rule) -> Result<Vec<ToolCall>> {
        let calls = rule.calls.iter().enumerate().map(|(at, call)| {
            let arguments =
                fill_object(&call.arguments, &self.input, &|tool| self.text(tool)).map_err(no_result)?;
            let id = match &call.id {
                Some(id) => id.as_str().into(),
                None => format!("call_{}_{}", self.call, at.saturating_add(1)).into(),
            };
            Ok(ToolCall { id, name: call.tool.as_str().into(), arguments: Arguments::object(arguments) })
        });
        calls.collect()
    }

    fn fill(&self, template: &str) -> Result<String> {
        fill(template, &self.input, &|tool| self.text(tool)).map_err(no_result)
    }

    fn text(&self, tool: &str) -> Option<&str> {
        self.result(tool).map(|result| &*result.text)
    }
}

fn no_result(NoResult(tool): NoResult) -> Error {
    Error::invalid(format!("the script says {{tool:{tool}}}, but `{tool}` has no result in this turn"))
        .with_code("mas::scripted::no_result")
}

/// Waits on the clock of the call, until a cancel or the deadline at most.
async fn pause(cx: &CallContext, millis: u64) -> Result<()> {
    if let Some(reason) = cx.cancel().reason() {
        return Err(CallContext::stopped(reason));
    }
    if millis == 0 {
        return Ok(());
    }
    let deadline = cx.deadline();
    let at = cx.clock().now().checked_add(Duration::from_millis(millis)).unwrap_or(deadline);
    tokio::select! {
        biased;
        reason = cx.cancel().cancelled() => Err(CallContext::stopped(reason)),
        () = cx.clock().sleep_until(at.min(deadline)) => {
            if at > deadline {
                let error = Error::new(ErrorKind::Timeout, "the deadline passed while the script waited");
                return Err(error.with_code("mas::scripted::deadline"));
            }
            Ok(())
        }
    }
}

/// Whether a text fits a pattern of `*` and `?`. Takes time in proportion to both lengths at most.
fn glob(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0_usize, 0_usize);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p = p.saturating_add(1);
            }
            Some(c) if *c == '?' || Some(c) == text.get(t) => {
                p = p.saturating_add(1);
                t = t.saturating_add(1);
            }
            _ => {
                let Some((at, taken)) = star else { return false };
                let taken = taken.saturating_add(1);
                star = Some((at, taken));
                p = at.saturating_add(1);
                t = taken;
            }
        }
    }
    pattern.get(p..).unwrap_or_default().iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::glob;

    #[test]
    fn globs() {
        for (pattern, text, fits) in [
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("plan*trip*", "plan a long trip to x", true),
            ("plan*trip", "plan a trip to x", false),
            ("?at", "cat", true),
            ("?at", "at", false),
            ("*a*b", "aaab", true),
            ("é?", "éa", true),
        ] {
            assert_eq!(glob(pattern, text), fits, "{pattern} on {text}");
        }
    }
}
