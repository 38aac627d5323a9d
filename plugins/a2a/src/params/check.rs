//! What is wrong with the parameters beside their shape.

use std::collections::HashSet;

use mas_contracts::Problem;

use super::{
    Address, ApiKey, ApiKeyPlace, ExtendedCard, Jwt, Params, Scheme, SecretText, Signing,
    address::grpc_host_and_port,
};
use crate::{jose::Algorithm, model::ResponseKind};

impl Params {
    pub(super) fn problems(&self) -> Vec<Problem> {
        let mut problems = self.of_addresses();
        problems.extend(self.of_capabilities());
        problems.extend(self.of_modes());
        problems.extend(self.of_kinds());
        problems.extend(self.a2a.security.iter().flat_map(|(name, scheme)| of_scheme(name, scheme)));
        problems.extend(self.a2a.signing.iter().flat_map(of_signing));
        problems.extend(self.a2a.push.problems());
        problems.extend(self.a2a.limits.problems());
        problems.extend(self.a2a.keep.problems());
        problems.extend(self.a2a.cors.iter().flat_map(super::Cors::problems));
        problems.extend(self.nameless_headers());
        for (place, url) in
            [("documentation_url", &self.a2a.documentation_url), ("icon_url", &self.a2a.icon_url)]
        {
            if url.as_deref().is_some_and(|url| !is_web(url)) {
                problems.push(
                    Problem::new("expected an absolute http or https address").at(format!("a2a.{place}")),
                );
            }
        }
        problems
    }

    fn of_kinds(&self) -> Vec<Problem> {
        let (kinds, limit) = (&self.a2a.response_kinds, self.a2a.message_limit);
        let mut problems = Vec::new();
        let at = |place: &str, what: &str| Problem::new(what).at(format!("a2a.{place}"));
        if !kinds.is_empty() && !kinds.contains(&ResponseKind::Message) {
            problems.push(at("response_kinds", "`message` must be among them, for it is the default"));
        }
        let repeated =
            kinds.iter().enumerate().any(|(index, kind)| kinds.iter().skip(index + 1).any(|it| it == kind));
        if repeated {
            problems.push(at("response_kinds", "one of them stands twice"));
        }
        match limit {
            Some(_) if kinds.is_empty() => {
                problems.push(at("message_limit", "goes with `response_kinds` only"));
            }
            Some(seconds) if !(seconds > 0.0 && seconds <= 86_400.0) => {
                problems.push(at("message_limit", "must be more than 0 seconds, and a day at most"));
            }
            _ => {}
        }
        problems
    }

    /// Headers with names that are none.
    pub(crate) fn nameless_headers(&self) -> Vec<Problem> {
        let nameless =
            self.headers.keys().filter(|name| http::HeaderName::from_bytes(name.as_bytes()).is_err());
        nameless
            .map(|name| {
                Problem::new(format!("`{name}` is no name of a header")).at(format!("headers.{name}"))
            })
            .collect()
    }

    fn of_addresses(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let tls = self.a2a.tls.is_some();
        match self.url.as_deref().map(|url| Address::parse(url.trim())) {
            None if self.a2a.listen.is_none() && self.deploys() => {
                let help = "write `url: http://127.0.0.1:9006`, or `a2a: {listen: {port: 9006}}`";
                problems.push(Problem::new("no address says where to listen").at("url").help(help));
            }
            None => {}
            Some(Err(problem)) => {
                problems.push(Problem::new(problem).at("url").help("write it as `http://host:port`"));
            }
            Some(Ok(at)) if at.secure && !tls && self.a2a.listen.is_none() && self.deploys() => {
                let message = "the address is https, and nothing says which socket is behind it";
                let help = "say `a2a.listen` where TLS ends in front of the program, or `a2a.tls` where it ends here";
                problems.push(Problem::new(message).at("a2a.listen").help(help));
            }
            Some(Ok(at)) if !at.secure && tls => {
                let help = "write the url with https, or leave `a2a.tls` out";
                problems
                    .push(Problem::new("the url is http, but `a2a.tls` is declared").at("url").help(help));
            }
            Some(Ok(at)) if at.port == 0 && self.a2a.listen.is_none() => {
                problems.push(Problem::new("nobody can call port 0").at("url"));
            }
            Some(Ok(_)) => {}
        }
        if let Some(Err(problem)) = self.a2a.grpc_url.as_deref().map(grpc_host_and_port) {
            problems.push(Problem::new(problem).at("a2a.grpc_url").help("write it as `host:port`"));
        }
        if self.a2a.listen.as_ref().is_some_and(|listen| listen.host.trim().is_empty()) {
            problems.push(Problem::new("the host is empty").at("a2a.listen.host"));
        }
        problems
    }

