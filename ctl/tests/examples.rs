//! Every example is a test: the program prints what its transcript says.
//!
//! A transcript holds commands and what they print on stdout, as a terminal would show it:
//!
//! ```text
//! $ mas-ctl run-mas examples/trip-planner/mas.yaml -p "Plan a trip"
//! You: Plan a trip
//! …
//! ```
//!
//! Each command runs in the folder above `examples`, without standard input, with an empty environment and a home
//! of its own, and ends with code 0. `MAS_BLESS=1` writes what is printed into the transcripts instead. A folder with
//! a `Cargo.toml` is a program with tests of its own and has no transcript.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests; the exemption in clippy.toml reaches test functions only"
)]

use std::{
    fmt::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

const PROMPT: &str = "$ mas-ctl ";

/// A command line without the program, and what it prints.
struct Step {
    line: String,
    printed: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn steps(transcript: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for text in transcript.split_inclusive('\n') {
        if let Some(line) = text.strip_prefix(PROMPT) {
            steps.push(Step { line: line.trim_end().to_owned(), printed: String::new() });
        } else {
            let step = steps.last_mut().unwrap_or_else(|| panic!("a transcript begins with `{PROMPT}`"));
            step.printed.push_str(text);
        }
    }
    steps
}

/// Splits a command line at spaces outside double quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![];
    let mut word: Option<String> = None;
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    assert!(!quoted, "a quote is open at the end of `{line}`");
    words.extend(word);
    words
}

/// Runs the program and returns what it printed, or what went wrong.
fn run(line: &str) -> Result<String, String> {
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_mas-ctl"))
        .args(words(line))
        .current_dir(root())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home.path())
        .env("XDG_STATE_HOME", home.path().join("state"))
        .env("XDG_CONFIG_HOME", home.path().join("config"))
        .env("XDG_CACHE_HOME", home.path().join("cache"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(printed);
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(format!("$ mas-ctl {line}\nended with {}\nstdout:\n{printed}\nstderr:\n{complaint}", output.status))
}

/// Compares an example with its transcript, or writes the transcript anew.
fn check(folder: &Path, bless: bool) -> Result<(), String> {
    let path = folder.join("transcript.txt");
    let transcript = std::fs::read_to_string(&path)
        .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    let steps = steps(&transcript);
    if steps.is_empty() {
        return Err(format!("{} holds no command", path.display()));
    }
    let mut seen = String::new();
    for step in steps {
        write!(seen, "{PROMPT}{}\n{}", step.line, run(&step.line)?).unwrap();
    }
    if bless {
        std::fs::write(&path, &seen).unwrap();
        return Ok(());
    }
    if seen == transcript {
        return Ok(());
    }
    let (at, (said, says)) = transcript
        .lines()
        .map(Some)
        .chain(std::iter::repeat(None))
        .zip(seen.lines().map(Some).chain(std::iter::repeat(None)))
        .enumerate()
        .find(|(_, (said, says))| said != says || said.is_none())
        .unwrap();
    let end = "(the end)";
    Err(format!(
        "{} differs in line {}:\n  transcript: {}\n  program:    {}\nprinted:\n{seen}",
        path.display(),
        at.saturating_add(1),
        said.unwrap_or(end),
        says.unwrap_or(end),
    ))
}

/// The examples that this program runs, in order.
fn folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(root().join("examples"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir() && !path.join("Cargo.toml").exists())
        .collect();
    folders.sort();
    folders
}

#[test]
fn every_example_prints_its_transcript() {
    let folders = folders();
    assert!(!folders.is_empty(), "there are no examples");
    let bless = std::env::var_os("MAS_BLESS").is_some();
    let failures: Vec<String> = folders.iter().filter_map(|folder| check(folder, bless).err()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn the_same_team_says_the_same_with_tools_in_python() {
    let transcript = |name: &str| {
        let text =
            std::fs::read_to_string(root().join("examples").join(name).join("transcript.txt")).unwrap();
        text.replace(name, "NAME")
    };
    assert_eq!(transcript("python-tools"), transcript("trip-planner"));
}

#[test]
fn every_example_is_valid() {
    let names: Vec<String> = folders()
        .iter()
        .map(|folder| format!("examples/{}", folder.file_name().unwrap().to_str().unwrap()))
        .collect();
    let printed = run(&format!("validate {}", names.join(" ")));
    assert!(printed.is_ok(), "{}", printed.unwrap_err());
}

#[test]
fn a_folder_without_a_transcript_fails() {
    let folder = tempfile::tempdir().unwrap();
    let failure = check(folder.path(), false).unwrap_err();
    assert!(failure.contains("transcript.txt cannot be read"), "{failure}");
}

#[test]
fn a_transcript_that_says_something_else_fails() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("transcript.txt");
    std::fs::write(&path, "$ mas-ctl --version\nmas-ctl of another age\n").unwrap();
    let failure = check(folder.path(), false).unwrap_err();
    assert!(failure.contains("differs in line 2"), "{failure}");
}

#[test]
fn command_lines_are_split_like_a_shell_does() {
    assert_eq!(
        words(r#"chat a.yaml -p "Hello there" --x="a b" """#),
        ["chat", "a.yaml", "-p", "Hello there", "--x=a b", ""]
    );
}
