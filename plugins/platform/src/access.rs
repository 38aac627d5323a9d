//! Access to the runtime of a session, as the platform answers.

use std::{fmt, time::Duration};

use jiff::{Timestamp, civil::DateTime, tz::Offset};
use mas_comm_kit::Secret;
use mas_contracts::{Delivery, Error, ErrorKind, Result, Retry};
use serde_json::{Map, Value};

/// The code of the error for an answer that is not as the contract has it.
pub(crate) const INVALID: &str = "mas::platform::access_invalid";

/// Access as it was answered. What is not used here is kept; Debug shows no token.
#[derive(Clone)]
pub(crate) struct RuntimeAccess {
    /// `token`, `unavailable`, or a word of later days.
    pub(crate) mode: String,
    /// Where the runtime is; opaque.
    pub(crate) rpc_url: Option<String>,
    /// What the runtime is shown, without the white space around it.
    pub(crate) token: Option<Secret>,
    /// When it ends, since the Unix epoch.
    pub(crate) ends: Option<Duration>,
    /// What it says to a person.
    pub(crate) detail: Option<String>,
    /// Whether a message may be sent.
    pub(crate) interaction: Interaction,
    /// How the runtime is, for a person only.
    pub(crate) phase: Option<String>,
    /// The service that runs, for a person only.
    pub(crate) service: Option<String>,
    /// All of it.
    pub(crate) received: Map<String, Value>,
}

/// Whether a message may be sent, and why not.
#[derive(Clone, Debug)]
pub(crate) struct Interaction {
    /// An open set; never what decides that a message is sent.
    pub(crate) state: String,
    /// The only thing that decides it.
    pub(crate) can_submit: bool,
    /// When to ask again.
    pub(crate) retry_after: Option<Duration>,
    /// The title and the text of a notice for a person.
    pub(crate) notice: Option<(String, String)>,
}

impl RuntimeAccess {
    /// Reads an answer. Fields and words of later days are no error.
    ///
    /// # Errors
    /// [`INVALID`], with the field and never its value, for which may hold the token.
    pub(crate) fn read(received: Value) -> Result<Self> {
        let Value::Object(received) = received else { return Err(invalid("is no JSON object")) };
        let object = |name: &str| match received.get(name) {
            Some(Value::Object(object)) => Ok(object),
            _ => Err(invalid(&format!("has no object `{name}`"))),
        };
        let interaction = interaction(object("runtime_interaction")?)?;
        let presence = object("runtime_presence")?;
        if let Some(Value::Object(drift)) = received.get("image_drift")
            && drift.get("requires_user_action").is_some_and(|it| !it.is_boolean())
        {
            return Err(invalid("has an `image_drift.requires_user_action` that is neither true nor false"));
        }
        let text = |name: &str| text_of(&received, name);
        let token = text("token")?.map(|token| Secret::new(token.trim()));
        let service = ["service_runtime_uid", "knative_service_runtime_uid", "coding_agent_service_uid"];
        Ok(Self {
            mode: text("mode")?.unwrap_or_else(|| "token".to_owned()),
            rpc_url: text("rpc_url")?,
            token,
            ends: text("expires_at")?.as_deref().and_then(moment),
            detail: text("detail")?.filter(|detail| !detail.trim().is_empty()),
            interaction,
            phase: text_of(presence, "phase").ok().flatten(),
            service: service.iter().find_map(|name| text(name).ok().flatten()),
            received,
        })
    }
}

impl fmt::Debug for RuntimeAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuntimeAccess")
            .field("mode", &self.mode)
            .field("interaction", &self.interaction)
            .finish_non_exhaustive()
    }
}

fn interaction(object: &Map<String, Value>) -> Result<Interaction> {
    let within = |field: &str| format!("has no sound `runtime_interaction.{field}`");
    let Some(can_submit) = object.get("can_submit").and_then(Value::as_bool) else {
        return Err(invalid(&within("can_submit")));
    };
    let retry_after = match object.get("retry_after_ms") {
        None | Some(Value::Null) => None,
        Some(value) => {
            let milliseconds = value.as_u64().ok_or_else(|| invalid(&within("retry_after_ms")))?;
            Some(Duration::from_millis(milliseconds))
        }
    };
    let notice = object.get("notice").and_then(Value::as_object).map(|notice| {
        let text = |name| notice.get(name).and_then(Value::as_str).unwrap_or_default().trim().to_owned();
        (text("title"), text("message"))
    });
    let state = text_of(object, "state").ok().flatten().ok_or_else(|| invalid(&within("state")))?;
    Ok(Interaction { state, can_submit, retry_after, notice })
}

/// The text of a field; null and absent are none.
fn text_of(object: &Map<String, Value>, name: &str) -> Result<Option<String>> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(invalid(&format!("has a `{name}` that is no text"))),
    }
}

/// A moment in ISO 8601, in UTC without an offset; what cannot be read is none.
fn moment(text: &str) -> Option<Duration> {
    let text = text.trim();
    let moment = text.parse::<Timestamp>().ok().or_else(|| {
        let civil: DateTime = text.parse().ok()?;
        Offset::UTC.to_timestamp(civil).ok()
    })?;
    // Before 1970 it is over as well.
    Some(Duration::try_from(moment.as_duration()).unwrap_or_default())
}

