//! Dependencies point one way, and nothing under the core speaks HTTP or TLS or draws on a terminal.
//!
//! ```text
//!   contracts <- core, plugins, testkit      plugins never see core or each other, but a shared library
//!   everything <- ctl, benches, examples     testkit is for tests, so a dev-dependency (of benches any)
//! ```

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests; the exemption in clippy.toml reaches test functions only"
)]

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    path::Path,
};

use cargo_metadata::{DependencyKind, MetadataCommand};

/// Where a package stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layer {
    Contracts,
    Sdk,
    Testkit,
    Core,
    Plugin,
    /// A library that plugins share.
    Kit,
    /// A fake peer, for the tests of plugins and for the program.
    StandIn,
    /// The program and the examples: above everything.
    Top,
    /// As the program, and free to use the testkit as it likes.
    Benches,
    /// Not of this workspace.
    Foreign,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Normal,
    Dev,
    Build,
}

struct Arrow {
    from: String,
    to: String,
    kind: Kind,
}

#[derive(Default)]
struct Graph {
    layers: BTreeMap<String, Layer>,
    arrows: Vec<Arrow>,
}

impl Graph {
    /// The packages that this machine builds, with every arrow between them.
    fn of_workspace() -> Self {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        // Everything was fetched to build this test; other platforms' packages were not.
        let options = ["--offline", "--locked", "--filter-platform", "host-tuple"].map(str::to_owned);
        let metadata = MetadataCommand::new().manifest_path(manifest).other_options(options).exec().unwrap();
        let root = metadata.workspace_root.as_std_path();
        let mut graph = Self::default();
        let mut names = BTreeMap::new();
        for package in &metadata.packages {
            let member = metadata.workspace_members.contains(&package.id);
            let layer = if member {
                let folder = package.manifest_path.parent().unwrap().as_std_path();
                layer_of(folder.strip_prefix(root).unwrap())
            } else {
                Layer::Foreign
            };
            // Two versions of a foreign package are one name here.
            let name = package.name.to_string();
            graph.layers.insert(name.clone(), layer);
            names.insert(package.id.clone(), name);
        }
        for node in metadata.resolve.unwrap().nodes {
            for dependency in node.deps {
                for kind in dependency.dep_kinds {
                    let kind = match kind.kind {
                        DependencyKind::Development => Kind::Dev,
                        DependencyKind::Build => Kind::Build,
                        _ => Kind::Normal,
                    };
                    graph.arrows.push(Arrow {
                        from: names[&node.id].clone(),
                        to: names[&dependency.pkg].clone(),
                        kind,
                    });
                }
            }
        }
        graph
    }

    fn layer(&self, name: &str) -> Layer {
        self.layers.get(name).copied().unwrap_or(Layer::Foreign)
    }

    /// Every arrow between our packages that points where none may.
    fn wrong_arrows(&self) -> BTreeSet<String> {
        self.arrows
            .iter()
            .filter(|arrow| !allowed(self.layer(&arrow.from), self.layer(&arrow.to), arrow.kind))
            .map(|arrow| format!("{} -> {} ({:?})", arrow.from, arrow.to, arrow.kind))
            .collect()
    }

    /// Every forbidden package that building `start` needs, with the shortest way to it.
    fn forbidden_under(&self, start: &str) -> BTreeSet<String> {
        let mut ways = BTreeMap::from([(start, start.to_owned())]);
        let mut queue = VecDeque::from([start]);
        while let Some(from) = queue.pop_front() {
            for arrow in self.arrows.iter().filter(|arrow| arrow.from == from && arrow.kind != Kind::Dev) {
                if !ways.contains_key(&*arrow.to) {
                    ways.insert(&arrow.to, format!("{} -> {}", ways[from], arrow.to));
                    queue.push_back(&arrow.to);
                }
            }
        }
        ways.into_iter().filter(|(name, _)| is_forbidden(name)).map(|(_, way)| way).collect()
    }
}

