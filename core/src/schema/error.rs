//! What keeps values from being checked against a schema.

/// A schema that values cannot be checked against.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// The JSON is no schema at all.
    #[error("a schema is a JSON object or a boolean, but this is {found}")]
    NotASchema {
        /// What it is.
        found: String,
    },
    /// A reference to another document.
    #[error(
        "the schema refers to another document at `{place}`: `{reference}`; schemas are never fetched, so copy it into \
         `$defs` and refer to it as `#/$defs/Name`"
    )]
    Remote {
        /// Where in the schema, as a JSON pointer.
        place: String,
        /// The reference.
        reference: String,
    },
    /// A reference that leads nowhere.
    #[error("the schema's reference at `{place}` leads nowhere: `{reference}`; it defines: {known}")]
    Unresolved {
        /// Where in the schema, as a JSON pointer.
        place: String,
        /// The reference.
        reference: String,
        /// The names that are defined.
        known: String,
    },
    /// A keyword with content it may not have.
    #[error("the schema is invalid at `{place}`: {why}")]
    Invalid {
        /// Where in the schema, as a JSON pointer.
        place: String,
        /// What is wrong there.
        why: String,
    },
}
