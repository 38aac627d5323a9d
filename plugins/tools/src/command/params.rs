//! The declaration of a command.

use std::{collections::BTreeMap, fmt};

use mas_contracts::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value;

use crate::{
    declared::{Declaration, Declared},
    text::Output,
};

/// What a program finds in its environment unless `env` says otherwise.
const ENV: [&str; 10] =
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ"];

/// Parameters of `command`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Params {
    /// How a model sees it; default: the program's name, any arguments.
    #[serde(default)]
    pub(super) spec: Option<Declared>,
    /// How the program is run.
    pub(super) params: Run,
}

/// How a program is run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Run {
    /// The program and its arguments; there is no shell. A program with a slash is relative to the manifest, any
    /// other is found on the PATH.
    pub(super) command: Argv,
    /// The folder it runs in, relative to the manifest; default the manifest's own.
    #[serde(default = "here")]
    pub(super) cwd: String,
    /// The variables that are passed on, where they are set; no other is. Default PATH, HOME, USER, LOGNAME,
    /// SHELL, LANG, LC_ALL, LC_CTYPE, TMPDIR, TZ.
    #[serde(default = "standard_env")]
    pub(super) env: Vec<String>,
    /// Further variables, by name: a text, or `{env: NAME}` for the value of another variable.
    #[serde(default)]
    pub(super) set: BTreeMap<String, Setting>,
    /// What the program reads: the arguments as one JSON object, which is the default, or nothing.
    #[serde(default)]
    pub(super) stdin: Stdin,
    /// What the program writes. Default `auto`.
    #[serde(default)]
    pub(super) output: Output,
}

/// A program and its arguments: one text or more.
#[derive(Debug, JsonSchema)]
#[schemars(transparent)]
pub(super) struct Argv(#[schemars(length(min = 1))] pub(super) Vec<String>);

/// A value of a variable. Debug does not print it.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub(super) enum Setting {
    /// The value itself.
    Text(String),
    /// The value of another variable, which must be set. It is a secret.
    Variable {
        /// The variable.
        env: String,
    },
}

/// What a program reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stdin {
    /// The arguments, as one JSON object on a line.
    #[default]
    Json,
    /// Nothing: stdin is at its end.
    None,
}

fn here() -> String {
    ".".to_owned()
}

fn standard_env() -> Vec<String> {
    ENV.map(str::to_owned).into()
}

impl<'de> Deserialize<'de> for Argv {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const SHAPE: &str = "a list of texts: the program and its arguments, such as [./count.sh, --fast]";
        let Value::Array(items) = Value::deserialize(deserializer)? else {
            return Err(D::Error::custom(format!("`command` is {SHAPE}; there is no shell")));
        };
        let text = |(at, item): (usize, Value)| match item {
            Value::String(text) if !text.contains('\0') => Ok(text),
            Value::String(_) => {
                Err(D::Error::custom(format!("item {} of `command` has a NUL in it", at + 1)))
            }
            _ => {
                Err(D::Error::custom(format!("item {} of `command` is not a text: put it in quotes", at + 1)))
            }
        };
        let items = items.into_iter().enumerate().map(text).collect::<Result<Vec<String>, _>>()?;
        match items.first() {
            Some(program) if !program.is_empty() => Ok(Self(items)),
            _ => Err(D::Error::custom(format!("`command` names no program; it is {SHAPE}"))),
        }
    }
}

impl<'de> Deserialize<'de> for Setting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let setting = match Value::deserialize(deserializer)? {
            Value::String(text) if text.contains('\0') => {
                return Err(D::Error::custom("a value has no NUL in it"));
            }
            Value::String(text) => Some(Self::Text(text)),
            Value::Object(mut map) if map.len() == 1 => match map.remove("env") {
                Some(Value::String(env)) => Some(Self::Variable { env }),
                _ => None,
            },
            _ => None,
        };
        setting
            .ok_or_else(|| D::Error::custom("a value is a text, in quotes if it is a number, or {env: NAME}"))
    }
}

impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(_) => f.write_str("Text"),
            Self::Variable { env } => f.debug_struct("Variable").field("env", env).finish(),
        }
    }
}

impl Declaration for Params {
    fn problems(&self) -> Vec<Problem> {
        let wrong = |name: &str| name.is_empty() || name.contains(['=', '\0']);
        let problem = |place: String| {
            Problem::new("no variable has this name")
                .at(place)
                .help("a name is not empty and has no `=` in it")
        };
        let listed = self.params.env.iter().enumerate().filter(|(_, name)| wrong(name));
        let set = self.params.set.keys().filter(|name| wrong(name));
        listed
            .map(|(at, _)| problem(format!("params.env[{at}]")))
            .chain(set.map(|name| problem(format!("params.set.{name}"))))
            .chain(self.spec.iter().flat_map(Declared::problems))
            .collect()
    }
}
