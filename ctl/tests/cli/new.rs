//! `new`.

use std::{fs, path::Path};

use crate::bench::{Bench, Printed};

/// Runs the command that `new` printed last, as a shell would.
fn follow(bench: &Bench, made: &Printed) -> Printed {
    let line = made.out.lines().last().expect("a command").trim();
    let (command, prompt) = line.split_once(" -q ").expect("a prompt");
    let mut words = command.split(' ').map(|word| word.trim_matches('\''));
    assert_eq!(words.next(), Some("mas-ctl"));
    let mut args: Vec<&str> = words.collect();
    args.extend(["-q", prompt.trim_matches('"')]);
    bench.run(&args)
}

#[test]
fn a_new_agent_runs_as_it_says() {
    let bench = Bench::new(&[]);
    let made = bench.run(&["new", "agent", "sums"]);
    assert_eq!((made.code, made.err.as_str()), (Some(0), ""));
    insta::assert_snapshot!(made.out, @r#"
    Made in sums:
      agent.yaml
      script.yaml
      infra/model.yaml
    Run it:
      mas-ctl chat sums/agent.yaml -q "What is 6*7?"
    "#);
    let run = follow(&bench, &made);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    insta::assert_snapshot!(run.out, @r#"
    You: What is 6*7?
    Agent: The calculator says: {
      "expression": "6*7",
      "result": 42.0
    }
    "#);
}

#[test]
fn a_new_team_runs_as_it_says() {
    let bench = Bench::new(&[]);
    let made = bench.run(&["new", "mas", "sums"]);
    assert_eq!((made.code, made.err.as_str()), (Some(0), ""));
    insta::assert_snapshot!(made.out, @r#"
    Made in sums:
      mas.yaml
      agents/lead.yaml
      agents/counter.yaml
      agents/writer.yaml
      script.yaml
      infra/model.yaml
    Run it:
      mas-ctl run-mas sums/mas.yaml -q "What is 6*7?"
    "#);
    let run = follow(&bench, &made);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    insta::assert_snapshot!(run.out, @r#"
    You: What is 6*7?
    lead: Counter let the calculator work it out, and it says: {
      "expression": "6*7",
      "result": 42.0
    }
    "#);
    let plan = bench.run(&["plan", "sums/mas.yaml", "--json"]).json();
    assert_eq!(plan["routes"].as_array().map(Vec::len), Some(2));
}

#[test]
fn what_is_made_is_valid_and_so_is_each_model_in_its_comments() {
    for kind in ["agent", "mas"] {
        let bench = Bench::new(&[]);
        // A name that YAML would take for something else.
        assert_eq!(bench.run(&["new", kind, "1e5", "--dir", "made"]).code, Some(0));
        let valid = bench.run(&["validate", "made"]);
        assert_eq!(valid.code, Some(0), "{}", valid.out);
        assert!(valid.out.ends_with("0 errors, 0 warnings\n"), "{}", valid.out);
        let path = bench.dir.path().join("made/infra/model.yaml");
        let text = fs::read_to_string(&path).expect("it is read");
        let inside = |line: &str| line.strip_prefix("#   ").map(|line| format!("{line}\n"));
        let models: String = text.lines().filter_map(inside).collect();
        let models: Vec<String> =
            models.split("apiVersion: ").skip(1).map(|model| format!("apiVersion: {model}")).collect();
        let provider = |model: &String| model.rsplit_once("provider: ").map(|(_, name)| name.to_owned());
        let providers: Vec<Option<String>> = models.iter().map(provider).collect();
        let own = |name: &str| Some(format!("{name}}}\n"));
        assert_eq!(providers, [own("openai"), own("ollama"), own("openai")]);
        for model in models {
            fs::write(&path, model).expect("it is written");
            let valid = bench.run(&["validate", "made"]);
            assert_eq!(valid.code, Some(0), "{}", valid.out);
        }
    }
}

#[test]
fn nothing_is_overwritten_and_nothing_is_left_behind() {
    let bench = Bench::new(&[("full/mine.txt", "mine"), ("file", "mine"), ("sub/keep", "")]);
    fs::create_dir(bench.dir.path().join("empty")).expect("it is made");
    for dir in ["full", "file"] {
        let run = bench.run(&["new", "mas", "sums", "--dir", dir]);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{dir}");
        let told = format!(
            "error: {dir} is there already and not an empty folder\n\
             help: choose another place with `--dir DIR`; nothing is ever overwritten\n"
        );
        assert_eq!(run.err, told);
    }
    assert_eq!(listing(bench.dir.path()), ["empty", "file", "full", "sub"]);
    assert_eq!(listing(&bench.dir.path().join("full")), ["mine.txt"]);
    assert_eq!(bench.run(&["new", "mas", "sums", "--dir", "empty"]).code, Some(0));
    let spaced = bench.run(&["new", "agent", "sums", "--dir", "sub/not there"]);
    assert!(
        spaced.out.ends_with("mas-ctl chat 'sub/not there/agent.yaml' -q \"What is 6*7?\"\n"),
        "{}",
        spaced.out
    );
    assert_eq!(listing(&bench.dir.path().join("sub")), ["keep", "not there"]);
    let below_a_file = bench.run(&["new", "agent", "sums", "--dir", "file/x"]);
    assert_eq!((below_a_file.code, below_a_file.out.as_str()), (Some(1), ""));
    assert!(below_a_file.err.starts_with("error: file/x cannot be made: "), "{}", below_a_file.err);
}

fn listing(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
    let mut names: Vec<String> = entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_bad_name_is_refused_with_the_rule() {
    let bench = Bench::new(&[]);
    let long = "a".repeat(65);
    for (name, rule) in [
        ("", "it begins with a letter or a digit"),
        ("../up", "it begins with a letter or a digit"),
        ("_x", "it begins with a letter or a digit"),
        ("a/b", "it has letters (a to z), digits, `-` and `_` only"),
        ("zürich", "it has letters (a to z), digits, `-` and `_` only"),
        ("a b", "it has letters (a to z), digits, `-` and `_` only"),
        (&long, "it has at most 64 characters"),
    ] {
        let run = bench.run(&["new", "agent", name]);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{name}");
        assert_eq!(run.err, format!("error: `{name}` cannot be the name: {rule}\n"));
    }
    assert!(listing(bench.dir.path()).is_empty());
}
