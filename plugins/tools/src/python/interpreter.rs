//! Which Python runs the tools.

use std::path::{Path, PathBuf};

use mas_contracts::{Env, Error, ErrorKind, Result};

use crate::path::{is_program, on_path};

/// The variable that names the interpreter: a path, or a name to be found on the `PATH`.
const CHOICE: &str = "MAS_PYTHON";

/// Finds the interpreter: that of `MAS_PYTHON`, else of the virtual environment, else `python3` on the `PATH`.
///
/// # Errors
/// There is none, and what to do.
pub(super) fn find(env: &Env) -> Result<PathBuf> {
    if let Some(choice) = env.get(CHOICE) {
        let found = if choice.contains('/') {
            Some(PathBuf::from(choice)).filter(|path| is_program(path))
        } else {
            on_path(env, choice)
        };
        return found.ok_or_else(|| {
            not_found(format!(
                "{CHOICE} names `{choice}`, and there is no such program: set it to Python 3.9 or newer"
            ))
        });
    }
    let of_environment = env.get("VIRTUAL_ENV").map(|folder| Path::new(folder).join("bin/python"));
    of_environment.filter(|path| is_program(path)).or_else(|| on_path(env, "python3")).ok_or_else(|| {
        not_found(format!(
            "no `python3` is on the PATH: install Python 3.9 or newer, or name an interpreter with {CHOICE}"
        ))
    })
}

fn not_found(message: String) -> Error {
    Error::new(ErrorKind::NotFound, message).with_code("mas::python::interpreter")
}
