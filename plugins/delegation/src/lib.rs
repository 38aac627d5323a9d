//! The delegate_to_<agent> tools that a model sees.
