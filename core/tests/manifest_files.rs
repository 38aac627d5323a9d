//! What people write, and what they are told about it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::format_push_string,
    clippy::needless_pass_by_value,
    reason = "helpers of tests; the exemption in clippy.toml reaches test functions only"
)]

use std::path::{Path, PathBuf};

use mas_core::diagnostic::Report;
use mas_core::manifest::{Environment, Known, Options, Validation, validate};
use rstest::rstest;

const AGENT: &str = "apiVersion: mas/v1\nkind: Agent\nmetadata: {name: a}\nspec:\n  description: d\n";

struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn options(&self) -> Options {
        Options { base: Some(self.0.path().to_path_buf()), ..Options::default() }
    }

    fn check(&self, path: &Path) -> Validation {
        validate(&[path.to_path_buf()], &self.options(), &Environment::default(), Known::default())
    }
}

fn check(bytes: impl AsRef<[u8]>) -> Report {
    let desk = Desk::new();
    let path = desk.put("a.yaml", bytes);
    desk.check(&path).report
}

fn codes(report: &Report) -> Vec<&'static str> {
    report.iter().map(|diagnostic| diagnostic.code).collect()
}

#[test]
fn merge_keys_are_merged() {
    let text = "\
x-base: &base {temperature: 0.1, model: base}
x-more: &more {model: more, max_tokens: 5}
apiVersion: mas/v1
kind: Agent
metadata: {name: a}
spec:
  description: d
  models:
    - <<: *base
      model: local-wins
    - model: before
      <<: [*base, *more]
    - <<: {<<: *more, id: nested}
";
    assert!(check(text).is_empty(), "{}", check(text));
    let source = mas_core::diagnostic::Source::named("t", text);
    let (nodes, _) = mas_core::manifest::yaml::parse(&source);
    let models = nodes[0].at_path("spec.models").unwrap().to_json();
    assert_eq!(
        models,
        serde_json::json!([
            {"model": "local-wins", "temperature": 0.1},
            {"model": "before", "temperature": 0.1, "max_tokens": 5},
            {"id": "nested", "model": "more", "max_tokens": 5},
        ])
    );
}

#[rstest]
#[case::colon("a: b")]
#[case::comment("x # y")]
#[case::quotes("\"q\"")]
#[case::structure("l1\nspec:\n  tools: [shell]")]
#[case::alias("*x")]
#[case::map("{}")]
#[case::int("123")]
#[case::flag("true")]
#[case::empty("")]
fn a_value_from_the_environment_stays_one_string(#[case] value: &str) {
    let desk = Desk::new();
    let path = desk.put("a.yaml", format!("{AGENT}  context: {{role: 'env:K'}}\n"));
    let environment: Environment = [("K", value)].into_iter().collect();
    let loaded = mas_core::manifest::load(&path, &desk.options(), &environment).unwrap();
    let agent = &loaded.agents[0];
    assert_eq!(agent.prompts[0].1.value, value);
    assert!(agent.tools.is_empty());
    if value.len() > 2 {
        assert!(!format!("{:?}", agent.prompts).contains(value), "shown by Debug");
    }
}

#[test]
fn a_default_of_the_environment_counts_and_numbers_are_read() {
    let desk = Desk::new();
    let text =
        format!("{AGENT}  llm: {{model: 'env:M|gpt', max_tokens: 'env:N|77', temperature: 'env:T'}}\n");
    let path = desk.put("a.yaml", text);
    let environment: Environment = [("T", "0.5")].into_iter().collect();
    let loaded = mas_core::manifest::load(&path, &desk.options(), &environment).unwrap();
    let model = loaded.agents[0].document.as_ref().unwrap().model.clone();
    assert_eq!(model.model.unwrap().value, "gpt");
    assert_eq!(model.max_tokens.unwrap().value, 77);
    assert!((model.temperature.unwrap().value - 0.5).abs() < 1e-9);
}

#[test]
fn a_value_from_the_environment_is_never_told() {
    let desk = Desk::new();
    let text =
        format!("{AGENT}  llm: {{max_tokens: env:S, model: env:S}}\n  tools: env:S\n  skills: [env:S]\n");
    let path = desk.put("a.yaml", text);
    let environment: Environment = [("S", "hunter2")].into_iter().collect();
    let report = validate(&[path], &desk.options(), &environment, Known::default()).report;
    assert!(report.has_errors());
    assert!(!format!("{report} {report:?}").contains("hunter2"), "{report}");
}

