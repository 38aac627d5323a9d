//! `--bind`: where an agent is reached, from the command line.

use std::path::PathBuf;
use std::sync::Arc;

use super::document::Document;
use super::kind::Kind;
use super::located::Located;
use super::typed::{ApplicationDocument, InfraDocument};
use super::yaml::{Entry, Map, Node, Value};
use crate::diagnostic::{Location, Source};

/// The name of the flag, as the source of what it says.
const FLAG: &str = "--bind";

/// How the flag is written.
const FORM: &str = "write it as NAME=a2a://HOST:PORT, or a2as:// for TLS; a path may follow";

/// An agent and the address that it is reached at over A2A.
#[derive(Clone, Debug, PartialEq)]
pub struct Binding {
    /// The agent, as `delegates_to` names it.
    pub agent: Located<String>,
    /// Its address, with `http://` or `https://`.
    pub url: Located<String>,
}

impl Binding {
    /// Reads `NAME=a2a://HOST[:PORT][/PATH]` or `NAME=a2as://…`.
    ///
    /// # Errors
    /// What is wrong with it, with the form that is expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (agent, address) = text.split_once('=').ok_or_else(|| FORM.to_owned())?;
        if agent.trim() != agent || agent.is_empty() {
            return Err(format!("the name of an agent stands before `=`; {FORM}"));
        }
        let (scheme, rest) = address.split_once("://").ok_or_else(|| FORM.to_owned())?;
        let web = match scheme.to_ascii_lowercase().as_str() {
            "a2a" => "http",
            "a2as" => "https",
            "mcp" | "mcps" => {
                return Err(format!("servers of tools are not bound by this flag, agents are; {FORM}"));
            }
            other => return Err(format!("`{other}://` is not known; {FORM}")),
        };
        if rest.contains('@') {
            return Err(format!("an address holds no credentials: they are headers of an endpoint; {FORM}"));
        }
        if rest.contains(['?', '#']) {
            return Err(format!("an address has no query and no fragment; {FORM}"));
        }
        let url = format!("{web}://{rest}");
        super::checks::split_url(&url).map_err(|problem| format!("{problem}; {FORM}"))?;
        let source = Source::named(FLAG, text);
        let at = |from: usize, to: usize| Location::new(source.clone(), from..to);
        Ok(Self {
            agent: Located::new(agent.to_owned(), at(0, agent.len())),
            url: Located::new(url, at(agent.len() + 1, text.len())),
        })
    }

    /// The binding as infra: an endpoint that says how to reach the agent, and never listens.
    #[must_use]
    pub fn to_infra(&self) -> InfraDocument {
        let at = &self.url.at;
        let text = |text: &str| Node::string(text, at.clone());
        let map = |entries: Vec<(&str, &Location, Node)>| {
            let entries = entries.into_iter().map(|(key, key_at, value)| Entry {
                key: Arc::from(key),
                key_at: key_at.clone(),
                value,
            });
            Node::collection(Value::Map(Map::new(entries.collect())), at.clone())
        };
        let row = map(vec![
            ("protocol", at, text("a2a")),
            ("usage", at, text("use")),
            ("url", at, text(&self.url.value)),
        ]);
        let rows = map(vec![(&self.agent.value, &self.agent.at, row)]);
        let spec = map(vec![("endpoints", at, rows)]);
        let metadata = map(vec![("name", at, text("bind"))]);
        let node = map(vec![
            ("apiVersion", at, text("infra/v1")),
            ("kind", at, text("Application")),
            ("metadata", at, metadata),
            ("spec", at, spec),
        ]);
        let document = Document {
            kind: Kind::Application,
            node: Arc::new(node),
            path: PathBuf::new(),
            missing: Arc::from([]),
        };
        InfraDocument::Application(Box::new(ApplicationDocument::of(document)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_may_have_a_path() {
        let read = |text: &str| Binding::parse(text).map(|bound| (bound.agent.value, bound.url.value));
        let ok = |agent: &str, url: &str| Ok((agent.to_owned(), url.to_owned()));
        assert_eq!(read("fares=a2a://127.0.0.1:9006"), ok("fares", "http://127.0.0.1:9006"));
        assert_eq!(read("fares=A2AS://h/agents/fares"), ok("fares", "https://h/agents/fares"));
        assert_eq!(read("a b=a2a://[::1]:9"), ok("a b", "http://[::1]:9"));
    }

    #[test]
    fn every_slip_shows_the_form() {
        for (text, said) in [
            ("fares", ""),
            ("=a2a://h:1", "the name of an agent"),
            ("fares=127.0.0.1:9006", ""),
            ("fares=http://h:1", "`http://` is not known"),
            ("fares=mcp://h:1#tool", "servers of tools"),
            ("fares=a2a://", "the host is missing"),
            ("fares=a2a://h:99999", "the port"),
            ("fares=a2a://me:word@h:1", "no credentials"),
            ("fares=a2a://h:1/?q", "no query"),
        ] {
            let problem = Binding::parse(text).expect_err(text);
            assert!(problem.contains(said) && problem.contains("NAME=a2a://HOST:PORT"), "{text}: {problem}");
            assert!(!problem.contains("word"), "{problem}");
        }
    }
}
