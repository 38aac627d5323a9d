//! What another process serves at the socket of an endpoint.

use mas_comm_kit::http::{Proxying, Request, Settings, Transport};
use mas_contracts::{BuildContext, Error, HostedEndpoint, Result};
use serde_json::Value;

use super::claim;
use crate::{card, card::Place, params::Params};

/// Whether what listens there publishes the card of this very agent: the same name, at the same address.
///
/// # Errors
/// That nothing there can be asked.
pub(super) async fn serves(build: &BuildContext, endpoint: &HostedEndpoint) -> Result<bool> {
    let params = Params::read(&endpoint.params)?;
    let (Some(listen), Some(place)) = (params.listen(), Place::declared(&params, false)) else {
        return Ok(false);
    };
    let host = match listen.host.as_str() {
        "0.0.0.0" => "127.0.0.1".to_owned(),
        "::" => "[::1]".to_owned(),
        host if host.contains(':') => format!("[{host}]"),
        host => host.to_owned(),
    };
    let scheme = if params.a2a.tls.is_some() { "https" } else { "http" };
    let path = claim::path_of(endpoint, &params);
    let request = Request {
        method: "GET".to_owned(),
        url: format!("{scheme}://{host}:{}{path}/.well-known/agent-card.json", listen.port),
        ..Request::default()
    };
    // A neighbour of this machine, whose certificate is for the name that callers use.
    let verify = params.a2a.tls.is_none();
    let settings = Settings { proxying: Proxying::Direct, verify, ..Settings::default() };
    let mut response = settings.connect(build)?.send(&request).await?;
    if !response.is_success() {
        return Ok(false);
    }
    let body = response.read(card::LARGEST).await?;
    let card: Value = serde_json::from_slice(&body)
        .map_err(|error| Error::invalid(format!("what listens there publishes no card: {error}")))?;
    let named = card.get("name").and_then(Value::as_str) == Some(&*endpoint.profile.name);
    let addresses = card.get("supportedInterfaces").and_then(Value::as_array).into_iter().flatten();
    let mut addresses = addresses.filter_map(|interface| interface.get("url").and_then(Value::as_str));
    Ok(named && addresses.any(|address| address.trim_end_matches('/') == place.base))
}
