//! Whether a message may be sent.
//!
//! | `can_submit` | state | decision |
//! |---|---|---|
//! | true | any | go, if there are an address and a token |
//! | false | `checking`, `starting`, `waking`, `updating` | ask again after `retry_after_ms`; not ready without it |
//! | false | any other, unknown ones too | blocked |

use std::time::Duration;

use mas_comm_kit::{Secret, Secrets};
use mas_contracts::{Error, ErrorKind, Retry};

use crate::{
    access::{Interaction, RuntimeAccess, invalid},
    address::Base,
};

/// The states that pass.
const TRANSIENT: [&str; 4] = ["checking", "starting", "waking", "updating"];

/// The shortest pause before the platform is asked again, so that an answer of 0 ms makes no storm.
const SHORTEST: Duration = Duration::from_millis(50);

/// Where a message goes, and what the runtime is shown.
#[derive(Clone, Debug)]
pub(crate) struct Grant {
    pub(crate) runtime: Base,
    pub(crate) token: Secret,
}

/// What becomes of a message.
#[derive(Debug)]
pub(crate) enum Admission {
    /// It may be sent.
    Go(Grant),
    /// The platform is asked again after this long.
    Wait(Duration),
    /// It may not.
    No(Error),
}

/// Decides by `can_submit` alone.
pub(crate) fn decide(access: &RuntimeAccess, allow_http: bool) -> Admission {
    let interaction = &access.interaction;
    if interaction.can_submit {
        return match grant(access, allow_http) {
            Ok(grant) => Admission::Go(grant),
            Err(error) => Admission::No(error),
        };
    }
    if !TRANSIENT.contains(&&*interaction.state) {
        return Admission::No(blocked(access));
    }
    match interaction.retry_after {
        Some(pause) => Admission::Wait(pause.max(SHORTEST)),
        None => {
            let why = "and the platform does not say when to ask again";
            Admission::No(not_ready(interaction, why, Retry::Backoff))
        }
    }
}

fn grant(access: &RuntimeAccess, allow_http: bool) -> Result<Grant, Error> {
    if access.mode != "token" {
        return Err(invalid("lets a message be sent, but its `mode` is not `token`"));
    }
    let token = access.token.clone().filter(|token| !token.reveal().is_empty());
    let Some(token) = token else { return Err(invalid("lets a message be sent, but has no `token`")) };
    let url = access.rpc_url.as_deref().filter(|url| !url.trim().is_empty());
    let Some(url) = url else { return Err(invalid("lets a message be sent, but has no `rpc_url`")) };
    let runtime =
        Base::read(url, allow_http).map_err(|why| invalid(&format!("has an `rpc_url` that {why}")))?;
    Ok(Grant { runtime, token })
}

/// The error for a session that nothing is sent to before somebody does something.
fn blocked(access: &RuntimeAccess) -> Error {
    let interaction = &access.interaction;
    let mut text = "Coding-agent runtime access is unavailable.".to_owned();
    for more in access.detail.iter().map(|detail| detail.trim()).chain(notice(interaction)) {
        text.extend([" ", more]);
    }
    text.push_str(&format!(" Nothing was sent; the state is `{}`", interaction.state));
    let mut secrets = Secrets::new();
    access.token.iter().for_each(|token| secrets.add(token.clone()));
    Error::new(ErrorKind::Unavailable, secrets.scrub(&text))
        .with_code("mas::platform::submission_blocked")
        .with_retry(Retry::Never)
        .with("state", &interaction.state)
}

fn notice(interaction: &Interaction) -> impl Iterator<Item = &str> {
    let notice = interaction.notice.iter().flat_map(|(title, message)| [&**title, &**message]);
    notice.filter(|text| !text.is_empty())
}

/// The error for a session that is not ready yet: nothing was sent.
pub(crate) fn not_ready(interaction: &Interaction, why: &str, retry: Retry) -> Error {
    let notice: Vec<&str> = notice(interaction).collect();
    let notice = if notice.is_empty() { String::new() } else { format!(" ({})", notice.join(" ")) };
    let text = format!(
        "the runtime of the session is not ready: it is `{}`{notice}, {why}; nothing was sent, so send it again later, or allow it more time",
        interaction.state
    );
    Error::new(ErrorKind::Unavailable, text)
        .with_code(NOT_READY)
        .with_retry(retry)
        .with("state", &interaction.state)
}

