//! `validate`: findings on stdout, exit codes, JSON.

use crate::bench::Bench;

const GOOD: &str = "apiVersion: mas/v1\nkind: Agent\nmetadata: {name: a}\nspec: {description: x}\n";
const BAD: &str =
    "apiVersion: mas/v1\nkind: Agent\nmetadata: {name: a}\nspec: {descripton: x, tools: shell}\n";

#[test]
fn findings_go_to_stdout_with_a_line_per_file() {
    let bench =
        Bench::new(&[("good.yaml", GOOD), ("bad.yaml", BAD), ("notes/data.yaml", "cities: [Rome]\n")]);
    let good = bench.run(&["validate", "good.yaml"]);
    assert_eq!((good.code, good.err.as_str()), (Some(0), ""));
    insta::assert_snapshot!(good.out, @r"
    OK    good.yaml  kind=Agent
    1 file: 0 errors, 0 warnings
    ");
    let all = bench.run(&["validate", "."]);
    assert_eq!((all.code, all.err.as_str()), (Some(3), ""));
    insta::assert_snapshot!(all.out, @r"
    FAIL  bad.yaml  kind=Agent
    OK    good.yaml  kind=Agent
    mas::manifest::missing

      × spec: the key `description` is missing
       ╭─[bad.yaml:4:7]
     3 │ metadata: {name: a}
     4 │ spec: {descripton: x, tools: shell}
       ·       ┬
       ·       ╰── `description` belongs in this map
       ╰────

    mas::manifest::unknown_key

      × spec: unknown key `descripton`
       ╭─[bad.yaml:4:8]
     3 │ metadata: {name: a}
     4 │ spec: {descripton: x, tools: shell}
       ·        ──────────
       ╰────
      help: did you mean `description`?

    mas::manifest::type

      × spec.tools: expected a list, found a string
       ╭─[bad.yaml:4:30]
     3 │ metadata: {name: a}
     4 │ spec: {descripton: x, tools: shell}
       ·                              ─────
       ╰────

    2 files: 3 errors, 0 warnings
    ");
}

#[test]
fn a_named_file_without_kind_fails_and_a_lenient_look_forgives_keys() {
    let bench = Bench::new(&[
        ("data.yaml", "cities: [Rome]\n"),
        ("extra.yaml", &GOOD.replace("spec:", "extra: 1\nspec:")),
    ]);
    assert_eq!(bench.run(&["validate", "data.yaml"]).code, Some(3));
    assert_eq!(bench.run(&["validate", "extra.yaml"]).code, Some(3));
    assert_eq!(bench.run(&["validate", "extra.yaml", "--lenient"]).code, Some(0));
}

#[test]
fn references_are_checked_unless_told_otherwise() {
    let bench = Bench::new(&[(
        "a.yaml",
        &GOOD.replace("{description: x}", "{description: x, tools: [{ref: gone.yaml}]}"),
    )]);
    assert_eq!(bench.run(&["validate", "a.yaml"]).code, Some(3));
    assert_eq!(bench.run(&["validate", "a.yaml", "--no-resolve-refs"]).code, Some(0));
}

#[test]
fn the_json_document_has_files_and_findings() {
    let run = Bench::new(&[("bad.yaml", BAD)]).run(&["validate", "bad.yaml", "--json"]);
    let document = run.json();
    assert_eq!((run.code, &document["ok"]), (Some(3), &false.into()));
    let findings = document["findings"].as_array().expect("a list");
    assert!(findings.len() >= 2, "every problem is told: {findings:?}");
    assert!(
        findings.iter().all(|finding| finding["file"] == "bad.yaml" && finding["line"] == 4),
        "{findings:?}"
    );
}

#[test]
fn a_target_that_an_endpoint_may_provide_is_a_warning() {
    let bench = crate::bench::team("rules: [{say: x}]\n");
    let text = std::fs::read_to_string(bench.dir.path().join("mas.yaml")).expect("it is there");
    let far = text.replace("delegates_to: [b]", "delegates_to: [b, far]");
    bench.write("far.yaml", &far);
    bench.write("alone.yaml", &far.replace("  infra_refs: [infra.yaml]\n", ""));
    let run = bench.run(&["validate", "far.yaml"]);
    assert_eq!(run.code, Some(0), "{}", run.out);
    assert!(run.out.contains("`far`") && run.out.contains("1 warning"), "{}", run.out);
    assert_eq!(bench.run(&["validate", "alone.yaml"]).code, Some(3));
    assert_eq!(bench.run(&["plan", "far.yaml"]).code, Some(3));
}
