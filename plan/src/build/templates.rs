//! Templates of a plan: made ready as early as their source is known, and checked against the inputs of their steps.

use super::{
    begun::Begun,
    errors::{PlanError, PlanErrorKind, PlanErrors},
};
use crate::{
    graph::{Graph, Kind, Location, NodeId, NodeInput, Prompt},
    templates::{Flaw, Missing, ReadyTemplate, Source, Template},
};
use hermes_core::schema::Schema;
use std::{collections::BTreeMap, fmt::Display, sync::Arc};

/// Templates by id.
pub type ReadyTemplates = BTreeMap<String, Arc<ReadyTemplate>>;

impl Begun {
    /// A template as a prompt. One that is compiled in is made ready now.
    pub(crate) fn template(&self, template: Template, at: Location) -> Prompt {
        let Template { id, source } = template;
        let ready = match source {
            Source::File => {
                self.not_blank("the template's path", &id, PlanErrorKind::BlankOption, at);
                None
            }
            Source::CompiledIn(source) => match ready(&id, source.to_owned(), self.name(), at) {
                Ok(ready) => Some(ready),
                Err(error) => {
                    self.mistake(error);
                    None
                }
            },
        };
        Prompt::Template { id, ready, at }
    }
}

/// Makes a source ready, for the step with this name.
fn ready(id: &str, source: String, step: &str, at: Location) -> Result<Arc<ReadyTemplate>, PlanError> {
    if source.trim().is_empty() {
        let message = format!("the template `{id}` of `{step}` is blank");
        return Err(PlanError::new(PlanErrorKind::BlankPrompt, at, message, "say what the agent should do"));
    }
    ReadyTemplate::new(id, source).map(Arc::new).map_err(|flaw| bad_syntax(&flaw, step, at))
}

fn bad_syntax(flaw: &Flaw, step: &str, at: Location) -> PlanError {
    let message = format!("the template of `{step}` cannot be read as one: {flaw}");
    PlanError::new(PlanErrorKind::TemplateSyntax, at, message, "mend the template")
}

/// The schemas of what nodes yield, as far as they are known.
type Schemas<'a> = &'a dyn Fn(NodeId) -> Option<Schema>;

/// What the template compiled into a step reads and the step's inputs do not have.
pub(super) fn mistakes(
    step: &str,
    kind: &Kind,
    inputs: &[NodeInput],
    schemas: Schemas<'_>,
) -> Vec<PlanError> {
    match kind {
        Kind::Agent(agent) => match &agent.prompt {
            Prompt::Template { ready: Some(ready), at, .. } => check(step, ready, *at, inputs, schemas),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn check(
    step: &str,
    ready: &ReadyTemplate,
    at: Location,
    inputs: &[NodeInput],
    schemas: Schemas<'_>,
) -> Vec<PlanError> {
    let inputs: Vec<(&str, Option<Schema>)> =
        inputs.iter().map(|input| (input.name.as_str(), schemas(input.node))).collect();
    let error = |missing: Missing| {
        let Missing { variable, line, why, mend } = missing;
        let line = line.map_or_else(String::new, |line| format!(":{line}"));
        let id = &ready.used().id;
        let message = format!("the template `{id}{line}` of `{step}` reads `{variable}`: {why}");
        PlanError::new(PlanErrorKind::TemplateVariable, at, message, mend)
    };
    ready.missing(&inputs).into_iter().map(error).collect()
}

/// Makes the templates of a plan ready that are files, and checks them: those in `known` as they are, the others from the
/// sources that `read` gives for their paths, each read once. Of a part that was built while a plan runs, `outer` gives the
/// schemas of what stands around it.
///
/// # Errors
/// Every mistake: files that cannot be read, mistakes in syntax, variables that no input has.
pub fn load_templates<S: Into<String>, E: Display>(
    graph: &Graph,
    known: &ReadyTemplates,
    outer: Schemas<'_>,
    read: impl Fn(&str) -> Result<S, E>,
) -> Result<ReadyTemplates, PlanErrors> {
    let mut sources: BTreeMap<&str, Result<String, String>> = BTreeMap::new();
    let mut loaded = ReadyTemplates::new();
    let mut errors = Vec::new();
    let schemas = |id| if graph.contains(id) { Some(graph.node(id).schema.clone()) } else { outer(id) };
    for node in graph.nodes() {
        let Kind::Agent(agent) = &node.kind else { continue };
        let Prompt::Template { id, ready: None, at } = &agent.prompt else { continue };
        let template = match loaded.get(id).or_else(|| known.get(id)) {
            Some(template) => Ok(Arc::clone(template)),
            None => sources
                .entry(id)
                .or_insert_with(|| read(id).map(Into::into).map_err(|error| error.to_string()))
                .clone()
                .map_err(|why| unreadable(id, &why, &node.name, *at))
                .and_then(|source| ready(id, source, &node.name, *at)),
        };
        match template {
            Ok(template) => {
                errors.extend(check(&node.name, &template, *at, &node.inputs, &schemas));
                loaded.insert(id.clone(), template);
            }
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(loaded) } else { Err(PlanErrors::new(graph.name().to_owned(), errors)) }
}

fn unreadable(id: &str, why: &str, step: &str, at: Location) -> PlanError {
    let message = format!("the template `{id}` of `{step}` cannot be read: {why}");
    let mend = "put it where `.templates(folder)` or `.template_loader(..)` of the executor finds it, or compile it in \
                with `template!`";
    PlanError::new(PlanErrorKind::TemplateUnreadable, at, message, mend)
}
