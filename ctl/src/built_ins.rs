//! The plugins that are linked in. An entry that nobody names is dropped by the linker, so each is named here.

use mas_context as _;
use mas_delegation as _;
use mas_event_log as _;
use mas_local as _;
use mas_models as _;
use mas_patterns as _;
use mas_store_file as _;
use mas_tools as _;
