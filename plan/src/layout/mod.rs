//! Drawings of plans, for people and for snapshots: a text tree, Mermaid, DOT and JSON, all read from the graph.

mod dot;
mod forms;
mod json;
mod lines;
mod mermaid;
mod of_plan;
mod painter;
mod picture;
mod sources;
mod text;
mod tree;
mod words;

#[cfg(test)]
mod tests;

pub use forms::Layout;
pub use lines::Lines;
pub use picture::{Arrow, BoxId, End, GroupId, Item, Picture, Shape, State};
pub use tree::Drawing;
