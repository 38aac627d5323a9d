//! A request that only misses its arguments.

use mas_comm_kit::{
    Secret,
    http::{HeaderText, Request},
};
use mas_contracts::{Env, Error, Problem, Result};
use serde_json::{Map, Value};

use super::{
    address::Address,
    params::{Declaration, Method},
    shape::{Node, Shape, is_sendable},
    template::{Refusal, Template, encode},
};
use crate::{
    declared::refused,
    secrets::{Secrets, is_sensitive},
};

/// A request whose variables are read.
pub(super) struct Prepared {
    method: Method,
    address: Address,
    headers: Vec<Header>,
    body: Option<Node>,
    parameters: Value,
    /// What nobody is shown.
    pub(super) secrets: Secrets,
}

struct Header {
    name: String,
    value: Template,
    secret: bool,
}

impl Prepared {
    /// Reads the variables that a declaration names.
    ///
    /// # Errors
    /// The variable that is not set, or the one that is no URL.
    pub(super) fn new(run: &Declaration, env: &Env) -> Result<Self> {
        let wrong = |problem: Problem| refused(&problem);
        let unset = |name: String| {
            Error::invalid(format!("the environment variable {name} is not set: set it"))
                .with_code("mas::env::missing")
        };
        let mut shape = Shape::of(run).map_err(wrong)?;
        let mut values = Vec::new();
        if let Some(name) = shape.origin_variable.take() {
            let value = env.get(&name).ok_or_else(|| unset(name.clone()))?;
            let url = value.trim_end_matches('/').replace('{', "{{").replace('}', "}}");
            shape = Shape::with_origin(run, &url).map_err(|mut problem| {
                problem.message = format!("with the variable {name}: {}", problem.message);
                wrong(problem)
            })?;
        }
        for name in shape.templates().into_iter().flat_map(Template::variables) {
            let value = env.get(name).ok_or_else(|| unset(name.to_owned()))?;
            values.extend([value.to_owned(), encode(value)]);
        }
        let parameters = shape.parameters();
        let mut headers = Vec::new();
        for (name, value) in shape.headers {
            let secret = is_sensitive(&name) || value.variables().next().is_some();
            let value = value.resolved(env, str::to_owned).map_err(unset)?;
            // What a variable gave is not shown, and neither is why it is wrong.
            if let Ok(Some(text)) = value.filled(&Map::new(), str::to_owned) {
                if !is_sendable(&text) {
                    let message =
                        format!("the header `{name}` holds a character that no header may, from a variable");
                    return Err(Error::invalid(message).with_code("mas::http::header"));
                }
                if secret {
                    values.extend(text.rsplit_once(' ').map(|(_, last)| last.to_owned()));
                    values.push(text);
                }
            }
            headers.push(Header { name, value, secret });
        }
        if shape.body.is_some()
            && !headers.iter().any(|header| header.name.eq_ignore_ascii_case("content-type"))
        {
            let value = Template::parse("application/json").map_err(Error::internal)?;
            headers.push(Header { name: "Content-Type".to_owned(), value, secret: false });
        }
        Ok(Self {
            method: run.method(),
            address: shape.address.resolved(env).map_err(unset)?,
            headers,
            body: shape.body.map(|body| body.resolved(env)).transpose().map_err(unset)?,
            parameters,
            secrets: Secrets::new(values),
        })
    }

    /// The schema of its arguments, as the request tells it.
    pub(super) fn parameters(&self) -> Value {
        self.parameters.clone()
    }

    /// Scheme, host and port.
    pub(super) fn origin(&self) -> &str {
        &self.address.origin
    }

    /// The request with these arguments.
    ///
    /// # Errors
    /// The argument that cannot be sent.
    pub(super) fn filled(&self, arguments: &Map<String, Value>) -> Result<Request, Refusal> {
        let mut headers = Vec::new();
        for header in &self.headers {
            let Some(text) = header.value.filled(arguments, str::to_owned)? else { continue };
            if !is_sendable(&text) {
                let names = Vec::from_iter(header.value.arguments()).join("`, `");
                return Err(Refusal(format!(
                    "`{names}` goes into a header, which holds printable ASCII only"
                )));
            }
            let text =
                if header.secret { HeaderText::Secret(Secret::new(text)) } else { HeaderText::Plain(text) };
            headers.push((header.name.clone(), text));
        }
        let body = match &self.body {
            Some(body) => Some(body.filled(arguments)?.unwrap_or(Value::Null).to_string().into()),
            None => None,
        };
        Ok(Request {
            method: self.method.as_str().to_owned(),
            url: self.address.filled(arguments)?,
            headers,
            body,
            ..Request::default()
        })
    }
}
