//! Templates: `{input}` and `{tool:NAME}`, and nothing else.

use serde_json::{Map, Value};

/// Why a template cannot be filled: the tool that has no result.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoResult(pub(super) String);

/// Fills a text. What is put in is not read again.
pub(super) fn fill<'a>(
    template: &str,
    input: &str,
    result: &impl Fn(&str) -> Option<&'a str>,
) -> Result<String, NoResult> {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, from)) = rest.split_once('{') {
        out.push_str(before);
        match placeholder(from) {
            Some((Placeholder::Input, after)) => {
                out.push_str(input);
                rest = after;
            }
            Some((Placeholder::Tool(name), after)) => {
                out.push_str(result(name).ok_or_else(|| NoResult(name.to_owned()))?);
                rest = after;
            }
            None => {
                out.push('{');
                rest = from;
            }
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// Fills every string of a JSON object; keys stay as they are.
pub(super) fn fill_object<'a>(
    template: &Map<String, Value>,
    input: &str,
    result: &impl Fn(&str) -> Option<&'a str>,
) -> Result<Map<String, Value>, NoResult> {
    template.iter().map(|(key, value)| Ok((key.clone(), fill_value(value, input, result)?))).collect()
}

fn fill_value<'a>(
    template: &Value,
    input: &str,
    result: &impl Fn(&str) -> Option<&'a str>,
) -> Result<Value, NoResult> {
    Ok(match template {
        Value::String(text) => Value::String(fill(text, input, result)?),
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| fill_value(item, input, result)).collect::<Result<_, _>>()?)
        }
        Value::Object(map) => Value::Object(fill_object(map, input, result)?),
        other => other.clone(),
    })
}

enum Placeholder<'a> {
    Input,
    Tool(&'a str),
}

/// The placeholder that follows an opening brace, and what follows it.
fn placeholder(from: &str) -> Option<(Placeholder<'_>, &str)> {
    let (name, after) = from.split_once('}')?;
    if name == "input" {
        return Some((Placeholder::Input, after));
    }
    let tool = name.strip_prefix("tool:")?;
    let fits = !tool.is_empty() && tool.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    fits.then_some((Placeholder::Tool(tool), after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &str) -> Result<String, NoResult> {
        fill(template, "{tool:calc}", &|name| (name == "calc").then_some("4 {input}"))
    }

    #[test]
    fn placeholders_are_filled_once_and_other_braces_stay() {
        assert_eq!(filled("{input}").unwrap(), "{tool:calc}");
        assert_eq!(filled("= {tool:calc}!").unwrap(), "= 4 {input}!");
        assert_eq!(filled("{\"a\": {input}} {tool:} {x} {").unwrap(), "{\"a\": {tool:calc}} {tool:} {x} {");
        assert_eq!(filled("{{input}}").unwrap(), "{{tool:calc}}");
        assert_eq!(filled("{tool:find}"), Err(NoResult("find".to_owned())));
    }

    #[test]
    fn objects_are_filled_at_every_depth() {
        let template = serde_json::json!({"a": ["{input}", 1], "b": {"c": "{input}?"}});
        let filled = fill_object(template.as_object().unwrap(), "hi", &|_| None).unwrap();
        assert_eq!(Value::Object(filled), serde_json::json!({"a": ["hi", 1], "b": {"c": "hi?"}}));
    }
}
