//! Secrets that stand in a file never show, not even beside a problem.

use crate::bench::Bench;

#[test]
fn a_literal_secret_beside_a_problem_is_starred_out() {
    let bench = Bench::new(&[(
        "app.yaml",
        "apiVersion: infra/v1\nkind: Application\nmetadata: {name: x}\nspec:\n  endpoints:\n    far:\n      protocol: a2a\n      \
         headers: {Authorization: \"Bearer sk-topsecret\"}\n      usge: use\n      url: http://127.0.0.1:9006\n",
    )]);
    let run = bench.run(&["validate", "app.yaml"]);
    assert_eq!(run.code, Some(3));
    assert!(run.out.contains("usge") && run.out.contains("Authorization"), "{}", run.out);
    assert!(!run.out.contains("topsecret"), "{}", run.out);
}
