//! Instructions per operation, held to the committed baseline.
//!
//! `hot_path` runs each operation n and 2n times under callgrind; the difference, divided by n, is what one takes,
//! with the start of the program taken out. Times vary with the machine, these counts hardly do.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "helpers of tests; the exemption in clippy.toml reaches test functions only"
)]

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// How much more than the baseline an operation may take.
const TOLERANCE: f64 = 0.05;

/// The operations, and how many of each are run.
const OPERATIONS: [(&str, u64); 6] = [
    ("plain", 2_000),
    ("delegation", 1_000),
    ("fan_out_10", 200),
    ("floor_plain", 2_000),
    ("floor_delegation", 1_000),
    ("validate", 2),
];

#[test]
fn an_operation_takes_no_more_than_five_percent_above_its_baseline() {
    if !is_on_the_path("valgrind") {
        let required = env::var("MAS_REQUIRE").unwrap_or_default();
        let required = required.split([',', ' ']).any(|name| name == "valgrind");
        assert!(!required, "MAS_REQUIRE names valgrind, and it is not on the PATH");
        say("skipped: instruction counts need valgrind, which is not on the PATH");
        return;
    }
    let program = build_hot_path();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions.tsv");
    let baseline = fs::read_to_string(&path).unwrap_or_default();
    let known = |name: &str| {
        let line = baseline.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('\t'));
        line.map(|count| count.trim().parse::<f64>().expect("a count in instructions.tsv"))
    };
    let (mut measured, mut problems) = ("operation\tinstructions\n".to_owned(), Vec::new());
    for (name, count) in OPERATIONS {
        let per_operation = (instructions(&program, name, count * 2) - instructions(&program, name, count))
            / f64::from(u32::try_from(count).unwrap());
        measured.push_str(&format!("{name}\t{per_operation:.0}\n"));
        match known(name) {
            Some(was) if per_operation > was * (1.0 + TOLERANCE) => problems.push(format!(
                "`{name}` takes {per_operation:.0} instructions, {:+.1} % of the baseline's {was:.0}",
                (per_operation / was - 1.0) * 100.0
            )),
            Some(was) if per_operation < was * (1.0 - TOLERANCE) => say(&format!(
                "`{name}` takes {per_operation:.0} instructions instead of {was:.0}: lower the baseline"
            )),
            Some(_) => {}
            None => problems.push(format!("`{name}` has no baseline")),
        }
    }
    assert!(
        problems.is_empty(),
        "{}\nif that is intended, {} becomes:\n{measured}",
        problems.join("\n"),
        path.display()
    );
}

fn is_on_the_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

/// Builds the program in release mode, into the target directory of this test.
fn build_hot_path() -> PathBuf {
    let debug = Path::new(env!("CARGO_BIN_EXE_hot_path"));
    let target = debug.parent().and_then(Path::parent).expect("a target directory");
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "-p", "mas-benches", "--bin", "hot_path", "--target-dir"])
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .unwrap();
    assert!(status.success(), "hot_path cannot be built in release mode");
    target.join("release").join("hot_path")
}

/// How many instructions a whole run takes.
fn instructions(program: &Path, operation: &str, count: u64) -> f64 {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args([operation, &count.to_string()])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`{operation}` failed under callgrind:\n{said}");
    let total = said.lines().find_map(|line| line.split_once("Collected :")?.1.split_whitespace().next());
    total.and_then(|total| total.parse().ok()).unwrap_or_else(|| panic!("callgrind gave no total:\n{said}"))
}

fn say(line: &str) {
    eprintln!("{line}");
}
