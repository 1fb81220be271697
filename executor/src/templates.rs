//! Template files: read through the executor's loader, each once, and kept for as long as the executor lives.

use crate::walk::panic_message;
use hermes_core::schema::Schema;
use hermes_plan::{
    PlanErrors, ReadyTemplates,
    graph::{Graph, Kind, Node, NodeId, Prompt},
    load_templates,
};
use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Gives the source of a template for its path, or says why it cannot.
pub(crate) type TemplateLoader = Arc<dyn Fn(&str) -> Result<String, String> + Send + Sync>;

/// Reads templates from a folder.
pub(crate) fn from_folder(folder: PathBuf) -> TemplateLoader {
    Arc::new(move |path| {
        let file = folder.join(path);
        fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))
    })
}

/// The template files of an executor.
pub(crate) struct TemplateFiles {
    loader: Option<TemplateLoader>,
    ready: Mutex<ReadyTemplates>,
}

impl TemplateFiles {
    pub(crate) fn new(loader: Option<TemplateLoader>) -> Self {
        Self { loader, ready: Mutex::default() }
    }

    fn ready(&self) -> MutexGuard<'_, ReadyTemplates> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The template files that a plan uses. They are kept only once the whole plan is without mistakes: who mends a file
    /// can start the run again.
    ///
    /// Of a part that was built while a plan runs, `outer` gives the schemas of what stands around it.
    pub(crate) fn of(
        &self,
        graph: &Graph,
        outer: &dyn Fn(NodeId) -> Option<Schema>,
    ) -> Result<ReadyTemplates, PlanErrors> {
        let is_file = |node: &Node| match &node.kind {
            Kind::Agent(agent) => matches!(agent.prompt, Prompt::Template { ready: None, .. }),
            _ => false,
        };
        if !graph.nodes().any(is_file) {
            return Ok(ReadyTemplates::new());
        }
        loop {
            let known = self.ready().clone();
            // The loader is the caller's code: no lock is held.
            let loaded = load_templates(graph, &known, outer, |path| self.read(path))?;
            let mut ready = self.ready();
            let is_other = |path, template| ready.get(path).is_some_and(|kept| !Arc::ptr_eq(kept, template));
            // Somebody read one of them at the same moment: the first one counts.
            if !loaded.iter().any(|(path, template)| is_other(path, template)) {
                ready.extend(loaded.clone());
                return Ok(loaded);
            }
        }
    }

    fn read(&self, path: &str) -> Result<String, String> {
        let Some(loader) = &self.loader else {
            return Err("the executor was given no templates".to_owned());
        };
        catch_unwind(AssertUnwindSafe(|| loader(path)))
            .unwrap_or_else(|panic| Err(format!("the loader panicked: {}", panic_message(&*panic))))
    }
}
