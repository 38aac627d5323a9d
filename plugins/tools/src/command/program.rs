//! A program that is there: where it is, what it is run with.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use mas_contracts::{BuildContext, Env, Error, ErrorKind, Result};

use super::params::{Run, Setting};
use crate::{
    path::{self, is_executable},
    secrets::{Secrets, is_sensitive},
};

/// A program with everything that a call does not change.
pub(super) struct Program {
    /// As the declaration names it.
    pub(super) shown: String,
    path: PathBuf,
    arguments: Vec<String>,
    folder: PathBuf,
    variables: Vec<(String, String)>,
    /// What it is given that nobody is shown.
    pub(super) secrets: Secrets,
}

impl Program {
    /// Finds the program and its folder, and reads the variables.
    ///
    /// # Errors
    /// What is missing, and what to do.
    pub(super) fn find(cx: &BuildContext, run: &Run) -> Result<Self> {
        let (shown, arguments) = match run.command.0.split_first() {
            Some((first, rest)) => (first.clone(), rest.to_vec()),
            None => return Err(Error::invalid("`command` names no program")),
        };
        // A manifest that is named without a folder is in this one.
        let base = existing_folder(&Path::new(".").join(&cx.base))?;
        let path = if shown.contains('/') { beside(&base, &shown)? } else { on_path(&cx.env, &shown)? };
        let folder = existing_folder(&base.join(&run.cwd))?;
        let (variables, secrets) = variables(&cx.env, run)?;
        Ok(Self { shown, path, arguments, folder, variables, secrets })
    }

    /// The command of one call: pipes for everything, a process group of its own, killed when it is dropped.
    pub(super) fn command(&self, stdin: Stdio) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(&self.path);
        command
            .args(&self.arguments)
            .current_dir(&self.folder)
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        command
    }

    /// Why the program was not started.
    pub(super) fn not_started(&self, cause: &std::io::Error) -> Error {
        const NO_FORMAT: i32 = 8; // ENOEXEC
        let help = match cause.raw_os_error() {
            Some(NO_FORMAT) => "; a script begins with a line such as `#!/bin/sh`",
            _ if cause.kind() == std::io::ErrorKind::NotFound => {
                "; it is gone, or it is a script and what its first line names is not there"
            }
            _ => "",
        };
        Error::new(
            ErrorKind::Unavailable,
            format!("the program `{}` cannot be started: {cause}{help}", self.shown),
        )
        .with_code("mas::command::start")
    }
}

fn existing_folder(path: &Path) -> Result<PathBuf> {
    let shown = path.display();
    let missing = |cause: &dyn std::fmt::Display| {
        Error::new(
            ErrorKind::NotFound,
            format!("the folder `{shown}` of the command cannot be used: {cause}"),
        )
        .with_code("mas::command::folder")
    };
    let folder = path.canonicalize().map_err(|error| missing(&error))?;
    if folder.is_dir() { Ok(folder) } else { Err(missing(&"it is no folder")) }
}

fn beside(base: &Path, shown: &str) -> Result<PathBuf> {
    let path = base.join(shown);
    match path.metadata() {
        Ok(metadata) if is_executable(&metadata) => Ok(path),
        Ok(metadata) if metadata.is_file() => {
            let message = format!(
                "the program `{shown}` is not executable: run `chmod +x {}`, or name what runs it, such as \
                 [python3, {shown}]",
                path.display()
            );
            Err(Error::invalid(message).with_code("mas::command::not_executable"))
        }
        Ok(_) => Err(not_found(format!("the program `{shown}` is not a file: {}", path.display()))),
        Err(error) => {
            let message = format!(
                "the program `{shown}` is not there ({}: {error}); a path is relative to the file that names it",
                path.display()
            );
            Err(not_found(message))
        }
    }
}

fn on_path(env: &Env, shown: &str) -> Result<PathBuf> {
    path::on_path(env, shown).ok_or_else(|| {
        not_found(format!(
            "no program `{shown}` is on the PATH: install it, or write `./{shown}` for one beside the file that \
             names it"
        ))
    })
}

fn not_found(message: String) -> Error {
    Error::new(ErrorKind::NotFound, message).with_code("mas::command::not_found")
}

type Variables = Vec<(String, String)>;

fn variables(env: &Env, run: &Run) -> Result<(Variables, Secrets)> {
    let mut variables = Variables::new();
    let mut secrets = Vec::new();
    for name in run.env.iter().filter(|name| !run.set.contains_key(*name)) {
        if let Some(value) = env.get(name) {
            secrets.extend(is_sensitive(name).then(|| value.to_owned()));
            variables.push((name.clone(), value.to_owned()));
        }
    }
    for (name, setting) in &run.set {
        let (value, secret) = match setting {
            Setting::Text(text) => (text.clone(), is_sensitive(name)),
            Setting::Variable { env: source } => match env.get(source) {
                Some(value) => (value.to_owned(), true),
                None => {
                    let message =
                        format!("the environment variable {source}, for `set.{name}`, is not set: set it");
                    return Err(Error::invalid(message).with_code("mas::env::missing"));
                }
            },
        };
        secrets.extend(secret.then(|| value.clone()));
        variables.push((name.clone(), value));
    }
    Ok((variables, Secrets::new(secrets)))
}
