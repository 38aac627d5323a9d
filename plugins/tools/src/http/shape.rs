//! A declared request, read: its fixed texts and its places.

use std::collections::BTreeSet;

use mas_contracts::{Env, Problem};
use serde_json::{Map, Value, json};

use super::{
    address::Address,
    params::Declaration,
    template::{Refusal, Template},
};

/// Headers that the client writes itself.
const OWN_HEADERS: [&str; 5] = ["host", "content-length", "transfer-encoding", "connection", "upgrade"];

/// What stands for a variable that begins a URL while the URL is checked.
const SOME_ORIGIN: &str = "http://variable.invalid";

/// A request with places for arguments and variables.
pub(super) struct Shape {
    pub(super) address: Address,
    /// The variable that the URL begins with.
    pub(super) origin_variable: Option<String>,
    pub(super) headers: Vec<(String, Template)>,
    pub(super) body: Option<Node>,
}

/// A JSON value with places.
pub(super) enum Node {
    Fixed(Value),
    Text(Template),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

impl Shape {
    /// Reads a declaration, whatever the environment.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn of(run: &Declaration) -> Result<Self, Problem> {
        Self::with_origin(run, SOME_ORIGIN)
    }

    /// Reads a declaration whose URL may begin with a variable, which is `origin`.
    pub(super) fn with_origin(run: &Declaration, origin: &str) -> Result<Self, Problem> {
        let problem = |place: &str| {
            let place = format!("params.{place}");
            move |message: String| Problem::new(message).at(place)
        };
        let split = run.url.strip_prefix("{env:").and_then(|rest| rest.split_once('}'));
        let (url, origin_variable) = match split {
            Some((name, rest)) => {
                let named = Template::parse(&format!("{{env:{name}}}")).map_err(problem("url"))?;
                (format!("{origin}{rest}"), named.variables().next().map(str::to_owned))
            }
            None => (run.url.clone(), None),
        };
        let mut address = Address::parse(&url).map_err(problem("url"))?;
        for (key, value) in &run.query {
            let value = Template::parse(&value.text()).map_err(problem(&format!("query.{key}")))?;
            address.push(key, value);
        }
        let mut headers = Vec::new();
        for (name, value) in &run.headers {
            let place = format!("headers.{name}");
            check_header(name, value).map_err(problem(&place))?;
            headers.push((name.clone(), Template::parse(value).map_err(problem(&place))?));
        }
        let body = run.body.as_ref().map(|body| Node::of(body, "body")).transpose()?;
        Ok(Self { address, origin_variable, headers, body })
    }

    /// Every place of texts.
    pub(super) fn templates(&self) -> Vec<&Template> {
        let mut places: Vec<&Template> = self.address.templates().collect();
        places.extend(self.headers.iter().map(|(_, value)| value));
        if let Some(body) = &self.body {
            body.collect(&mut places);
        }
        places
    }

    fn arguments(&self) -> BTreeSet<&str> {
        self.templates().into_iter().flat_map(Template::arguments).collect()
    }

    /// The schema of the arguments where no manifest has one: each is a text, and needed.
    pub(super) fn parameters(&self) -> Value {
        let names = self.arguments();
        let properties: Map<String, Value> =
            names.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
        json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false})
    }

    /// Where an argument stands first, as closely as it is told.
    fn place_of(&self, name: &str) -> String {
        let has = |place: &Template| place.arguments().any(|argument| argument == name);
        if let Some((header, _)) = self.headers.iter().find(|(_, value)| has(value)) {
            return format!("params.headers.{header}");
        }
        match self.address.templates().position(has) {
            Some(at) if at < self.address.in_url => "params.url".to_owned(),
            Some(_) => "params.query".to_owned(),
            None => "params.body".to_owned(),
        }
    }

    /// What does not fit the declared parameters; without any, all fits.
    pub(super) fn problems(&self, declared: Option<&Map<String, Value>>) -> Vec<Problem> {
        let Some(schema) = declared else { return Vec::new() };
        let none = Map::new();
        let known = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let names = || {
            let names: Vec<&str> = known.keys().map(String::as_str).collect();
            if names.is_empty() {
                "there are none".to_owned()
            } else {
                format!("there are: {}", names.join(", "))
            }
        };
        let required = |name: &str| {
            let list = schema.get("required").and_then(Value::as_array);
            list.is_some_and(|list| list.iter().any(|item| item.as_str() == Some(name)))
        };
        let used = self.arguments();
        let mut problems = Vec::new();
        for name in used.iter().filter(|name| !known.contains_key(**name)) {
            problems.push(
                Problem::new(format!("`{{{name}}}` is no parameter of the tool"))
                    .at(self.place_of(name))
                    .help(format!("{}; write {{{{{name}}}}} for the text itself", names())),
            );
        }
        for name in known.keys().filter(|name| !used.contains(name.as_str())) {
            problems.push(
                Problem::new(format!("the parameter `{name}` is never sent"))
                    .at("params")
                    .help(format!("put {{{name}}} into url, query, headers or body")),
            );
        }
        for name in self.address.path_arguments().filter(|name| known.contains_key(*name) && !required(name))
        {
            problems.push(
                Problem::new(format!("the parameter `{name}` is part of the path, but not required"))
                    .at("params.url")
                    .help(format!("say `required: true` for `{name}`, or put it into the query")),
            );
        }
        let whole: BTreeSet<&str> = self.body.iter().flat_map(Node::whole_arguments).collect();
        let scalar = |name: &str| {
            let kind = known.get(name).and_then(|schema| schema.get("type")).and_then(Value::as_str);
            !matches!(kind, Some("array" | "object"))
        };
        let outside = self.address.templates().chain(self.headers.iter().map(|(_, value)| value));
        let outside: BTreeSet<&str> = outside.flat_map(Template::arguments).collect();
        let misplaced = |name: &&str| !scalar(name) && (!whole.contains(*name) || outside.contains(*name));
        for name in used.iter().copied().filter(misplaced) {
            problems.push(
                Problem::new(format!("the parameter `{name}` is a list or an object, and stands in a text"))
                    .at(self.place_of(name))
                    .help(format!("it can only be a whole value of the body: \"{{{name}}}\"")),
            );
        }
        problems
    }
}

