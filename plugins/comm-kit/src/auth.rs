//! Credentials of this side, and how a request shows them.

mod answer;
mod tokens;

use std::sync::Arc;

use mas_contracts::Result;

pub use tokens::{ClientAuth, ClientCredentials, Tokens};

use crate::{
    Secret, Secrets,
    http::{HeaderText, Request, Response, Transport},
};

/// What shows who is asking. Debug shows no secret.
#[derive(Clone, Debug, PartialEq)]
pub enum Credential {
    /// In `Authorization`, after this word and a space, such as `Bearer`.
    Authorization(&'static str, Secret),
    /// In the header of this name.
    Header(String, Secret),
    /// In the field of this name of the query.
    Query(String, Secret),
    /// In the cookie of this name.
    Cookie(String, Secret),
    /// A token of an authorization server, in `Authorization: Bearer`.
    Token(Arc<Tokens>),
}

impl Credential {
    /// What no text may show; a token only where there is one already.
    #[must_use]
    pub fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::new();
        match self {
            Self::Authorization(_, secret)
            | Self::Header(_, secret)
            | Self::Query(_, secret)
            | Self::Cookie(_, secret) => {
                secrets.add(secret.clone());
                // `Bearer KEY` may come back as `KEY`.
                if let Some((_, last)) = secret.reveal().rsplit_once(' ') {
                    secrets.add(Secret::new(last));
                }
            }
            Self::Token(tokens) => return tokens.secrets(),
        }
        secrets
    }
}

/// Credentials as one request shows them.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// Headers, their names in lower case.
    pub headers: Vec<(String, HeaderText)>,
    /// Fields of the query.
    pub query: Vec<(String, Secret)>,
    tokens: Vec<(Arc<Tokens>, Arc<Secret>)>,
}

impl Shown {
    /// The credentials as a request shows them now; an authorization server is asked where there is no token that is
    /// still good.
    ///
    /// # Errors
    /// Those of [`Tokens::get`].
    pub async fn of(credentials: &[Credential]) -> Result<Self> {
        let mut shown = Self::default();
        let mut cookies: Vec<String> = Vec::new();
        let bearer = |word: &str, secret: &Secret| {
            let text = format!("{word} {}", secret.reveal());
            ("authorization".to_owned(), HeaderText::Secret(Secret::new(text)))
        };
        for credential in credentials {
            match credential {
                Credential::Authorization(word, secret) => shown.headers.push(bearer(word, secret)),
                Credential::Header(name, secret) => {
                    shown.headers.push((name.to_ascii_lowercase(), HeaderText::Secret(secret.clone())));
                }
                Credential::Query(name, secret) => shown.query.push((name.clone(), secret.clone())),
                Credential::Cookie(name, secret) => cookies.push(format!("{name}={}", secret.reveal())),
                Credential::Token(tokens) => {
                    let token = tokens.get().await?;
                    shown.headers.push(bearer("Bearer", &token));
                    shown.tokens.push((tokens.clone(), token));
                }
            }
        }
        if !cookies.is_empty() {
            let text = Secret::new(cookies.join("; "));
            shown.headers.push(("cookie".to_owned(), HeaderText::Secret(text)));
        }
        Ok(shown)
    }

    /// The request with these; what it has of the same headers already gives way.
    #[must_use]
    pub fn on(&self, request: &Request) -> Request {
        let mut request = request.clone();
        let given = |name: &str| self.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        request.headers.retain(|(name, _)| !given(name));
        request.headers.extend(self.headers.iter().cloned());
        request.query.extend(self.query.iter().cloned());
        request
    }

    /// The credentials anew, after they were refused: none where no other token is to be had, so that asking again is
    /// of no use.
    ///
    /// # Errors
    /// Those of [`Tokens::get`].
    pub async fn renewed(&self, credentials: &[Credential]) -> Result<Option<Self>> {
        if self.tokens.is_empty() {
            return Ok(None);
        }
        self.tokens.iter().for_each(|(tokens, refused)| tokens.forget(refused));
        let again = Self::of(credentials).await?;
        let pairs = self.tokens.iter().zip(&again.tokens);
        let same = pairs.into_iter().all(|((_, old), (_, new))| old == new);
        Ok((!same).then_some(again))
    }
}

/// Sends a request with credentials; once more after a 401, where a fresh token can be had. What was refused was not
/// executed.
///
/// # Errors
/// As [`Transport::send`], and those of [`Tokens::get`].
pub async fn send(
    transport: &dyn Transport,
    credentials: &[Credential],
    request: &Request,
) -> Result<Response> {
    if credentials.is_empty() {
        return transport.send(request).await;
    }
    let shown = Shown::of(credentials).await?;
    let response = transport.send(&shown.on(request)).await?;
    if response.status() != 401 {
        return Ok(response);
    }
    match shown.renewed(credentials).await? {
        Some(again) => transport.send(&again.on(request)).await,
        None => Ok(response),
    }
}
