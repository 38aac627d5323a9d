//! `new agent` and `new mas`: a small folder that runs at once, to be changed from there.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use mas_contracts::Ids;
use mas_core::clock::RandomIds;

use crate::{
    cli::{NewArgs, NewCommand},
    console,
    exit::Exit,
};

/// Longest name, as that of an agent's tool may be.
const LONGEST_NAME: usize = 64;
/// Where the name goes in a file.
const NAME: &str = "@NAME@";

type Files = &'static [(&'static str, &'static str)];

const AGENT: Files = &[
    ("agent.yaml", include_str!("new/agent/agent.yaml")),
    ("script.yaml", include_str!("new/agent/script.yaml")),
    ("infra/model.yaml", include_str!("new/model.yaml")),
];

const MAS: Files = &[
    ("mas.yaml", include_str!("new/mas/mas.yaml")),
    ("agents/lead.yaml", include_str!("new/mas/lead.yaml")),
    ("agents/counter.yaml", include_str!("new/mas/counter.yaml")),
    ("agents/writer.yaml", include_str!("new/mas/writer.yaml")),
    ("script.yaml", include_str!("new/mas/script.yaml")),
    ("infra/model.yaml", include_str!("new/model.yaml")),
];

/// Makes the folder and says how to run what is in it.
pub(crate) fn run(command: &NewCommand) -> Exit {
    let (args, files, command, first) = match command {
        NewCommand::Agent(args) => (args, AGENT, "chat", "agent.yaml"),
        NewCommand::Mas(args) => (args, MAS, "run-mas", "mas.yaml"),
    };
    let NewArgs { name, dir } = args;
    if let Some(problem) = problem_of(name) {
        console::err(&format!("error: `{name}` cannot be the name: {problem}\n"));
        return Exit::Usage;
    }
    let target = dir.clone().unwrap_or_else(|| PathBuf::from(name));
    match is_free(&target) {
        Ok(true) => {}
        Ok(false) => {
            let shown = target.display();
            let help = "help: choose another place with `--dir DIR`; nothing is ever overwritten";
            console::err(&format!("error: {shown} is there already and not an empty folder\n{help}\n"));
            return Exit::Usage;
        }
        Err(error) => return failed(&target, &error),
    }
    if let Err(error) = make(&target, files, name) {
        return failed(&target, &error);
    }
    let mut text = format!("Made in {}:\n", target.display());
    for (path, _) in files {
        text.push_str(&format!("  {path}\n"));
    }
    let manifest = quoted(&target.join(first).to_string_lossy());
    text.push_str(&format!("Run it:\n  mas-ctl {command} {manifest} -q \"What is 6*7?\"\n"));
    console::out(&text);
    Exit::Done
}

fn failed(target: &Path, error: &io::Error) -> Exit {
    console::err(&format!("error: {} cannot be made: {error}\n", target.display()));
    Exit::Failed
}

/// Why a text is no name, if it is none.
fn problem_of(name: &str) -> Option<String> {
    let letter = |c: char| c.is_ascii_alphanumeric();
    if !name.chars().next().is_some_and(letter) {
        return Some("it begins with a letter or a digit".to_owned());
    }
    if name.len() > LONGEST_NAME {
        return Some(format!("it has at most {LONGEST_NAME} characters"));
    }
    let fits = name.chars().all(|c| letter(c) || matches!(c, '-' | '_'));
    (!fits).then(|| "it has letters (a to z), digits, `-` and `_` only".to_owned())
}

/// Whether nothing is there, or an empty folder.
fn is_free(target: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
        Ok(_) if target.is_dir() => Ok(fs::read_dir(target)?.next().is_none()),
        Ok(_) => Ok(false),
    }
}

/// Makes the folder at once, by renaming it from beside; an empty folder that is there already is filled.
fn make(target: &Path, files: Files, name: &str) -> io::Result<()> {
    if target.exists() {
        return fill(target, files, name);
    }
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent)?;
    let beside = parent.join(format!(".{name}-{}", RandomIds.next_id()));
    let made = fill(&beside, files, name).and_then(|()| fs::rename(&beside, target));
    if made.is_err() {
        // The first failure is the one to tell.
        let _ = fs::remove_dir_all(&beside);
    }
    made
}

fn fill(folder: &Path, files: Files, name: &str) -> io::Result<()> {
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
        file.write_all(text.replace(NAME, name).as_bytes())?;
    }
    Ok(())
}

/// A word for a shell, in quotes if it needs them.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '\\' | ':' | '+' | ',');
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}