impl Node {
    fn of(value: &Value, place: &str) -> Result<Self, Problem> {
        Ok(match value {
            Value::String(text) => Self::Text(
                Template::parse(text)
                    .map_err(|message| Problem::new(message).at(format!("params.{place}")))?,
            ),
            Value::Array(items) => {
                let item = |(at, item): (usize, &Value)| Self::of(item, &format!("{place}[{at}]"));
                Self::List(items.iter().enumerate().map(item).collect::<Result<_, _>>()?)
            }
            Value::Object(map) => {
                let member = |(key, value): (&String, &Value)| {
                    Ok((key.clone(), Self::of(value, &format!("{place}.{key}"))?))
                };
                Self::Map(map.iter().map(member).collect::<Result<_, Problem>>()?)
            }
            other => Self::Fixed(other.clone()),
        })
    }

    fn collect<'a>(&'a self, places: &mut Vec<&'a Template>) {
        match self {
            Self::Fixed(_) => {}
            Self::Text(template) => places.push(template),
            Self::List(items) => items.iter().for_each(|item| item.collect(places)),
            Self::Map(members) => members.iter().for_each(|(_, member)| member.collect(places)),
        }
    }

    /// The arguments that stand as whole values, and nowhere within a text of the body.
    fn whole_arguments(&self) -> Vec<&str> {
        let mut places = Vec::new();
        self.collect(&mut places);
        let (whole, within): (Vec<&Template>, Vec<&Template>) =
            places.into_iter().partition(|place| place.sole_argument().is_some());
        let within: BTreeSet<&str> = within.into_iter().flat_map(Template::arguments).collect();
        whole.into_iter().filter_map(Template::sole_argument).filter(|name| !within.contains(name)).collect()
    }

    /// The same with the values of variables in it.
    pub(super) fn resolved(self, env: &Env) -> Result<Self, String> {
        Ok(match self {
            Self::Fixed(value) => Self::Fixed(value),
            Self::Text(template) => Self::Text(template.resolved(env, str::to_owned)?),
            Self::List(items) => {
                Self::List(items.into_iter().map(|item| item.resolved(env)).collect::<Result<_, _>>()?)
            }
            Self::Map(members) => {
                let member = |(key, value): (String, Self)| Ok((key, value.resolved(env)?));
                Self::Map(members.into_iter().map(member).collect::<Result<_, String>>()?)
            }
        })
    }

    /// The value with these arguments in it; nothing where one is not given.
    pub(super) fn filled(&self, arguments: &Map<String, Value>) -> Result<Option<Value>, Refusal> {
        Ok(match self {
            Self::Fixed(value) => Some(value.clone()),
            Self::Text(template) => match template.sole_argument() {
                Some(name) => arguments.get(name).cloned(),
                None => template.filled(arguments, str::to_owned)?.map(Value::String),
            },
            Self::List(items) => {
                let mut list = Vec::new();
                for item in items {
                    list.extend(item.filled(arguments)?);
                }
                Some(Value::Array(list))
            }
            Self::Map(members) => {
                let mut map = Map::new();
                for (key, member) in members {
                    if let Some(value) = member.filled(arguments)? {
                        map.insert(key.clone(), value);
                    }
                }
                Some(Value::Object(map))
            }
        })
    }
}

fn check_header(name: &str, value: &str) -> Result<(), String> {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(token) {
        return Err("no header has this name".to_owned());
    }
    if OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own)) {
        return Err("the client sends this header itself".to_owned());
    }
    if is_sendable(value) {
        Ok(())
    } else {
        Err("a header holds no control character, and ASCII only".to_owned())
    }
}

/// Whether a header may have this value.
pub(super) fn is_sendable(value: &str) -> bool {
    value.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte))
}
