//! The one error type of mas.

use std::{borrow::Cow, fmt, time::Duration};

use serde::{Deserialize, Serialize};

/// The result of every fallible operation of a contract.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, in the terms a caller acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input is wrong; sending it again cannot help.
    Invalid,
    /// A name that nothing provides.
    NotFound,
    /// The other side does not do this.
    Unsupported,
    /// Credentials are missing or refused.
    Unauthenticated,
    /// Known caller, not allowed.
    Denied,
    /// Too many requests.
    RateLimited,
    /// The peer cannot be reached or is not ready.
    Unavailable,
    /// A deadline passed.
    Timeout,
    /// Stopped on purpose.
    Cancelled,
    /// The tree's budget of model calls or tokens is spent.
    Budget,
    /// A structural limit (depth, steps, calls in one answer) is reached.
    Limit,
    /// A delegation would come back to an agent of its own path.
    Loop,
    /// The peer executed and ended in failure.
    Failed,
    /// The peer refused the work.
    Rejected,
    /// The peer waits for a person.
    Interrupted,
    /// The state moved on: a compare-and-set lost, or a turn is already running.
    Conflict,
    /// A defect: a panic, or a broken invariant.
    Internal,
}

impl ErrorKind {
    /// The word used in codes, JSON and logs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::NotFound => "not_found",
            Self::Unsupported => "unsupported",
            Self::Unauthenticated => "unauthenticated",
            Self::Denied => "denied",
            Self::RateLimited => "rate_limited",
            Self::Unavailable => "unavailable",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::Budget => "budget",
            Self::Limit => "limit",
            Self::Loop => "loop",
            Self::Failed => "failed",
            Self::Rejected => "rejected",
            Self::Interrupted => "interrupted",
            Self::Conflict => "conflict",
            Self::Internal => "internal",
        }
    }
}

/// What is known about whether the peer executed the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// Nothing left this side. May be sent again, once, by the rule that names it.
    #[default]
    NotSent,
    /// An answer proves that nothing was executed. May be sent again, once, by the rule that names it.
    Rejected,
    /// It may have been executed. Sent again only where the backend deduplicates by message id.
    Unknown,
    /// The peer executed it and answered.
    Answered,
}

/// Whether and when trying again makes sense.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Retry {
    /// Nothing is known.
    #[default]
    Unstated,
    /// The same request fails again.
    Never,
    /// After a pause of the caller's choice.
    Backoff,
    /// Not before this long, as the peer said.
    After(Duration),
}

/// An error: kind, code, message, delivery, retry advice, context pairs and causes.
///
/// `Display` is one line without the causes; `{:#}` appends them. Neither ever holds a secret, because
/// whoever builds an error puts no secret in.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Inner {
    kind: ErrorKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<Cow<'static, str>>,
    message: String,
    #[serde(default)]
    delivery: Delivery,
    #[serde(default)]
    retry: Retry,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    context: Vec<(Cow<'static, str>, String)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    causes: Vec<String>,
}

impl Error {
    /// An error of `kind`, [`Delivery::NotSent`], [`Retry::Unstated`].
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            code: None,
            message: message.into(),
            delivery: Delivery::default(),
            retry: Retry::default(),
            context: Vec::new(),
            causes: Vec::new(),
        }))
    }

    /// [`ErrorKind::Invalid`].
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// [`ErrorKind::Internal`].
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// Names the error more closely than its kind does, as `mas::<area>::<name>`.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<Cow<'static, str>>) -> Self {
        self.0.code = Some(code.into());
        self
    }

    /// Says what is known about execution.
    #[must_use]
    pub fn with_delivery(mut self, delivery: Delivery) -> Self {
        self.0.delivery = delivery;
        self
    }

    /// Says when trying again makes sense.
    #[must_use]
    pub fn with_retry(mut self, retry: Retry) -> Self {
        self.0.retry = retry;
        self
    }

    /// Adds a pair such as `peer = fares`; never a secret.
    #[must_use]
    pub fn with(mut self, key: impl Into<Cow<'static, str>>, value: impl fmt::Display) -> Self {
        self.0.context.push((key.into(), value.to_string()));
        self
    }

    /// Adds an underlying error, outermost first.
    #[must_use]
    pub fn caused_by(mut self, cause: impl fmt::Display) -> Self {
        self.0.causes.push(cause.to_string());
        self
    }

    /// The same error with other words: `change` is given the message, each value of the context and each cause.
    #[must_use]
    pub fn reworded(mut self, change: impl Fn(&str) -> String) -> Self {
        self.0.message = change(&self.0.message);
        self.0.context.iter_mut().for_each(|(_, value)| *value = change(value));
        self.0.causes.iter_mut().for_each(|cause| *cause = change(cause));
        self
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The code: the one given, else `mas::run::<kind>`.
    #[must_use]
    pub fn code(&self) -> Cow<'_, str> {
        match &self.0.code {
            Some(code) => Cow::Borrowed(code),
            None => Cow::Owned(format!("mas::run::{}", self.0.kind.as_str())),
        }
    }

    /// One sentence for a person.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What is known about execution.
    #[must_use]
    pub fn delivery(&self) -> Delivery {
        self.0.delivery
    }

    /// When trying again makes sense.
    #[must_use]
    pub fn retry(&self) -> Retry {
        self.0.retry
    }

    /// The context pairs, in the order they were added.
    pub fn context(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.context.iter().map(|(key, value)| (key.as_ref(), value.as_str()))
    }

    /// The underlying errors, outermost first.
    #[must_use]
    pub fn causes(&self) -> &[String] {
        &self.0.causes
    }

    /// Whether sending the request again cannot execute it twice.
    #[must_use]
    pub fn may_resend(&self) -> bool {
        matches!(self.0.delivery, Delivery::NotSent | Delivery::Rejected)
    }
}

impl PartialEq for Error {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        if f.alternate() {
            for cause in &self.0.causes {
                write!(f, ": {cause}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}, {:?}]", self.0.message, self.code(), self.0.delivery)?;
        for (key, value) in &self.0.context {
            write!(f, " {key}={value}")?;
        }
        for cause in &self.0.causes {
            write!(f, ": {cause}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
