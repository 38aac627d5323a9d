//! The plugins that are linked into the program: a new one needs its line here.

use mas_core::registry::Registry;
use mas_ctl as _;

const BUILT_INS: &[&str] = &[];

#[test]
fn exactly_these_plugins_are_linked_in() {
    let registry = Registry::linked().unwrap();
    let linked: Vec<String> = registry
        .list(None)
        .into_iter()
        .map(|row| {
            let aliases = row.aliases.iter().map(|alias| format!(" = {alias}")).collect::<String>();
            format!("{}/{}{aliases}", row.category.as_str(), row.name)
        })
        .collect();
    assert_eq!(linked, BUILT_INS);
}
