//! What an agent says of the kinds of response that it offers.

use mas_contracts::{Delivery, Error, ErrorKind, Result, Retry};
use serde_json::Value;

use crate::kind::ResponseKind;

/// The kinds that an agent offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    kinds: Vec<String>,
}

impl Default for Profile {
    /// That of an agent without one: messages only.
    fn default() -> Self {
        Self { kinds: vec![ResponseKind::Message.as_str().to_owned()] }
    }
}

impl Profile {
    /// Reads the `a2a_profile` of an agent; null is that of an agent without one.
    ///
    /// # Errors
    /// `mas::platform::profile_invalid` unless it is of the extension `uri`, offers messages and has them as its
    /// default.
    pub fn read(profile: &Value, uri: &str) -> Result<Self> {
        if profile.is_null() {
            return Ok(Self::default());
        }
        let refused = |what: String| {
            Error::new(ErrorKind::Failed, format!("the A2A profile of the agent {what}; nothing was sent"))
                .with_code("mas::platform::profile_invalid")
                .with_retry(Retry::Never)
        };
        let field = |name: &str| profile.get(name);
        if field("response_kind_extension_uri").and_then(Value::as_str) != Some(uri) {
            return Err(refused(format!("is not of the extension `{uri}`")));
        }
        let listed = field("supported_response_kinds").and_then(Value::as_array);
        let listed = listed.and_then(|kinds| kinds.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
        let Some(listed) = listed else { return Err(refused("lists no kinds of response".to_owned())) };
        let mut kinds: Vec<String> = Vec::new();
        for kind in listed {
            if !kinds.iter().any(|known| known == kind) {
                kinds.push(kind.to_owned());
            }
        }
        let profile = Self { kinds };
        let message = ResponseKind::Message.as_str();
        let default = field("default_response_kind").and_then(Value::as_str);
        if !profile.offers(ResponseKind::Message) || default != Some(message) {
            return Err(refused("does not have messages as its default".to_owned()));
        }
        Ok(profile)
    }

    /// Whether a kind is offered.
    #[must_use]
    pub fn offers(&self, kind: ResponseKind) -> bool {
        self.kinds.iter().any(|known| known == kind.as_str())
    }

    /// The kinds, each once, as they were listed.
    #[must_use]
    pub fn kinds(&self) -> &[String] {
        &self.kinds
    }

    /// Checks that a kind is offered.
    ///
    /// # Errors
    /// `mas::platform::response_kind_unsupported`.
    pub fn check(&self, kind: ResponseKind) -> Result<()> {
        if self.offers(kind) {
            return Ok(());
        }
        let text = format!(
            "the response kind `{kind}` is not advertised by the agent, which offers {}; nothing was sent",
            self.kinds.join(", ")
        );
        Err(Error::new(ErrorKind::Unsupported, text)
            .with_code("mas::platform::response_kind_unsupported")
            .with_delivery(Delivery::NotSent)
            .with_retry(Retry::Never))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const URI: &str = "https://mainsequence.ai/a2a/extensions/response-kind/v1";

    fn profile(uri: &str, kinds: &Value, default: &str) -> Result<Profile> {
        let profile = json!({
            "response_kind_extension_uri": uri, "supported_response_kinds": kinds, "default_response_kind": default,
        });
        Profile::read(&profile, URI)
    }

    #[test]
    fn a_profile_lists_kinds_once_and_has_messages_as_its_default() {
        let both = profile(URI, &json!(["message", "task", "message", "later"]), "message").unwrap();
        assert_eq!(both.kinds(), ["message", "task", "later"]);
        assert!(both.check(ResponseKind::Task).is_ok());
        let only = Profile::read(&Value::Null, URI).unwrap();
        assert!(only.check(ResponseKind::Message).is_ok());
        let error = only.check(ResponseKind::Task).unwrap_err();
        assert!(error.message().contains("is not advertised"), "{error}");
        for (uri, kinds, default) in [
            ("urn:other", json!(["message"]), "message"),
            (URI, json!(["task"]), "message"),
            (URI, json!(["message", "task"]), "task"),
            (URI, json!([]), "message"),
            (URI, json!("message"), "message"),
            (URI, json!(["message", 1]), "message"),
        ] {
            assert_eq!(profile(uri, &kinds, default).unwrap_err().code(), "mas::platform::profile_invalid");
        }
        assert!(Profile::read(&json!({}), URI).is_err());
    }
}
