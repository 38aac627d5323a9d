//! The users' own files: each is accepted or refused as it was by the program they were written for.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::format_push_string,
    clippy::needless_pass_by_value,
    reason = "helpers of tests; the exemption in clippy.toml reaches test functions only"
)]

use std::path::{Path, PathBuf};

use mas_core::manifest::{Environment, Known, Options, validate};

/// The corpus, or nothing when it is not on this machine and nobody insists.
fn corpus() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus");
    if root.join("expected.tsv").is_file() {
        return Some(root);
    }
    let required = std::env::var("MAS_REQUIRE").unwrap_or_default();
    assert!(
        !required.split(',').any(|name| name.trim() == "corpus"),
        "the corpus is required but not present"
    );
    eprintln!("skipped: corpus not present");
    None
}

/// Files that the older program refused for reasons that are none: an output directory is no reference, and a tool
/// provider may have parameters.
const ACCEPTED_AFTER_ALL: &[&str] = &[
    "library-samples/infra/tool-providers.yaml",
    "library-standard/src/mas/library/standard/flavours/local-benchmark.yaml",
    "library-standard/src/mas/library/standard/flavours/local.yaml",
    "library-standard/src/mas/library/standard/flavours/mock.yaml",
    "library-standard/src/mas/library/standard/overlays/observability-native.yaml",
];

#[test]
fn every_file_is_accepted_or_refused_as_expected() {
    let Some(root) = corpus() else { return };
    let files = root.join("mas-lab-v0.1").canonicalize().unwrap();
    let table = std::fs::read_to_string(root.join("expected.tsv")).unwrap();
    let options = Options { base: Some(files.clone()), ..Options::default() };
    let environment = Environment::default();
    let mut wrong = Vec::new();
    for row in table.lines().skip(1) {
        let mut columns = row.split('\t');
        let (verdict, path) = (columns.next().unwrap(), columns.next().unwrap());
        let expected = verdict == "OK" || ACCEPTED_AFTER_ALL.contains(&path);
        let validation = validate(&[files.join(path)], &options, &environment, Known::default());
        let ok = validation.outcomes.iter().all(|outcome| outcome.ok);
        if ok != expected {
            wrong.push(format!("{path}: expected {expected}\n{}", validation.report));
        }
        assert_eq!(ok, !validation.report.has_errors(), "{path}");
        for diagnostic in &validation.report {
            assert!(diagnostic.at().is_some(), "{path}: {diagnostic} has no place");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn lab_overlays_pass_when_lenient() {
    let Some(root) = corpus() else { return };
    let files = root.join("mas-lab-v0.1").canonicalize().unwrap();
    let options = Options { base: Some(files.clone()), lenient: true, ..Options::default() };
    let labs = ["labs", "docs/tutorials", "library-samples/overlays"].map(|dir| files.join(dir));
    let validation = validate(&labs, &options, &Environment::default(), Known::default());
    let overlays: Vec<_> = validation
        .outcomes
        .iter()
        .filter(|outcome| outcome.path.contains("overlays/") && !outcome.ok)
        .collect();
    assert!(overlays.is_empty(), "{overlays:?}\n{}", validation.report);
}

#[test]
fn the_whole_tree_is_walked_without_kindless_files() {
    let Some(root) = corpus() else { return };
    let files = root.join("mas-lab-v0.1").canonicalize().unwrap();
    let validation = validate(
        std::slice::from_ref(&files),
        &Options::default(),
        &Environment::default(),
        Known::default(),
    );
    assert!(validation.outcomes.len() > 100);
    assert!(validation.outcomes.iter().all(|outcome| outcome.kind.is_some() || !outcome.ok));
    assert!(!validation.outcomes.iter().any(|outcome| outcome.path.ends_with("arborian-network.yaml")));
}
