//! Generated systems: a moderator and specialists below it in a tree, one tool each.

use std::{fmt::Write, fs, path::Path, path::PathBuf};

use mas_core::manifest::{Environment, Known, Options, validate};

use crate::{Failure, Result};

/// How many agents each agent of a generated system delegates to, at most.
pub const BRANCHES: usize = 8;

/// Writes a system of `agents` agents below `dir` and returns the path of its MAS document.
///
/// The moderator is the root of a tree in which every agent delegates to at most [`BRANCHES`] others; agents and
/// tools are files of their own.
///
/// # Errors
/// When a file cannot be written.
pub fn write_system(dir: &Path, agents: usize) -> Result<PathBuf> {
    fs::create_dir_all(dir.join("agents"))?;
    fs::create_dir_all(dir.join("tools"))?;
    for at in 0..agents {
        fs::write(dir.join("agents").join(format!("{}.agent.yaml", id(at))), agent(at))?;
        fs::write(dir.join("tools").join(format!("{}.tool.yaml", tool_id(at))), tool(at))?;
    }
    let path = dir.join("system.mas.yaml");
    fs::write(&path, system(agents))?;
    Ok(path)
}

/// Validates a system so many times.
///
/// # Errors
/// Where it is invalid.
pub fn validate_system(path: &Path, times: u64) -> Result<()> {
    let (options, environment) = (Options::default(), Environment::default());
    for _ in 0..times {
        let validation = validate(&[path.to_owned()], &options, &environment, Known::default());
        if validation.report.has_errors() {
            return Err(Failure::Wrong(format!("a generated system is invalid: {}", validation.report)));
        }
    }
    Ok(())
}

fn id(at: usize) -> String {
    if at == 0 { "moderator".to_owned() } else { format!("specialist-{at}") }
}

fn tool_id(at: usize) -> String {
    format!("tool-{at}")
}

fn agent(at: usize) -> String {
    let (id, tool) = (id(at), tool_id(at));
    format!(
        "apiVersion: mas/v1
kind: Agent
metadata: {{name: {id}, version: 1.0.0, description: Answers questions about topic {at}.}}
spec:
  description: Answers questions about topic {at}.
  context:
    role: You know all about topic {at} and answer in one sentence.
  models: [{{model: mock, temperature: 0.2, max_tokens: 200}}]
  design_pattern: {{type: react, params: {{max_steps: 8}}}}
  tools:
    - {{ref: ../tools/{tool}.tool.yaml}}
"
    )
}

fn tool(at: usize) -> String {
    let tool = tool_id(at);
    format!(
        "apiVersion: mas/v1
kind: Tool
metadata: {{name: {tool}}}
spec:
  description: Computes what topic {at} needs.
  parameters:
    - {{name: expression, type: string, required: true, description: What to compute.}}
  idempotent: true
  timeout_seconds: 5
  impl: {{kind: system, name: calc}}
"
    )
}

fn system(agents: usize) -> String {
    let mut text = "apiVersion: mas/v1
kind: MAS
metadata: {name: generated}
intent: {summary: A generated system.}
spec:
  agency:
    agents:
"
    .to_owned();
    for at in 0..agents {
        let id = id(at);
        // Writing to a string never fails.
        let _ = writeln!(text, "      - {{id: {id}, ref: agents/{id}.agent.yaml}}");
    }
    text.push_str("  workflow:\n    entry: moderator\n    nodes:\n");
    for at in 0..agents {
        let first = at * BRANCHES + 1;
        let below: Vec<String> = (first..first + BRANCHES).filter(|child| *child < agents).map(id).collect();
        let _ = match below.is_empty() {
            true => writeln!(text, "      - {{id: {}}}", id(at)),
            false => {
                writeln!(text, "      - {{id: {}, delegates_to: [{}]}}", id(at), below.join(", "))
            }
        };
    }
    text
}
