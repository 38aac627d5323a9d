//! `plugins`: what is loaded beside what is linked in.

use std::path::{Path, PathBuf};

use crate::manifest::yaml::Node;
use crate::manifest::{Located, reading};

use super::layer::Layer;

/// A plugin that the configuration names.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginEntry {
    /// The library, or the program that speaks for the plugin; from the directory of the file that names it.
    pub path: Located<PathBuf>,
    /// Whether nothing runs without it. Default `false`: a plugin that cannot be loaded is told, and the rest works.
    pub required: bool,
    /// The SHA-256 that the file must have, in hexadecimal.
    pub sha256: Option<Located<String>>,
}

/// The plugins of every layer, lowest first: a layer adds to those below it. A path that stands in two layers is one
/// plugin, as the higher layer says.
pub(super) fn of(layers: &[Layer], cwd: &Path) -> Vec<PluginEntry> {
    let mut plugins: Vec<PluginEntry> = Vec::new();
    for layer in layers {
        for node in layer.node.get("plugins").map(Node::items).unwrap_or_default() {
            let Some(plugin) = entry(node, &layer.dir(cwd)) else { continue };
            plugins.retain(|known| known.path.value != plugin.path.value);
            plugins.push(plugin);
        }
    }
    plugins
}

fn entry(node: &Node, dir: &Path) -> Option<PluginEntry> {
    let path = if node.is_scalar() { reading::filled(Some(node)) } else { reading::filled(node.get("path")) };
    Some(PluginEntry {
        path: path?.map(|path| dir.join(path)),
        required: reading::flag(node.get("required")).is_some_and(|required| required.value),
        sha256: reading::filled(node.get("sha256")),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::config::Config;
    use crate::manifest::{Environment, Options};

    /// The plugins that a user's and a workspace's configuration name, or what is wrong with them.
    fn plugins(user: &str, workspace: &str) -> Result<Vec<String>, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        for (file, text) in [("user/mas/config.yaml", user), ("work/config.yaml", workspace)] {
            let file = root.join(file);
            fs::create_dir_all(file.parent().expect("a parent")).expect("folders");
            fs::write(file, text).expect("a file");
        }
        let config_home = ("XDG_CONFIG_HOME".to_owned(), root.join("user").display().to_string());
        let environment: Environment = [config_home].into_iter().collect();
        let config =
            Config::load(&root.join("work"), &Options::default(), &environment).map_err(|report| {
                report.iter().map(|problem| problem.to_string()).collect::<Vec<_>>().join("; ")
            })?;
        let shown = config.plugins.iter().map(|plugin| {
            let path = plugin.path.value.strip_prefix(root).unwrap_or(&plugin.path.value);
            let sum = plugin.sha256.as_ref().map_or("", |_| " checked");
            format!("{}{}{sum}", path.display(), if plugin.required { " required" } else { "" })
        });
        Ok(shown.collect())
    }

    #[test]
    fn layers_add_plugins_and_the_higher_one_says_how() {
        let sum = "a".repeat(64);
        let user = "plugins:\n  - libone.so\n  - /opt/two.so\n";
        let workspace = format!(
            "plugins:\n  - {{path: sub/three.so, sha256: {sum}}}\n  - {{path: /opt/two.so, required: true}}\n"
        );
        assert_eq!(
            plugins(user, &workspace).expect("it is valid"),
            ["user/mas/libone.so", "work/sub/three.so checked", "/opt/two.so required"]
        );
    }

    #[test]
    fn what_is_no_plugin_is_refused() {
        for (text, why) in [
            ("plugins: [{file: a.so}]\n", "path"),
            ("plugins: [{path: a.so, sha256: abc}]\n", "SHA-256"),
            ("plugins: a.so\n", "a list"),
            ("plugins: [{path: a.so, requierd: true}]\n", "requierd"),
        ] {
            let refused = plugins("", text).expect_err(text);
            assert!(refused.contains(why), "{refused}");
        }
    }
}
