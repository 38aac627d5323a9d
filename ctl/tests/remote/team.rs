//! The same team in one process and in two.

use serde_json::Value;

use crate::{
    bench::Bench,
    kit::{example, researcher, run_with_researcher},
    serving::Serving,
};

const TURNS: [&str; 6] = ["-q", "The lighthouse", "-q", "The moon", "-q", "The lighthouse again"];

/// What a run came to, without what differs from run to run or by where an agent runs.
fn outcome(mut report: Value) -> Value {
    let take = |value: &mut Value, keys: &[&str]| {
        let map = value.as_object_mut().expect("an object");
        keys.iter().for_each(|key| drop(map.remove(*key)));
    };
    take(&mut report, &["session"]);
    for turn in report["turns"].as_array_mut().expect("turns") {
        take(turn, &["id", "usage"]);
        for delegation in turn["delegations"].as_array_mut().expect("delegations") {
            take(delegation, &["call_id", "route"]);
        }
    }
    report
}

fn here(bench: &Bench, flags: &[&str]) -> crate::bench::Printed {
    let (mas, infra) = (example("mas.yaml"), example("infra/local.yaml"));
    bench.run(&[&["run-mas", &mas, "--infra-ref", &infra, "--no-events"], flags].concat())
}

#[test]
fn a_team_answers_in_two_processes_as_it_does_in_one() {
    let bench = Bench::new(&[]);
    let serving = researcher(&bench);
    let flags = [&TURNS[..], &["--json"]].concat();
    let (one, two) = (here(&bench, &flags), run_with_researcher(&bench, &serving, &flags));
    assert_eq!((one.code, two.code, two.err.as_str()), (Some(0), Some(0), ""));
    let (one, two) = (one.json(), two.json());
    let routes = |report: &Value| {
        let delegations = report["turns"][0]["delegations"].as_array().expect("delegations").clone();
        delegations.iter().map(|delegation| delegation["route"].clone()).collect::<Vec<_>>()
    };
    assert_eq!((routes(&one), routes(&two)), (vec!["local".into(); 2], vec!["a2a".into(), "local".into()]));
    assert_eq!(outcome(one), outcome(two));
}

#[test]
fn what_a_person_reads_is_the_same_too() {
    let bench = Bench::new(&[]);
    let serving = researcher(&bench);
    let (one, two) = (here(&bench, &TURNS), run_with_researcher(&bench, &serving, &TURNS));
    assert!(one.out.contains("Wickholm has had a lighthouse"), "{}", one.out);
    assert_eq!(one.out, two.out);
}

#[test]
fn a_binding_does_what_the_infra_does() {
    let bench = Bench::new(&[]);
    let serving = researcher(&bench);
    let bind = format!("researcher=a2a://{}", serving.socket());
    let bound = here(&bench, &[&TURNS[..], &["--json", "--bind", &bind]].concat()).json();
    assert_eq!(bound["turns"][0]["delegations"][0]["route"], "a2a");
    let infra = run_with_researcher(&bench, &serving, &[&TURNS[..], &["--json"]].concat());
    assert_eq!(outcome(bound), outcome(infra.json()));
}

#[test]
fn a_binding_may_lead_to_an_agent_below_a_path() {
    let bench = Bench::new(&[]);
    let (mas, infra) = (example("mas.yaml"), example("infra/local.yaml"));
    let args = ["serve", &mas, "--all", "--infra-ref", &infra, "--listen", "127.0.0.1:0", "--no-events"];
    let serving = Serving::start(&bench, &args);
    let bind = format!("researcher=a2a://{}/agents/researcher", serving.socket());
    let run = here(&bench, &["-p", "The lighthouse", "--json", "--bind", &bind]).json();
    assert_eq!(run["turns"][0]["delegations"][0]["route"], "a2a");
    assert!(run["turns"][0]["answer"].as_str().is_some_and(|answer| answer.contains("1873")), "{run}");
}

#[test]
fn an_override_moves_the_researcher() {
    let bench = Bench::new(&[]);
    let serving = researcher(&bench);
    let (mas, infra) = (example("mas.yaml"), example("infra/remote.yaml"));
    let change = format!("infra:spec.endpoints[\"researcher\"].url=http://{}", serving.socket());
    let args = ["run-mas", &mas, "--infra-ref", &infra, "-p", "The lighthouse", "--json", "--no-events"];
    let run = bench.run(&[&args[..], &["--override", &change]].concat());
    assert_eq!(
        (run.code, run.json()["turns"][0]["delegations"][0]["route"].as_str()),
        (Some(0), Some("a2a"))
    );
}
