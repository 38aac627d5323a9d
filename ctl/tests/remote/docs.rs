//! The commands that the README shows for agents elsewhere.

use std::path::Path;

use crate::{bench::Bench, serving::Serving};

/// The commands of a section of the README, without the program.
fn commands(section: &str) -> Vec<Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let readme = std::fs::read_to_string(root.join("README.md")).expect("it is read");
    let section = readme.split("\n## ").find(|part| part.starts_with(section)).expect("the section");
    let block = section.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("commands");
    let examples = root.join("examples").display().to_string();
    let lines = block.lines().filter_map(|line| line.strip_prefix("mas-ctl "));
    lines
        .map(|line| {
            let words = line.replace(" examples/", &format!(" {examples}/"));
            let mut quote = None;
            let mut parts = vec![String::new()];
            for c in words.chars() {
                match (quote, c) {
                    (None, '"' | '\'') => quote = Some(c),
                    (Some(open), c) if open == c => quote = None,
                    (None, ' ') => parts.push(String::new()),
                    (_, c) => parts.last_mut().expect("a word").push(c),
                }
            }
            parts
        })
        .collect()
}

#[test]
fn the_commands_of_the_readme_do_what_it_says() {
    let bench = Bench::new(&[]);
    let commands = commands("Delegate to agents elsewhere");
    let (serve, others) = commands.split_first().expect("commands");
    let at = |words: &[String], socket: &str| -> Vec<String> {
        words.iter().map(|word| word.replace("127.0.0.1:9006", socket)).collect()
    };
    let args = at(serve, "127.0.0.1:0");
    let serving = Serving::start(&bench, &args.iter().map(String::as_str).collect::<Vec<_>>());
    let url = format!("http://{}", serving.socket());
    assert_eq!(others.len(), 4);
    for command in others {
        let args = at(command, serving.socket());
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let run = bench.run_with(&args, &[("RESEARCHER_URL", &url)]);
        assert_eq!(run.code, Some(0), "{args:?}: {}{}", run.out, run.err);
        let said =
            if args[0] == "plan" { "researcher 1.0.0" } else { "Wickholm has had a lighthouse since 1873" };
        assert!(run.out.contains(said), "{args:?}: {}", run.out);
    }
}
