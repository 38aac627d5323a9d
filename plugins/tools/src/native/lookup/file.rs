//! Reads the rows of a data file.

use std::{fs::File, io::Read, path::Path};

use mas_contracts::{Error, ErrorKind, Result};
use serde_json::Value;

/// A larger data file is refused.
const LIMIT: u64 = 8 * 1024 * 1024;

/// The rows at `table` of a file.
pub(super) fn rows(path: &Path, table: &str) -> Result<Vec<Value>> {
    let shown = path.display();
    let mut root = read(path)?;
    let found = take(&mut root, table);
    match found {
        Some(Value::Array(rows)) => Ok(rows),
        Some(_) => Err(invalid(format!("{} in the data file `{shown}` is not a list of rows", place(table)))),
        None => {
            let keys: Vec<&str> =
                root.as_object().into_iter().flat_map(|map| map.keys()).map(String::as_str).collect();
            let names = if keys.is_empty() { "no names".to_owned() } else { keys.join(", ") };
            let message =
                format!("the data file `{shown}` has no table `{table}`; at its top there are: {names}");
            Err(invalid(message))
        }
    }
}

/// The value at a dotted path of a row; a field with dots in its name is found by its whole name.
pub(super) fn at<'a>(row: &'a Value, path: &str) -> Option<&'a Value> {
    if let Some(value) = row.get(path) {
        return Some(value);
    }
    path.split('.').try_fold(row, |value, key| value.get(key))
}

fn take(root: &mut Value, table: &str) -> Option<Value> {
    let value =
        table.split('.').filter(|key| !key.is_empty()).try_fold(root, |value, key| value.get_mut(key))?;
    Some(value.take())
}

fn read(path: &Path) -> Result<Value> {
    let shown = path.display();
    let unreadable = |error: std::io::Error| {
        let kind = match error.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            std::io::ErrorKind::InvalidData => ErrorKind::Invalid,
            _ => ErrorKind::Unavailable,
        };
        Error::new(kind, format!("the data file `{shown}` cannot be read"))
            .with_code("mas::lookup::unreadable")
            .caused_by(error)
    };
    let mut text = String::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(LIMIT.saturating_add(1)).read_to_string(&mut text).map_err(unreadable)?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > LIMIT {
        return Err(invalid(format!("the data file `{shown}` is larger than {LIMIT} bytes")));
    }
    let broken = |cause: String| invalid(format!("the data file `{shown}` has an error")).caused_by(cause);
    if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("json")) {
        return serde_json::from_str(&text).map_err(|error| broken(error.to_string()));
    }
    serde_saphyr::from_str(&text)
        .map_err(|error: serde_saphyr::Error| broken(error.without_snippet().to_string()))
}

fn place(table: &str) -> String {
    if table.is_empty() { "the top".to_owned() } else { format!("`{table}`") }
}

fn invalid(message: String) -> Error {
    Error::invalid(message).with_code("mas::lookup::invalid")
}