    fn of_capabilities(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut seen = HashSet::new();
        let capabilities = &self.a2a.capabilities;
        for (at, extension) in capabilities.extensions.iter().enumerate() {
            let place = format!("a2a.capabilities.extensions[{at}].uri");
            let uri = extension.uri.as_str();
            // The list of a header is split at commas and white space.
            if !uri.contains(':') || uri.contains([',', ' ', '\t', '\r', '\n']) || !uri.is_ascii() {
                problems.push(Problem::new(format!("`{uri}` is no URI")).at(place));
            } else if !seen.insert(uri) {
                problems.push(Problem::new(format!("`{uri}` stands here twice")).at(place));
            }
        }
        let open = self.a2a.security.is_empty();
        if capabilities.extended_agent_card && open {
            let message =
                "an extended card is for callers who authenticate, and nobody does here (A2A 3.1.11)";
            let place = "a2a.capabilities.extendedAgentCard";
            problems.push(Problem::new(message).at(place).help("declare `a2a.security`, or say false"));
        }
        if let Some(extended) = &self.a2a.extended_card {
            if !capabilities.extended_agent_card {
                let help = "say `capabilities: {extendedAgentCard: true}`";
                problems.push(Problem::new("nobody is ever told it").at("a2a.extended_card").help(help));
            }
            problems.extend(of_extended(extended));
        }
        problems
    }

    fn of_modes(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (name, modes) in
            [("input_modes", &self.a2a.input_modes), ("output_modes", &self.a2a.output_modes)]
        {
            let Some(modes) = modes else { continue };
            if modes.is_empty() {
                problems.push(Problem::new("name at least one media type").at(format!("a2a.{name}")));
            }
            for (at, mode) in modes.iter().enumerate() {
                let halves = mode.split_once('/');
                if halves.is_none_or(|(a, b)| a.is_empty() || b.is_empty()) || mode.contains(' ') {
                    let message = format!("`{mode}` is no media type such as `text/plain`");
                    problems.push(Problem::new(message).at(format!("a2a.{name}[{at}]")));
                }
            }
        }
        problems
    }
}

fn of_extended(extended: &ExtendedCard) -> Vec<Problem> {
    let mut problems = Vec::new();
    if extended.description.is_none() && extended.skills.is_empty() {
        problems.push(Problem::new("it says nothing beyond the public card").at("a2a.extended_card"));
    }
    for (at, skill) in extended.skills.iter().enumerate() {
        for (name, text) in [("id", &skill.id), ("description", &skill.description)] {
            if text.trim().is_empty() {
                problems
                    .push(Problem::new("it is empty").at(format!("a2a.extended_card.skills[{at}].{name}")));
            }
        }
    }
    problems
}

fn of_scheme(name: &str, scheme: &Scheme) -> Vec<Problem> {
    let place = format!("a2a.security.{name}");
    let mut problems = Vec::new();
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c)) {
        let message = "the name of a scheme is made of letters, digits, `-`, `.` and `_`";
        problems.push(Problem::new(message).at(place.as_str()));
    }
    match scheme {
        Scheme::Bearer(bearer) => {
            problems.extend(of_holders(&format!("{place}.bearer.tokens"), bearer.tokens.iter()));
        }
        Scheme::ApiKey(key) => problems.extend(of_api_key(&format!("{place}.api_key"), key)),
        Scheme::Jwt(jwt) => problems.extend(of_jwt(&format!("{place}.jwt"), jwt)),
    }
    problems
}

