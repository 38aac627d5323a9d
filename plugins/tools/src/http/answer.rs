//! What a model is told of an answer.

use crate::{secrets::Secrets, text::Output};
use mas_comm_kit::http::{BODY_TOO_LARGE, EXCERPT, Request, Response, Transport, shown};

/// A larger answer is a failure.
const MOST: usize = 4 * 1024 * 1024;

/// How answers are read.
pub(super) struct Reading {
    /// The statuses that are a success; none for 200 to 299.
    pub(super) ok: Vec<u16>,
    pub(super) output: Output,
    /// How many redirects are followed.
    pub(super) redirects: u8,
}

impl Reading {
    /// Sends a request and reads the answer.
    ///
    /// # Errors
    /// Why it is a failure. Secrets may be in it.
    pub(super) async fn ask(
        &self,
        client: &dyn Transport,
        mut request: Request,
        origin: &str,
        secrets: &Secrets,
    ) -> Result<String, String> {
        let mut left = self.redirects;
        loop {
            let mut response = client.send(&request).await.map_err(|error| error.message().to_owned())?;
            let status = response.status();
            if self.is_ok(status) {
                return self.read(&mut response, secrets).await;
            }
            let location =
                response.header("location").filter(|_| matches!(status, 301 | 302 | 303 | 307 | 308));
            let Some(location) = location else {
                let excerpt = response.excerpt(secrets.inner()).await;
                let said = if excerpt.is_empty() {
                    "with nothing to say".to_owned()
                } else {
                    format!("and says:\n{excerpt}")
                };
                return Err(format!("the server answered with status {status} {said}"));
            };
            match within(origin, &request.url, location) {
                Some(url) if left > 0 => {
                    left -= 1;
                    request.url = url;
                }
                Some(_) if self.redirects > 0 => {
                    return Err(format!("the server redirected more than {} times", self.redirects));
                }
                _ => {
                    return Err(format!(
                        "the server answered with status {status} and points to `{}`, which is not followed{}",
                        shown(location),
                        if self.redirects > 0 { ": it is of another origin" } else { "" },
                    ));
                }
            }
        }
    }

    fn is_ok(&self, status: u16) -> bool {
        if self.ok.is_empty() { (200..300).contains(&status) } else { self.ok.contains(&status) }
    }

    async fn read(&self, response: &mut Response, secrets: &Secrets) -> Result<String, String> {
        let body = response.read(MOST).await.map_err(|error| {
            if error.code() == BODY_TOO_LARGE {
                return format!("the answer is larger than {} MiB", MOST / 1024 / 1024);
            }
            error.message().to_owned()
        })?;
        let size = body.len();
        let Ok(text) = String::from_utf8(body) else {
            let kind = response.header("content-type").unwrap_or("an unnamed type");
            return Err(format!("the answer is {size} bytes of {kind}, which are not text in UTF-8"));
        };
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        if text.trim().is_empty() && self.output != Output::Json {
            return Ok(format!("(no content, status {})", response.status()));
        }
        self.output.read(text, response.is_type("application/json")).map_err(|error| {
            let said = secrets.inner().excerpt(text, EXCERPT, true);
            format!("the answer is not one JSON value ({error}), but: {said}")
        })
    }
}

/// Where a redirect leads, if that is of the same origin.
fn within(origin: &str, from: &str, location: &str) -> Option<String> {
    let location = location.split('#').next().unwrap_or_default();
    if location.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\') {
        return None;
    }
    let rest = if location.split_once("://").is_some_and(|(scheme, _)| !scheme.contains(['/', '?'])) {
        let known = location.get(..origin.len()).filter(|start| start.eq_ignore_ascii_case(origin))?;
        location.get(known.len()..)?
    } else if location.starts_with("//") {
        let host = origin.split_once("://").map_or(origin, |(_, host)| host);
        let after = location.get(2..)?;
        let known = after.get(..host.len()).filter(|start| start.eq_ignore_ascii_case(host))?;
        after.get(known.len()..)?
    } else if location.starts_with(['/', '?']) || location.is_empty() {
        let path = from.split('?').next().unwrap_or_default();
        return Some(if location.starts_with('?') {
            format!("{path}{location}")
        } else {
            format!("{origin}{location}")
        });
    } else {
        let path = from.split('?').next().unwrap_or_default();
        let folder = path.rsplit_once('/').map_or(origin, |(folder, _)| folder);
        return (folder.len() >= origin.len()).then(|| format!("{folder}/{location}"));
    };
    (rest.is_empty() || rest.starts_with(['/', '?'])).then(|| format!("{origin}{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_stay_within_the_origin() {
        let lead = |location: &str| within("http://h:80", "http://h:80/a/b?c=d", location);
        for (location, url) in [
            ("/x", "http://h:80/x"),
            ("x?y=z#f", "http://h:80/a/x?y=z"),
            ("?y", "http://h:80/a/b?y"),
            ("http://H:80/x", "http://h:80/x"),
            ("HTTP://h:80", "http://h:80"),
            ("//h:80/x", "http://h:80/x"),
        ] {
            assert_eq!(lead(location).as_deref(), Some(url), "{location}");
        }
        for location in [
            "https://h:80/x",
            "http://h/x",
            "http://h:80.evil/x",
            "http://h:80@evil/x",
            "//evil/x",
            "http://evil/",
            "/\\evil",
            "\\\\evil",
            "//h:8080/x",
            "/\t/evil",
            "javascript://h:80/",
        ] {
            assert_eq!(lead(location), None, "{location}");
        }
    }
}
