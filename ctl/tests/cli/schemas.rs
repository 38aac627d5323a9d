//! `schemas`.

use crate::bench::Bench;

#[test]
fn kinds_are_listed_and_one_is_printed() {
    let bench = Bench::new(&[]);
    let list = bench.run(&["schemas"]);
    assert_eq!((list.code, list.err.as_str()), (Some(0), ""));
    insta::assert_snapshot!(list.out, @r"
    KIND                API VERSION         FILE OF --write
    Agent               mas/v1              Agent.schema.json
    MAS                 mas/v1              MAS.schema.json
    Overlay             mas/v1              Overlay.schema.json
    Tool                mas/v1              Tool.schema.json
    ToolBundle          mas/v1              ToolBundle.schema.json
    PromptBundle        mas/v1              PromptBundle.schema.json
    Flavour             flavour/v1, mas/v1  Flavour.schema.json
    LLMProxy            infra/v1            LLMProxy.schema.json
    LLMLocal            infra/v1            LLMLocal.schema.json
    InfraBundle         infra/v1            InfraBundle.schema.json
    InfraMiddleware     infra/v1            InfraMiddleware.schema.json
    Application         infra/v1            Application.schema.json
    ToolProvider        infra/v1            ToolProvider.schema.json
    ToolServerRegistry  infra/v1            ToolServerRegistry.schema.json
    ToolRegistry        infra/v1            ToolRegistry.schema.json
    PersonalSecrets     infra/v1            PersonalSecrets.schema.json
    SecretsProvider     infra/v1            SecretsProvider.schema.json
    Datastore           infra/v1            Datastore.schema.json
    Infrastructure      infra/v1            Infrastructure.schema.json
    RuntimeEngine       infra/v1            RuntimeEngine.schema.json
    Workflow            workflow/v1         Workflow.schema.json
    Deployment          deployment/v1       Deployment.schema.json
    PlacementPlan       placement/v1        PlacementPlan.schema.json
    RuntimeProfile      runtime-profile/v1  RuntimeProfile.schema.json
    MemorySeed          memory-seed/v1      MemorySeed.schema.json
    any                 every kind in one   mas.schema.json
    config              config.yaml         config.schema.json
    ");
    let one = bench.run(&["schemas", "llmproxy"]).json();
    assert_eq!(one["title"], "LLMProxy (infra/v1)");
    assert_eq!(one["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(one["properties"]["kind"]["enum"], serde_json::json!(["LLMProxy"]));
    let wrong = bench.run(&["schemas", "Agnet"]);
    assert_eq!((wrong.code, wrong.out.as_str()), (Some(2), ""));
    assert_eq!(wrong.err, "error: there is no schema of `Agnet`\nhelp: did you mean `Agent`?\n");
    assert_eq!(bench.run(&["schemas", "Agent", "--write", "x"]).code, Some(2));
}

#[test]
fn all_are_written_for_an_editor() {
    let bench = Bench::new(&[("taken", "a file")]);
    for _ in 0..2 {
        let run = bench.run(&["schemas", "--write", "made/schemas"]);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
        insta::allow_duplicates! {
            insta::assert_snapshot!(run.out, @r"
            27 schemas are in made/schemas. An editor with the YAML language server takes them by
            the first line of a manifest, with the path from there:
            # yaml-language-server: $schema=made/schemas/mas.schema.json
            ");
        }
    }
    let folder = bench.dir.path().join("made/schemas");
    let files = std::fs::read_dir(&folder).expect("it is there").count();
    assert_eq!(files, bench.run(&["schemas"]).out.lines().count() - 1);
    let any = std::fs::read_to_string(folder.join("mas.schema.json")).expect("it is there");
    assert!(serde_json::from_str::<serde_json::Value>(&any).expect("JSON")["$defs"]["Agent"].is_object());
    let blocked = bench.run(&["schemas", "--write", "taken"]);
    assert_eq!((blocked.code, blocked.out.as_str()), (Some(1), ""));
    assert!(blocked.err.starts_with("error: the schemas cannot be written to taken: "), "{}", blocked.err);
}
