//! `config show` and `config explain`.

use mas_core::config::{Config, Setting};
use serde_json::{Value, json};

use super::plan::{place, table};
use crate::{cli::ConfigCommand, console, exit::Exit, surroundings::Surroundings};

/// Shows the configuration.
pub(crate) fn run(command: &ConfigCommand, around: &Surroundings) -> Exit {
    let config = match around.config(&mut around.options()) {
        Ok(config) => config,
        Err(report) => {
            console::err_report(&report);
            return Exit::Invalid;
        }
    };
    console::err_report(&config.warnings);
    match command {
        ConfigCommand::Show { json } => show(&config, *json),
        ConfigCommand::Explain { key, json } => explain(&config, key, *json),
    }
}

fn show(config: &Config, json: bool) -> Exit {
    let settings = config.show();
    if json {
        console::out_json(&settings.iter().map(to_json).collect::<Vec<_>>());
        return Exit::Done;
    }
    let rows = settings.iter().map(|setting| vec![setting.key.clone(), value(setting), origin(setting)]);
    let mut text = String::new();
    table(&mut text, &["KEY", "VALUE", "SET BY"], rows.collect());
    console::out(text.trim_start());
    Exit::Done
}

fn explain(config: &Config, key: &str, json: bool) -> Exit {
    let Some(setting) = config.explain(key) else {
        let known: Vec<String> = config.show().into_iter().map(|setting| setting.key).collect();
        console::err(&format!("error: no layer sets `{key}`\nhelp: set are: {}\n", known.join(", ")));
        return Exit::Usage;
    };
    if json {
        console::out_json(&to_json(&setting));
    } else {
        console::out(&format!("{} = {}\nset by {}\n", setting.key, value(&setting), origin(&setting)));
    }
    Exit::Done
}

fn value(setting: &Setting) -> String {
    match &setting.value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn origin(setting: &Setting) -> String {
    format!("{} ({})", setting.layer, place(&setting.at))
}

fn to_json(setting: &Setting) -> Value {
    let (line, _) = setting.at.position();
    json!({
        "key": setting.key,
        "value": setting.value,
        "layer": setting.layer,
        "file": setting.at.source().name(),
        "line": line,
    })
}
