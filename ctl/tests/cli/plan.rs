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

    AGENT  RUNS  PATTERN  MODEL        TOOLS
    a      here  react    gpt-4o-mini  -
    b      here  react    gpt-4o-mini  -

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
    assert_eq!(bench.run(&["registry", "query", "zzz"]).code, Some(1));
    assert_eq!(bench.run(&["registry", "list", "-c", "agent_com"]).code, Some(2));
}