#[test]
fn a_missing_variable_warns_when_validating_and_stops_a_run() {
    let desk = Desk::new();
    let path = desk.put("a.yaml", format!("{AGENT}  context: {{role: env:NOPE}}\n"));
    let validation = desk.check(&path);
    assert!(validation.outcomes[0].ok);
    assert_eq!(codes(&validation.report), ["mas::env::missing"]);
    let report = mas_core::manifest::load(&path, &desk.options(), &Environment::default()).unwrap_err();
    assert_eq!(
        report.to_string().lines().next().unwrap(),
        "a.yaml:6:19: error[mas::env::missing]: the environment variable NOPE is not set"
    );
}

#[rstest]
#[case("1.10")]
#[case("1.0")]
#[case("2026-01-01")]
#[case("0x1F")]
#[case("0o17")]
#[case("1_000")]
#[case("4225e714")]
fn string_fields_keep_the_source_text(#[case] text: &str) {
    let desk = Desk::new();
    let path = desk.put("a.yaml", format!("{AGENT}  context: {{role: {text}}}\n"));
    let loaded = mas_core::manifest::load(&path, &desk.options(), &Environment::default()).unwrap();
    assert_eq!(loaded.agents[0].prompts[0].1.value, text);
}

#[rstest]
#[case("2026-01-01", false)]
#[case("1_000", false)]
#[case("4225e714", false)]
#[case("1.5", false)]
#[case("~", false)]
#[case("true", false)]
#[case("0x1F", true)]
#[case("\"8080\"", true)]
#[case("7", true)]
fn whole_numbers_are_only_whole_numbers(#[case] text: &str, #[case] ok: bool) {
    let report = check(format!("{AGENT}  models: [{{model: m, max_tokens: {text}}}]\n"));
    assert_eq!(report.is_empty(), ok, "{report}");
}

