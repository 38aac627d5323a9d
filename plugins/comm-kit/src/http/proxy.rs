//! Proxies out of the environment that was handed in.

use mas_contracts::{Env, Error, Result};
use reqwest::{NoProxy, Proxy, Url};

use super::{Proxying, shown};
use crate::{Secret, Secrets};

/// This machine, which no proxy of the environment stands for.
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1";

const SCHEMES: [&str; 5] = ["http", "https", "socks4", "socks5", "socks5h"];

/// The proxies that a client uses, in the order they are asked; what is secret in them goes to `secrets`.
pub(super) fn proxies(proxying: &Proxying, env: &Env, secrets: &mut Secrets) -> Result<Vec<Proxy>> {
    let made = match proxying {
        Proxying::Direct => Vec::new(),
        Proxying::Through(url) => vec![Proxy::all(parse("`proxy`", url.reveal(), secrets)?)],
        Proxying::Environment => {
            let either = |upper: &'static str, lower: &'static str| {
                env.get(upper).map(|value| (upper, value)).or(env.get(lower).map(|value| (lower, value)))
            };
            let all = either("ALL_PROXY", "all_proxy");
            let skipped = either("NO_PROXY", "no_proxy").map_or("", |(_, hosts)| hosts);
            // To the library a star is every name, but no address.
            let every = if skipped.split(',').any(|host| host.trim() == "*") { "0.0.0.0/0,::/0" } else { "" };
            let skipped = NoProxy::from_string(&format!("{LOOPBACK},{skipped},{every}"));
            let mut made = Vec::new();
            if let Some((name, url)) = either("HTTPS_PROXY", "https_proxy").or(all) {
                made.push(Proxy::https(parse(name, url, secrets)?));
            }
            if let Some((name, url)) = either("HTTP_PROXY", "http_proxy").or(all) {
                made.push(Proxy::http(parse(name, url, secrets)?));
            }
            made.into_iter().map(|proxy| proxy.map(|proxy| proxy.no_proxy(skipped.clone()))).collect()
        }
    };
    let refused =
        |error: reqwest::Error| invalid(format!("the proxy cannot be used: {}", error.without_url()));
    made.into_iter().map(|proxy| proxy.map_err(refused)).collect()
}

fn parse(name: &str, text: &str, secrets: &mut Secrets) -> Result<Url> {
    let whole = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let help = "write http://HOST:PORT, or http://USER:PASSWORD@HOST:PORT";
    let Ok(url) = Url::parse(&whole) else {
        return Err(invalid(format!("{name} is no URL of a proxy; {help}")));
    };
    if let Some(password) = url.password() {
        secrets.add(Secret::new(password));
        secrets.add(Secret::new(text));
    }
    if !SCHEMES.contains(&url.scheme()) || url.host_str().is_none() {
        return Err(invalid(format!("{name} is no URL of a proxy: `{}`; {help}", shown(&whole))));
    }
    Ok(url)
}

fn invalid(message: String) -> Error {
    Error::invalid(message).with_code("mas::http::proxy")
}
