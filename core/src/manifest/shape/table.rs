//! The vocabulary of shapes.

/// What a value may be.
#[derive(Debug)]
pub(crate) enum Shape {
    /// Anything.
    Any,
    /// A string; numbers and booleans count with their source text.
    Text,
    /// A string that is not blank.
    Name,
    /// A string that matches a rule; the rule's name is shown.
    Ruled(Rule),
    /// A whole number within bounds.
    Int(i64, i64),
    /// A number within bounds.
    Number(f64, f64),
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list.
    List(&'static Shape),
    /// A list with at least one item.
    Filled(&'static Shape),
    /// A map with free keys.
    MapOf(&'static Shape),
    /// A map with these keys.
    Record(&'static Fields),
    /// Nothing, or the shape.
    Maybe(&'static Shape),
    /// The first alternative whose outer type fits: a scalar, a list or a map.
    Either(&'static [Shape]),
}

/// A named rule for strings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// What a fitting text is, as in "expected {what}".
    pub(crate) what: &'static str,
    /// Whether a text fits.
    pub(crate) fits: fn(&str) -> bool,
    /// The same as a regular expression, for schemas.
    pub(crate) pattern: &'static str,
    /// Scalars beside strings whose source text may fit, as schemas name their types; `integer` is one from 0.
    pub(crate) plain: &'static [&'static str],
}

/// The keys of a map.
#[derive(Debug)]
pub(crate) struct Fields {
    /// The keys.
    pub(crate) fields: &'static [Field],
    /// Whether other keys are free.
    pub(crate) open: bool,
}

/// One key of a map.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) required: bool,
}

/// A key that may be absent.
pub(crate) const fn may(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, required: false }
}

/// A key that must be there.
pub(crate) const fn must(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, required: true }
}

/// A map with exactly these keys.
pub(crate) const fn closed(fields: &'static [Field]) -> Fields {
    Fields { fields, open: false }
}

/// A map that knows these keys and takes others too.
pub(crate) const fn open(fields: &'static [Field]) -> Fields {
    Fields { fields, open: true }
}
