//! Variables from a file: `--env`, and `mas_ctl.env` of config.yaml.

use crate::bench::{Bench, Printed};

const AGENT: &str = "\
apiVersion: mas/v1
kind: Agent
metadata: {name: qa}
spec: {description: Answers., models: [{model: gpt-4o}]}
";

const CHAT: [&str; 4] = ["chat", "agent.yaml", "-q", "hi"];

#[test]
fn a_file_of_variables_counts_as_the_environment() {
    let bench = Bench::new(&[
        ("agent.yaml", AGENT),
        ("dev.env", "\u{feff}# offline\r\nexport MAS_MOCK_LLM='1'\r\nMAS_CTL_MODEL=from-file\r\n"),
    ]);
    let run = bench.run(&[&CHAT[..], &["--env", "dev.env"]].concat());
    assert_eq!(
        (run.code, run.out.as_str(), run.err.as_str()),
        (Some(0), "You: hi\nAgent: [mock] hi\n\n", "")
    );
    let before = bench.run(&[&["--env", "dev.env"][..], &CHAT].concat());
    assert_eq!(before.out, run.out);
    let model = |extra: &[(&str, &str)]| {
        let mut command = bench.command(&["plan", "agent.yaml", "--env", "dev.env", "--json"]);
        let printed: Printed = command.envs(extra.iter().copied()).output().expect("it runs").into();
        printed.json()["agents"][0]["model"].clone()
    };
    assert_eq!(model(&[]), "from-file");
    assert_eq!(model(&[("MAS_CTL_MODEL", "real")]), "real");
}

#[test]
fn the_file_of_the_config_is_read_from_beside_it() {
    let bench = Bench::new(&[
        ("config.yaml", "mas_ctl: {env: keys/dev.env}\n"),
        ("keys/dev.env", "MAS_MOCK_LLM=0\nMAS_MOCK_LLM=1\n"),
        ("other.env", "NOTHING=1\n"),
        ("below/agent.yaml", AGENT),
    ]);
    let chat = |flags: &[&str]| {
        let mut command = bench.command(&[&CHAT[..], flags].concat());
        let printed: Printed =
            command.current_dir(bench.dir.path().join("below")).output().expect("it runs").into();
        printed
    };
    assert_eq!(chat(&[]).out, "You: hi\nAgent: [mock] hi\n\n");
    assert!(chat(&["--env", "../other.env"]).err.contains("mas::llm::no_key"));
    bench.write("config.yaml", "mas_ctl: {env: .env}\n");
    let run = chat(&["--flavour", "mock"]);
    assert_eq!(run.code, Some(0));
    let told = run.err.replace(&*bench.dir.path().to_string_lossy(), "(workspace)");
    insta::assert_snapshot!(told, @r"
    mas::env::file

      ⚠ `mas_ctl.env` names a file that does not exist
       ╭─[(workspace)/config.yaml:1:16]
     1 │ mas_ctl: {env: .env}
       ·                ──┬─
       ·                  ╰── named here
       ╰────
    ");
}

#[test]
fn what_is_wrong_with_the_file_is_told_by_line_and_never_by_value() {
    let bench = Bench::new(&[("agent.yaml", AGENT), ("bad.env", "A=1\nsk-very-secret\nB=2\n")]);
    let run = bench.run(&[&CHAT[..], &["--env", "bad.env"]].concat());
    assert_eq!((run.code, run.out.as_str()), (Some(3), ""));
    insta::assert_snapshot!(run.err, @r"
    mas::env::syntax

      × this line sets no variable
       ╭─[bad.env:2:1]
     1 │ 
     2 │ (not shown)
       · ───────────
       ╰────
      help: write `NAME=value`; a value with blanks, `#` or `$` goes in single quotes
    ");
    bench.write("open.env", "A=1\nKEY='sk-very-secret\nB=2\n");
    std::fs::write(bench.dir.path().join("raw.env"), b"A=1\nB=sk-very-secret\xff\n").expect("it is written");
    let commands: [&[&str]; 5] = [
        &CHAT,
        &["run-mas", "agent.yaml"],
        &["plan", "agent.yaml"],
        &["validate", "agent.yaml"],
        &["config", "show"],
    ];
    for (file, line, code) in [
        ("open.env", Some(2), "mas::env::syntax"),
        ("raw.env", Some(2), "mas::env::file"),
        ("none.env", Some(1), "mas::file::read"),
        (".", Some(1), "mas::file::directory"),
    ] {
        for command in commands {
            let run = bench.run(&[command, &["--env", file, "-vvv"]].concat());
            let all = format!("{}{}", run.out, run.err);
            assert_eq!(run.code, Some(3), "{command:?} {file}");
            assert!(all.contains(code) && !all.contains("very-secret"), "{command:?} {file}: {all}");
        }
        let json = bench.run(&["plan", "agent.yaml", "--env", file, "--json"]).json();
        assert_eq!(json["findings"][0]["line"].as_u64(), line, "{file}: {json}");
    }
}

#[test]
fn a_command_that_reads_no_variables_refuses_the_flag() {
    let bench = Bench::new(&[(".env", "A=1\n")]);
    for args in [&["new", "agent", "a"][..], &["registry", "list"], &["schemas"], &["completions", "bash"]] {
        let run = bench.run(&[args, &["--env", ".env"]].concat());
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{args:?}");
        let told = format!("error: `{}` reads no variables, so `--env` does not go with it\n", args[0]);
        assert_eq!(run.err, told);
    }
}
