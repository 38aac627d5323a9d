//! The members of a card and what is in it, as the data model of v1.0 has them (section 4.4 and 4.5).

/// A member.
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) rule: Rule,
    pub(super) kind: Kind,
}

/// When a member is there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// Always, even if empty.
    Required,
    /// When it is set, even to its default.
    Optional,
    /// When it differs from its default.
    Plain,
}

/// What a member holds.
pub(super) enum Kind {
    Text,
    Flag,
    /// Any object.
    Free,
    Message(&'static [Field]),
    List(&'static Kind),
    /// Members by free names.
    Map(&'static Kind),
}

impl Kind {
    pub(super) fn words(&self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Flag => "true or false",
            Self::Free | Self::Message(_) | Self::Map(_) => "an object",
            Self::List(_) => "a list",
        }
    }
}

const fn required(name: &'static str, kind: Kind) -> Field {
    Field { name, rule: Rule::Required, kind }
}

const fn optional(name: &'static str, kind: Kind) -> Field {
    Field { name, rule: Rule::Optional, kind }
}

const fn plain(name: &'static str, kind: Kind) -> Field {
    Field { name, rule: Rule::Plain, kind }
}

const TEXTS: Kind = Kind::List(&Kind::Text);

/// The card.
pub(super) const CARD: &[Field] = &[
    required("name", Kind::Text),
    required("description", Kind::Text),
    required("supportedInterfaces", Kind::List(&Kind::Message(INTERFACE))),
    plain("provider", Kind::Message(PROVIDER)),
    required("version", Kind::Text),
    optional("documentationUrl", Kind::Text),
    required("capabilities", Kind::Message(CAPABILITIES)),
    plain("securitySchemes", Kind::Map(&Kind::Message(SCHEME))),
    plain("securityRequirements", REQUIREMENTS),
    required("defaultInputModes", TEXTS),
    required("defaultOutputModes", TEXTS),
    required("skills", Kind::List(&Kind::Message(SKILL))),
    optional("iconUrl", Kind::Text),
];

const INTERFACE: &[Field] = &[
    required("url", Kind::Text),
    required("protocolBinding", Kind::Text),
    plain("tenant", Kind::Text),
    required("protocolVersion", Kind::Text),
];

const PROVIDER: &[Field] = &[required("url", Kind::Text), required("organization", Kind::Text)];

const CAPABILITIES: &[Field] = &[
    optional("streaming", Kind::Flag),
    optional("pushNotifications", Kind::Flag),
    plain("extensions", Kind::List(&Kind::Message(EXTENSION))),
    optional("extendedAgentCard", Kind::Flag),
];

const EXTENSION: &[Field] = &[
    plain("uri", Kind::Text),
    plain("description", Kind::Text),
    plain("required", Kind::Flag),
    plain("params", Kind::Free),
];

const SKILL: &[Field] = &[
    required("id", Kind::Text),
    required("name", Kind::Text),
    required("description", Kind::Text),
    required("tags", TEXTS),
    plain("examples", TEXTS),
    plain("inputModes", TEXTS),
    plain("outputModes", TEXTS),
    plain("securityRequirements", REQUIREMENTS),
];

const REQUIREMENTS: Kind = Kind::List(&Kind::Message(REQUIREMENT));

const REQUIREMENT: &[Field] =
    &[plain("schemes", Kind::Map(&Kind::Message(const { &[plain("list", TEXTS)] })))];

const SCHEME: &[Field] = &[
    plain("apiKeySecurityScheme", Kind::Message(API_KEY)),
    plain("httpAuthSecurityScheme", Kind::Message(HTTP_AUTH)),
    plain("oauth2SecurityScheme", Kind::Message(OAUTH2)),
    plain("openIdConnectSecurityScheme", Kind::Message(OPEN_ID)),
    plain("mtlsSecurityScheme", Kind::Message(const { &[plain("description", Kind::Text)] })),
];

const API_KEY: &[Field] =
    &[plain("description", Kind::Text), required("location", Kind::Text), required("name", Kind::Text)];

const HTTP_AUTH: &[Field] =
    &[plain("description", Kind::Text), required("scheme", Kind::Text), plain("bearerFormat", Kind::Text)];

const OAUTH2: &[Field] = &[
    plain("description", Kind::Text),
    required("flows", Kind::Message(FLOWS)),
    plain("oauth2MetadataUrl", Kind::Text),
];

const OPEN_ID: &[Field] = &[plain("description", Kind::Text), required("openIdConnectUrl", Kind::Text)];

const SCOPES: Field = required("scopes", Kind::Map(&Kind::Text));

const FLOWS: &[Field] = &[
    plain("authorizationCode", Kind::Message(AUTHORIZATION_CODE)),
    plain("clientCredentials", Kind::Message(CLIENT_CREDENTIALS)),
    plain("implicit", Kind::Message(IMPLICIT)),
    plain("password", Kind::Message(PASSWORD)),
    plain("deviceCode", Kind::Message(DEVICE_CODE)),
];

const AUTHORIZATION_CODE: &[Field] = &[
    required("authorizationUrl", Kind::Text),
    required("tokenUrl", Kind::Text),
    plain("refreshUrl", Kind::Text),
    SCOPES,
    plain("pkceRequired", Kind::Flag),
];

const CLIENT_CREDENTIALS: &[Field] =
    &[required("tokenUrl", Kind::Text), plain("refreshUrl", Kind::Text), SCOPES];

const IMPLICIT: &[Field] = &[
    plain("authorizationUrl", Kind::Text),
    plain("refreshUrl", Kind::Text),
    plain("scopes", Kind::Map(&Kind::Text)),
];

const PASSWORD: &[Field] = &[
    plain("tokenUrl", Kind::Text),
    plain("refreshUrl", Kind::Text),
    plain("scopes", Kind::Map(&Kind::Text)),
];

const DEVICE_CODE: &[Field] = &[
    required("deviceAuthorizationUrl", Kind::Text),
    required("tokenUrl", Kind::Text),
    plain("refreshUrl", Kind::Text),
    SCOPES,
];
