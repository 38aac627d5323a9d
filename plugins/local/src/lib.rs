//! In-process comm backend: delegates to agents of the same process.
