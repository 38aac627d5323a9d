//! Values replaced from the command line: what they reach, and what is said when they reach nothing.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests; the exemption in clippy.toml reaches test functions only"
)]

use mas_core::{
    diagnostic::Report,
    manifest::{
        Binding, Endpoint, Environment, InfraDocument, Located, Options, Override, apply_overrides,
        load_infra,
    },
};
use rstest::rstest;

const FIRST: &str = "\
apiVersion: infra/v1
kind: Application
metadata: {name: first}
spec:
  endpoints:
    writer: {protocol: a2a, url: \"http://first:1\", headers: {X-Team: first}}
    editor: {protocol: a2a, url: \"http://first:2\", headers: {Authorization: \"env:EDITOR_AUTH\"}}
---
apiVersion: infra/v1
kind: LLMProxy
metadata: {name: llm}
spec:
  proxy: {api_base: \"http://llm:1/v1\"}
  models: {allowed: [small, large]}
";

const SECOND: &str = "\
apiVersion: infra/v1
kind: Application
metadata: {name: second}
spec:
  endpoints:
    writer: {protocol: a2a, url: \"http://second:1\", timeout: 5}
    a.b: {protocol: a2a, url: \"http://second:3\"}
";

/// The infra of two files, with the overrides put in.
fn changed(flags: &[&str], bindings: &[&str]) -> Result<Vec<InfraDocument>, Report> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("first.yaml"), FIRST).unwrap();
    std::fs::write(dir.path().join("second.yaml"), SECOND).unwrap();
    let environment: Environment = [("TOKEN", "Bearer s3cret")].into_iter().collect();
    let options = Options { base: Some(dir.path().to_path_buf()), ..Options::default() };
    let files = ["first.yaml", "second.yaml"].map(Located::unplaced);
    let (mut infra, _) = load_infra(&files, dir.path(), &options, &environment)?;
    infra.extend(bindings.iter().map(|text| Binding::parse(text).unwrap().to_infra()));
    let mut overrides = Vec::new();
    for flag in flags {
        overrides.push(Override::parse(flag, &environment)?);
    }
    let mut layers: Vec<&mut InfraDocument> = infra.iter_mut().collect();
    apply_overrides(&overrides, &mut layers, &options)?;
    Ok(infra)
}

/// The rows that win, as `agent url timeout headers`.
fn rows(infra: &[InfraDocument]) -> Vec<String> {
    let mut rows: Vec<&Endpoint> = Vec::new();
    for document in infra {
        if let InfraDocument::Application(application) = document {
            for row in &application.endpoints {
                rows.retain(|known| known.agent != row.agent);
                rows.push(row);
            }
        }
    }
    rows.sort_by_key(|row| row.agent.value.clone());
    let shown = |row: &Endpoint| {
        let url = row.url.as_ref().map_or("-", |url| url.value.as_str());
        let timeout =
            row.timeout_seconds.as_ref().and_then(|timeout| timeout.value.as_f64()).unwrap_or_default();
        let headers: Vec<_> =
            row.headers.iter().map(|(name, value)| format!("{}={}", name.value, value.value)).collect();
        format!("{} {url} {timeout} [{}]", row.agent.value, headers.join(","))
    };
    rows.into_iter().map(shown).collect()
}

fn problem(flag: &str) -> String {
    problem_with(&[flag])
}

fn problem_with(flags: &[&str]) -> String {
    let report = changed(flags, &[]).expect_err("it is refused");
    report.iter().map(|problem| format!("{problem} | {}\n", problem.help.as_deref().unwrap_or("-"))).collect()
}

#[rstest]
#[case::quoted(r#"infra:spec.endpoints["writer"].url=http://here:9/x"#, "writer http://here:9/x 5 []")]
#[case::plain("infra:spec.endpoints.writer.url=\"http://here:9\"", "writer http://here:9 5 []")]
#[case::single("infra:spec.endpoints['writer'].timeout=2.5", "writer http://second:1 2.5 []")]
#[case::new_key("infra:spec.endpoints[\"writer\"].headers={A: b}", "writer http://second:1 5 [A=b]")]
#[case::a_dot("infra:spec.endpoints[\"a.b\"].timeout=7", "a.b http://second:3 7 []")]
#[case::row("infra:spec.endpoints[\"new\"]={protocol: a2a, url: \"http://n:1\"}", "new http://n:1 0 []")]
#[case::variable(
    "infra:spec.endpoints[\"editor\"].headers.Authorization=env:TOKEN",
    "editor http://first:2 0 [Authorization=Bearer s3cret]"
)]
#[case::default("infra:spec.endpoints.editor.url=env:NOWHERE|http://d:1", "editor http://d:1 0 []")]
#[case::every("infra:spec.endpoints[*].timeout=9", "a.b http://second:3 9 []")]
#[case::equals("infra:spec.endpoints[\"writer\"].headers={X: \"a=b\"}", "writer http://second:1 5 [X=a=b]")]
fn a_value_is_replaced_in_the_row_that_wins(#[case] flag: &str, #[case] row: &str) {
    let rows = rows(&changed(&[flag], &[]).unwrap_or_else(|report| panic!("{report:?}")));
    assert!(rows.iter().any(|known| known == row), "{rows:?}");
}

#[test]
fn an_override_comes_after_a_binding_and_after_the_one_before_it() {
    let flags = ["infra:spec.endpoints[\"writer\"].timeout=1", "infra:spec.endpoints[\"writer\"].timeout=2"];
    let bound = changed(&flags, &["writer=a2a://bound:4/agents/writer"]).unwrap();
    // The whole row is the binding's: headers for another host do not go with it.
    assert_eq!(rows(&bound)[2], "writer http://bound:4/agents/writer 2 []");
}

#[test]
fn a_binding_replaces_the_row_so_that_nothing_of_it_is_changed_unseen() {
    let report = changed(&["infra:spec.endpoints[\"writer\"].headers.X-Team=x"], &["writer=a2a://bound:4"]);
    let report = report.expect_err("the row that has headers is not the one that counts");
    assert_eq!(report.iter().next().unwrap().message, "there is no `headers` in `writer`");
}

#[test]
fn a_model_provider_is_changed_too() {
    let infra = changed(&["infra:spec.models.allowed[1]=huge", "infra:spec.proxy.timeout=3"], &[]).unwrap();
    let InfraDocument::Llm(llm) = &infra[1] else { panic!("the provider is second") };
    assert_eq!(llm.allowed.iter().map(|name| name.value.as_str()).collect::<Vec<_>>(), ["small", "huge"]);
    assert_eq!(llm.connection.value()["timeout"], 3);
}

#[test]
fn a_variable_that_is_not_set_is_the_rows_problem() {
    let infra = changed(&["infra:spec.endpoints[\"writer\"].url=env:NOWHERE"], &[]).unwrap();
    let InfraDocument::Application(second) = &infra[2] else { panic!("the second file is last") };
    let missing: Vec<String> = second.endpoints[0]
        .missing
        .iter()
        .map(|missing| format!("{} {}", missing.name, missing.at))
        .collect();
    assert_eq!(missing, ["NOWHERE --override:1:36"]);
}

#[test]
fn what_leads_nowhere_is_told_at_its_place() {
    insta::assert_snapshot!(problem("infra:spec.endpoint[\"writer\"].url=x"), @"--override:1:12: error[mas::override::unknown]: there is no `endpoint` in `spec` | did you mean `endpoints`?");
    insta::assert_snapshot!(problem("infra:spec.endpoints[\"writr\"].url=x"), @"--override:1:21: error[mas::override::unknown]: there is no `writr` in `endpoints` | did you mean `writer`?");
    insta::assert_snapshot!(problem("infra:spec.endpoints[\"writer\"].headers.A=x"), @r#"--override:1:32: error[mas::override::unknown]: there is no `headers` in `writer` | there: `protocol`, `url`, `timeout`; what is not there is given as a whole: headers={"A": VALUE}"#);
    insta::assert_snapshot!(problem("infra:spec.endpoints[0].url=x"), @"--override:1:21: error[mas::override::unknown]: `endpoints` is a map: its entries are picked by key | there: `writer`, `a.b`");
    insta::assert_snapshot!(problem("infra:spec.models.allowed[7]=x"), @"--override:1:26: error[mas::override::unknown]: `allowed` has 2 items, counted from 0 | -");
    insta::assert_snapshot!(problem("infra:spec.models.allowed[id=x]=x"), @"--override:1:26: error[mas::override::unknown]: no item of `allowed` has `id: x` | -");
    insta::assert_snapshot!(problem("infra:spec.proxy.api_base.x=x"), @"--override:1:27: error[mas::override::unknown]: `api_base` is a string, so it has no `x` | -");
}

#[test]
fn what_cannot_be_read_is_told_at_its_place() {
    insta::assert_snapshot!(problem("spec.endpoints=x"), @r#"--override:1:1: error[mas::override::syntax]: nothing says what is to be changed: there is no `infra:` | write it as infra:PATH=VALUE, such as infra:spec.endpoints["researcher"].timeout=30"#);
    insta::assert_snapshot!(problem("infr:spec.endpoints=x"), @"--override:1:1: error[mas::override::root]: there is no `infr:` to change | did you mean `infra:`?");
    insta::assert_snapshot!(problem("agent:spec.models[0].model=x"), @"--override:1:1: error[mas::override::root]: `agent:` is not changed by this flag, only `infra:` is | change it in its file");
    insta::assert_snapshot!(problem("infra:spec.endpoints[writer].url=x"), @r#"--override:1:21: error[mas::override::syntax]: expected [0], [*], [id=x] or ["key"]; a key in brackets is quoted | write it as infra:PATH=VALUE, such as infra:spec.endpoints["researcher"].timeout=30"#);
    insta::assert_snapshot!(problem("infra:spec.endpoints[\"writer.url=x"), @r#"--override:1:21: error[mas::override::syntax]: the quoted key does not end | write it as infra:PATH=VALUE, such as infra:spec.endpoints["researcher"].timeout=30"#);
    insta::assert_snapshot!(problem("infra:spec.endpoints"), @r#"--override:1:21: error[mas::override::syntax]: there is no value: `=` is missing | write it as infra:PATH=VALUE, such as infra:spec.endpoints["researcher"].timeout=30"#);
    insta::assert_snapshot!(problem("infra:spec..url=x"), @r#"--override:1:11: error[mas::override::syntax]: expected the name of a key; one with dots or spaces is quoted: ["a.b"] | write it as infra:PATH=VALUE, such as infra:spec.endpoints["researcher"].timeout=30"#);
    insta::assert_snapshot!(problem("infra:kind=x"), @r#"--override:1:7: error[mas::override::syntax]: the path goes into `spec`: infra:spec.… | write it as infra:PATH=VALUE, such as infra:spec.endpoints["researcher"].timeout=30"#);
    insta::assert_snapshot!(problem("infra:spec.endpoints.writer={a: [}"), @"--override:1:34: error[mas::yaml::syntax]: not valid YAML: while parsing a node, did not find expected node content | -");
    insta::assert_snapshot!(problem(""), @r#"--override:1:1: error[mas::override::syntax]: nothing says what is to be changed: there is no `infra:` | write it as infra:PATH=VALUE, such as infra:spec.endpoints["researcher"].timeout=30"#);
}

#[test]
fn a_value_that_does_not_fit_is_told_at_its_place() {
    insta::assert_snapshot!(problem("infra:spec.endpoints.writer.timeout=soon"), @"--override:1:37: error[mas::manifest::type]: spec.endpoints.writer.timeout: expected a number or a list, found a string | -");
    insta::assert_snapshot!(problem("infra:spec.endpoints.writer.usage=deployed"), @"--override:1:35: error[mas::manifest::value]: spec.endpoints.writer.usage: expected `use`, `deploy`, `use-and-deploy`, found `deployed` | did you mean `deploy`?");
    insta::assert_snapshot!(problem("infra:spec.endpoints.writer.tmeout=3"), @"--override:1:29: error[mas::manifest::unknown_key]: unknown key `tmeout` of an endpoint | did you mean `timeout`?");
    insta::assert_snapshot!(problem("infra:spec.endpoints.new={url: \"http://h:1\"}"), @"--override:1:26: error[mas::manifest::missing]: spec.endpoints.new: the key `protocol` is missing | -");
    insta::assert_snapshot!(problem("infra:spec.endpoints.writer.url="), @r#"
    --override:1:33: error[mas::endpoint::url]: url: expected an absolute http or https address, found `` | write it as `http://host:port`
    --override:1:33: error[mas::manifest::type]: spec.endpoints.writer.url: expected a string, found nothing | give it a value or remove the key
    "#);
    insta::assert_snapshot!(problem("infra:spec.endpoints.writer.url=h:1"), @"--override:1:33: error[mas::endpoint::url]: url: expected an absolute http or https address, found `h:1` | write it as `http://host:port`");
}

proptest::proptest! {
    #[test]
    fn whatever_is_written_is_read_or_refused(
        noise in r#"(infra:)?(spec)?([.\[\]="'\\a-z0-9*é ]|endpoints|writer|\[\*\]){0,24}"#,
    ) {
        let _ = changed(&[&noise], &[]);
        let _ = Binding::parse(&noise);
    }
}

#[test]
fn every_problem_is_told_at_once() {
    let text = problem_with(&["infra:spec.endpoints.writer.timeout=soon", "infra:spec.nothing.x=1"]);
    assert_eq!(text.lines().count(), 2, "{text}");
}

#[test]
fn a_secret_of_the_flag_is_in_no_message() {
    for flag in [
        "infra:spec.endpoints.editor.headers.Authorization={x: Bearer s3cret}",
        "infra:spec.endpoints.editor.headers={Authorization: [\"Bearer s3cret\"]}",
        "infra:spec.endpoints.editor.headers.X-Key={x: s3cret",
        "infra:spec.proxy.api_key={x: s3cret",
    ] {
        let report = changed(&[flag], &[]).expect_err(flag);
        let text = report.iter().map(|problem| format!("{problem} {problem:?}")).collect::<String>();
        let shown = report.iter().filter_map(|problem| problem.at()).map(|at| at.source().text().to_string());
        let text = text + &shown.collect::<String>();
        assert!(!text.contains("s3cret"), "{flag}: {text}");
    }
}
