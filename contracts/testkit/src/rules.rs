//! What the conformance kits have in common.

/// What came of a rule: kept, or why it does not concern the backend. The error says how it was broken.
pub type Verdict = std::result::Result<Option<&'static str>, String>;

/// Breaks the rule unless the condition holds.
macro_rules! ensure {
    ($cond:expr, $($what:tt)+) => { if !$cond { return Err(format!($($what)+)); } };
}

/// Runs one rule on a runtime of its own.
///
/// # Panics
/// When the rule is broken.
pub(crate) fn check(paused: bool, rule: impl Future<Output = Verdict>) {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let verdict = match builder.enable_all().start_paused(paused).build() {
        Ok(runtime) => runtime.block_on(rule),
        Err(error) => Err(format!("no runtime: {error}")),
    };
    assert!(verdict.is_ok(), "the rule is broken: {}", verdict.err().unwrap_or_default());
}
