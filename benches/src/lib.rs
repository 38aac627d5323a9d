//! Benches of mas, each beside a floor measured in the same run.
