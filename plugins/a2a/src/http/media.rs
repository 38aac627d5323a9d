//! Media types of requests and answers (A2A v1.0, sections 9.1 and 11.1).

use http::{HeaderMap, HeaderValue, header};

use crate::model::{Failure, Reason};

/// A media type of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Json {
    /// `application/json`.
    Plain,
    /// `application/a2a+json`.
    A2a,
}

impl Json {
    /// The value of `Content-Type`.
    pub(super) fn content_type(self) -> HeaderValue {
        HeaderValue::from_static(self.name())
    }

    fn name(self) -> &'static str {
        match self {
            Self::Plain => "application/json",
            Self::A2a => "application/a2a+json",
        }
    }
}

/// What a body is said to be; none where nothing is said, which is taken for JSON.
///
/// # Errors
/// [`Reason::UnsupportedMediaType`] for anything but JSON, and for a body that is coded.
pub(super) fn of_body(headers: &HeaderMap) -> Result<Option<Json>, Failure> {
    let coded = headers.get(header::CONTENT_ENCODING).is_some_and(|coding| coding != "identity");
    if coded {
        let message = "the body is coded (`Content-Encoding`); send it as it is";
        return Err(Failure::new(Reason::UnsupportedMediaType, message));
    }
    let Some(value) = headers.get(header::CONTENT_TYPE) else { return Ok(None) };
    let json = value.to_str().ok().and_then(|value| named(essence(value)));
    json.map(Some).ok_or_else(|| {
        let message = "the body has to be `application/json` or `application/a2a+json`";
        Failure::new(Reason::UnsupportedMediaType, message)
    })
}

/// What the caller takes, as far as it says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Taken {
    /// Which JSON it names.
    pub(super) named: Option<Json>,
}

/// What the caller takes (`Accept`).
///
/// # Errors
/// [`Reason::NotAcceptable`] when it takes neither JSON nor events.
pub(super) fn taken(headers: &HeaderMap) -> Result<Taken, Failure> {
    let mut accept = headers.get_all(header::ACCEPT).iter().peekable();
    if accept.peek().is_none() {
        return Ok(Taken::default());
    }
    let mut fits = false;
    let mut taken = Taken::default();
    for range in accept.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')) {
        if refused(range) {
            continue;
        }
        let range = essence(range);
        if let Some(json) = named(range) {
            fits = true;
            taken.named = taken.named.or(Some(json));
        }
        let known = ["*/*", "application/*", "text/*", "text/event-stream"];
        fits |= range.is_empty() || known.iter().any(|it| range.eq_ignore_ascii_case(it));
    }
    if fits {
        return Ok(taken);
    }
    let message = "`Accept` has neither `application/json`, `application/a2a+json` nor `text/event-stream`";
    Err(Failure::new(Reason::NotAcceptable, message))
}

/// A media type without its parameters.
fn essence(value: &str) -> &str {
    value.split_once(';').map_or(value, |(essence, _)| essence).trim()
}

/// Whether a range of `Accept` has the weight 0.
fn refused(range: &str) -> bool {
    range.split(';').skip(1).any(|parameter| {
        let weight = parameter.trim().strip_prefix("q=").or_else(|| parameter.trim().strip_prefix("Q="));
        weight.and_then(|weight| weight.trim().parse::<f32>().ok()).is_some_and(|weight| weight <= 0.0)
    })
}

fn named(essence: &str) -> Option<Json> {
    [Json::Plain, Json::A2a].into_iter().find(|json| essence.eq_ignore_ascii_case(json.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &header::HeaderName, values: &[&str]) -> HeaderMap {
        values.iter().map(|value| (name.clone(), HeaderValue::from_str(value).unwrap())).collect()
    }

    #[test]
    fn the_type_of_a_body_is_matched_without_case_and_parameters() {
        let of = |value: &str| of_body(&headers(&header::CONTENT_TYPE, &[value])).map_err(|it| it.reason);
        for plain in
            ["application/json", "application/json; charset=UTF-8", "Application/JSON", " application/json;x"]
        {
            assert_eq!(of(plain), Ok(Some(Json::Plain)), "{plain}");
        }
        assert_eq!(of("application/a2a+json"), Ok(Some(Json::A2a)));
        for wrong in ["text/plain", "", "application/jsonp", "application/vnd.x+json"] {
            assert_eq!(of(wrong), Err(Reason::UnsupportedMediaType), "{wrong}");
        }
        assert_eq!(of_body(&HeaderMap::new()), Ok(None));
        assert!(of_body(&headers(&header::CONTENT_ENCODING, &["gzip"])).is_err());
        assert!(of_body(&headers(&header::CONTENT_ENCODING, &["identity"])).is_ok());
    }

    #[test]
    fn a_caller_takes_what_it_names() {
        let of = |values: &[&str]| taken(&headers(&header::ACCEPT, values)).map(|it| it.named);
        assert_eq!(of(&[]), Ok(None));
        assert_eq!(of(&["*/*"]), Ok(None));
        assert_eq!(of(&["text/event-stream"]), Ok(None));
        assert_eq!(of(&["application/json, text/event-stream"]), Ok(Some(Json::Plain)));
        assert_eq!(of(&["text/html", "application/A2A+json;q=0.5"]), Ok(Some(Json::A2a)));
        for wrong in ["text/html", "application/json;q=0", "application/json; q=0.0, image/png"] {
            assert_eq!(of(&[wrong]).map_err(|it| it.reason), Err(Reason::NotAcceptable), "{wrong}");
        }
    }
}
