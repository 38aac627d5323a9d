use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

fn id(secret: &str, agent: &str, key: &str) -> String {
    ContextIds::derived(secret.as_bytes()).get(agent, key).id.expect("derived").to_string()
}

/// The vectors of the derivation, and that they are UUIDs of version 8.
#[test]
fn b3_01_ids_are_those_of_the_vectors() {
    let cases = [
        ("planner", "slack:T1:C2:1700000000.000100", "2100fe34-2017-8a95-a6d9-53034dcfc48f"),
        ("ab", "c", "e7091e57-de7d-8b65-ba60-285b29a2658c"),
        ("a", "bc", "cb05e6da-7453-8870-9afa-659bb0bd577e"),
        ("", "", "21e6f724-b7f8-8e4d-93a3-3bb85a5dfc05"),
        ("agént", "línea\0x", "ba4c259c-8c23-8d1f-91c7-57afd344ba3c"),
    ];
    for (agent, key, wanted) in cases {
        assert_eq!(id("test-secret", agent, key), wanted);
    }
    assert_eq!(
        id("other-secret", "planner", "slack:T1:C2:1700000000.000100"),
        "e8639ab3-7c5c-8e9e-8c7e-b2540d52b291"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Different pairs have different ids, the same pair the same.
    #[test]
    fn b3_01_ids_differ_as_their_pairs_do(pairs in prop::collection::vec(("[ab:\\x00]{0,4}", "[ab:\\x00]{0,4}"), 2..40)) {
        let mut seen = HashMap::new();
        for (agent, key) in pairs {
            let made = id("s", &agent, &key);
            let first = seen.entry(made).or_insert_with(|| (agent.clone(), key.clone()));
            prop_assert_eq!(first, &(agent, key));
        }
    }
}

/// An id is a function of secret, agent and conversation: nothing is kept but what agents gave, and what is forgotten
/// is derived again.
#[test]
fn b3_02_b3_06_a_forgotten_conversation_has_its_derived_id_again() {
    let ids = ContextIds { adopted: Mutex::new(Adopted::new(1)), ..ContextIds::derived(b"s") };
    let derived = ids.get("fares", "k1");
    assert_eq!(derived, ContextIds::derived(b"s").get("fares", "k1"));
    let theirs = Arc::from("theirs");
    ids.settle("fares", "k1", derived.id.as_deref(), Some(&theirs)).expect("it is adopted");
    assert_eq!(ids.get("fares", "k1"), Context { id: Some(theirs), is_first: false, is_fixed: false });
    ids.settle("fares", "k2", None, None).expect("it is as it was sent");
    assert_eq!(ids.get("fares", "k1"), derived);
}
