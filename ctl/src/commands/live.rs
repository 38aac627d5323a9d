//! `--live`: what agents elsewhere say of themselves, and what a send to them would use.

use std::time::Duration;

use mas_contracts::Probe;
use mas_core::{
    diagnostic::Report,
    registry::Registry,
    wiring::{PlannedRoute, Probed, probe_routes},
};
use serde_json::{Map, Value, json};

use super::plan::table;
use crate::{
    conversation::build_context, harmless::on_one_line, report::ErrorReport, surroundings::Surroundings,
};

/// How long an agent may take to say what it is.
const LIMIT: Duration = Duration::from_secs(10);

/// The agents elsewhere that a team uses, as they answered.
pub(super) struct Live {
    rows: Vec<Row>,
    problems: Report,
}

/// One of them.
struct Row {
    agent: String,
    url: Option<String>,
    outcome: Result<Probe, ErrorReport>,
}

impl Live {
    /// Asks all of them at once.
    pub(super) async fn ask(routes: &[PlannedRoute<'_>], registry: &Registry, around: &Surroundings) -> Self {
        let build = build_context(around, &around.cwd);
        let probed = probe_routes(routes, registry, &build, LIMIT).await;
        let problems = probed.iter().filter_map(Probed::problem).collect();
        let row = |probed: Probed<'_>| Row {
            agent: probed.endpoint.agent.shown().to_owned(),
            url: probed.endpoint.url.as_ref().map(|url| url.shown().to_owned()),
            outcome: probed.outcome.map_err(|error| ErrorReport::from(&error)),
        };
        Self { rows: probed.into_iter().map(row).collect(), problems }
    }

    /// Those that cannot be used, each at its endpoint.
    pub(super) fn problems(&self) -> Report {
        self.problems.clone()
    }

    pub(super) fn to_json(&self) -> Value {
        self.rows.iter().map(Row::to_json).collect()
    }

    pub(super) fn to_text(&self) -> String {
        let mut text = String::new();
        let rows = self.rows.iter().map(|row| {
            let (is, would) = match &row.outcome {
                Ok(probe) => (named(probe), used(probe)),
                Err(error) => ("-".to_owned(), format!("nothing: {}", on_one_line(&error.message))),
            };
            vec![row.agent.clone(), is, would]
        });
        table(&mut text, &["ELSEWHERE", "IS", "WOULD USE"], rows.collect());
        text
    }
}

impl Row {
    fn to_json(&self) -> Value {
        let mut row = json!({"agent": self.agent, "url": self.url, "ok": self.outcome.is_ok()});
        let more = match &self.outcome {
            Ok(probe) => {
                let route: Map<String, Value> =
                    probe.route.iter().map(|(key, value)| (key.to_string(), Value::from(&**value))).collect();
                json!({
                    "name": probe.name.as_deref(),
                    "version": probe.version.as_deref(),
                    "streaming": probe.stream,
                    "route": route,
                })
            }
            Err(error) => json!({"error": error}),
        };
        if let (Value::Object(row), Value::Object(more)) = (&mut row, more) {
            row.extend(more);
        }
        row
    }
}

/// Name and version, as it says itself.
fn named(probe: &Probe) -> String {
    let parts: Vec<&str> = [&probe.name, &probe.version].into_iter().flatten().map(|part| &**part).collect();
    if parts.is_empty() { "-".to_owned() } else { on_one_line(&parts.join(" ")) }
}

fn used(probe: &Probe) -> String {
    let mut parts: Vec<String> = probe.route.iter().map(|(key, value)| format!("{key} {value}")).collect();
    parts.push(if probe.stream { "streaming".to_owned() } else { "no streaming".to_owned() });
    on_one_line(&parts.join(", "))
}