/// The layer of a folder of this workspace. A new top folder needs a line here, so that it has a place.
fn layer_of(folder: &Path) -> Layer {
    match folder.to_str().unwrap() {
        "contracts" => Layer::Contracts,
        "contracts/sdk" => Layer::Sdk,
        "contracts/testkit" => Layer::Testkit,
        "core" => Layer::Core,
        "plugins/comm-kit" => Layer::Kit,
        "plugins/platform/stand-in" => Layer::StandIn,
        "ctl" => Layer::Top,
        "benches" => Layer::Benches,
        other if other.starts_with("plugins/") => Layer::Plugin,
        other if other.starts_with("examples/") => Layer::Top,
        other => panic!("`{other}` has no place among the layers"),
    }
}

fn allowed(from: Layer, to: Layer, kind: Kind) -> bool {
    match (from, to) {
        (Layer::Foreign, to) => to == Layer::Foreign,
        (_, Layer::Foreign) => true,
        (Layer::Benches, _) => true,
        (Layer::Top, Layer::Testkit) => kind == Kind::Dev,
        (Layer::Top, to) => to != Layer::Benches,
        (_, Layer::Testkit) => kind == Kind::Dev,
        (Layer::Contracts, _) | (_, Layer::Top | Layer::Benches | Layer::Core | Layer::Plugin) => false,
        (_, Layer::Contracts) => true,
        (from, Layer::StandIn) => from == Layer::Plugin && kind == Kind::Dev,
        (from, Layer::Kit) => from == Layer::Plugin,
        (from, Layer::Sdk) => from == Layer::Plugin,
    }
}

/// Names, and families of names that end in `*`.
const FORBIDDEN: &[&str] = &[
    // HTTP
    "actix-http",
    "actix-web",
    "axum*",
    "curl*",
    "h2",
    "h3",
    "hyper*",
    "isahc",
    "reqwest*",
    "rocket",
    "surf",
    "tide",
    "tiny_http",
    "tonic*",
    "tower-http",
    "tungstenite",
    "ureq*",
    "warp",
    // TLS
    "aws-lc*",
    "boring*",
    "native-tls",
    "openssl*",
    "ring",
    "rustls*",
    "s2n*",
    "schannel",
    "security-framework*",
    "tokio-native-tls",
    "tokio-rustls",
    // Terminals
    "console",
    "cursive*",
    "crossterm*",
    "dialoguer",
    "indicatif",
    "inquire",
    "ncurses",
    "ratatui*",
    "reedline",
    "rustyline*",
    "termion",
    "termwiz",
    "tui*",
];

fn is_forbidden(name: &str) -> bool {
    FORBIDDEN.iter().any(|entry| match entry.strip_suffix('*') {
        Some(family) => name.starts_with(family),
        None => name == *entry,
    })
}

#[test]
fn dependencies_point_one_way() {
    let graph = Graph::of_workspace();
    let wrong = graph.wrong_arrows();
    assert!(wrong.is_empty(), "arrows that may not be:\n  {}", Vec::from_iter(wrong).join("\n  "));
    for (from, to) in [("mas-core", "mas-contracts"), ("mas-ctl", "mas-core"), ("mas-core", "tokio")] {
        let known = |arrow: &Arrow| arrow.from == from && arrow.to == to;
        assert!(graph.arrows.iter().any(known), "the graph is not the workspace's: no {from} -> {to}");
    }
}

#[test]
fn core_needs_no_http_no_tls_and_no_terminal() {
    let graph = Graph::of_workspace();
    for package in ["mas-contracts", "mas-core"] {
        let found = graph.forbidden_under(package);
        assert!(found.is_empty(), "not to be needed:\n  {}", Vec::from_iter(found).join("\n  "));
    }
}

fn drawn(arrows: &[(&str, &str, Kind)]) -> Graph {
    let layer = |name: &str| match name {
        "contracts" => Layer::Contracts,
        "sdk" => Layer::Sdk,
        "testkit" => Layer::Testkit,
        "core" => Layer::Core,
        "kit" => Layer::Kit,
        "stand-in" => Layer::StandIn,
        "ctl" => Layer::Top,
        "benches" => Layer::Benches,
        plugin if plugin.starts_with("plugin-") => Layer::Plugin,
        _ => Layer::Foreign,
    };
    let mut graph = Graph::default();
    for (from, to, kind) in arrows {
        for name in [*from, *to] {
            graph.layers.insert(name.to_owned(), layer(name));
        }
        graph.arrows.push(Arrow { from: (*from).to_owned(), to: (*to).to_owned(), kind: *kind });
    }
    graph
}

