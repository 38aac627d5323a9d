//! `infra` and `flavour`.

use crate::bench::Bench;

const INFRA: &str = "\
# Ours.
apiVersion: infra/v1
kind: InfraBundle
metadata: {name: ours}
spec:
  entries:
    - {id: llm, type: llm_provider, ref: proxy.yaml}
    - {id: peers, type: application, ref: peers.yaml}
    - {id: cache, type: infra_middleware, ref: 'standard:llm-cache'}
";

const PROXY: &str = "\
apiVersion: infra/v1
kind: LLMProxy
metadata: {name: proxy}
spec:
  proxy: {api_base: 'env:LLM_BASE', api_key_env: OUR_KEY, headers: {X-Team: 's3cret literal', X-Env: 'env:TEAM|none'}}
  models: {allowed: [gpt-4o, mini], mappings: {short: gpt-4o}, defaults: {llm: mini}}
";

const PEERS: &str = "\
apiVersion: infra/v1
kind: Application
metadata: {name: peers}
spec:
  endpoints:
    fares: {protocol: a2a, url: 'http://127.0.0.1:9006', usage: use-and-deploy, headers: {Authorization: 'env:AUTH'}}
";

const SECRETS: &[(&str, &str)] = &[("LLM_BASE", "http://s3cret/"), ("AUTH", "s3cret"), ("OUR_KEY", "s3cret")];

fn bench() -> Bench {
    Bench::new(&[("infra/ours.yaml", INFRA), ("infra/proxy.yaml", PROXY), ("infra/peers.yaml", PEERS)])
}

