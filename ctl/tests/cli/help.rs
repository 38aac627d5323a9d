//! What `--help` says of the commands around runs.

use crate::bench::Bench;

/// The help of a command, without the flags that every command has.
fn help(command: &[&str]) -> String {
    let run = Bench::new(&[]).run(&[command, &["--help"]].concat());
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{command:?}");
    let every = |line: &&str| !["--verbose", "--env <FILE>", "--help"].iter().any(|flag| line.contains(flag));
    run.out.lines().filter(every).collect::<Vec<_>>().join("\n")
}

#[test]
fn of_new() {
    insta::assert_snapshot!(help(&["new"]), @r"
    Make a small agent or team that runs at once

    Usage: mas-ctl new [OPTIONS] <COMMAND>

    Commands:
      agent  One agent with a tool and a scripted model
      mas    A team of three that delegate, with a tool and a scripted model

    Options:
    ");
}

#[test]
fn of_new_agent() {
    insta::assert_snapshot!(help(&["new", "agent"]), @r"
    One agent with a tool and a scripted model

    Usage: mas-ctl new agent [OPTIONS] <NAME>

    Arguments:
      <NAME>  Its name: letters, digits, `-` and `_`

    Options:
          --dir <DIR>   The folder to make; NAME in the working directory if absent. One that is not empty is refused
    ");
}

#[test]
fn of_infra_list() {
    insta::assert_snapshot!(help(&["infra", "list"]), @r"
    List every standard name, and what configuration and flags choose

    Usage: mas-ctl infra list [OPTIONS]

    Options:
          --json             Print one JSON document
          --infra-ref <REF>  Add infra, by file or as standard:NAME; later ones win
    ");
}

#[test]
fn of_infra_show() {
    insta::assert_snapshot!(help(&["infra", "show"]), @r"
    Show one, with everything it refers to and what that provides; values of the environment stay names

    Usage: mas-ctl infra show [OPTIONS] <NAME|FILE>

    Arguments:
      <NAME|FILE>  A file, or standard:NAME; the name alone will do

    Options:
          --json        Print one JSON document
    ");
}

#[test]
fn of_flavour_list() {
    insta::assert_snapshot!(help(&["flavour", "list"]), @r"
    List every flavour that is known by name, and the chosen one

    Usage: mas-ctl flavour list [OPTIONS]

    Options:
          --json            Print one JSON document
          --flavour <NAME>  Choose a flavour: local, local-benchmark, mock, or a file
    ");
}

#[test]
fn of_flavour_show() {
    insta::assert_snapshot!(help(&["flavour", "show"]), @r"
    Show one and what it chooses

    Usage: mas-ctl flavour show [OPTIONS] <NAME|FILE>

    Arguments:
      <NAME|FILE>  A name or a file

    Options:
          --json        Print one JSON document
    ");
}

#[test]
fn of_schemas() {
    insta::assert_snapshot!(help(&["schemas"]), @r"
    List the kinds of documents, print the JSON Schema of one, or write them all for an editor

    Usage: mas-ctl schemas [OPTIONS] [KIND]

    Arguments:
      [KIND]  The kind whose schema to print: `Agent`, …; `any` for all in one, `config` for config.yaml

    Options:
          --write <DIR>  Write one file a kind, and `mas.schema.json` for all of them, into this directory
    ");
}

#[test]
fn of_completions() {
    insta::assert_snapshot!(help(&["completions"]), @r"
    Print what makes a shell complete this program's commands and flags

    Usage: mas-ctl completions [OPTIONS] <SHELL>

    Arguments:
      <SHELL>  The shell [possible values: bash, elvish, fish, powershell, zsh]

    Options:
    ");
}
