//! `config`.

use crate::bench::Bench;

#[test]
fn the_layer_that_set_a_value_is_named() {
    let bench = Bench::new(&[
        ("config.yaml", "defaults:\n  model: gpt-4o\n"),
        (".config/mas/config.yaml", "defaults:\n  model: other\n  design_pattern: single_pass\n"),
    ]);
    let run = bench.run(&["config", "explain", "defaults.model"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_eq!(run.out, "defaults.model = gpt-4o\nset by workspace (config.yaml:2)\n");
    let show = bench.run(&["config", "show"]);
    assert!(show.out.contains("single_pass") && show.out.contains("user ("), "{}", show.out);
    assert_eq!(bench.run(&["config", "explain", "defaults.modle"]).code, Some(2));
}

#[test]
fn a_slip_in_a_config_file_is_refused() {
    let bench =
        Bench::new(&[("config.yaml", "defaults: {modle: x}\nmas_ctl: {flavor: mock, trace: full}\n")]);
    let run = bench.run(&["config", "show"]);
    assert_eq!((run.code, run.out.as_str()), (Some(3), ""));
    insta::assert_snapshot!(run.err, @r"
    mas::manifest::unknown_key

      × defaults: unknown key `modle`
       ╭─[config.yaml:1:12]
     1 │ defaults: {modle: x}
       ·            ─────
     2 │ mas_ctl: {flavor: mock, trace: full}
       ╰────
      help: did you mean `model`?

    mas::manifest::unknown_key

      × mas_ctl: unknown key `flavor`
       ╭─[config.yaml:2:11]
     1 │ defaults: {modle: x}
     2 │ mas_ctl: {flavor: mock, trace: full}
       ·           ──────
       ╰────
      help: did you mean `flavour`?
    ");
    bench.write("config.yaml", "defaults: {summarizer: llm, x-mine: 1}\n");
    let run = bench.run(&["config", "explain", "defaults.summarizer"]);
    assert_eq!(run.code, Some(0));
    assert!(run.err.contains("defaults.summarizer is not used yet"), "{}", run.err);
    assert!(!run.err.contains("defaults.x-mine"), "{}", run.err);
}
