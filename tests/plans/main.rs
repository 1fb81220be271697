//! Twelve plans as their users would write them: each run with a scripted runner, killed at random and resumed, failed and
//! retried, and drawn. One file a plan: first the plan, then who answers it, then what is expected of it.

mod blog;
mod configured;
mod deploy;
mod documents;
#[path = "../support/drawing.rs"]
mod drawing;
mod drive;
mod generic;
mod issue_tree;
mod left;
mod migrate;
mod pull_request;
mod research;
mod tickets;
mod tournament;
mod until_dry;
