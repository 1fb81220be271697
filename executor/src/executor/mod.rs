//! The executor as programs see it: options, starting runs and waiting for them, and what people do to them.

mod handle;
mod layout;
mod live;
mod options;
mod people;
mod refused;
mod run;
mod start;

pub use handle::Executor;
pub(crate) use layout::graph_layout;
pub use layout::run_layout;
pub use options::{ExecutorOptions, ExecutorOptionsBuilder};
pub use people::{Answering, Deciding};
pub use run::{Completed, Needs, Outcome, Run};
pub use start::Start;
