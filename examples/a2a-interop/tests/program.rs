//! The program knows the pattern and the tool of its manifest.

use std::process::Command;

#[test]
fn its_files_are_valid() {
    let validated = Command::new(env!("CARGO_BIN_EXE_mas-a2a-interop"))
        .args(["validate", "agent.yaml", "infra.yaml"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env_clear()
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&validated.stdout);
    assert!(validated.status.success() && said.contains("2 files: 0 errors"), "{said}");
}
