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

#[test]
fn names_and_their_parameters_are_checked_as_a_run_does() {
    let spec = |spec: &str| GOOD.replace("{description: x}", &format!("\n  description: x\n{spec}"));
    let agent = "  design_pattern: {type: reakt}
  context_manager: {type: stack, params: {deep: 1}}
  llm: {provider: opnai}
  tools:
    - {kind: nativ, name: x}
    - {kind: command, params: {programme: [ls]}}
  observability: [native, otel, foo]
";
    let team = "apiVersion: mas/v1
kind: MAS
metadata: {name: m}
spec:
  agency: {agents: [{id: a, apiVersion: mas/v1, kind: Agent, metadata: {name: a}, spec: {description: x, design_pattern: {type: cot}}}]}
";
    let proxy = "apiVersion: infra/v1
kind: LLMProxy
metadata: {name: i}
spec: {proxy: {api_base: 'http://x'}, model_access: {params: {foo: 1}}}
---
apiVersion: infra/v1
kind: Application
metadata: {name: i}
spec: {endpoints: {a: {protocol: lokal, url: 'http://x'}, b: {protocol: nats, url: 'http://x'}}}
";
    let calls = "apiVersion: infra/v1
kind: Application
metadata: {name: i}
spec: {endpoints: {a: {protocol: a2a, url: 'http://x', a2a: {client: {poll: {inital: 1}}}}}}
";
    let secret = spec("  design_pattern: {type: env:HIDDEN}\n  context_manager: {type: env:GONE}\n");
    let hidden = spec("  tools: [{kind: command, params: {command: [ls], output: env:HIDDEN}}]\n");
    let bench = Bench::new(&[
        ("agent.yaml", &spec(agent)),
        ("team.yaml", team),
        ("proxy.yaml", proxy),
        ("calls.yaml", calls),
        ("secret.yaml", &secret),
        ("hidden.yaml", &hidden),
    ]);
    let told = |args: &[&str]| {
        let document = bench.run_with(args, &[("HIDDEN", "hunter2")]).json();
        let lines = document["findings"].as_array().expect("a list").iter().map(|finding| {
            let help = finding["help"].as_str().map(|help| format!(" ({help})")).unwrap_or_default();
            let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
            format!("{}:{} {}: {}{help}", text("file"), finding["line"], text("severity"), text("message"))
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(told(&["validate", "--json", "."]), @r"
    agent.yaml:6 error: unknown design_pattern `reakt`; available: react, scripted_response, single_pass (did you mean `react`?)
    agent.yaml:7 error: context_manager `stack` does not take these parameters: `deep`: unknown field `deep`, there are no fields
    agent.yaml:8 error: unknown llm_provider `opnai`; available: openai, anthropic, gemini, mock, ollama, scripted (did you mean `openai`?)
    agent.yaml:10 error: unknown tool_provider `nativ`; available: native, command, http, python (did you mean `native`?)
    agent.yaml:11 error: tool_provider `command` does not take these parameters: `params.programme`: unknown field `programme`, expected one of `command`, `cwd`, `env`, `set`, `stdin`, `output`
    agent.yaml:12 error: unknown observability `foo`; available: native
    calls.yaml:4 error: the endpoint of `a` cannot be used: agent_comm `a2a` refuses `a2a.client.poll.inital`: unknown field `inital`, expected one of `initial`, `factor`, `max`, `tolerate` (did you mean `initial`?)
    hidden.yaml:6 error: tool_provider `command` does not take these parameters: `params.output`: unknown variant `<from the environment>`, expected one of `auto`, `json`, `text`
    proxy.yaml:4 error: llm_provider `openai` does not take these parameters: `foo`: unknown field `foo`, expected one of `api_base`, `api_key_env`, `headers`, `stream`, `connect_timeout`, `first_byte_timeout`, `idle_timeout`, `timeout`, `retry`, `ca_file`, `verify`, `proxy`, `body`
    proxy.yaml:9 error: unknown agent_comm `lokal`; available: local, a2a, platform, process (did you mean `local`?)
    proxy.yaml:9 warning: the agent_comm `nats` is not there yet: a run that needs it is refused (there are: `a2a`, `local`, `platform`, `process`)
    secret.yaml:6 error: unknown design_pattern `<from the environment>`; available: react, scripted_response, single_pass
    secret.yaml:7 warning: the environment variable GONE is not set (set GONE, or give a default: `env:GONE|default`)
    team.yaml:5 warning: the design_pattern `cot` is not there yet: a run that needs it is refused (there are: `react`, `scripted_response`, `single_pass`)
    ");
    insta::assert_snapshot!(told(&["validate", "--json", "team.yaml", "--infra-ref", "proxy.yaml"]), @r"
    proxy.yaml:4 error: llm_provider `openai` does not take these parameters: `foo`: unknown field `foo`, expected one of `api_base`, `api_key_env`, `headers`, `stream`, `connect_timeout`, `first_byte_timeout`, `idle_timeout`, `timeout`, `retry`, `ca_file`, `verify`, `proxy`, `body`
    proxy.yaml:9 error: unknown agent_comm `lokal`; available: local, a2a, platform, process (did you mean `local`?)
    proxy.yaml:9 warning: the agent_comm `nats` is not there yet: a run that needs it is refused (there are: `a2a`, `local`, `platform`, `process`)
    team.yaml:5 warning: the design_pattern `cot` is not there yet: a run that needs it is refused (there are: `react`, `scripted_response`, `single_pass`)
    ");
}

#[test]
fn defaults_of_the_configuration_are_checked_too() {
    let bench = Bench::new(&[("good.yaml", GOOD), ("config.yaml", "defaults: {design_pattern: reakt}\n")]);
    let run = bench.run(&["validate", "good.yaml"]);
    assert_eq!(run.code, Some(3), "{}", run.out);
    assert!(
        run.out.contains("unknown design_pattern `reakt`") && run.out.contains("config.yaml:1"),
        "{}",
        run.out
    );
}

#[test]
fn a_target_is_one_of_the_agents_that_chosen_infra_provides() {
    let bench = crate::bench::team("rules: [{say: x}]\n");
    let text = std::fs::read_to_string(bench.dir.path().join("mas.yaml")).expect("it is there");
    let far = text.replace("delegates_to: [b]", "delegates_to: [b, far]");
    bench.write("far.yaml", &far.replace("  infra_refs: [infra.yaml]\n", ""));
    let endpoints = |usage: &str| {
        format!(
            "apiVersion: infra/v1\nkind: Application\nmetadata: {{name: e}}\n\
             spec: {{endpoints: {{far: {{protocol: a2a, url: 'http://127.0.0.1:1', usage: {usage}}}}}}}\n"
        )
    };
    bench.write("use.yaml", &endpoints("use"));
    bench.write("deploy.yaml", &endpoints("deploy"));
    let by_flag = |infra: &str| bench.run(&["validate", "far.yaml", "--infra-ref", infra]);
    let found = by_flag("use.yaml");
    assert_eq!(found.code, Some(0), "{}", found.out);
    assert!(found.out.contains("0 warnings"), "{}", found.out);
    assert_eq!(by_flag("deploy.yaml").code, Some(3), "it only listens");
    bench.write("config.yaml", "infra_refs: [use.yaml]\n");
    let found = bench.run(&["validate", "far.yaml"]);
    assert_eq!(found.code, Some(0), "by configuration: {}", found.out);
}
