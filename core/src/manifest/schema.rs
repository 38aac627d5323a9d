//! JSON Schemas (2020-12) of documents, made from the shapes that the loader itself checks.
//!
//! A schema says yes to a document exactly where the shape of its kind does. What JSON Schema cannot say is left to
//! `validate`, and each schema's description says so: see [`BEYOND`].

mod scalar;

use serde_json::{Map, Value as Json, json};

use super::kind::Kind;
use super::shape::{Fields, Shape, takes_scalar};
use super::shapes;
use scalar::{env_reference, flag, int, named, number, ruled, text, word};

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// What only the loader can tell, in a sentence.
pub const BEYOND: &str = "Only `mas-ctl validate` sees keys that stand twice, references to files and agents, keys \
                          that depend on one another, what an `env:` reference comes to, and how a number is spelled \
                          (1.0 for 1, or 0x10 or an overlong one in quotes).";

/// The rows of a team that may hold a whole agent.
const ROWS: [&str; 2] = [
    "/properties/spec/properties/agents/items",
    "/properties/spec/properties/agency/properties/agents/items",
];

/// The schema of a kind.
pub fn of(kind: Kind) -> Json {
    let mut schema = shape(kind.shape());
    if let Some(Json::Object(properties)) = schema.get_mut("properties") {
        properties.insert("kind".to_owned(), json!({"enum": kind.spellings().collect::<Vec<_>>()}));
        let versions = kind.api_versions();
        if !versions.is_empty() {
            properties.insert("apiVersion".to_owned(), json!({"enum": versions}));
        }
    }
    if kind == Kind::Mas {
        write_agents_inside(&mut schema);
    }
    titled(&format!("{} ({})", kind.name(), kind.api_versions().join(", ")), schema)
}

/// Makes a row that holds an agent in place as strict as an Agent document; only its version may be left out.
fn write_agents_inside(team: &mut Json) {
    const NAME: &str = "AgentInside";
    let agent = of(Kind::Agent);
    let inside = json!({"required": ["kind", "metadata", "spec"], "properties": agent.get("properties")});
    for row in ROWS {
        if let Some(Json::Object(row)) = team.pointer_mut(row) {
            row.insert("if".to_owned(), json!({"required": ["spec"], "not": {"required": ["ref"]}}));
            row.insert("then".to_owned(), json!({"$ref": format!("#/$defs/{NAME}")}));
        }
    }
    if let Json::Object(team) = team {
        team.insert("$defs".to_owned(), json!({NAME: inside}));
    }
}

/// The schema of `config.yaml`.
pub fn of_config() -> Json {
    titled("config.yaml", shape(&shapes::CONFIG))
}

/// One schema for documents of every kind, chosen by `kind`; for editors that take one schema for many files.
pub fn of_any() -> Json {
    let mut definitions = Map::new();
    let mut choices = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for kind in Kind::all() {
        let spellings: Vec<&str> = kind.spellings().collect();
        let reference = format!("#/$defs/{}", kind.name());
        choices.push(json!({
            "if": {"properties": {"kind": {"enum": &spellings}}},
            "then": {"$ref": reference},
        }));
        let mut definition = of(kind);
        if let Some(definition) = definition.as_object_mut() {
            definition.remove("$schema");
            // What a schema refers to starts from the root.
            if let Some(Json::Object(own)) = definition.remove("$defs") {
                definitions.extend(own);
            }
        }
        definitions.insert(kind.name().to_owned(), definition);
        names.extend(spellings);
    }
    let labs: Vec<String> = Kind::lab_names().map(in_any_case).collect();
    let known = json!([{"enum": names}, {"pattern": format!("^({})$", labs.join("|"))}]);
    let any = json!({
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": {"type": "string", "anyOf": known}},
        "allOf": choices,
        "$defs": definitions,
    });
    titled("A document of mas", any)
}

fn titled(title: &str, schema: Json) -> Json {
    let mut whole = Map::new();
    whole.insert("$schema".to_owned(), DRAFT.into());
    whole.insert("title".to_owned(), title.into());
    whole.insert("description".to_owned(), BEYOND.into());
    if let Json::Object(schema) = schema {
        whole.extend(schema);
    }
    Json::Object(whole)
}

fn in_any_case(name: &str) -> String {
    name.chars().map(|c| format!("[{}{}]", c.to_ascii_uppercase(), c.to_ascii_lowercase())).collect()
}

fn shape(of: &Shape) -> Json {
    match of {
        Shape::Any => json!({}),
        Shape::Text => text(),
        Shape::Name => named(),
        Shape::Ruled(rule) => ruled(rule),
        Shape::Int(low, high) => int(*low, *high),
        Shape::Number(low, high) => number(*low, *high),
        Shape::Flag => flag(),
        Shape::Word(words) => word(words),
        Shape::List(item) => json!({"type": "array", "items": shape(item)}),
        Shape::Filled(item) => json!({"type": "array", "items": shape(item), "minItems": 1}),
        Shape::MapOf(value) => json!({"type": "object", "additionalProperties": shape(value)}),
        Shape::Record(fields) => record(fields),
        Shape::Maybe(inner) => json!({"if": {"type": "null"}, "else": shape(inner)}),
        Shape::Either(options) => either(options),
    }
}

fn record(fields: &Fields) -> Json {
    let properties: Map<String, Json> =
        fields.fields.iter().map(|field| (field.name.to_owned(), shape(&field.shape))).collect();
    let required: Vec<&str> =
        fields.fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    if !properties.is_empty() {
        schema.insert("properties".to_owned(), properties.into());
    }
    // Keys that begin with `x-` are anybody's, but `x-mas-` is this program's: of those only the known ones stand.
    let others = if fields.open {
        let own: Vec<&str> =
            fields.fields.iter().filter_map(|field| field.name.strip_prefix("x-mas-")).collect();
        let unknown =
            if own.is_empty() { "^x-mas-".to_owned() } else { format!("^x-mas-(?!({})$)", own.join("|")) };
        ("patternProperties", json!({unknown: false}))
    } else {
        schema.insert("patternProperties".to_owned(), json!({"^x-(?!mas-)": true}));
        ("additionalProperties", false.into())
    };
    schema.insert(others.0.to_owned(), others.1);
    Json::Object(schema)
}

/// The first option whose outer type fits is the one that counts, as in the loader.
fn either(options: &[Shape]) -> Json {
    let none = json!({"anyOf": options.iter().map(outside).collect::<Vec<_>>()});
    let chosen = options
        .iter()
        .rev()
        .fold(none, |rest, option| json!({"if": outside(option), "then": shape(option), "else": rest}));
    if options.iter().any(takes_scalar) {
        return json!({"if": env_reference(), "else": chosen});
    }
    chosen
}

/// The outer type of a shape.
fn outside(of: &Shape) -> Json {
    match of {
        Shape::Any => json!({}),
        Shape::List(_) | Shape::Filled(_) => json!({"type": "array"}),
        Shape::MapOf(_) | Shape::Record(_) => json!({"type": "object"}),
        Shape::Maybe(inner) => json!({"anyOf": [{"type": "null"}, outside(inner)]}),
        Shape::Either(options) => json!({"anyOf": options.iter().map(outside).collect::<Vec<_>>()}),
        Shape::Flag => flag(),
        Shape::Int(..) => int(i64::MIN, i64::MAX),
        Shape::Number(..) => number(f64::MIN, f64::MAX),
        Shape::Text | Shape::Name | Shape::Ruled(_) | Shape::Word(_) => text(),
    }
}

#[cfg(test)]
mod tests;