#[test]
fn arrows_that_may_be_are_let_through() {
    let graph = drawn(&[
        ("core", "contracts", Kind::Normal),
        ("core", "testkit", Kind::Dev),
        ("core", "serde", Kind::Normal),
        ("testkit", "contracts", Kind::Normal),
        ("sdk", "contracts", Kind::Normal),
        ("kit", "contracts", Kind::Normal),
        ("plugin-a", "contracts", Kind::Normal),
        ("plugin-a", "kit", Kind::Normal),
        ("plugin-a", "sdk", Kind::Normal),
        ("plugin-a", "testkit", Kind::Dev),
        ("plugin-a", "stand-in", Kind::Dev),
        ("stand-in", "contracts", Kind::Normal),
        ("stand-in", "testkit", Kind::Dev),
        ("ctl", "stand-in", Kind::Normal),
        ("ctl", "plugin-a", Kind::Normal),
        ("ctl", "core", Kind::Normal),
        ("ctl", "testkit", Kind::Dev),
        ("benches", "plugin-a", Kind::Normal),
        ("benches", "ctl", Kind::Normal),
        ("benches", "testkit", Kind::Normal),
    ]);
    assert_eq!(graph.wrong_arrows(), BTreeSet::new());
}

#[test]
fn each_arrow_that_may_not_be_is_found() {
    for (from, to, kind) in [
        ("contracts", "core", Kind::Normal),
        ("contracts", "testkit", Kind::Normal),
        ("contracts", "plugin-a", Kind::Dev),
        ("contracts", "sdk", Kind::Normal),
        ("core", "plugin-a", Kind::Normal),
        ("core", "plugin-a", Kind::Dev),
        ("core", "kit", Kind::Normal),
        ("core", "ctl", Kind::Dev),
        ("core", "testkit", Kind::Normal),
        ("core", "testkit", Kind::Build),
        ("kit", "core", Kind::Normal),
        ("kit", "plugin-a", Kind::Normal),
        ("plugin-a", "core", Kind::Normal),
        ("plugin-a", "core", Kind::Dev),
        ("plugin-a", "plugin-b", Kind::Normal),
        ("plugin-a", "plugin-b", Kind::Dev),
        ("plugin-a", "testkit", Kind::Normal),
        ("plugin-a", "stand-in", Kind::Normal),
        ("stand-in", "kit", Kind::Normal),
        ("stand-in", "plugin-a", Kind::Normal),
        ("core", "stand-in", Kind::Dev),
        ("plugin-a", "ctl", Kind::Build),
        ("testkit", "core", Kind::Normal),
        ("testkit", "plugin-a", Kind::Normal),
        ("ctl", "testkit", Kind::Normal),
        ("ctl", "benches", Kind::Dev),
    ] {
        let found = drawn(&[("core", "contracts", Kind::Normal), (from, to, kind)]).wrong_arrows();
        assert_eq!(found, BTreeSet::from([format!("{from} -> {to} ({kind:?})")]));
    }
}

#[test]
fn a_forbidden_package_is_found_at_any_depth() {
    let graph = drawn(&[
        ("core", "contracts", Kind::Normal),
        ("core", "schema", Kind::Normal),
        ("schema", "client", Kind::Normal),
        ("client", "rustls-webpki", Kind::Normal),
        ("contracts", "aws-lc-sys", Kind::Build),
        ("core", "ratatui-core", Kind::Dev),
        ("core", "termina", Kind::Normal),
        ("core", "stringy", Kind::Normal),
        ("ctl", "reqwest", Kind::Normal),
    ]);
    let found = ["core -> contracts -> aws-lc-sys", "core -> schema -> client -> rustls-webpki"];
    assert_eq!(graph.forbidden_under("core"), found.map(str::to_owned).into());
    assert_eq!(graph.forbidden_under("ctl"), ["ctl -> reqwest".to_owned()].into());
}
