//! The plugins that are linked in. An entry that nobody names is dropped by the linker, so each is named here.

use std::{io::Write, sync::Arc};

use mas_a2a as _;
use mas_context as _;
use mas_contracts::{BuildContext, ObservabilityContract, Result};
use mas_delegation as _;
use mas_local as _;
use mas_models as _;
use mas_patterns as _;
use mas_platform as _;
use mas_process as _;
use mas_store_file as _;
use mas_store_memory as _;
use mas_tools as _;

/// The event log of a run on a stream of this program's.
///
/// # Errors
/// Where its writer cannot be started.
pub(crate) fn event_log_to(
    cx: &BuildContext,
    out: Box<dyn Write + Send>,
) -> Result<Arc<dyn ObservabilityContract>> {
    Ok(Arc::new(mas_event_log::EventLog::to(cx, out)?))
}
