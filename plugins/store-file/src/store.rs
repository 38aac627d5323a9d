//! The store `file`.

use std::{borrow::Cow, path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use mas_contracts::{
    Build, BuildContext, Builder, Clock, Descriptor, Error, ErrorKind, Record, Result, SessionKey,
    StoreContract, check_params, inventory, parse_params, schema_of,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    log::{self, Batch, Tried},
    place,
};

/// How long a lock that another holds is waited for, and how often it is tried.
const LOCK_WAIT: Duration = Duration::from_secs(10);
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// Parameters of `file`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// The folder of the sessions, relative to the manifest; default `mas/sessions` in the state folder of the
    /// user.
    #[serde(default)]
    path: Option<String>,
}

inventory::submit! {
    Descriptor {
        name: Cow::Borrowed("file"),
        aliases: Cow::Borrowed(&[]),
        origin: Cow::Borrowed(env!("CARGO_PKG_NAME")),
        version: Cow::Borrowed(env!("CARGO_PKG_VERSION")),
        summary: Cow::Borrowed("Keeps each session in an append-only JSON Lines file."),
        example: Cow::Borrowed("store: {type: file, params: {path: sessions}}\n"),
        schema: schema_of::<Params>,
        check: check_params::<Params>,
        builder: Builder::Store(Build::Linked(|cx, params| {
            let params: Params = parse_params(params)?;
            Ok(Arc::new(FileStore::open(cx, params.path.as_deref())?))
        })),
    }
}

/// The store `file`. The folder is made by the first append.
#[derive(Debug)]
pub struct FileStore {
    folder: Arc<PathBuf>,
    clock: Arc<dyn Clock>,
}

impl FileStore {
    /// The store in the folder given, else in the state folder of the user.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when no folder is given and the environment names none.
    pub fn open(cx: &BuildContext, path: Option<&str>) -> Result<Self> {
        Ok(Self { folder: Arc::new(place::folder(cx, path)?), clock: cx.clock.clone() })
    }

    /// Tries off the workers until the lock is had.
    async fn locked<T: Send + 'static>(
        &self,
        key: &SessionKey,
        attempt: impl Fn() -> Result<Tried<T>> + Clone + Send + 'static,
    ) -> Result<T> {
        let give_up = self.clock.now().checked_add(LOCK_WAIT);
        loop {
            let tried = tokio::task::spawn_blocking(attempt.clone()).await;
            let tried =
                tried.map_err(|error| Error::internal("a file operation broke off").caused_by(error))?;
            match tried? {
                Tried::Done(done) => return Ok(done),
                Tried::Locked => {
                    let now = self.clock.now();
                    if give_up.is_none_or(|at| now >= at) {
                        let message = format!("another process holds the session `{}`", key.session);
                        return Err(
                            Error::new(ErrorKind::Unavailable, message).with_code("mas::store::locked")
                        );
                    }
                    self.clock.sleep_until(now.checked_add(LOCK_PAUSE).unwrap_or(now)).await;
                }
            }
        }
    }
}

#[async_trait]
impl StoreContract for FileStore {
    async fn append(&self, session: &SessionKey, records: &[Record]) -> Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        let batch = Arc::new(Batch::new(session, records)?);
        let folder = self.folder.clone();
        let path = Arc::new(folder.join(place::file_name(session)));
        self.locked(session, move || log::append(&folder, &path, &batch)).await
    }

    async fn load(&self, session: &SessionKey) -> Result<Vec<Record>> {
        let path = Arc::new(self.folder.join(place::file_name(session)));
        let key = session.clone();
        self.locked(session, move || log::load(&path, &key)).await
    }

    async fn forget(&self, session: &SessionKey) -> Result<()> {
        let (folder, key) = (self.folder.clone(), session.clone());
        self.locked(session, move || log::forget(&folder, &key)).await
    }
}
