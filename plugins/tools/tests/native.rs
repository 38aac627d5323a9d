//! The provider `native`, as a manifest declares it.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)] // a test may stop short

use std::{path::Path, sync::Arc};

use mas_contracts::{
    Arguments, Builder, Descriptor, Error, ErrorKind, Message, ToolCall, ToolContract, ToolOutput, inventory,
};
use mas_testkit::{build_context, call_context};
use mas_tools as _;
use serde_json::{Value, json}; // links the registrations

const FARES: &str = "
data:
  fares:
    - {route_id: CV, class: Standard, price: 42, via: [Aram, Bel]}
    - {route_id: CV, class: Express, price: 77, via: []}
    - {route_id: VC, class: Standard, price: 42.0, via: [Bel]}
";

fn descriptor() -> &'static Descriptor {
    inventory::iter::<Descriptor>().find(|d| d.name == "native" && d.aliases.contains(&"system")).unwrap()
}

fn build(base: &Path, params: &Value) -> Result<Arc<dyn ToolContract>, Error> {
    match &descriptor().builder {
        Builder::Tool(build) => build.build(&build_context(base, &[]), params),
        other => panic!("{}", other.category()),
    }
}

async fn run(tool: &dyn ToolContract, arguments: Value) -> ToolOutput {
    let name = tool.list().await.unwrap()[0].name.clone();
    let call = ToolCall { id: "1".into(), name, arguments: Arguments::from_value(arguments) };
    tool.call(&call_context(), &call).await.unwrap()
}

fn text(output: &ToolOutput) -> String {
    Message::Tool { call: "".into(), name: "".into(), output: output.clone() }.text().to_string()
}

#[tokio::test]
async fn calc_answers_as_indented_json() {
    let calc = build(Path::new("."), &json!({"name": "calc"})).unwrap();
    let output = run(&*calc, json!({"expression": "2+2"})).await;
    assert_eq!(text(&output), "{\n  \"expression\": \"2+2\",\n  \"result\": 4.0\n}");
    assert!(!output.is_error);
    let output = run(&*calc, json!({"expression": "1/0"})).await;
    assert_eq!(text(&output), "cannot work out `1/0`: division by zero");
    assert!(output.is_error);
    assert!(run(&*calc, json!({})).await.is_error);
    assert!(run(&*calc, json!("no object")).await.is_error);
    assert!(calc.list().await.unwrap()[0].idempotent);
}

#[tokio::test]
async fn a_declared_spec_wins() {
    let spec = json!({"name": "sum", "description": "Adds.", "parameters": {"type": "object"},
        "idempotent": false, "timeout": 1.5});
    let calc = build(Path::new("."), &json!({"name": "calc", "spec": spec})).unwrap();
    let listed = calc.list().await.unwrap().remove(0);
    assert_eq!((&*listed.name, &*listed.description), ("sum", "Adds."));
    assert!(!listed.idempotent);
    assert_eq!(listed.timeout.unwrap().as_millis(), 1500);
    // A spec as core writes it.
    let again = build(Path::new("."), &json!({"name": "calc", "spec": listed})).unwrap();
    assert_eq!(again.list().await.unwrap(), vec![listed]);
    let call = ToolCall { id: "1".into(), name: "calc".into(), arguments: Arguments::from_text("") };
    assert_eq!(again.call(&call_context(), &call).await.err().unwrap().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn lookup_filters_projects_and_limits() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("fares.yaml"), FARES).unwrap();
    let params = json!({"path": "fares.yaml", "table": "data.fares", "fields": ["class", "price"],
        "match": {"route": "route_id", "cls": "class", "price": "price", "via": "via"}});
    let tool = build(folder.path(), &json!({"name": "lookup", "params": params})).unwrap();
    let output = run(&*tool, json!({"route": " cv ", "cls": "EXPRESS"})).await;
    let expected = "{\n  \"found\": true,\n  \"count\": 1,\n  \"fares\": [\n    {\n      \"class\": \"Express\",\n      \"price\": 77\n    }\n  ]\n}";
    assert_eq!(text(&output), expected);
    let count = async |arguments: Value| {
        let found: Value = serde_json::from_str(&text(&run(&*tool, arguments).await)).unwrap();
        found["count"].as_u64().unwrap()
    };
    assert_eq!(count(json!({})).await, 3);
    assert_eq!(count(json!({"route": "", "cls": null})).await, 3);
    assert_eq!(count(json!({"price": 42})).await, 2);
    assert_eq!(count(json!({"price": "77"})).await, 1);
    assert_eq!(count(json!({"via": "bel"})).await, 2);
    let none = run(&*tool, json!({"route": "XX"})).await;
    assert_eq!(text(&none), "{\n  \"found\": false,\n  \"count\": 0,\n  \"fares\": []\n}");
    assert!(!none.is_error);
    let limited = json!({"path": "fares.yaml", "table": "data.fares", "limit": 1});
    let tool = build(folder.path(), &json!({"name": "lookup", "params": limited})).unwrap();
    let found: Value = serde_json::from_str(&text(&run(&*tool, json!({})).await)).unwrap();
    assert_eq!((found["count"].as_u64(), found["truncated"].as_bool()), (Some(3), Some(true)));
    assert_eq!(found["fares"].as_array().unwrap().len(), 1);
}