fn of_holders<'a>(
    place: &str,
    holders: impl ExactSizeIterator<Item = (&'a String, &'a SecretText)>,
) -> Vec<Problem> {
    if holders.len() == 0 {
        return vec![Problem::new("nobody can ever authenticate: name at least one").at(place)];
    }
    let wrong = holders.filter(|(name, secret)| name.trim().is_empty() || secret.is_empty());
    wrong
        .map(|(name, _)| Problem::new("the name or the secret is empty").at(format!("{place}.{name}")))
        .collect()
}

fn of_api_key(place: &str, key: &ApiKey) -> Vec<Problem> {
    let mut problems = of_holders(&format!("{place}.keys"), key.keys.iter());
    let usable = match key.place {
        ApiKeyPlace::Header | ApiKeyPlace::Cookie => {
            http::HeaderName::from_bytes(key.name.as_bytes()).is_ok()
        }
        ApiKeyPlace::Query => !key.name.is_empty(),
    };
    if !usable {
        let message = format!("`{}` is no name of a {}", key.name, key.place.word());
        problems.push(Problem::new(message).at(format!("{place}.name")));
    }
    problems
}

fn of_jwt(place: &str, jwt: &Jwt) -> Vec<Problem> {
    let mut problems = Vec::new();
    let texts =
        [("issuer", &jwt.issuer), ("audience", &jwt.audience), ("owner", &jwt.owner), ("jwks", &jwt.jwks)];
    for (name, text) in texts {
        if text.trim().is_empty() {
            problems.push(Problem::new("it is empty").at(format!("{place}.{name}")));
        }
    }
    if jwt.jwks.contains("://") && !is_trusted(&jwt.jwks) {
        let message = "keys are fetched over https only, but for those of this machine";
        problems.push(Problem::new(message).at(format!("{place}.jwks")));
    }
    if jwt.algorithms.as_ref().is_some_and(Vec::is_empty) {
        problems.push(Problem::new("no token is ever accepted").at(format!("{place}.algorithms")));
    }
    for (at, name) in jwt.algorithms.iter().flatten().enumerate() {
        if Algorithm::named(name).is_none() {
            let known: Vec<&str> = Algorithm::ALL.iter().map(|algorithm| algorithm.name()).collect();
            let problem = Problem::new(format!("`{name}` is no algorithm that is accepted"));
            let help = format!("known: {}", known.join(", "));
            problems.push(problem.at(format!("{place}.algorithms[{at}]")).help(help));
        }
    }
    for (name, seconds, most) in [("leeway", jwt.leeway, 600), ("refresh", jwt.refresh, 86_400)] {
        if seconds > most {
            problems.push(Problem::new(format!("{most} seconds at most")).at(format!("{place}.{name}")));
        }
    }
    problems
}

fn of_signing(signing: &Signing) -> Vec<Problem> {
    let mut problems = Vec::new();
    if signing.key.as_os_str().is_empty() {
        problems.push(Problem::new("it is empty").at("a2a.signing.key"));
    }
    if signing.kid.as_ref().is_some_and(|kid| kid.trim().is_empty()) {
        problems.push(Problem::new("it is empty").at("a2a.signing.kid"));
    }
    if signing.jku.as_ref().is_some_and(|jku| !jku.starts_with("https://")) {
        problems.push(Problem::new("the keys are published over https only").at("a2a.signing.jku"));
    }
    problems
}

fn is_web(url: &str) -> bool {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(char::is_whitespace))
}

/// Whether what is fetched there can be trusted: over TLS, or from this machine.
fn is_trusted(url: &str) -> bool {
    let local = |rest: &str| {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let address = Address::parse(&format!("http://{authority}"));
        address.is_ok_and(|at| {
            at.host == "localhost"
                || at.bare_host().parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
        })
    };
    url.starts_with("https://") && url.len() > 8 || url.strip_prefix("http://").is_some_and(local)
}
