//! `--live`: who is there, and what would be used.

use crate::{
    bench::Bench,
    kit::{example, researcher},
};

fn run(bench: &Bench, command: &str, socket: &str, flags: &[&str]) -> crate::bench::Printed {
    let url = format!("http://{socket}");
    let (mas, infra) = (example("mas.yaml"), example("infra/remote.yaml"));
    let args = [&[command, &mas, "--infra-ref", &infra], flags].concat();
    bench.run_with(&args, &[("RESEARCHER_URL", &url)])
}

#[test]
fn an_agent_that_is_there_says_what_it_is_and_what_would_be_used() {
    let bench = Bench::new(&[]);
    let serving = researcher(&bench);
    for command in ["plan", "validate"] {
        let printed = run(&bench, command, serving.socket(), &["--live"]);
        assert_eq!((printed.code, printed.err.as_str()), (Some(0), ""), "{command}");
        let line = printed.out.lines().find(|line| line.starts_with("researcher  researcher 1.0.0"));
        let line = line.unwrap_or_else(|| panic!("{}", printed.out)).replace(serving.socket(), "HOST");
        insta::allow_duplicates! {
            insta::assert_snapshot!(line, @"researcher  researcher 1.0.0  card http://HOST/.well-known/agent-card.json, interface http://HOST, binding JSONRPC, protocol 1.0, because 1.0 is the newest version of the card, and JSONRPC is the binding that is wanted most, streaming");
        }
        let json = run(&bench, command, serving.socket(), &["--live", "--json"]).json();
        let live = if command == "plan" { &json["live"][0] } else { &json["live"][0][0] };
        assert_eq!((&live["ok"], &live["streaming"]), (&true.into(), &true.into()));
        assert_eq!(
            (&live["route"]["binding"], &live["route"]["protocol"]),
            (&"JSONRPC".into(), &"1.0".into())
        );
    }
}

#[test]
fn one_that_is_not_there_is_a_finding_at_its_address() {
    let bench = Bench::new(&[]);
    let gone = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let socket = gone.local_addr().expect("an address").to_string();
    drop(gone);
    for command in ["plan", "validate"] {
        let printed = run(&bench, command, &socket, &["--live"]);
        assert_eq!(printed.code, Some(3), "{command}");
        let said = printed.out + &printed.err;
        assert!(said.contains("mas::live::unusable") && said.contains("researcher.yaml:9:12"), "{said}");
        let json = run(&bench, command, &socket, &["--live", "--json"]);
        assert_eq!((json.code, json.json()["findings"][0]["line"].as_u64()), (Some(3), Some(9)));
    }
}

#[test]
fn without_the_flag_nothing_is_asked() {
    let bench = Bench::new(&[]);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("it does not block");
    let socket = listener.local_addr().expect("an address").to_string();
    for command in ["plan", "validate"] {
        assert_eq!(run(&bench, command, &socket, &[]).code, Some(0), "{command}");
    }
    assert_eq!(listener.accept().expect_err("nobody came").kind(), std::io::ErrorKind::WouldBlock);
}
