//! What was said at the prompt before: one line of JSON an entry, in a file of the user's.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use mas_contracts::Env;

/// Most entries that are kept.
pub(crate) const ENTRIES: usize = 1000;
/// Longest entry that is kept, in bytes.
const ENTRY: usize = 16 * 1024;
/// Most bytes of a file that are read.
const FILE: u64 = 8 * 1024 * 1024;

/// The file of the history.
#[derive(Debug)]
pub(crate) struct HistoryFile {
    path: PathBuf,
    last: Option<String>,
}

impl HistoryFile {
    /// `mas/history` in the state folder of the user; none without one.
    pub(crate) fn of(env: &Env) -> Option<Self> {
        let state = match (env.get("XDG_STATE_HOME"), env.get("HOME")) {
            (Some(state), _) => PathBuf::from(state),
            (None, Some(home)) => Path::new(home).join(".local").join("state"),
            (None, None) => return None,
        };
        Some(Self { path: state.join("mas").join("history"), last: None })
    }

    /// The entries, oldest first, without neighbours that are the same, and what of the file cannot be used. A
    /// file with more than is kept is written anew.
    pub(crate) fn load(&mut self) -> (Vec<String>, Option<String>) {
        let (lines, truncated) = match self.read() {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return (Vec::new(), None),
            Err(error) => return (Vec::new(), Some(self.trouble("read", &error))),
        };
        let mut entries: Vec<String> = Vec::new();
        let mut broken = usize::from(truncated);
        let mut found = 0_usize;
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            found = found.saturating_add(1);
            match serde_json::from_slice::<String>(line) {
                Ok(entry) if entries.last() == Some(&entry) => {}
                Ok(entry) => entries.push(entry),
                Err(_) => broken = broken.saturating_add(1),
            }
        }
        entries.drain(..entries.len().saturating_sub(ENTRIES));
        let mut warning = (broken > 0)
            .then(|| format!("{broken} entries of the history `{}` cannot be read", self.path.display()));
        if (found > ENTRIES.saturating_mul(2) || broken > 0)
            && let Err(error) = self.write_anew(&entries)
        {
            warning.get_or_insert_with(|| self.trouble("written", &error));
        }
        self.last = entries.last().cloned();
        (entries, warning)
    }

    /// Adds an entry. One like the last, or too long to keep, is passed over.
    ///
    /// # Errors
    /// What a person is told when it cannot be written.
    pub(crate) fn add(&mut self, entry: &str) -> Result<(), String> {
        if entry.len() > ENTRY || self.last.as_deref() == Some(entry) {
            return Ok(());
        }
        self.append(entry).map_err(|error| self.trouble("written", &error))?;
        self.last = Some(entry.to_owned());
        Ok(())
    }

    /// What the file holds, and whether it holds more than is read.
    fn read(&self) -> io::Result<(Vec<u8>, bool)> {
        let file = File::open(&self.path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        let mut bytes = Vec::new();
        file.take(FILE).read_to_end(&mut bytes)?;
        let truncated = u64::try_from(bytes.len()).unwrap_or(FILE) >= FILE;
        Ok((bytes, truncated))
    }

    fn append(&self, entry: &str) -> io::Result<()> {
        make_folder(&self.path)?;
        // One write of a whole line, so that two programs do not mix theirs.
        open(&self.path, true)?.write_all(&line(entry)?)
    }

    fn write_anew(&self, entries: &[String]) -> io::Result<()> {
        let mut bytes = Vec::new();
        for entry in entries {
            bytes.extend(line(entry)?);
        }
        let beside = self.path.with_extension(format!("{}.new", std::process::id()));
        open(&beside, false)?.write_all(&bytes)?;
        std::fs::rename(&beside, &self.path)
    }

    fn trouble(&self, done: &str, error: &io::Error) -> String {
        format!("the history `{}` cannot be {done}: {error}", self.path.display())
    }
}

fn line(entry: &str) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(entry)?;
    line.push(b'\n');
    Ok(line)
}

fn make_folder(path: &Path) -> io::Result<()> {
    let Some(folder) = path.parent() else { return Ok(()) };
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Opens a file that only its owner can read, to append to or to write anew.
fn open(path: &Path, append: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(append).write(true).truncate(!append);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(folder: &Path) -> HistoryFile {
        let pairs = [("XDG_STATE_HOME".to_owned(), folder.display().to_string())];
        HistoryFile::of(&Env::new(pairs)).expect("there is a folder")
    }

    #[test]
    fn entries_come_back_whole_and_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut first = history(folder.path());
        assert_eq!(first.load(), (Vec::new(), None));
        for entry in ["one", "two\nlines \\ \"é\"", "two\nlines \\ \"é\"", "one"] {
            first.add(entry).expect("it is written");
        }
        first.add(&"x".repeat(ENTRY + 1)).expect("it is passed over");
        let mut second = history(folder.path());
        assert_eq!(second.load().0, ["one", "two\nlines \\ \"é\"", "one"]);
        second.add("one").expect("it is the last already");
        assert_eq!(history(folder.path()).load().0.len(), 3);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = first.path.metadata().expect("it is there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn the_file_stays_bounded() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut file = history(folder.path());
        make_folder(&file.path).expect("it is made");
        let many: String = (0..=ENTRIES * 2).map(|n| format!("\"{n}\"\n")).collect();
        std::fs::write(&file.path, many).expect("it is written");
        let (entries, warning) = file.load();
        assert_eq!((entries.len(), warning), (ENTRIES, None));
        assert_eq!(entries.last(), Some(&(ENTRIES * 2).to_string()));
        let text = std::fs::read_to_string(&file.path).expect("it is read");
        assert_eq!(text.lines().count(), ENTRIES);
    }

    #[test]
    fn what_is_broken_is_told_and_the_rest_is_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut file = history(folder.path());
        make_folder(&file.path).expect("it is made");
        std::fs::write(&file.path, b"\"a\"\nnonsense\n\xff\xfe\n\"b\"\n").expect("it is written");
        let (entries, warning) = file.load();
        assert_eq!(entries, ["a", "b"]);
        assert!(warning.expect("it is told").starts_with("2 entries of the history `"));
        assert_eq!(file.load(), (vec!["a".to_owned(), "b".to_owned()], None), "told once");
        std::fs::remove_file(&file.path).expect("it is there");
        std::fs::create_dir(&file.path).expect("a folder in its place");
        assert!(file.load().1.expect("it is told").contains("cannot be read"));
        assert!(file.add("x").expect_err("it is told").contains("cannot be written"));
    }
}
