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
    assert_eq!(bench.run(&["config", "explain", "defaults.modle"]).code, Some(1));
}
