//! The executor as programs see it: options, starting runs and waiting for them, and what people do to them.

mod budget;
mod cancel;
mod decide;
mod direct;
mod explain;
mod handle;
mod layout;
mod live;
mod options;
mod people;
mod preview;
mod refused;
mod run;
mod start;

pub use budget::Raising;
pub use cancel::Cancelling;
pub use decide::Deciding;
pub use direct::{Attempt, AttemptEnd, Directing};
pub use handle::Executor;
pub use layout::{RunLayout, run_layout};
pub use options::{ExecutorOptions, ExecutorOptionsBuilder};
pub use people::Answering;
pub use run::{Completed, Needs, Outcome, Run};
pub use start::Start;