#[test]
fn standard_infra_is_listed_with_what_is_chosen() {
    let bench = bench();
    bench.write("config.yaml", "infra_refs: [infra/ours.yaml]\n");
    let list = |args: &[&str]| bench.run_with(args, SECRETS);
    let run = list(&["infra", "list", "--infra-ref", "standard:mock-llm"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    insta::assert_snapshot!(run.out, @r"
    NAME                       KIND             DESCRIPTION
    standard:openai            LLMProxy         OpenAI without a proxy in between.
    standard:ollama            LLMLocal         Ollama on its usual port.
    standard:mock-llm          LLMLocal         Made-up answers for tests and first steps.
    standard:llm-proxy         LLMProxy         A gateway that speaks the OpenAI API.
    standard:llm-proxy-cached  InfraBundle      OpenAI whose answers are kept.
    standard:llm-cache         InfraMiddleware  Answers kept on disk.
    standard:chaos-lite        InfraMiddleware  A few injected faults.
    standard:development       InfraBundle      Local models.
    standard:production        InfraBundle      Hosted models.

    CHOSEN             SET BY         FILES
    infra/ours.yaml    config.yaml:1  infra/ours.yaml, infra/proxy.yaml, infra/peers.yaml, standard:llm-cache
    standard:mock-llm  --infra-ref    standard:mock-llm
    ");
    assert_eq!(list(&["infra", "list", "-v", "--infra-ref", "standard:mock-llm"]).out, run.out);
    let json = list(&["infra", "list", "--json"]).json();
    assert_eq!(json["chosen"][0]["files"][1], "infra/proxy.yaml");
    assert_eq!(json["chosen"][0]["set_by"], "config.yaml:1");
    assert!(json["standard"].as_array().expect("a list").iter().any(|one| one["kind"] == "LLMLocal"));
    let wrong = list(&["infra", "list", "--infra-ref", "nowhere.yaml", "--json"]);
    assert_eq!((wrong.code, wrong.json()["status"].clone()), (Some(3), "invalid".into()));
}

#[test]
fn one_infra_is_shown_with_what_it_provides_and_no_value_of_the_environment() {
    let bench = bench();
    let run = bench.run_with(&["infra", "show", "infra/ours.yaml"], SECRETS);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    assert!(!run.out.contains("s3cret"), "{}", run.out);
    insta::assert_snapshot!(run.out, @r"
    # infra/ours.yaml
    # Ours.
    apiVersion: infra/v1
    kind: InfraBundle
    metadata: {name: ours}
    spec:
      entries:
        - {id: llm, type: llm_provider, ref: proxy.yaml}
        - {id: peers, type: application, ref: peers.yaml}
        - {id: cache, type: infra_middleware, ref: 'standard:llm-cache'}
    ---
    # infra/proxy.yaml
    apiVersion: infra/v1
    kind: LLMProxy
    metadata: {name: proxy}
    spec:
      proxy: {api_base: 'env:LLM_BASE', api_key_env: OUR_KEY, headers: {X-Team: ****************, X-Env: 'env:TEAM|none'}}
      models: {allowed: [gpt-4o, mini], mappings: {short: gpt-4o}, defaults: {llm: mini}}
    ---
    # infra/peers.yaml
    apiVersion: infra/v1
    kind: Application
    metadata: {name: peers}
    spec:
      endpoints:
        fares: {protocol: a2a, url: 'http://127.0.0.1:9006', usage: use-and-deploy, headers: {Authorization: 'env:AUTH'}}
    ---
    # standard:llm-cache
    # Keeps answers of the model, so that a repeated question costs nothing.
    apiVersion: infra/v1
    kind: InfraMiddleware
    metadata: {name: llm-cache, description: Answers kept on disk.}
    spec:
      middleware: llm_cache
      applies_to: [LLM_CALL]
      params: {enabled: true}

    # It provides:
    #   model provider openai, at <from the environment>, key in OUR_KEY, default model mini, models allowed: gpt-4o mini, short is gpt-4o
    #   endpoint of fares, a2a, use-and-deploy, at http://127.0.0.1:9006
    #   middleware llm_cache
    ");
    let unset = bench.run(&["infra", "show", "infra/ours.yaml", "--json"]);
    assert_eq!(unset.code, Some(0));
    assert!(unset.err.contains("the environment variable LLM_BASE is not set"), "{}", unset.err);
    assert!(!unset.out.contains("s3cret"), "{}", unset.out);
    assert_eq!(unset.json()["provides"][1]["what"], "endpoint of");
    let short = bench.run(&["infra", "show", "ollama"]);
    assert_eq!(short.code, Some(0));
    assert_eq!(short.out, bench.run(&["infra", "show", "standard:ollama"]).out);
    for wrong in ["olama", "standard:olama", "nowhere.yaml"] {
        let run = bench.run(&["infra", "show", wrong]);
        assert_eq!((run.code, run.out.as_str()), (Some(3), ""), "{wrong}");
    }
}

#[test]
fn every_standard_name_can_be_shown() {
    let bench = Bench::new(&[]);
    for (command, key) in [("infra", "standard"), ("flavour", "known")] {
        let list = bench.run(&[command, "list", "--json"]).json();
        let names = list[key].as_array().expect("a list").clone();
        assert!(names.len() > 2);
        for one in names {
            assert!(one["description"].as_str().is_some_and(|text| !text.is_empty()), "{one}");
            let run = bench.run(&[command, "show", one["name"].as_str().expect("a name")]);
            assert_eq!(run.code, Some(0), "{one}: {}", run.err);
        }
    }
}

#[test]
fn flavours_are_listed_and_shown() {
    let bench = Bench::new(&[
        ("config.yaml", "mas_ctl: {flavour: lan}\n"),
        (
            "flavours/lan.yaml",
            "apiVersion: flavour/v1\nkind: Flavour\nmetadata: {name: lan}\nspec: {agent_comm: {type: local}}\n",
        ),
    ]);
    let list = bench.run(&["flavour", "list"]);
    assert_eq!((list.code, list.err.as_str()), (Some(0), ""));
    insta::assert_snapshot!(list.out, @r"
    NAME             KIND     DESCRIPTION
    local            Flavour  Everything in this process.
    local-benchmark  Flavour  As local, for repeated measurements.
    mock             Flavour  As local, with made-up answers in place of a model.

    CHOSEN  SET BY         FILE
    lan     config.yaml:1  flavours/lan.yaml
    ");
    let show = bench.run(&["flavour", "show", "lan"]);
    assert_eq!((show.code, show.err.as_str()), (Some(0), ""));
    insta::assert_snapshot!(show.out, @r"
    # flavours/lan.yaml
    apiVersion: flavour/v1
    kind: Flavour
    metadata: {name: lan}
    spec: {agent_comm: {type: local}}

    # Agents of one process talk over: local
    ");
    assert_eq!(bench.run(&["flavour", "show", "flavours/lan.yaml", "--json"]).json()["agent_comm"], "local");
    assert_eq!(
        bench.run(&["flavour", "list", "--flavour", "mock", "--json"]).json()["chosen"]["set_by"],
        "--flavour"
    );
    let wrong = bench.run(&["flavour", "show", "locl"]);
    assert_eq!((wrong.code, wrong.out.as_str()), (Some(3), ""));
    assert!(wrong.err.contains("did you mean `local`?"), "{}", wrong.err);
}
