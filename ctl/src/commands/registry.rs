//! `registry list` and `registry query`.

use std::fmt::Write;

use mas_core::{
    diagnostic::nearest,
    registry::{Registry, Row},
};
use serde_json::Value;

use super::plan::table;
use crate::{cli::RegistryCommand, console, exit::Exit};

/// Shows what can be selected by name.
pub(crate) fn run(command: &RegistryCommand, registry: &Registry) -> Exit {
    match command {
        RegistryCommand::List { category, json } => {
            let only = match category.as_deref().map(Registry::category).transpose() {
                Ok(only) => only,
                Err(error) => {
                    let help = error.help().map(|help| format!("\nhelp: {help}")).unwrap_or_default();
                    console::err(&format!("error[{}]: {error}{help}\n", error.code()));
                    return Exit::Usage;
                }
            };
            let rows = registry.list(only);
            if *json {
                console::out_json(&rows);
            } else {
                console::out(list(&rows).trim_start());
            }
            Exit::Done
        }
        RegistryCommand::Query { prefix, json } => {
            let rows = registry.query(prefix);
            if *json {
                console::out_json(&rows);
            } else if rows.is_empty() {
                console::err(&unknown(prefix, registry));
            } else {
                console::out(&rows.iter().map(details).collect::<Vec<_>>().join("\n"));
            }
            if rows.is_empty() { Exit::Failed } else { Exit::Done }
        }
    }
}

/// What a person is told whose query finds nothing.
fn unknown(prefix: &str, registry: &Registry) -> String {
    let rows = registry.list(None);
    let names = rows.iter().flat_map(|row| row.aliases.iter().map(|alias| &**alias).chain([&*row.name]));
    let help = nearest(prefix, names).map_or_else(
        || "`mas-ctl registry list` shows every name".to_owned(),
        |meant| format!("did you mean `{meant}`?"),
    );
    format!("error: nothing begins with `{prefix}`\nhelp: {help}\n")
}

fn list(rows: &[Row]) -> String {
    let mut text = String::new();
    let cells = rows.iter().map(|row| {
        let name = if row.default { format!("{} (default)", row.name) } else { row.name.to_string() };
        let aliases = if row.aliases.is_empty() { "-".to_owned() } else { row.aliases.join(", ") };
        vec![row.category.to_string(), name, aliases, row.summary.to_string()]
    });
    table(&mut text, &["CATEGORY", "NAME", "ALIASES", "SUMMARY"], cells.collect());
    text
}

fn details(row: &Row) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{} {} {} (from {})", row.category, row.name, row.version, row.origin);
    let _ = writeln!(text, "  {}", row.summary);
    if !row.aliases.is_empty() {
        let _ = writeln!(text, "  aliases: {}", row.aliases.join(", "));
    }
    parameters(&mut text, &row.parameters, &row.parameters, 1);
    if !row.example.is_empty() {
        let _ = writeln!(text, "  example:");
        for line in row.example.lines() {
            let _ = writeln!(text, "    {line}");
        }
    }
    text
}

/// How deep the parameters of parameters are shown; schemas may refer to themselves.
const DEEPEST: usize = 4;

/// The parameters that a schema declares, and those of each that is an object.
fn parameters(text: &mut String, schema: &Value, root: &Value, level: usize) {
    let fields =
        object_of(schema, root).and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    for (name, field) in fields.into_iter().flatten() {
        let about = field.get("description").and_then(Value::as_str).unwrap_or_default();
        let about = about.split_whitespace().collect::<Vec<_>>().join(" ");
        let indent = "  ".repeat(level);
        let _ = writeln!(text, "{indent}{name}: {about}");
        if level < DEEPEST {
            parameters(text, field, root, level + 1);
        }
    }
}

/// The schema of an object that a schema is, refers to, or allows beside null.
fn object_of<'a>(schema: &'a Value, root: &'a Value) -> Option<&'a Value> {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        return root.pointer(name.strip_prefix('#')?);
    }
    match schema.get("anyOf").and_then(Value::as_array).map(Vec::as_slice) {
        Some([one, other]) if other.get("type").and_then(Value::as_str) == Some("null") => {
            object_of(one, root)
        }
        _ => Some(schema),
    }
}
