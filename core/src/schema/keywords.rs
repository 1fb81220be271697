//! What each JSON Schema keyword holds: sub-schemas, lists whose order means something or nothing, words for readers.

use serde_json::{Map, Value};

/// What stands behind a keyword.
pub(super) enum Content<'s> {
    /// One schema.
    Schema(&'s Value),
    /// Schemas by position.
    Ordered(&'s [Value]),
    /// Schemas whose order means nothing.
    Unordered(&'s [Value]),
    /// Schemas by name.
    Named(&'s Map<String, Value>),
    /// Schemas that count only where they are referred to.
    Definitions(&'s Map<String, Value>),
    /// Values whose order means nothing.
    Set(&'s [Value]),
    /// One value where the same keyword may also hold a set of one.
    Single(&'s Value),
    /// `$ref`.
    Reference(&'s str),
    /// A reference that only a validator can follow.
    Dynamic(&'s str),
    /// `title`, a type's own name for schemars.
    Title(&'s Value),
    /// Descriptions and examples.
    Words(&'s Value),
    /// Says nothing about values.
    Nothing,
    /// Changes what other parts of the document mean, in ways not followed here.
    Rebasing,
    /// A value compared as it is.
    Plain(&'s Value),
}

/// The content of a keyword. What is malformed is compared as it is: validation refuses it elsewhere.
pub(super) fn content<'s>(keyword: &str, value: &'s Value) -> Content<'s> {
    match (keyword, value) {
        (
            "items"
            | "additionalItems"
            | "additionalProperties"
            | "contains"
            | "contentSchema"
            | "else"
            | "if"
            | "not"
            | "propertyNames"
            | "then"
            | "unevaluatedItems"
            | "unevaluatedProperties",
            Value::Object(_) | Value::Bool(_),
        ) => Content::Schema(value),
        ("items" | "prefixItems", Value::Array(list)) => Content::Ordered(list),
        ("allOf" | "anyOf" | "oneOf", Value::Array(list)) => Content::Unordered(list),
        ("properties" | "patternProperties" | "dependentSchemas", Value::Object(map)) => Content::Named(map),
        ("$defs" | "definitions", Value::Object(map)) => Content::Definitions(map),
        ("required" | "enum" | "type", Value::Array(list)) => Content::Set(list),
        ("const" | "type", value) => Content::Single(value),
        ("$ref", Value::String(reference)) => Content::Reference(reference),
        ("$dynamicRef" | "$recursiveRef", Value::String(reference)) => Content::Dynamic(reference),
        ("title", value) => Content::Title(value),
        ("description" | "examples" | "example", value) => Content::Words(value),
        ("$schema" | "$comment" | "$anchor" | "$dynamicAnchor" | "$vocabulary", _) => Content::Nothing,
        ("$id" | "id" | "dependencies" | "$recursiveAnchor", _) => Content::Rebasing,
        (_, value) => Content::Plain(value),
    }
}

/// The name under which a keyword's content is compared: `const: x` says the same as `enum: [x]`.
pub(super) fn compared_as(keyword: &str) -> &str {
    if keyword == "const" { "enum" } else { keyword }
}
