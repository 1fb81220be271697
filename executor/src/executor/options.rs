//! The options of an executor and their builder.
#![expect(unreachable_pub, reason = "the mutator becomes a method of the builder, which is public")]

use super::{handle::Executor, live::Shared};
use crate::{
    clock::Clock,
    ledger::Ledger,
    runner::Runner,
    services::{Services, Setup},
    stand_in::StandIn,
    templates::{TemplateFiles, TemplateLoader, from_folder},
};
use std::{
    collections::BTreeMap,
    fmt::Display,
    path::{self, PathBuf},
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

        /// Reads the files of `Template::file(path)` from this folder: each once, when this executor is first given a
        /// plan that uses it. An executor made later reads it anew.
        pub fn templates(&mut self, folder: impl Into<PathBuf>) {
            self.loader = Some(from_folder(folder.into()));
        }

        /// Gives the sources of `Template::file(path)`, asked for once each while a run is being started, so it should not
        /// wait. Of this and `.templates(folder)` the one
        /// given last counts.
        pub fn template_loader<E: Display>(
            &mut self,
            loader: impl Fn(&str) -> Result<String, E> + Send + Sync + 'static,
        ) {
            self.loader = Some(Arc::new(move |path: &str| loader(path).map_err(|error| error.to_string())));
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
    #[builder(via_mutators)]
    loader: Option<TemplateLoader>,
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
    /// The directory from which the relative paths of plans count: the globs of `files(..)`, the directories that commands
    /// work in. A relative one is one from the directory that this process is in when the executor is built. Default: that
    /// directory.
    #[builder(default, setter(transform = |directory: impl Into<PathBuf>| directory.into()))]
    base_dir: PathBuf,
}

impl From<ExecutorOptions> for Executor {
    fn from(options: ExecutorOptions) -> Self {
        let ExecutorOptions { ledger, runner, runners, loader, concurrency, clock, crash_limit, base_dir } =
            options;
        let templates = TemplateFiles::new(loader);
        let base_dir = absolute(base_dir).into();
        let setup = Setup { concurrency, clock, crash_limit, templates, base_dir, stand_in: None };
        let services = Services::new(ledger, runner, runners, setup);
        Self { shared: Arc::new(Shared::new(services)) }
    }
}

impl Executor {
    /// An executor that a rehearsal uses: one call at a time, so that it repeats, and none of them made where `stand_in` ends
    /// it.
    pub(crate) fn rehearsing(
        ledger: Ledger,
        clock: Clock,
        templates: Option<PathBuf>,
        stand_in: Arc<dyn StandIn>,
    ) -> Self {
        let templates = TemplateFiles::new(templates.map(from_folder));
        let base_dir = PathBuf::new().into();
        let setup =
            Setup { concurrency: 1, clock, crash_limit: None, templates, base_dir, stand_in: Some(stand_in) };
        let services = Services::new(ledger, None, BTreeMap::new(), setup);
        Self { shared: Arc::new(Shared::new(services)) }
    }

    /// Begins the options of an executor. Only the ledger is required.
    #[expect(clippy::type_complexity, reason = "typed-builder's own form of a builder with nothing set")]
    pub fn builder() -> ExecutorOptionsBuilder<(
        (),
        (),
        (BTreeMap<String, Arc<dyn Runner>>,),
        (Option<TemplateLoader>,),
        (),
        (),
        (),
        (),
    )> {
        ExecutorOptions::builder()
    }
}

/// The same from the root, so that it stays the same if this process goes elsewhere. Where the process is in no directory
/// that exists, it stays relative, and commands say so.
fn absolute(directory: PathBuf) -> PathBuf {
    let here = if directory.as_os_str().is_empty() { PathBuf::from(".") } else { directory };
    path::absolute(&here).unwrap_or(here)
}
