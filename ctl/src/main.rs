//! `mas-ctl`: validate, plan and run teams of agents declared in YAML.

use std::process::ExitCode;

fn main() -> ExitCode {
    mas_ctl::main()
}
