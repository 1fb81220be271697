//! Differences in words: of texts, lists, JSON values and schemas. Pure; what is compared, and why, is for others.

mod json;
mod list;
mod schema;
mod text;

#[cfg(test)]
mod tests;

pub use json::{JsonChange, json_changes};
pub use list::{ListChange, list_change};
pub use schema::{SchemaChange, schema_changes};
pub use text::{TextChange, printable, text_change};
