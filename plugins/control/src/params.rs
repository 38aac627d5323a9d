//! The parameters, and what is built from them.

use std::{borrow::Cow, net::IpAddr, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use mas_contracts::{
    Build, Builder, ControlContract, Controlled, Controlling, Descriptor, Error, Problem, Result,
    check_params, parse_params, schema_of,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::server::Server;

/// What carries the lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// A Unix socket in the control folder.
    #[default]
    Unix,
    /// TCP on this machine.
    Tcp,
}

/// Parameters of `json-lines`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The control folder. Default: that of the environment.
    #[serde(default)]
    pub dir: Option<PathBuf>,
    /// What carries the lines. Default: `unix`.
    #[serde(default)]
    pub transport: Transport,
    /// The address of `tcp`, one of this machine. Default: 127.0.0.1.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub host: Option<IpAddr>,
    /// The port of `tcp`. Default: one that is free.
    #[serde(default)]
    pub port: Option<u16>,
}

impl Params {
    fn problem(&self) -> Option<Problem> {
        let (path, message) = match (self.transport, self.host, self.port) {
            (Transport::Unix, Some(_), _) => ("host", "`host` goes with `transport: tcp` only".to_owned()),
            (Transport::Unix, _, Some(_)) => ("port", "`port` goes with `transport: tcp` only".to_owned()),
            (Transport::Tcp, Some(host), _) if !host.is_loopback() => {
                ("host", format!("`{host}` is reached from other machines; control stays on this one"))
            }
            _ => return None,
        };
        let help =
            (path == "host" && self.transport == Transport::Tcp).then(|| "use 127.0.0.1 or ::1".to_owned());
        Some(Problem { path: path.to_owned(), message, help })
    }
}

fn check(params: &Value) -> Vec<Problem> {
    let problems = check_params::<Params>(params);
    if !problems.is_empty() {
        return problems;
    }
    parse_params::<Params>(params).ok().and_then(|params| params.problem()).into_iter().collect()
}

/// The control protocol `json-lines`.
#[derive(Clone, Debug)]
pub struct JsonLines(Params);

impl JsonLines {
    /// The protocol with these parameters.
    ///
    /// # Errors
    /// Parameters that do not go together, and an address that other machines reach.
    pub fn new(params: Params) -> Result<Self> {
        match params.problem() {
            Some(problem) => Err(Error::invalid(problem.message).with_code("mas::control::address")),
            None => Ok(Self(params)),
        }
    }
}

#[async_trait]
impl ControlContract for JsonLines {
    async fn serve(&self, controlling: Controlling) -> Result<Box<dyn Controlled>> {
        Ok(Box::new(Server::start(&self.0, controlling).await?))
    }
}

mas_contracts::inventory::submit! {
    Descriptor {
        name: Cow::Borrowed("json-lines"),
        aliases: Cow::Borrowed(&[]),
        origin: Cow::Borrowed(env!("CARGO_PKG_NAME")),
        version: Cow::Borrowed(env!("CARGO_PKG_VERSION")),
        summary: Cow::Borrowed("Looks into live sessions and steers them, by JSON lines over a local socket."),
        example: Cow::Borrowed("control: {type: json-lines, params: {transport: unix}}\n"),
        schema: schema_of::<Params>,
        check,
        builder: Builder::Control(Build::Linked(|_, params| {
            Ok(Arc::new(JsonLines::new(parse_params(params)?)?))
        })),
    }
}
