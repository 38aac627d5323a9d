//! What the program finds around it: environment, working directory, configuration.

use std::path::PathBuf;

use mas_contracts::Env;
use mas_core::{
    config::Config,
    diagnostic::Report,
    manifest::{Environment, Options},
};

/// A snapshot, taken once at the start.
pub(crate) struct Surroundings {
    pub(crate) cwd: PathBuf,
    pub(crate) environment: Environment,
    pub(crate) env: Env,
}

impl Surroundings {
    /// Takes the snapshot. A variable that is no text is left out.
    pub(crate) fn take() -> Self {
        let pairs: Vec<(String, String)> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Self {
            cwd: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
            environment: pairs.iter().cloned().collect(),
            env: Env::new(pairs),
        }
    }

    /// How manifests are read here.
    pub(crate) fn options(&self) -> Options {
        Options { base: Some(self.cwd.clone()), ..Options::default() }
    }

    /// The configuration, with the options that it completes.
    pub(crate) fn config(&self, options: &mut Options) -> Result<Config, Report> {
        let config = Config::load(&self.cwd, options, &self.environment)?;
        options.libraries.clone_from(&config.libraries);
        Ok(config)
    }
}
