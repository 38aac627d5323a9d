#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::path::Path;

use jsonschema::Validator;

use super::*;
use crate::diagnostic::{Report, Source};
use crate::manifest::checks::agency_rows;
use crate::manifest::environment::{Environment, substitute};
use crate::manifest::files::check_version;
use crate::manifest::follow::drop_row_id;
use crate::manifest::shape::check;
use crate::manifest::yaml::{self, Node};

/// Whether the loader takes a tree: its version goes with its kind, its shape fits, and so does that of each agent in
/// place.
fn loader_takes(kind: Kind, node: &Node) -> bool {
    !loader_says(kind, node).has_errors()
}

fn loader_says(kind: Kind, node: &Node) -> Report {
    let mut node = node.clone();
    let mut report = Report::new();
    if kind == Kind::Mas {
        let rows = agency_rows(&node).filter(|row| row.get("spec").is_some() && row.get("ref").is_none());
        for mut row in rows.cloned() {
            drop_row_id(&mut row);
            report.merge(loader_says(Kind::Agent, &row));
        }
    }
    check_version(kind, &node, &mut report);
    substitute(&mut node, &Environment::default(), &mut Vec::new());
    check(&node, kind.shape(), false, &mut report);
    report
}

fn parsed(text: &str) -> Node {
    let (mut nodes, report) = yaml::parse(&Source::named("t.yaml", text));
    assert!(!report.has_errors(), "{report}\n{text}");
    nodes.remove(0)
}

fn validator(schema: &Json) -> Validator {
    jsonschema::draft202012::new(schema).unwrap_or_else(|error| panic!("{error}"))
}

/// Compares both verdicts on a document, given as JSON, which is YAML too; the answer is that verdict.
fn agree(kind: Kind, schema: &Validator, document: &Json) -> bool {
    let node = parsed(&document.to_string());
    let (loader, complaint) = (loader_says(kind, &node), schema.validate(document).err());
    let taken = !loader.has_errors();
    assert_eq!(
        taken,
        complaint.is_none(),
        "{}\n{document}\nloader: {loader}\nschema: {complaint:?}",
        kind.name()
    );
    taken
}

/// Seeded choices (SplitMix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % most as u64).unwrap()
    }

    fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    fn text(&mut self) -> String {
        let letters = ['a', 'Z', '0', '7', '-', '_', '.', ' ', ':', 'é', '\u{85}', '\u{feff}'];
        (0..self.below(5)).map(|_| letters[self.below(letters.len())]).collect()
    }

    /// Anything at all.
    fn junk(&mut self) -> Json {
        match self.below(40) {
            0 => self.text().into(),
            at => junk(at),
        }
    }

    /// A value that mostly fits.
    fn value(&mut self, shape: &Shape, slip: usize) -> Json {
        if self.percent(slip) {
            return self.junk();
        }
        match shape {
            Shape::Any => self.junk(),
            Shape::Text | Shape::Name => self.text().into(),
            Shape::Ruled(_) if self.percent(20) => self.text().into(),
            Shape::Either(options) => {
                let at = self.below(options.len());
                self.value(&options[at], slip)
            }
            Shape::Maybe(inner) if self.percent(80) => self.value(inner, slip),
            Shape::Word(words) => words[self.below(words.len())].into(),
            Shape::List(item) | Shape::Filled(item) => {
                (0..self.below(3)).map(|_| self.value(item, slip)).collect()
            }
            Shape::MapOf(value) => {
                (0..self.below(3)).map(|at| (format!("k{at}"), self.value(value, slip))).collect()
            }
            Shape::Record(fields) => {
                let mut map = serde_json::Map::new();
                for field in fields.fields {
                    if self.percent(if field.required { 99 } else { 25 }) {
                        map.insert(field.name.to_owned(), self.value(&field.shape, slip));
                    }
                }
                if self.percent(3) {
                    let key = ["zzz", "x-own", "x-mas-own", "x-mas-limits", "x-"][self.below(5)];
                    map.insert(key.to_owned(), self.junk());
                }
                map.into()
            }
            _ => fitting(shape),
        }
    }
}

/// Values of every sort, at the edges of what rules and bounds take.
fn junk(at: usize) -> Json {
    let all = [
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(1),
        json!(-1),
        json!(2),
        json!(2.5),
        json!(-0.5),
        json!(3600),
        json!(3601),
        json!(1e300),
        json!(i64::MAX),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(""),
        json!(" "),
        json!("\u{a0}"),
        json!("word"),
        json!("Word"),
        json!("1.2.3"),
        json!("1.2"),
        json!("a-b_c"),
        json!("12"),
        json!("0012"),
        json!("+3601"),
        json!("9223372036854775808"),
        json!("-9223372036854775808"),
        json!("2.5e1"),
        json!(".5"),
        json!("."),
        json!("true"),
        json!("env:SOME"),
        json!("x env:SOME"),
        json!("env: prose"),
        json!([]),
        json!(["a"]),
        json!([{}]),
        json!({}),
        json!({"a": 1}),
    ];
    all[at % all.len()].clone()
}

