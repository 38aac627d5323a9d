//! `python`: tool classes in Python, as they are written for MAS Lab.
//!
//! A declaration names a file (`module_path`, relative to the manifest, or a dotted name that Python finds), its
//! class (`class_name`; default the one tool class of the module) and what its constructor is given (`params`, by
//! keyword). A class offers tools in any of these ways; the first that it has is used:
//!
//! | lists | calls | |
//! |---|---|---|
//! | `on_collect_tools(**_)` | `on_execute_tool(tool_name, arguments, **_)` | hooks, also given `ctx` and `user` |
//! | `list_tools()` | `call_tool(tool_name, arguments)` | |
//! | `get_name()`, `get_description()`, `get_parameters_schema()` or a pydantic `Input` | `execute(**arguments)` | one tool |
//!
//! The base class `mas.runtime.contracts.ToolContract` is a stand-in, and optional; no other module of MAS Lab can
//! be imported, also where MAS Lab is installed. A method that has a parameter `cancel_event`, `progress_callback`
//! or `timeout_seconds` is given it. Awaitables are awaited. A text is the result as it is, everything else is
//! shown as JSON, indented by two spaces: data classes, models and mappings as objects; sets, sequences, arrays and
//! iterators, asynchronous ones too, as lists of 1,000,000 items at most; bytes as their text, or as how many they
//! are; what else JSON has no form for as `str` shows it, but numbers that are none as `NaN` and `Infinity`; `None`
//! is `(no result)`. An exception is a failure, told by its kind, its message and its last line in the code of the
//! tools.
//!
//! With `spec` the declaration is of one tool: that of the class, whatever its name there, or the one of this name
//! if the class has several. Without, every tool of the class is listed.
//!
//! # The process
//!
//! The tools of a team that belong to one module tree (the topmost folder with `__init__.py` above the file, else
//! its folder) share one process. It is started by the interpreter of `MAS_PYTHON`, else of the active virtual
//! environment (`$VIRTUAL_ENV/bin/python`), else `python3` of the `PATH`; Python 3.9 is the oldest. It has the whole
//! environment and the working directory of this program, its tools have an empty stdin, and what they print goes to
//! the log at the level `debug`. Each call runs on a thread of its own, 16 at once.
//!
//! A call that is cancelled or out of time is asked to end: `cancel_event` is set; unless the tool has taken that,
//! an awaitable is cancelled, and a thread is interrupted at its next step in Python; children that it leaves running
//! are ended, where the kernel tells which they are (on Linux). 100 ms later the process is killed, with all that it has
//! started; its other calls fail as interrupted, and the next one starts it anew. It ends with this program, in
//! whatever way that ends. Bounds: 30 s to start and to import, 16 MiB for a result.
//!
//! Values of variables that sound like secrets are starred out in results, failures and the log.

mod describe;
mod interpreter;
mod link;
mod prints;
mod process;
mod tree;

