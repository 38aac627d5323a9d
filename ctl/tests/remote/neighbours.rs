//! A hosted agent whose socket is taken.

use crate::{
    bench::Bench,
    kit::{example, researcher},
};

/// Infra in which the researcher is served at this socket by whoever has it first.
fn shared(bench: &Bench, socket: &str) {
    bench.write(
        "shared.yaml",
        &format!(
            "apiVersion: infra/v1\nkind: Application\nmetadata: {{name: shared}}\nspec:\n  endpoints:\n    researcher:\n      \
             {{protocol: a2a, usage: use-and-deploy, url: \"http://{socket}\"}}\n"
        ),
    );
}

fn run(bench: &Bench) -> crate::bench::Printed {
    let (mas, infra) = (example("mas.yaml"), example("infra/local.yaml"));
    let args = ["run-mas", &mas, "--infra-ref", &infra, "--infra-ref", "shared.yaml"];
    bench.run_with(
        &[&args[..], &["-p", "The lighthouse", "--json", "--no-events"]].concat(),
        &[("MAS_IDENTITY_SECRET", "s")],
    )
}

#[test]
fn a_process_that_serves_the_agent_there_is_used_as_a_peer() {
    let bench = Bench::new(&[]);
    let serving = researcher(&bench);
    shared(&bench, serving.socket());
    let run = run(&bench);
    let expected =
        format!("`researcher` is served at http://{} already: it is used as a peer.\n", serving.socket());
    assert_eq!((run.code, run.err.as_str()), (Some(0), expected.as_str()), "{}", run.out);
    let turn = &run.json()["turns"][0];
    assert_eq!(turn["delegations"][0]["route"], "a2a");
    assert!(turn["answer"].as_str().is_some_and(|answer| answer.contains("1873")), "{turn}");
}

#[test]
fn where_nobody_is_it_is_served_here_and_reached_in_process() {
    let bench = Bench::new(&[]);
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let socket = free.local_addr().expect("an address").to_string();
    drop(free);
    shared(&bench, &socket);
    let run = run(&bench);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    assert!(run.err.starts_with("`researcher` is served at"), "{}", run.err);
    assert_eq!(run.json()["turns"][0]["delegations"][0]["route"], "local");
}

#[test]
fn anything_else_at_the_socket_is_a_problem_of_the_wiring() {
    let bench = Bench::new(&[]);
    let (agent, infra) = (example("agents/writer.yaml"), example("infra/local.yaml"));
    let args = ["serve", &agent, "--infra-ref", &infra, "--listen", "127.0.0.1:0", "--no-events"];
    let other = crate::serving::Serving::start(&bench, &args);
    shared(&bench, other.socket());
    let run = run(&bench);
    assert_eq!(
        (run.code, run.json()["findings"][0]["code"].as_str()),
        (Some(3), Some("mas::connect::failed"))
    );
}
