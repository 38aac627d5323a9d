//! `mas-ctl` with the pattern and the tool `interop`.

use std::process::ExitCode;

// An entry that nobody names is dropped by the linker.
use mas_a2a_interop as _;

fn main() -> ExitCode {
    mas_ctl::main()
}
