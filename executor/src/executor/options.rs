//! The options of an executor and their builder.
#![expect(unreachable_pub, reason = "the mutator becomes a method of the builder, which is public")]

use super::{handle::Executor, live::Shared};
use crate::{clock::Clock, ledger::Ledger, runner::Runner, services::Services};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};
use typed_builder::TypedBuilder;

/// The options of an [`Executor`]; made with [`Executor::builder`].
#[derive(TypedBuilder)]
#[builder(
    build_method(into = Executor),
    mutators(
        /// Adds a runner that steps choose with `.runner(name)`.
        pub fn named_runner(&mut self, name: impl Into<String>, runner: impl Runner + 'static) {
            self.runners.insert(name.into(), Arc::new(runner));
        }
    )
)]
pub struct ExecutorOptions {
    /// The ledger that its runs are recorded in.
    ledger: Ledger,
    /// The runner of steps that name none.
    #[builder(default, setter(transform = |runner: impl Runner + 'static| Some(Arc::new(runner) as Arc<dyn Runner>)))]
    runner: Option<Arc<dyn Runner>>,
    #[builder(via_mutators)]
    runners: BTreeMap<String, Arc<dyn Runner>>,
    /// How many calls may be under way at once, over all runs. Default: 16.
    #[builder(default = 16)]
    concurrency: usize,
    /// Where the time of records comes from. Default: the system's clock.
    #[builder(default = Clock::system())]
    clock: Clock,
    /// How many attempts of one call may end with the process in a row before a person is asked, whatever the call's
    /// effect; `None` never asks. Default: 3.
    #[builder(default = Some(3))]
    crash_limit: Option<u32>,
    /// The directory from which the relative paths of plans count, such as the globs of `files(..)`. Default: the directory
    /// that the process is in when the executor is built.
    #[builder(default, setter(transform = |path: impl AsRef<Path>| path.as_ref().to_owned()))]
    base_dir: PathBuf,
}

impl From<ExecutorOptions> for Executor {
    fn from(options: ExecutorOptions) -> Self {
        let ExecutorOptions { ledger, runner, runners, concurrency, clock, crash_limit, base_dir } = options;
        // Without a current directory there is nothing better to go on with than the path itself.
        let base_dir = std::path::absolute(Path::new(".").join(&base_dir)).unwrap_or(base_dir);
        let services = Services::new(ledger, runner, runners, concurrency, clock, crash_limit, base_dir);
        Self { shared: Arc::new(Shared::new(services)) }
    }
}

impl Executor {
    /// Begins the options of an executor. Only the ledger is required.
    #[expect(clippy::type_complexity, reason = "typed-builder's own form of a builder with nothing set")]
    pub fn builder() -> ExecutorOptionsBuilder<((), (), (BTreeMap<String, Arc<dyn Runner>>,), (), (), (), ())>
    {
        ExecutorOptions::builder()
    }
}
