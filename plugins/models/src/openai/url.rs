//! Where a chat call goes.

use mas_contracts::{Error, Result};

const CHAT: &str = "/chat/completions";

/// The URL of a chat call for a base address: one that ends in `/chat/completions` as it is; one without a path
/// gets `/v1/chat/completions`; any other gets `/chat/completions`. A query stays.
///
/// # Errors
/// For an address that is not `http://` or `https://` with a host, or has a fragment.
pub(super) fn chat_url(base: &str) -> Result<String> {
    let wrong = |why: &str| {
        Error::invalid(format!(
            "`api_base` {why}: `http://HOST`, `https://HOST/v1` or the whole address of the call"
        ))
        .with_code("mas::params::invalid")
    };
    let base = base.trim();
    if base.contains('#') {
        return Err(wrong("has a fragment"));
    }
    let (address, query) = match base.split_once('?') {
        Some((address, query)) => (address, Some(query)),
        None => (base, None),
    };
    let Some((scheme, rest)) = address.split_once("://") else { return Err(wrong("is no URL")) };
    if !matches!(scheme, "http" | "https") {
        return Err(wrong("is neither http nor https"));
    }
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    if host.is_empty() {
        return Err(wrong("names no host"));
    }
    let path = path.trim_end_matches('/');
    let path = match path {
        whole if whole.ends_with(CHAT) => whole.to_owned(),
        "" => format!("/v1{CHAT}"),
        other => format!("{other}{CHAT}"),
    };
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    Ok(format!("{scheme}://{host}{path}{query}"))
}

/// Whether the host is Azure's, which takes the key in a header of its own.
pub(super) fn is_azure(url: &str) -> bool {
    let host =
        url.split("://").nth(1).and_then(|rest| rest.split(['/', ':', '?']).next()).unwrap_or_default();
    let host = host.to_ascii_lowercase();
    [".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com"]
        .iter()
        .any(|end| host.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r73_a_base_with_or_without_v1() {
        let cases = [
            ("http://h", "http://h/v1/chat/completions"),
            ("http://h/", "http://h/v1/chat/completions"),
            ("http://h:8080/v1", "http://h:8080/v1/chat/completions"),
            ("http://h/v1/", "http://h/v1/chat/completions"),
            ("https://h/api/v3", "https://h/api/v3/chat/completions"),
            ("https://h/v1/chat/completions", "https://h/v1/chat/completions"),
            ("https://h/v1/chat/completions/?a=b", "https://h/v1/chat/completions?a=b"),
            (
                "https://x.openai.azure.com/openai/deployments/d?api-version=1",
                "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=1",
            ),
        ];
        for (base, url) in cases {
            assert_eq!(chat_url(base).as_deref(), Ok(url), "{base}");
        }
        for wrong in ["", "h/v1", "ftp://h", "http:///v1", "http://h#x"] {
            assert!(chat_url(wrong).is_err(), "{wrong}");
        }
        assert!(is_azure("https://x.openai.azure.com:443/openai"));
        assert!(is_azure("https://X.OpenAI.Azure.com/openai"));
        assert!(!is_azure("https://x.openai.azure.com.evil.example/"));
    }
}