/// An answer of the platform that is not as the contract has it; nothing was sent to the runtime.
pub(crate) fn invalid(what: &str) -> Error {
    Error::new(
        ErrorKind::Failed,
        format!("the platform's answer about runtime access {what}; nothing was sent"),
    )
    .with_code(INVALID)
    .with_delivery(Delivery::NotSent)
    .with_retry(Retry::Never)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer() -> Value {
        json!({
            "coding_agent_service_uid": "service-1", "mode": "token", "rpc_url": "https://rt/", "token": " tok-1 ",
            "expires_at": "2026-01-01T00:05:00Z", "is_ready": false, "ready": "what", "detail": null,
            "runtime_interaction": {
                "state": "warning", "can_submit": true, "retry_after_ms": 1500, "operation": {"uid": "o"},
                "notice": {"code": "c", "severity": "info", "title": " Soon ", "message": "Wait."},
            },
            "runtime_presence": {"phase": "serving", "replicas": {"desired": null, "actual": 1}},
            "knative_service_runtime_uid": "runtime-1", "of_later_days": [1],
        })
    }

    fn with(field: &str, value: Value) -> Result<RuntimeAccess> {
        let mut answer = answer();
        match field.split_once('.') {
            Some((object, field)) => answer[object][field] = value,
            None => answer[field] = value,
        }
        RuntimeAccess::read(answer)
    }

    #[test]
    fn an_answer_is_read_and_what_is_of_later_days_kept() {
        let access = RuntimeAccess::read(answer()).unwrap();
        assert_eq!((&*access.mode, access.rpc_url.as_deref()), ("token", Some("https://rt/")));
        assert_eq!(access.token, Some(Secret::new("tok-1")));
        assert_eq!(access.ends, Some(Duration::from_secs(1_767_225_900)));
        assert_eq!(
            (access.phase.as_deref(), access.service.as_deref()),
            (Some("serving"), Some("runtime-1"))
        );
        let interaction = &access.interaction;
        assert_eq!((&*interaction.state, interaction.can_submit), ("warning", true));
        assert_eq!(interaction.retry_after, Some(Duration::from_millis(1500)));
        assert_eq!(interaction.notice, Some(("Soon".to_owned(), "Wait.".to_owned())));
        assert_eq!(access.received["of_later_days"], json!([1]));
        assert_eq!(
            with("service_runtime_uid", json!("runtime-2")).unwrap().service.as_deref(),
            Some("runtime-2")
        );
        assert_eq!(with("mode", Value::Null).unwrap().mode, "token");
        assert_eq!(
            with("runtime_interaction.state", json!("dreaming")).unwrap().interaction.state,
            "dreaming"
        );
        assert!(with("image_drift", json!({"requires_user_action": true})).is_ok());
        assert!(with("image_drift", Value::Null).is_ok());
    }

    #[test]
    fn moments_have_an_offset_or_are_utc_and_others_are_none() {
        let cases = [
            ("2026-01-01T00:00:10+00:00", Some(1_767_225_610)),
            ("2026-01-01T01:00:10.25+01:00", Some(1_767_225_610)),
            ("2026-01-01T00:00:10", Some(1_767_225_610)),
            ("2026-01-01 00:00:10", Some(1_767_225_610)),
            ("1960-01-01T00:00:00Z", Some(0)),
            ("soon", None),
            ("", None),
        ];
        for (text, seconds) in cases {
            let read = with("expires_at", json!(text)).unwrap().ends;
            assert_eq!(read.map(|ends| ends.as_secs()), seconds, "{text}");
        }
    }

    #[test]
    fn what_is_not_as_the_contract_has_it_is_refused_without_the_token() {
        let cases = [
            ("runtime_interaction", Value::Null),
            ("runtime_interaction", json!("tok-1")),
            ("runtime_interaction.can_submit", Value::Null),
            ("runtime_interaction.can_submit", json!("true")),
            ("runtime_interaction.can_submit", json!(1)),
            ("runtime_interaction.retry_after_ms", json!(-1)),
            ("runtime_interaction.retry_after_ms", json!(1.5)),
            ("runtime_interaction.state", Value::Null),
            ("runtime_presence", Value::Null),
            ("image_drift", json!({"requires_user_action": null})),
            ("token", json!(["tok-1"])),
            ("rpc_url", json!(1)),
        ];
        for (field, value) in cases {
            let error = with(field, value.clone()).unwrap_err();
            assert_eq!(
                (error.code(), error.delivery()),
                (INVALID.into(), Delivery::NotSent),
                "{field} {value}"
            );
            assert!(!format!("{error:?}").contains("tok-1"), "{error:?}");
        }
        for body in [json!([]), json!("tok-1"), Value::Null] {
            assert!(RuntimeAccess::read(body).is_err());
        }
        assert!(!format!("{:?}", RuntimeAccess::read(answer()).unwrap()).contains("tok-1"));
    }
}
