//! `models list` and `models test`.

use crate::bench::{Bench, team};

const RULES: &str = "\
rules:
  - {model: broken, error: {kind: unavailable, message: the model is down}}
  - {model: gpt-4o-mini, say: ok}
";

#[test]
fn the_models_of_a_team_are_listed_with_who_names_them() {
    let run = team(RULES).run(&["models", "list", "mas.yaml"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    insta::assert_snapshot!(run.out, @r"
    scripted (infra.yaml:2)

    MODEL        NAMED BY
    gpt-4o-mini  a, b
    ");
}

#[test]
fn without_any_infra_it_is_openai_and_the_key_is_told_of_but_not_shown() {
    let bench = Bench::new(&[]);
    let listed = |key: &str| bench.run_with(&["models", "list"], &[("OPENAI_API_KEY", key)]);
    insta::assert_snapshot!(listed("").out, @r"
    openai at https://api.openai.com/v1 (standard:openai:3)
    key in OPENAI_API_KEY, which is not set

    MODEL        NAMED BY
    gpt-4o-mini  defaults.model
    ");
    let set = listed("sk-a-secret");
    assert!(set.out.contains("which is set") && !set.out.contains("secret"), "{}", set.out);
    let tried = bench.run(&["models", "test"]);
    assert_eq!(tried.code, Some(3));
    assert!(tried.err.contains("OPENAI_API_KEY"), "{}", tried.err);
}

#[test]
fn every_declared_model_is_tried() {
    let bench = team(RULES);
    bench.write(
        "infra.yaml",
        "\
apiVersion: infra/v1
kind: LLMLocal
metadata: {name: scripted}
spec:
  models: {allowed: [gpt-4o-mini, broken]}
  model_access: {provider: scripted, params: {path: script.yaml}}
",
    );
    let run = bench.run(&["models", "test", "mas.yaml"]);
    assert_eq!(run.code, Some(1));
    let times = |line: &str| {
        line.split(' ')
            .map(|word| if word.parse::<u64>().is_ok() { "N" } else { word })
            .collect::<Vec<_>>()
            .join(" ")
    };
    let text = run.out.lines().map(times).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(text, @r"
    OK    gpt-4o-mini  first token in N ms, whole in N ms, N + N tokens: ok
    FAIL  broken  after N ms: the model is down [mas::run::unavailable]
    ");
    let json = bench.run(&["models", "test", "mas.yaml", "--json"]).json();
    assert_eq!((&json["status"], &json["models"][0]["answer"]), (&"failed".into(), &"ok".into()));
    let one = bench.run(&["models", "test", "mas.yaml", "--model", "gpt-4o-mini"]);
    assert_eq!((one.code, one.out.lines().count()), (Some(0), 1));
}