use std::{
    borrow::Cow,
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use async_trait::async_trait;
use mas_contracts::{
    Build, BuildContext, Builder, CallContext, Descriptor, Error, ErrorKind, Problem, Result, ToolCall,
    ToolContract, ToolOutput, ToolSpec, inventory, schema_of,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::declared::{Declaration, Declared, NO_OBJECT, check, read};
use link::Answer;
use tree::ModuleTree;

/// What stands for the result of a tool that gives none; a model may not be sent an empty one.
const NOTHING: &str = "(no result)";

/// Parameters of `python`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// The file, relative to the manifest, or a dotted module name.
    module_path: String,
    /// The class; default the one tool class of the module.
    #[serde(default)]
    class_name: Option<String>,
    /// How a model sees it; default every tool as the class says itself.
    #[serde(default)]
    spec: Option<Declared>,
    /// What the constructor is given, by keyword; default nothing.
    #[serde(default)]
    params: Map<String, Value>,
}

inventory::submit! {
    Descriptor {
        name: Cow::Borrowed("python"),
        aliases: Cow::Borrowed(&[]),
        origin: Cow::Borrowed(env!("CARGO_PKG_NAME")),
        version: Cow::Borrowed(env!("CARGO_PKG_VERSION")),
        summary: Cow::Borrowed("Tool classes in Python, as written for MAS Lab, in one process per module tree."),
        example: Cow::Borrowed(
            "impl:\n  kind: python\n  module_path: ./get_fares.py\n  class_name: GetFares\n  params: {path: data/fares.yaml}\n",
        ),
        schema: schema_of::<Params>,
        check: check::<Params>,
        builder: Builder::Tool(Build::Linked(|cx, params| Ok(Arc::new(Python::open(cx, params)?)))),
    }
}

impl Declaration for Params {
    fn problems(&self) -> Vec<Problem> {
        self.spec.iter().flat_map(Declared::problems).collect()
    }
}

/// A class as a source of tools.
struct Python {
    tree: Arc<ModuleTree>,
    /// What the process is told of it.
    declaration: Value,
    declared: Option<Declared>,
    shown: String,
    /// The class's own name of each tool, by the name that models call.
    own_names: OnceLock<HashMap<Arc<str>, String>>,
}

impl Python {
    fn open(cx: &BuildContext, params: &Value) -> Result<Self> {
        let params: Params = read(params)?;
        let file = if is_path(&params.module_path) {
            Some(existing_file(&cx.base, &params.module_path)?)
        } else {
            None
        };
        let base = || existing_folder(&cx.base);
        let root = file.as_deref().map_or_else(base, |file| Ok(tree::root_of(file)))?;
        let key = root.to_string_lossy().into_owned();
        let tree = cx.shared.get_or_make::<ModuleTree>(&key, || ModuleTree::new(cx, root))?;
        let declaration = json!({
            "number": tree.next_number(),
            "file": file,
            "module": params.module_path,
            "class": params.class_name,
            "params": params.params,
        });
        let shown = params.class_name.unwrap_or(params.module_path);
        Ok(Self { tree, declaration, declared: params.spec, shown, own_names: OnceLock::new() })
    }

    fn request(&self, call: &ToolCall, own_name: &str, cx: &CallContext) -> Value {
        json!({
            "do": "call",
            "tool": self.declaration,
            "name": own_name,
            "arguments": call.arguments.as_object(),
            "context": {
                "agent_id": cx.scope().agent,
                "session_id": cx.scope().session,
                "seconds": cx.remaining().as_secs_f64(),
            },
        })
    }
}

/// Whether a module is named by its file, as manifests do.
fn is_path(module: &str) -> bool {
    module.contains('/') || module.ends_with(".py")
}

fn existing_file(base: &Path, module: &str) -> Result<PathBuf> {
    let path = base.join(module);
    match path.canonicalize() {
        Ok(file) if file.is_file() => Ok(file),
        Ok(file) => Err(missing(format!("{} is not a file", file.display()))),
        Err(error) => Err(missing(format!(
            "the Python file {} cannot be read: {error}; a path is relative to the file that names it",
            path.display()
        ))),
    }
}

fn existing_folder(base: &Path) -> Result<PathBuf> {
    base.canonicalize().map_err(|error| missing(format!("{} cannot be read: {error}", base.display())))
}

fn missing(message: String) -> Error {
    Error::new(ErrorKind::NotFound, message).with_code("mas::python::missing")
}

#[async_trait]
impl ToolContract for Python {
    async fn list(&self) -> Result<Vec<ToolSpec>> {
        let answer = self.tree.list(json!({"do": "list", "tool": self.declaration})).await?;
        let listed = match answer {
            Answer::Value(listed) => describe::read(&listed)?,
            Answer::Failed(message) => return Err(Error::invalid(message).with_code("mas::python::load")),
            Answer::Cancelled => return Err(Error::internal("the list of tools was given up")),
        };
        let specs = describe::choose(listed, self.declared.as_ref(), &self.shown)?;
        let names = specs.iter().map(|(own, spec)| (spec.name.clone(), own.clone())).collect();
        // A second list cannot differ: the process is told the same.
        let _ = self.own_names.set(names);
        Ok(specs.into_iter().map(|(_, spec)| spec).collect())
    }

    async fn call(&self, cx: &CallContext, call: &ToolCall) -> Result<ToolOutput> {
        let Some(own_name) = self.own_names.get().and_then(|names| names.get(&call.name)) else {
            let message = format!("`{}` offers no tool `{}`", self.shown, call.name);
            return Err(Error::new(ErrorKind::NotFound, message));
        };
        if call.arguments.as_object().is_none() {
            return Ok(ToolOutput::error(NO_OBJECT));
        }
        Ok(match self.tree.call(cx, self.request(call, own_name, cx)).await? {
            Answer::Value(Value::String(text)) if text.is_empty() => ToolOutput::text(NOTHING),
            Answer::Value(Value::String(text)) => ToolOutput::text(self.tree.hide(text)),
            Answer::Value(other) => return Err(Error::internal(format!("no result, but {other}"))),
            Answer::Failed(message) => ToolOutput::error(format!("`{}` failed: {message}", call.name)),
            Answer::Cancelled => ToolOutput::error(format!("`{}` was stopped", call.name)),
        })
    }

    async fn close(&self) {
        self.tree.close().await;
    }
}
