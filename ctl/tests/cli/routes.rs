//! `--bind` and `--override`: ways to agents, from the command line.

use crate::bench::{Bench, Printed, team};

const APP: &str = "\
apiVersion: infra/v1
kind: Application
metadata: {name: app}
spec:
  endpoints:
    b: {protocol: a2a, url: \"http://127.0.0.1:9\", usage: deploy}
";

/// A team whose agent `b` has an endpoint in `app.yaml`.
fn bench() -> Bench {
    let bench = team("rules: [{say: x}]\n");
    bench.write("app.yaml", APP);
    bench
}

/// What `plan` says with these flags, in one line a problem.
fn problems(flags: &[&str]) -> String {
    let run = bench().run(&[&["plan", "mas.yaml", "--json", "--infra-ref", "app.yaml"], flags].concat());
    assert_eq!(run.code, Some(3), "{}{}", run.out, run.err);
    let json = run.json();
    let findings = json["findings"].as_array().expect("findings");
    let line = |finding: &serde_json::Value| {
        let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
        let (file, column, code) = (text("file"), &finding["column"], text("code"));
        format!("{file}:{column} {code}: {} | {}", text("message"), text("help"))
    };
    findings.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_binding_that_is_of_no_use_is_told_at_its_place() {
    insta::assert_snapshot!(problems(&["--bind", "bb=a2a://127.0.0.1:9"]), @"--bind:1 mas::bind::unused: no agent delegates to `bb` | delegated to: `b`");
    insta::assert_snapshot!(problems(&["--bind", "writer=a2a://127.0.0.1:9"]), @"--bind:1 mas::bind::unused: no agent delegates to `writer` | delegated to: `b`");
    insta::assert_snapshot!(problems(&["--bind", "a=a2a://127.0.0.1:9"]), @"--bind:1 mas::bind::entry: `a` is the entry agent, which always runs in this process | bind an agent that is delegated to");
    insta::assert_snapshot!(problems(&["--bind", "b=a2a://127.0.0.1:9", "--bind", "b=a2a://127.0.0.1:8"]), @"--bind:1 mas::bind::twice: `b` is bound twice | it is bound to http://127.0.0.1:9 already: keep one of them");
}

#[test]
fn a_binding_that_cannot_be_read_shows_how_it_is_written() {
    for command in ["plan", "run-mas", "chat", "serve", "validate"] {
        let run = bench().run(&[command, "mas.yaml", "--bind", "b=127.0.0.1:9"]);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{command}");
        assert!(run.err.contains("NAME=a2a://HOST:PORT"), "{command}: {}", run.err);
    }
}

#[test]
fn a_binding_that_is_refused_is_not_repeated() {
    let run = bench().run(&["plan", "mas.yaml", "--bind", "b=a2a://me:s3cret@127.0.0.1:9"]);
    assert_eq!(run.code, Some(2));
    insta::assert_snapshot!(run.err, @"error: --bind: an address holds no credentials: they are headers of an endpoint; write it as NAME=a2a://HOST:PORT, or a2as:// for TLS; a path may follow");
}

#[test]
fn an_override_that_fits_nothing_shows_its_place() {
    let run = bench().run(&["plan", "mas.yaml", "--override", "infra:spec.model.allowed=[x]"]);
    assert_eq!((run.code, run.out.as_str()), (Some(3), ""));
    insta::assert_snapshot!(run.err, @r#"
    mas::override::unknown

      × there is no `model` in `spec`
       ╭─[--override:1:12]
     1 │ infra:spec.model.allowed=[x]
       ·            ─────
       ╰────
      help: did you mean `models`?
    "#);
}

fn both(flags: &[&str]) -> Vec<(&'static str, Printed)> {
    let commands = ["plan", "run-mas", "chat", "serve", "validate"];
    commands
        .into_iter()
        .map(|command| (command, bench().run(&[&[command, "mas.yaml"], flags].concat())))
        .collect()
}

#[test]
fn every_command_that_wires_a_team_takes_them() {
    for (command, run) in both(&["--override", "infra:spec.nowhere.x=1"]) {
        assert_eq!(run.code, Some(3), "{command}");
        let said = run.out + &run.err;
        assert!(
            said.contains("there is no `nowhere`") && said.contains("--override:1:12"),
            "{command}: {said}"
        );
    }
    for (command, run) in both(&["--bind", "bb=a2a://127.0.0.1:9"]) {
        assert_eq!(run.code, Some(3), "{command}");
        assert!((run.out + &run.err).contains("no agent delegates to `bb`"), "{command}");
    }
}

#[test]
fn a_changed_endpoint_is_what_the_plan_shows() {
    let url = "infra:spec.endpoints[\"b\"].url=http://127.0.0.1:10";
    let flags = ["plan", "mas.yaml", "--json", "--infra-ref", "app.yaml", "--override", url];
    assert_eq!(bench().run(&flags).json()["exposures"][0]["url"], "http://127.0.0.1:10");
    let run = bench().run(&["validate", "mas.yaml", "--infra-ref", "app.yaml", "--override", url]);
    assert_eq!(run.code, Some(0), "{}", run.out);
}

#[test]
fn an_override_that_cannot_be_read_is_a_wrong_command_line() {
    let bench = bench();
    for text in ["spec=1", "infra:spec.endpoints", "agents:spec.x=1"] {
        for (command, run) in both(&["--override", text]) {
            assert_eq!(run.code, Some(2), "{command} {text}: {}{}", run.out, run.err);
        }
    }
    let run = bench.run(&["plan", "mas.yaml", "--override", "infra:spec.nowhere.x=1"]);
    assert_eq!(run.code, Some(3), "what the files have not is their affair, too");
}

#[test]
fn an_override_of_a_map_that_is_not_there_is_told_how_it_is_given() {
    let bench = bench();
    bench.write(
        "far.yaml",
        "apiVersion: infra/v1\nkind: Application\nmetadata: {name: x}\nspec:\n  endpoints:\n    b.c: {protocol: a2a, usage: use, url: http://127.0.0.1:9}\n",
    );
    let plan = |change: &str| {
        let run = bench.run(&["plan", "mas.yaml", "--infra-ref", "far.yaml", "--override", change]);
        (run.code, run.err)
    };
    let (code, err) = plan("infra:spec.endpoints.b.c.headers.Authorization=env:TOKEN");
    assert!(code == Some(3) && err.contains("a key with a dot is quoted: [\"b.c\"]"), "{err}");
    let (code, err) = plan("infra:spec.endpoints[\"b.c\"].headers.Authorization=secret");
    assert!(code == Some(3) && err.contains("headers={\"Authorization\": VALUE}"), "{err}");
    assert!(!err.contains("secret"), "{err}");
    let (code, err) = plan("infra:spec.endpoints[\"b.c\"].headers={\"Authorization\": secret}");
    assert_eq!(code, Some(0), "{err}");
}

#[test]
fn an_agent_that_is_only_used_elsewhere_does_not_run_here() {
    let bench = bench();
    let runs = |flags: &[&str]| {
        let plan = bench.run(&[&["plan", "mas.yaml", "--json"], flags].concat()).json();
        let agents = plan["agents"].as_array().cloned().unwrap_or_default();
        agents.iter().map(|agent| format!("{} {}", agent["id"], agent["runs"])).collect::<Vec<_>>()
    };
    assert_eq!(runs(&[]), [r#""a" "here""#, r#""b" "here""#]);
    assert_eq!(runs(&["--bind", "b=a2a://127.0.0.1:9"]), [r#""a" "here""#, r#""b" "elsewhere""#]);
}
