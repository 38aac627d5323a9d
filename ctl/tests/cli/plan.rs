//! `plan` and `registry`.

use crate::bench::{Bench, team};

#[test]
fn a_plan_says_who_reaches_whom_and_why() {
    let run = team("rules: [{say: x}]\n").run(&["plan", "mas.yaml"]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let text =
        run.out.lines().map(|line| line.split(", blueprint").next().unwrap_or(line)).collect::<Vec<_>>();
    insta::assert_snapshot!(text.join("\n"), @r"
    pair (entry a, models by scripted

    AGENT  RUNS  PATTERN  MODEL        SET BY              TOOLS
    a      here  react    gpt-4o-mini  (package defaults)  -
    b      here  react    gpt-4o-mini  (package defaults)  -

    FROM  TO  OVER   WHY
    a     b   local  hosted in this process; the flavour
    ");
    let json = team("rules: [{say: x}]\n").run(&["plan", "mas.yaml", "--json"]).json();
    assert_eq!(json["routes"][0]["why"], "hosted in this process");
    assert_eq!(json["entry"], "a");
}

#[test]
fn names_can_be_listed_and_looked_up() {
    let bench = Bench::new(&[]);
    let list = bench.run(&["registry", "list", "--json"]).json();
    assert!(list.as_array().is_some_and(|rows| rows.iter().any(|row| row["name"] == "local")));
    let query = bench.run(&["registry", "query", "reac"]);
    assert!(
        query.out.starts_with("design_pattern react") && query.out.contains("max_steps"),
        "{}",
        query.out
    );
    assert_eq!(bench.run(&["registry", "query", "Design_Pattern/REAC"]).out, query.out);
    let nested = bench.run(&["registry", "query", "a2a"]).out;
    assert!(nested.contains("\n  a2a: ") && nested.contains("\n      streaming: Whether"), "{nested}");
    assert_eq!(bench.run(&["registry", "query", "zzz"]).code, Some(1));
    assert_eq!(bench.run(&["registry", "list", "-c", "agent_com"]).code, Some(2));
}

/// The model and its origin of the agent `a`, as `plan` tells them.
fn model_of(bench: &Bench, flags: &[&str], environment: &[(&str, &str)]) -> (String, String) {
    let args = [&["plan", "mas.yaml", "--json"], flags].concat();
    let output = bench.command(&args).envs(environment.iter().copied()).output().expect("it runs");
    let printed: crate::bench::Printed = output.into();
    let agent = &printed.json()["agents"][0];
    let text = |key: &str| agent[key].as_str().expect("a text").to_owned();
    (text("model"), text("model_set_by"))
}

#[test]
fn a_model_of_the_command_line_is_every_agents_model() {
    let bench = team("rules: [{say: x}]\n");
    let own = bench.dir.path().join("mas.yaml");
    let text = std::fs::read_to_string(&own).expect("it is read");
    bench.write(
        "mas.yaml",
        &text.replace("{description: Asks.}", "{description: Asks., models: [{model: own}]}"),
    );
    let set = |model: &str, by: &str| (model.to_owned(), by.to_owned());
    assert_eq!(model_of(&bench, &[], &[]), set("own", "mas.yaml:12"));
    let [late, early] = [("MAS_LLM_MODEL", "late"), ("MAS_CTL_MODEL", "early")];
    assert_eq!(model_of(&bench, &[], &[late]), set("late", "MAS_LLM_MODEL"));
    assert_eq!(model_of(&bench, &[], &[late, early]), set("early", "MAS_CTL_MODEL"));
    assert_eq!(model_of(&bench, &[], &[("MAS_CTL_MODEL", " "), late]), set("late", "MAS_LLM_MODEL"));
    assert_eq!(model_of(&bench, &["--model", "flag"], &[late, early]), set("flag", "--model"));
    let run = bench.run(&["plan", "mas.yaml", "--model", ""]);
    assert_eq!(run.code, Some(3));
    assert!(run.err.contains("expected the name of a model"), "{}", run.err);
}

#[test]
fn a_model_of_the_command_line_is_mapped_and_checked_as_any_other() {
    let bench = team("");
    let infra = "apiVersion: infra/v1\nkind: LLMProxy\nmetadata: {name: m}\nspec:\n  \
                 proxy: {api_base: \"http://127.0.0.1:9/v1\"}\n  \
                 models: {allowed: [deployed], mappings: {short: deployed}}\n";
    bench.write("infra.yaml", infra);
    let refused = bench.run(&["plan", "mas.yaml", "--model", "other"]);
    assert_eq!(refused.code, Some(3));
    assert!(
        refused.err.contains("the model `other` is not among those that the infra allows"),
        "{}",
        refused.err
    );
    let mapped = bench.run(&["plan", "mas.yaml", "--model", "short", "--json"]);
    assert!(!mapped.out.contains("model_not_allowed"), "{}", mapped.out);
}

#[test]
fn a_query_that_finds_nothing_says_what_may_be_meant() {
    let bench = Bench::new(&[]);
    for (name, help) in
        [("opnai", "did you mean `openai`?"), ("zzz", "`mas-ctl registry list` shows every name")]
    {
        let run = bench.run(&["registry", "query", name]);
        assert_eq!((run.code, run.out.as_str()), (Some(1), ""));
        assert_eq!(run.err, format!("error: nothing begins with `{name}`\nhelp: {help}\n"));
    }
}
