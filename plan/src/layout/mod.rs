//! Drawings of plans, for people and for snapshots: a text tree, Mermaid and DOT, all read from the graph.

mod dot;
mod forms;
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
pub use tree::Drawing;
