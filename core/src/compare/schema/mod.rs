//! How one schema differs from another, in words: fields, types, cases, rules and descriptions.

mod change;
mod view;
mod walk;

pub use change::SchemaChange;
pub use walk::schema_changes;
