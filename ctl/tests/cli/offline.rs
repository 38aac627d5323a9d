//! The mock model on every command, and what is said without a key.

use crate::bench::Bench;

const AGENT: &str = "\
apiVersion: mas/v1
kind: Agent
metadata: {name: qa}
spec:
  description: Answers.
  models: [{model: gpt-4o}]
";

#[test]
fn each_way_to_the_mock_model_works_on_each_command() {
    let bench = Bench::new(&[("agent.yaml", AGENT)]);
    let commands: [&[&str]; 4] = [
        &["chat", "agent.yaml", "-q", "hi"],
        &["run-mas", "agent.yaml", "-q", "hi"],
        &["validate", "agent.yaml"],
        &["plan", "agent.yaml"],
    ];
    for command in commands {
        for flags in [&["--flavour", "mock"], &["--infra-ref", "standard:mock-llm"]] {
            let run = bench.run(&[command, flags].concat());
            assert_eq!(run.code, Some(0), "{command:?} {flags:?}: {}{}", run.out, run.err);
        }
        let run = bench.run_with(command, &[("MAS_MOCK_LLM", "1")]);
        assert_eq!(run.code, Some(0), "{command:?}");
    }
    let chat = bench.run(&["chat", "agent.yaml", "-q", "hi", "--flavour", "mock"]);
    assert_eq!(chat.out, "You: hi\nAgent: [mock] hi\n\n");
}

#[test]
fn a_switch_that_says_neither_is_refused() {
    let bench = Bench::new(&[("agent.yaml", AGENT)]);
    let chat = |value: &str| bench.run_with(&["chat", "agent.yaml", "-q", "hi"], &[("MAS_MOCK_LLM", value)]);
    for on in ["1", "TRUE", " yes ", "On"] {
        assert_eq!(chat(on).out, "You: hi\nAgent: [mock] hi\n\n", "{on}");
    }
    for off in ["", " ", "0", "False", "no", "off"] {
        assert!(chat(off).err.contains("mas::llm::no_key"), "{off}");
    }
    let run = chat("banana");
    assert_eq!((run.code, run.out.as_str()), (Some(3), ""));
    insta::assert_snapshot!(run.err.split("mas::llm").next().unwrap_or_default(), @r"
    mas::env::switch

      × MAS_MOCK_LLM: the text of this switch is neither on nor off
      help: on: `1`, `true`, `yes`, `on`; off: `0`, `false`, `no`, `off`
    ");
}

#[test]
fn without_a_key_one_problem_says_what_to_set() {
    let run = Bench::new(&[("agent.yaml", AGENT)]).run(&["chat", "agent.yaml", "-q", "hi"]);
    assert_eq!((run.code, run.out.as_str()), (Some(3), ""));
    insta::assert_snapshot!(run.err, @r#"
    mas::llm::no_key

      × the variable `OPENAI_API_KEY` is not set, and the model provider `openai` needs the key in it
       ╭─[standard:openai:6:63]
     5 │ spec:
     6 │   proxy: {api_base: "https://api.openai.com/v1", api_key_env: OPENAI_API_KEY}
       ·                                                               ──────────────
     7 │   models:
       ╰────
      help: set `OPENAI_API_KEY`, or run offline with `--flavour mock`, `--infra-ref standard:mock-
            llm` or MAS_MOCK_LLM=1
    "#);
}

#[test]
fn a_key_never_shows() {
    let bench = Bench::new(&[("agent.yaml", AGENT)]);
    for command in [&["chat", "agent.yaml", "-q", "hi", "-vvv"][..], &["plan", "agent.yaml", "--json"]] {
        let printed = bench.run_with(command, &[("OPENAI_API_KEY", "sk-very-secret")]);
        assert!(!format!("{}{}", printed.out, printed.err).contains("very-secret"));
    }
}
