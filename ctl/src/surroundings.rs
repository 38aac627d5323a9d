//! What the program finds around it: environment, working directory, configuration.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use mas_contracts::Env;
use mas_core::{
    config::Config,
    diagnostic::{Diagnostic, Report, Severity},
    manifest::{Environment, Options},
};

use crate::dotenv;

/// A snapshot, taken once at the start.
pub(crate) struct Surroundings {
    pub(crate) cwd: PathBuf,
    pub(crate) environment: Environment,
    pub(crate) env: Env,
    /// What is wrong with the file of variables; told with the configuration.
    problems: Report,
}

impl Surroundings {
    /// Takes the snapshot, with the variables of `env_file`, else of the file that the configuration names. The real
    /// environment wins over a file. A variable that is no text is left out.
    pub(crate) fn take(env_file: Option<&Path>) -> Self {
        let mut variables: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        let mut problems = Report::new();
        match from_file(env_file, &cwd, &variables) {
            Ok(more) => {
                // Of a name that stands twice in the file, the last is kept.
                for (name, value) in more.into_iter().rev() {
                    variables.entry(name).or_insert(value);
                }
            }
            Err(problem) => problems.push(problem),
        }
        Self {
            cwd,
            environment: variables.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
            env: Env::new(variables),
            problems,
        }
    }

    /// How manifests are read here.
    pub(crate) fn options(&self) -> Options {
        Options { base: Some(self.cwd.clone()), ..Options::default() }
    }

    /// The configuration, with the options that it completes.
    pub(crate) fn config(&self, options: &mut Options) -> Result<Config, Report> {
        let loaded = Config::load(&self.cwd, options, &self.environment);
        if self.problems.has_errors() {
            let mut problems = self.problems.clone();
            problems.merge(loaded.err().unwrap_or_default());
            return Err(problems);
        }
        let mut config = loaded?;
        config.warnings.merge(self.problems.clone());
        options.libraries.clone_from(&config.libraries);
        Ok(config)
    }
}

/// The variables of the file that the flag names, else the configuration.
fn from_file(
    flag: Option<&Path>,
    cwd: &Path,
    variables: &BTreeMap<String, String>,
) -> Result<Vec<(String, String)>, Diagnostic> {
    if let Some(file) = flag {
        return dotenv::read(&cwd.join(file), cwd);
    }
    let environment = variables.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let options = Options { base: Some(cwd.to_owned()), ..Options::default() };
    // Problems of the configuration are told by whoever asks for it.
    let named = Config::load(cwd, &options, &environment).ok().and_then(|config| config.env_file);
    let Some(named) = named else { return Ok(Vec::new()) };
    if !named.exists() {
        // Such a file is often kept out of a repository: a fresh copy of the workspace has none.
        let missing = Diagnostic::new(
            "mas::env::file",
            Severity::Warning,
            "`mas_ctl.env` names a file that does not exist",
        );
        return Err(missing.label(&named.at, "named here"));
    }
    dotenv::read(&named, cwd).map_err(|problem| problem.label(&named.at, "named here"))
}
