//! The plugins that are linked into the program: a new one needs its line here, and one that the linker drops is
//! missed here.

use std::process::Command;

use serde_json::Value;

/// Category, name and, in brackets, other names.
const BUILT_INS: &[&str] = &[
    "delegation/delegate_tools",
    "agent_comm/a2a",
    "agent_comm/local (agent-local)",
    "agent_comm/platform (mainsequence)",
    "agent_comm/process",
    "agent_expose/a2a",
    "design_pattern/react (analyst, planner, react@v1)",
    "design_pattern/scripted_response (scripted_response@v1)",
    "design_pattern/single_pass (linear, linear@v1, single_pass@v1)",
    "llm_provider/anthropic",
    "llm_provider/gemini (google)",
    "llm_provider/mock",
    "llm_provider/ollama",
    "llm_provider/openai (openai-compatible)",
    "llm_provider/scripted",
    "tool_provider/command",
    "tool_provider/http",
    "tool_provider/native (system)",
    "tool_provider/python",
    "context_manager/sliding-window (sliding-window@v1, sliding_window)",
    "context_manager/stack (full-history, full-history@v1, stack@v1)",
    "store/file",
    "store/memory",
    "observability/native (event-log)",
];

#[test]
fn exactly_these_plugins_are_linked_in() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_mas-ctl")).args(["registry", "list", "--json"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rows: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let linked: Vec<String> = rows
        .iter()
        .map(|row| {
            let text = |key: &str| row[key].as_str().unwrap();
            let aliases: Vec<&str> =
                row["aliases"].as_array().unwrap().iter().map(|alias| alias.as_str().unwrap()).collect();
            let others =
                if aliases.is_empty() { String::new() } else { format!(" ({})", aliases.join(", ")) };
            format!("{}/{}{others}", text("category"), text("name"))
        })
        .collect();
    assert_eq!(linked, BUILT_INS);
}