/// The code of [`not_ready`].
pub(crate) const NOT_READY: &str = "mas::platform::not_ready";

#[cfg(test)]
mod tests {
    use mas_contracts::Delivery;
    use serde_json::{Value, json};

    use super::*;

    fn decided(can_submit: bool, state: &str, retry_after_ms: Option<u64>, patch: &Value) -> Admission {
        let mut answer = json!({
            "mode": "token", "rpc_url": "https://rt/x/", "token": "tok-1", "detail": "It said tok-1.",
            "runtime_interaction": {"state": state, "can_submit": can_submit, "retry_after_ms": retry_after_ms},
            "runtime_presence": {},
        });
        let patch = patch.as_object().cloned().unwrap_or_default();
        answer.as_object_mut().unwrap().extend(patch);
        decide(&RuntimeAccess::read(answer).unwrap(), false)
    }

    #[test]
    fn can_submit_alone_lets_a_message_go() {
        for state in ["ready", "warning", "waking", "unavailable", "dreaming"] {
            let Admission::Go(grant) = decided(true, state, None, &json!({"is_ready": false})) else {
                panic!("{state}");
            };
            assert_eq!((grant.runtime.as_str(), grant.token.reveal()), ("https://rt/x", "tok-1"));
        }
        for state in ["ready", "warning", "unavailable", "update_required", "update_failed", "dreaming", ""] {
            let Admission::No(error) = decided(false, state, Some(1500), &json!({"is_ready": true})) else {
                panic!("{state}");
            };
            assert_eq!(error.code(), "mas::platform::submission_blocked", "{state}");
            assert_eq!((error.delivery(), error.retry()), (Delivery::NotSent, Retry::Never));
        }
    }

    #[test]
    fn transient_states_wait_as_long_as_they_say_and_never_in_a_storm() {
        for state in TRANSIENT {
            for (ms, pause) in [(1500, 1500), (50, 50), (49, 50), (0, 50)] {
                let Admission::Wait(given) = decided(false, state, Some(ms), &json!({})) else {
                    panic!("{state}")
                };
                assert_eq!(given, Duration::from_millis(pause));
            }
            let Admission::No(error) = decided(false, state, None, &json!({})) else { panic!("{state}") };
            assert_eq!(
                (error.code(), error.delivery()),
                (NOT_READY.into(), Delivery::NotSent),
                "no invented cadence"
            );
        }
    }

    #[test]
    fn a_go_without_an_address_or_a_token_is_no_go() {
        for patch in [
            json!({"mode": "unavailable"}),
            json!({"token": null}),
            json!({"token": "  "}),
            json!({"rpc_url": null}),
            json!({"rpc_url": " "}),
            json!({"rpc_url": "http://elsewhere"}),
            json!({"rpc_url": "https://rt/?token=tok-1"}),
            json!({"rpc_url": "https://tok-1@rt/"}),
        ] {
            let Admission::No(error) = decided(true, "ready", None, &patch) else { panic!("{patch}") };
            assert_eq!(error.code(), crate::access::INVALID, "{patch}");
            assert!(!format!("{error:?}").contains("tok-1"), "{error:?}");
        }
    }

    #[test]
    fn what_blocks_is_told_without_the_token() {
        let notice = json!({"notice": {"title": "Update needed", "message": "Press the button."}});
        let mut patch = json!({"runtime_interaction": {"state": "update_required", "can_submit": false}});
        patch["runtime_interaction"]["notice"] = notice["notice"].clone();
        let Admission::No(error) = decided(false, "", None, &patch) else { panic!() };
        assert_eq!(
            error.message(),
            "Coding-agent runtime access is unavailable. It said ***. Update needed Press the button. \
             Nothing was sent; the state is `update_required`"
        );
    }
}
