//! `completions`.

use std::process::Command;

use crate::bench::Bench;

#[test]
fn every_shell_gets_a_script_of_every_command() {
    let bench = Bench::new(&[]);
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let run = bench.run(&["completions", shell]);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{shell}");
        for word in ["run-mas", "validate", "infra-ref", "completions"] {
            assert!(run.out.contains(word), "{shell}: {word}");
        }
    }
    let wrong = bench.run(&["completions", "tcsh"]);
    assert_eq!((wrong.code, wrong.out.as_str()), (Some(2), ""));
    assert!(wrong.err.contains("[possible values: bash, elvish, fish, powershell, zsh]"), "{}", wrong.err);
}

#[test]
fn bash_takes_the_script_and_completes_a_command() {
    if Command::new("bash").arg("--version").output().is_err() {
        let required = std::env::var("MAS_REQUIRE").unwrap_or_default();
        assert!(!required.split(',').any(|name| name.trim() == "bash"), "bash is required but not present");
        return;
    }
    let bench = Bench::new(&[]);
    bench.write("mas.bash", &bench.run(&["completions", "bash"]).out);
    let ask = "source ./mas.bash && COMP_WORDS=(mas-ctl val) COMP_CWORD=1 && _mas__ctl mas-ctl val mas-ctl \
               && echo \"${COMPREPLY[@]}\"";
    let output =
        Command::new("bash").args(["-c", ask]).current_dir(bench.dir.path()).output().expect("it runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "validate\n");
}