#[test]
fn data_files_are_read_when_the_tool_is_built() {
    let folder = tempfile::tempdir().unwrap();
    let open = |file: &str, content: Option<&str>, table: &str| {
        if let Some(content) = content {
            std::fs::write(folder.path().join(file), content).unwrap();
        }
        build(folder.path(), &json!({"name": "lookup", "params": {"path": file, "table": table}}))
    };
    assert!(open("list.json", Some(r#"[{"a": 1}]"#), "").is_ok());
    let missing = open("none.yaml", None, "").err().unwrap();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    assert!(missing.message().contains("none.yaml"));
    let no_table = open("f.yaml", Some(FARES), "data.rows").err().unwrap();
    assert!(no_table.message().ends_with("has no table `data.rows`; at its top there are: data"));
    let no_list = open("f.yaml", Some(FARES), "data").err().unwrap();
    assert!(no_list.message().contains("is not a list of rows"));
    assert_eq!(open("bad.json", Some("{"), "").err().unwrap().kind(), ErrorKind::Invalid);
    assert_eq!(open("bad.yaml", Some("a: ["), "").err().unwrap().kind(), ErrorKind::Invalid);
}

#[test]
fn a_field_that_no_row_has_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("f.yaml"), FARES).unwrap();
    std::fs::write(folder.path().join("none.yaml"), "[]").unwrap();
    let open = |file: &str, more: Value| {
        let mut params = json!({"path": file, "table": if file == "f.yaml" { "data.fares" } else { "" }});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        build(folder.path(), &json!({"name": "lookup", "params": params}))
    };
    let says = |more: Value| {
        let error = open("f.yaml", more).err().unwrap();
        assert_eq!(error.code(), "mas::lookup::unknown_field");
        error.message().replace(folder.path().to_str().unwrap(), "HERE")
    };
    assert_eq!(
        says(json!({"match": {"class": "class", "route": "route"}})),
        "`match.route`: no row has the field `route`; there are: class, price, route_id, via (rows of the data file \
         `HERE/f.yaml`)"
    );
    assert!(
        says(json!({"match": {"a": "class.name"}}))
            .starts_with("`match.a`: no row has the field `class.name`")
    );
    assert!(says(json!({"fields": ["class", "cost"]})).starts_with("`fields`: no row has the field `cost`"));
    // Rows that are not there yet may have anything.
    assert!(open("none.yaml", json!({"match": {"a": "b"}, "fields": ["c"]})).is_ok());
}

#[test]
fn params_are_strict() {
    let check = descriptor().check;
    assert!(check(&Value::Null)[0].message.contains("missing field `name`"));
    assert!(check(&json!({"name": "cal"}))[0].message.contains("unknown variant `cal`"));
    assert!(check(&json!({"name": "calc", "params": {"x": 1}}))[0].message.contains("unknown field `x`"));
    let typo = json!({"name": "lookup", "params": {"path": "f", "limit": "many"}});
    assert_eq!(check(&typo)[0].path, "params.limit");
    assert_eq!(check(&json!({"name": "calc", "spec": {"timeout": -1.0}}))[0].path, "spec.timeout");
    assert!(check(&json!({"name": "lookup", "params": {"path": "f", "match": {"a": "b"}}})).is_empty());
}