#[test]
fn nothing_where_a_string_belongs_is_an_error() {
    let report = check("apiVersion: mas/v1\nkind: Agent\nmetadata: {name: ~}\nspec: {description: d}\n");
    insta::assert_snapshot!(report.to_string(), @r"
    a.yaml:3:18: error[mas::manifest::type]: metadata.name: expected a string, found nothing
      help: give it a value or remove the key
    ");
}

#[test]
fn line_ends_and_byte_order_marks_do_not_matter() {
    let plain = format!("{AGENT}  context:\n    role: |\n      one\n      two\n");
    for text in [
        plain.replace('\n', "\r\n"),
        format!("\u{feff}{plain}"),
        format!("---\n\u{feff}{plain}"),
        format!("\u{feff}---\r\n{}", plain.replace('\n', "\r\n")),
    ] {
        let desk = Desk::new();
        let path = desk.put("a.yaml", &text);
        let loaded = mas_core::manifest::load(&path, &desk.options(), &Environment::default());
        let loaded = loaded.unwrap_or_else(|report| panic!("{text:?}: {report}"));
        assert_eq!(loaded.agents[0].prompts[0].1.value, "one\ntwo\n", "{text:?}");
    }
}

#[test]
fn other_encodings_are_told_with_their_place() {
    let utf16: Vec<u8> =
        [0xFF, 0xFE].into_iter().chain(AGENT.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let bare_utf16: Vec<u8> = AGENT.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let latin1 = [AGENT.as_bytes(), b"  context: {role: caf\xE9}\n"].concat();
    let told = |bytes: &[u8]| check(bytes).to_string();
    insta::assert_snapshot!(told(&utf16), @r"
    a.yaml:1:1: error[mas::file::encoding]: the file is UTF-16 (little-endian), not UTF-8 text
      help: save it as UTF-8
    ");
    assert!(told(&bare_utf16).contains("UTF-16"));
    insta::assert_snapshot!(told(&latin1), @r"
    a.yaml:6:22: error[mas::file::encoding]: the file is not UTF-8 text: byte 0xE9 at offset 95
      help: save it as UTF-8; it may be Latin-1 or Windows-1252
    ");
    insta::assert_snapshot!(told(b"\x89PNG\r\n\x1a\n\0\0"), @r"
    a.yaml:1:1: error[mas::file::encoding]: the file is a PNG image, not UTF-8 text
      help: save it as UTF-8
    ");
    insta::assert_snapshot!(told(format!("{AGENT}\u{a0} tools: []\n").as_bytes()), @r"
    a.yaml:6:1: error[mas::yaml::indentation]: the line begins with a non-breaking or other odd space, which is not indentation
      help: indent with ordinary spaces
    ");
    insta::assert_snapshot!(told(b"kind: Agent\nspec:\n\tdescription: d\n"), @r"
    a.yaml:3:1: error[mas::yaml::indentation]: a tab is used for indentation
      help: indent with spaces
    ");
}

#[test]
fn wrong_shapes_are_told_in_words() {
    let told = |text: &str| check(text).to_string();
    insta::assert_snapshot!(told("apiVersion: mas/v1\nkind: Agent\nmetadata: {name: a}\nspec: []\n"), @"a.yaml:4:7: error[mas::manifest::type]: spec: expected a map, found a list");
    insta::assert_snapshot!(told(&format!("{AGENT}  tools: shell\n")), @"a.yaml:6:10: error[mas::manifest::type]: spec.tools: expected a list, found a string");
    insta::assert_snapshot!(told(""), @"a.yaml:1:1: error[mas::file::empty]: the file holds no document");
    insta::assert_snapshot!(told("- a\n- b\n"), @"a.yaml:1:1: error[mas::manifest::type]: expected a document with `apiVersion`, `kind`, `metadata` and `spec`, found a list");
    insta::assert_snapshot!(told("{\"kind\": \"Agent\", \"apiVersion\": \"mas/v1\"}"), @r"
    a.yaml:1:1: error[mas::manifest::missing]: the key `metadata` is missing
    a.yaml:1:1: error[mas::manifest::missing]: the key `spec` is missing
    ");
    insta::assert_snapshot!(told(&format!("{AGENT}kind: Agent\n")), @r"
    a.yaml:6:1: error[mas::yaml::duplicate_key]: the key `kind` is given twice
      help: keep one of the two
    ");
    insta::assert_snapshot!(told("a: [1, 2\n"), @"a.yaml:2:1: error[mas::yaml::syntax]: not valid YAML: while parsing a flow sequence, expected ',' or ']'");
}

#[test]
fn typos_are_told_at_every_level() {
    let told = |text: &str| check(text).to_string();
    let team = "apiVersion: mas/v1\nkind: MAS\nmetadata: {name: t}\nspec:\n  agency: {agents: [{id: a}, {id: research}]}\n  workflow:\n    entry: a\n    nodes:\n      - {id: a, delegate_to: [research]}\n";
    insta::assert_snapshot!(told(team), @r"
    a.yaml:9:17: error[mas::manifest::unknown_key]: spec.workflow.nodes[0]: unknown key `delegate_to`
      help: did you mean `delegates_to`?
    ");
    insta::assert_snapshot!(told(&team.replace("delegate_to: [research]", "delegates_to: [reserch]")), @r"
    a.yaml:9:32: error[mas::route::unknown_target]: agent `a` delegates to `reserch`, which is no agent of this MAS
      help: did you mean `research`?
    ");
    insta::assert_snapshot!(told(&format!("{AGENT}  Tools: []\n  delegates_to: [x]\nmodels: []\n")), @r"
    a.yaml:6:3: error[mas::manifest::unknown_key]: spec: unknown key `Tools`
      help: did you mean `tools`?
    a.yaml:7:3: error[mas::manifest::unknown_key]: spec: unknown key `delegates_to`
      help: known here: `description`, `context`, `models`, `llm`, `design_pattern`, `collaboration`, `context_manager`, `tools`, `tools_ref`, `skills`, `memory`, `memory_seed`, … (10 more); extensions begin with `x-`
    a.yaml:8:1: error[mas::manifest::unknown_key]: unknown key `models` at the top level
      help: `models` belongs in `spec`
    ");
    insta::assert_snapshot!(told(&AGENT.replace("kind: Agent", "kind: Agnet")), @r"
    a.yaml:2:7: error[mas::manifest::unknown_kind]: unknown kind `Agnet`
      help: did you mean `Agent`?
    ");
    insta::assert_snapshot!(told(&AGENT.replace("mas/v1", "agent/v1")), @r"
    a.yaml:1:13: error[mas::manifest::api_version]: unknown apiVersion `agent/v1`
      help: write `apiVersion: mas/v1`
    ");
    insta::assert_snapshot!(told(&AGENT.replace("kind", "kinds")), @r"
    a.yaml:2:1: error[mas::manifest::no_kind]: no kind: the document does not say what it is
      help: did you mean `kind` instead of `kinds`?
    ");
    insta::assert_snapshot!(told(&team.replace("delegate_to: [research]", "x-mas-alow: 1, x-other: 2")), @r"
    a.yaml:9:17: error[mas::manifest::unknown_key]: unknown key `x-mas-alow`: keys that begin with `x-mas-` are this program's own
      help: no `x-mas-…` key is known here
    ");
    assert!(
        check(
            team.replace("delegate_to: [research]", "x-canvas: 1")
                .replace("name: t", "name: t, x-mas-allow-cycles: true")
        )
        .is_empty()
    );
}

#[test]
fn a_directory_or_a_missing_file_is_told() {
    let desk = Desk::new();
    desk.put("d/notes.yaml", "a: 1\n");
    desk.put("d/a.yaml", AGENT);
    desk.put("d/b.yml", "kind: Experiment\nname: x\n");
    let walked = desk.check(&desk.0.path().join("d"));
    let seen: Vec<_> = walked.outcomes.iter().map(|outcome| (outcome.path.as_str(), outcome.ok)).collect();
    assert_eq!(seen, [("d/a.yaml", true), ("d/b.yml", true)]);
    assert_eq!(codes(&walked.report), ["mas::manifest::lab_kind"]);
    assert!(!desk.check(&desk.0.path().join("d/notes.yaml")).outcomes[0].ok);
    assert_eq!(codes(&desk.check(&desk.0.path().join("none.yaml")).report), ["mas::file::read"]);
    let report = mas_core::manifest::load(&desk.0.path().join("d"), &desk.options(), &Environment::default());
    assert_eq!(codes(&report.unwrap_err()), ["mas::file::directory"]);
}

#[test]
fn an_infra_file_is_no_agent() {
    let desk = Desk::new();
    let path = desk.put("i.yaml", "apiVersion: infra/v1\nkind: LLMProxy\nmetadata: {name: x}\nspec: {}\n---\napiVersion: infra/v1\nkind: ToolProvider\nmetadata: {name: y}\nspec: {tools: {}}\n");
    assert!(desk.check(&path).report.is_empty());
    let report = mas_core::manifest::load(&path, &desk.options(), &Environment::default()).unwrap_err();
    assert_eq!(codes(&report), ["mas::manifest::not_runnable"]);
}

#[test]
fn alias_bombs_and_deep_nesting_are_refused() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..9 {
        let before = format!("*a{}", level - 1);
        bomb.push_str(&format!("a{level}: &a{level} [{}]\n", vec![before; 10].join(", ")));
    }
    assert_eq!(codes(&check(bomb)), ["mas::yaml::alias_bomb"]);
    assert_eq!(codes(&check(format!("{}{}", "[".repeat(100), "]".repeat(100)))), ["mas::yaml::too_deep"]);
    assert_eq!(check("a: &a [*a]\n").counts().0, 1);
    assert_eq!(codes(&check(vec![b'#'; 5 * 1024 * 1024])), ["mas::file::too_large"]);
}

#[test]
fn references_are_followed_and_told() {
    let desk = Desk::new();
    let path = desk.put(
        "mas.yaml",
        "apiVersion: mas/v1\nkind: MAS\nmetadata: {name: t}\nspec:\n  infra_refs: [standard:opnai, loop.yaml, llm.yaml]\n  agency:\n    agents:\n      - {id: a, ref: agents/a.yml}\n      - {id: b, ref: llm.yaml}\n      - {id: c, ref: broken.yaml}\n",
    );
    desk.put("agents/a.yaml", AGENT);
    desk.put("broken.yaml", format!("{AGENT}  tool: []\n"));
    desk.put("llm.yaml", "apiVersion: infra/v1\nkind: LLMProxy\nmetadata: {name: x}\nspec: {}\n");
    desk.put(
        "loop.yaml",
        "apiVersion: infra/v1\nkind: InfraBundle\nmetadata: {name: x}\nspec: {includes: [loop.yaml]}\n",
    );
    let validation = desk.check(&path);
    assert!(!validation.outcomes[0].ok);
    insta::assert_snapshot!(validation.report.to_string(), @r"
    broken.yaml:6:3: error[mas::manifest::unknown_key]: spec: unknown key `tool`
      help: did you mean `tools`?
    loop.yaml:4:19: error[mas::ref::cycle]: the infra refers back to a file that refers to it
      help: take one of the references out
    mas.yaml:5:16: error[mas::ref::unknown_standard]: `standard:opnai` is not bundled with this program
      help: did you mean `standard:openai`?
    mas.yaml:8:22: error[mas::ref::missing]: the agent: the file `agents/a.yml` does not exist
      help: did you mean `a.yaml`, in the same directory?
    mas.yaml:9:22: error[mas::ref::wrong_kind]: the agent must be of kind Agent, but the file holds LLMProxy
    ");
    let unchecked = Options { resolve_refs: false, ..desk.options() };
    assert!(validate(&[path], &unchecked, &Environment::default(), Known::default()).report.is_empty());
}

#[test]
fn reports_have_a_json_form() {
    let report = check(format!("{AGENT}  tool: []\n"));
    insta::assert_snapshot!(serde_json::to_string_pretty(&report).unwrap(), @r#"
    [
      {
        "file": "a.yaml",
        "line": 6,
        "column": 3,
        "code": "mas::manifest::unknown_key",
        "severity": "error",
        "message": "spec: unknown key `tool`",
        "help": "did you mean `tools`?"
      }
    ]
    "#);
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 256, failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..400)) {
        check(bytes);
    }

    #[test]
    fn no_text_panics(text in "[-a-c:\\[\\]{}&*!|>'\"%#@,?~<é\u{a0} \n\t]{0,120}") {
        check(&text);
        check(format!("{AGENT}  context: {text}\n"));
    }
}
