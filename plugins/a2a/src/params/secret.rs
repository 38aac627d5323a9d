//! Secrets among the parameters.

use std::{borrow::Cow, io::Read};

use mas_comm_kit::Secret;
use mas_contracts::{BuildContext, Error, ErrorKind, Result};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};

/// The largest file of a secret: 64 KiB.
const LARGEST: u64 = 64 * 1024;

/// A secret: `env:NAME`, `file:PATH` relative to the infra file, or the text itself. Debug prints stars.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SecretText(Secret);

impl SecretText {
    /// Whether it holds nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.reveal().trim().is_empty()
    }

    /// Whether it stands elsewhere: in a variable or in a file.
    pub(crate) fn is_elsewhere(&self) -> bool {
        let declared = self.0.reveal();
        declared.starts_with("env:") || declared.starts_with("file:")
    }

    /// The secret itself; a file's without the white space around it.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when the variable is not set, or the file cannot be read or holds no text.
    pub(crate) fn open(&self, cx: &BuildContext) -> Result<Secret> {
        let refused = |message: String| Error::new(ErrorKind::Invalid, message).with_code("mas::a2a::secret");
        let declared = self.0.reveal();
        if let Some(name) = declared.strip_prefix("env:") {
            let value = cx.env.get(name).map(str::trim).filter(|value| !value.is_empty());
            return value
                .map(Secret::new)
                .ok_or_else(|| refused(format!("the variable `{name}` is not set")));
        }
        let Some(path) = declared.strip_prefix("file:") else { return Ok(self.0.clone()) };
        let mut text = String::new();
        let file = std::fs::File::open(cx.base.join(path));
        let read = file.and_then(|file| file.take(LARGEST + 1).read_to_string(&mut text));
        match read {
            Err(error) => Err(refused(format!("the file `{path}` of a secret cannot be read: {error}"))),
            Ok(_) if text.trim().is_empty() => {
                Err(refused(format!("the file `{path}` of a secret is empty")))
            }
            Ok(read) if u64::try_from(read).unwrap_or(u64::MAX) > LARGEST => {
                Err(refused(format!("the file `{path}` of a secret is larger than 64 KiB")))
            }
            Ok(_) => Ok(Secret::new(text.trim())),
        }
    }
}

impl<'de> Deserialize<'de> for SecretText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self(Secret::new(text)))
    }
}

impl JsonSchema for SecretText {
    fn schema_name() -> Cow<'static, str> {
        "Secret".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A secret: `env:NAME`, or `file:PATH` relative to the infra file.",
        })
    }
}