/// A value that fits, with every key.
fn fitting(shape: &Shape) -> Json {
    match shape {
        Shape::Any | Shape::Text | Shape::Name => "word".into(),
        Shape::Ruled(rule) => {
            let text = ["1.0.0", "word"].into_iter().find(|text| (rule.fits)(text));
            text.expect("a rule takes one of these").into()
        }
        Shape::Int(low, _) => (*low).max(1).into(),
        Shape::Number(low, _) => {
            if *low <= 0.0 {
                json!(1)
            } else {
                json!(0.5)
            }
        }
        Shape::Flag => true.into(),
        Shape::Word(words) => words[0].into(),
        Shape::List(item) | Shape::Filled(item) => json!([fitting(item)]),
        Shape::MapOf(value) => json!({"key": fitting(value)}),
        Shape::Record(fields) => {
            fields.fields.iter().map(|field| (field.name.to_owned(), fitting(&field.shape))).collect()
        }
        Shape::Maybe(inner) => fitting(inner),
        Shape::Either(options) => fitting(&options[options.len() - 1]),
    }
}

fn whole(kind: Kind) -> Json {
    let mut document = fitting(kind.shape());
    document["kind"] = kind.name().into();
    document["apiVersion"] = kind.api_versions()[0].into();
    document
}

/// JSON pointers to every value of a document.
fn pointers(value: &Json, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Json::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, item)| pointers(item, &format!("{at}/{index}"), found));
        }
        Json::Object(map) => {
            map.iter().for_each(|(key, value)| pointers(value, &format!("{at}/{key}"), found));
        }
        _ => {}
    }
}

#[test]
fn every_schema_compiles_and_is_one() {
    let kinds: Vec<Json> = Kind::all().map(of).collect();
    assert!(kinds.len() > 20);
    for schema in kinds.iter().chain([&of_config(), &of_any()]) {
        assert!(jsonschema::draft202012::meta::is_valid(schema), "{}", schema["title"]);
        validator(schema);
    }
}

#[test]
fn one_mutation_anywhere_gets_the_same_verdict_from_both() {
    let mut dice = Dice(1);
    for kind in Kind::all() {
        let schema = validator(&of(kind));
        let document = whole(kind);
        assert!(agree(kind, &schema, &document), "{document:#}");
        let mut places = Vec::new();
        pointers(&document, "", &mut places);
        for place in places.iter().filter(|place| !place.is_empty() && *place != "/kind") {
            let (parent, key) = place.rsplit_once('/').expect("it is below the root");
            let mut dropped = document.clone();
            match dropped.pointer_mut(parent) {
                Some(Json::Object(map)) => drop(map.remove(key)),
                Some(Json::Array(items)) => items.clear(),
                _ => panic!("no parent of {place}"),
            }
            agree(kind, &schema, &dropped);
            for turn in 0..6 {
                let mut changed = document.clone();
                let value = changed.pointer_mut(place).expect("it is there");
                match value {
                    Json::Object(map) if turn < 3 => {
                        let added = ["zzz", "x-own", "x-mas-own"][turn];
                        map.insert(added.to_owned(), 1.into());
                    }
                    value => *value = dice.junk(),
                }
                agree(kind, &schema, &changed);
            }
        }
    }
}

#[test]
fn an_agent_inside_a_team_gets_the_same_verdict_from_both_as_one_of_its_own() {
    let mut dice = Dice(4);
    let schema = validator(&of(Kind::Mas));
    let (mut taken, mut refused) = (0, 0);
    for turn in 0..600 {
        let mut agent = dice.value(Kind::Agent.shape(), turn % 3);
        let Some(map) = agent.as_object_mut() else { continue };
        map.insert("kind".to_owned(), "Agent".into());
        match dice.below(3) {
            0 => drop(map.remove("apiVersion")),
            1 => drop(map.insert("apiVersion".to_owned(), "mas/v1".into())),
            _ => drop(map.insert("id".to_owned(), "a".into())),
        }
        let rows = json!([agent]);
        let spec =
            if dice.percent(50) { json!({"agents": rows}) } else { json!({"agency": {"agents": rows}}) };
        let team = json!({"apiVersion": "mas/v1", "kind": "MAS", "metadata": {"name": "t"}, "spec": spec});
        if agree(Kind::Mas, &schema, &team) { taken += 1 } else { refused += 1 }
    }
    assert!(taken > 50 && refused > 50, "{taken} taken, {refused} refused: one of them is hardly tried");
}

