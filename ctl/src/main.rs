//! `mas-ctl`: validate, plan and run teams of agents declared in YAML.
fn main() {}