#[test]
fn documents_made_up_from_the_shapes_get_the_same_verdict_from_both() {
    let mut dice = Dice(2);
    let (mut taken, mut refused) = (0, 0);
    for kind in Kind::all() {
        let schema = validator(&of(kind));
        for turn in 0..200 {
            let mut document = dice.value(kind.shape(), turn % 4);
            if !document.is_object() {
                continue;
            }
            document["kind"] = kind.name().into();
            if dice.percent(98) {
                document["apiVersion"] = kind.api_versions()[0].into();
            }
            if agree(kind, &schema, &document) { taken += 1 } else { refused += 1 }
        }
    }
    assert!(taken > 1000 && refused > 1000, "{taken} taken, {refused} refused: one of them is hardly tried");
}

#[test]
fn a_config_file_gets_the_same_verdict_from_both() {
    let mut dice = Dice(3);
    let schema = validator(&of_config());
    for turn in 0..2000 {
        let document = dice.value(&shapes::CONFIG, turn % 8);
        let node = parsed(&document.to_string());
        let mut report = Report::new();
        let mut substituted = node.clone();
        substitute(&mut substituted, &Environment::default(), &mut Vec::new());
        check(&substituted, &shapes::CONFIG, false, &mut report);
        let complaint = schema.validate(&document).err();
        assert_eq!(!report.has_errors(), complaint.is_none(), "{document}\n{report}\n{complaint:?}");
    }
}

#[test]
fn the_schema_of_every_kind_chooses_by_kind() {
    let any = validator(&of_any());
    for kind in Kind::all() {
        for spelling in kind.spellings() {
            let mut document = whole(kind);
            document["kind"] = spelling.into();
            assert!(any.is_valid(&document), "{spelling}");
            document["apiVersion"] = "mas/v9".into();
            assert!(!any.is_valid(&document), "{spelling}");
        }
    }
    assert!(any.is_valid(&json!({"kind": "experiment", "anything": 1})));
    assert!(
        !any.is_valid(&json!({"kind": "Agnet"})) && !any.is_valid(&json!({})) && !any.is_valid(&json!([]))
    );
}

#[test]
fn what_a_schema_cannot_say_is_known() {
    let schema = validator(&of(Kind::Mas));
    let verdicts = |text: &str| {
        let node =
            parsed(&format!("apiVersion: mas/v1\nkind: MAS\nmetadata: {{name: t}}\nspec: {{}}\n{text}\n"));
        (loader_takes(Kind::Mas, &node), schema.is_valid(&node.to_json()))
    };
    assert_eq!(verdicts("x-mas-limits: {depth: 1}"), (true, true));
    assert_eq!(verdicts("x-mas-limits: {depth: 1.0}"), (false, true));
    assert_eq!(verdicts("x-mas-limits: {depth: 'env:DEPTH|deep'}"), (false, true));
    assert_eq!(verdicts("x-mas-limits: {depth: 'env:DEPTH'}"), (true, true));
}

#[test]
fn a_word_that_yaml_takes_for_a_boolean_is_a_name_in_quotes_only() {
    let schema = validator(&of(Kind::Agent));
    let verdicts = |name: &str| {
        let spec = format!("{{description: d, tools_ref: {name}}}");
        let node = parsed(&format!("apiVersion: mas/v1\nkind: Agent\nmetadata: {{name: t}}\nspec: {spec}\n"));
        (loader_takes(Kind::Agent, &node), schema.is_valid(&node.to_json()))
    };
    for plain in ["true", "True", "TRUE", "false"] {
        assert_eq!(verdicts(plain), (false, false), "{plain}");
    }
    for name in ["'true'", "truth", "12"] {
        assert_eq!(verdicts(name), (true, true), "{name}");
    }
    assert_eq!(verdicts("'True'"), (false, false));
}

#[test]
fn real_files_get_the_same_verdict_from_both() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus/mas-lab-v0.1");
    if !root.is_dir() {
        let required = std::env::var("MAS_REQUIRE").unwrap_or_default();
        assert!(!required.split(',').any(|name| name.trim() == "corpus"), "the corpus is required");
        return;
    }
    let mut folders = vec![root, Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples")];
    let mut schemas = std::collections::HashMap::new();
    let (mut taken, mut refused) = (0, 0);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            if path.extension().is_none_or(|end| end != "yaml" && end != "yml") {
                continue;
            }
            let (nodes, report) = yaml::parse(&Source::named("t.yaml", text));
            for node in nodes.iter().filter(|_| !report.has_errors()) {
                let Some(kind) = node.get("kind").and_then(|kind| Kind::parse(kind.text())) else { continue };
                if matches!(kind, Kind::Lab(_)) {
                    continue;
                }
                let schema = schemas.entry(kind).or_insert_with(|| validator(&of(kind)));
                let (loader, schema) = (loader_takes(kind, node), schema.is_valid(&node.to_json()));
                assert_eq!(loader, schema, "{}", path.display());
                if loader { taken += 1 } else { refused += 1 }
            }
        }
    }
    assert!(taken > 100 && refused > 10, "{taken} taken, {refused} refused");
}
