//! `Plan`: a complete plan graph with the types of its input and output.

use super::step::Step;
use crate::{
    build::{Draft, PlanError, PlanErrorKind, PlanErrors, ReadyTemplates, load_templates, open, param},
    graph::{Graph, Location, Placeholder, Rename},
};
use hermes_core::{data::Data, path::StepPath};
use std::{fmt, marker::PhantomData, sync::Arc};

/// A complete plan: from an `I` to an `O`. It is a value; nothing has run.
pub struct Plan<I, O> {
    graph: Arc<Graph>,
    types: PhantomData<fn(I) -> O>,
}

impl<I: Data, O: Data> Plan<I, O> {
    /// Builds a plan: `build` is called once, now, with a handle on the plan's input; the primitives that it calls join
    /// the plan.
    ///
    /// Steps whose outputs nobody uses are part of the plan too. Independent steps run at the same time; order comes from
    /// data and `.after(step)`.
    ///
    /// ```
    /// use hermes_plan::prelude::*;
    ///
    /// let plan = Plan::new("greet", |who: Step<String>| {
    ///     agent("greet").input("who", who).prompt("Greet them.").text()
    /// })?;
    /// assert_eq!(plan.name(), "greet");
    /// # Ok::<(), PlanErrors>(())
    /// ```
    ///
    /// # Errors
    /// Every mistake in it, each with its place in the source.
    #[track_caller]
    pub fn new(name: impl Into<String>, build: impl FnOnce(Step<I>) -> Step<O>) -> Result<Self, PlanErrors> {
        let at = Location::caller();
        let draft = Draft::new(name.into(), at);
        let plan = draft.id();
        let opened = open(draft);
        let input = Step::new(param::<I>(plan, Placeholder::Input, at));
        let result = build(input).used("", at);
        let Some(draft) = opened.close() else {
            unreachable!("a plan stays on the stack until its own `Plan::new` takes it")
        };
        let graph = draft.finish(&result)?;
        Ok(Self { graph: Arc::new(graph), types: PhantomData })
    }
}

impl<I, O> Plan<I, O> {
    /// Its name.
    pub fn name(&self) -> &str {
        self.graph.name()
    }

    /// Its graph.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    pub(super) fn graph_mut(&mut self) -> &mut Arc<Graph> {
        &mut self.graph
    }

    /// Says where something stood in an earlier form of the plan, for what has no builder to say it: a `scope`, a `then`, a
    /// `call`, an item of a `parallel`, an arm. What runs have recorded below `old` counts as what is below `new` today, and
    /// nobody is asked. With the plan's own name as `new`, `old` is a name that the plan had.
    ///
    /// ```
    /// use hermes_plan::prelude::*;
    ///
    /// let plan = Plan::new("post", |topic: Step<String>| {
    ///     scope("opinions", || agent("first").input("topic", topic).prompt("Your opinion?").text())
    /// })?
    /// .renamed("views", "opinions")?
    /// .renamed("blog-post", "post")?;
    /// # Ok::<(), PlanErrors>(())
    /// ```
    ///
    /// # Errors
    /// When the plan has nothing at `new`, or one of them is no path.
    #[track_caller]
    pub fn renamed(mut self, old: impl AsRef<str>, new: impl AsRef<str>) -> Result<Self, PlanErrors> {
        let (old, new, at) = (old.as_ref(), new.as_ref(), Location::caller());
        let mistake = |kind, message: String, mend: &str| {
            let error = PlanError::new(kind, at, message, mend);
            PlanErrors::new(self.name().to_owned(), vec![error])
        };
        let path = |text: &str| {
            text.parse::<StepPath>().map_err(|error| {
                mistake(
                    PlanErrorKind::InvalidName,
                    format!("`{text}` is not a path: {error}"),
                    "give the path",
                )
            })
        };
        let is_plan = new == self.name();
        let rename = Rename { old: path(old)?, new: path(new)? };
        let prefixed = |pattern: &StepPath| {
            Rename { old: rename.new.clone(), new: rename.new.clone() }.today(pattern).is_some()
        };
        let graph = Arc::clone(&self.graph);
        let known = graph.nodes().any(|node| prefixed(&node.pattern));
        if !known && !is_plan {
            let message = format!("the plan `{}` has nothing at `{new}`", self.name());
            return Err(mistake(PlanErrorKind::UnknownPath, message, "name a path that its layout shows"));
        }
        let graph = Arc::make_mut(&mut self.graph);
        if known {
            graph.rename(rename);
        } else {
            graph.rename_plan(old.to_owned());
        }
        Ok(self)
    }
}

impl<I, O> Plan<I, O> {
    /// Checks the templates of the plan that are files, each with the source that `read` gives for its path; as an
    /// executor does when it is first given the plan. Good for a test beside the plan's other tests. What a `then` builds
    /// is checked when it is built.
    ///
    /// ```
    /// use hermes_plan::prelude::*;
    ///
    /// let plan = Plan::new("draft", |topic: Step<String>| {
    ///     agent("draft").input("topic", topic).prompt(Template::file("draft.md")).text()
    /// })?;
    /// let mistakes = plan.check_templates(|_| Ok::<_, String>("Write about {{ topik }}."));
    /// assert!(mistakes.is_err_and(|mistakes| mistakes.to_string().contains("`topik`: no input has that name")));
    /// # Ok::<(), PlanErrors>(())
    /// ```
    ///
    /// # Errors
    /// Every mistake: files that cannot be read, mistakes in syntax, variables that no input has.
    pub fn check_templates<S: Into<String>, E: fmt::Display>(
        &self,
        read: impl Fn(&str) -> Result<S, E>,
    ) -> Result<(), PlanErrors> {
        load_templates(&self.graph, &ReadyTemplates::new(), &|_| None, read).map(drop)
    }
}

impl<I, O> Clone for Plan<I, O> {
    fn clone(&self) -> Self {
        Self { graph: self.graph.clone(), types: PhantomData }
    }
}

impl<I, O> fmt::Debug for Plan<I, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plan({:?}, {} nodes)", self.name(), self.graph.len())
    }
}

/// A plan without its types, for registries of plans.
///
/// ```
/// use hermes_plan::prelude::*;
///
/// let plans: [AnyPlan; 2] = [
///     Plan::new("length", |word: Step<String>| word.map(|word| word.len()))?.into(),
///     Plan::new("double", |number: Step<u32>| number.map(|number| number * 2))?.into(),
/// ];
/// # Ok::<(), PlanErrors>(())
/// ```
#[derive(Clone)]
pub struct AnyPlan {
    graph: Arc<Graph>,
}

impl AnyPlan {
    /// Its name.
    pub fn name(&self) -> &str {
        self.graph.name()
    }

    /// Its graph.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }
}

impl AnyPlan {
    /// The same as [`Plan::check_templates`].
    ///
    /// # Errors
    /// Every mistake: files that cannot be read, mistakes in syntax, variables that no input has.
    pub fn check_templates<S: Into<String>, E: fmt::Display>(
        &self,
        read: impl Fn(&str) -> Result<S, E>,
    ) -> Result<(), PlanErrors> {
        load_templates(&self.graph, &ReadyTemplates::new(), &|_| None, read).map(drop)
    }
}

impl fmt::Debug for AnyPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AnyPlan({:?}, {} nodes)", self.name(), self.graph.len())
    }
}

impl<I, O> From<Plan<I, O>> for AnyPlan {
    fn from(plan: Plan<I, O>) -> Self {
        Self { graph: plan.graph }
    }
}

impl<I, O> From<&Plan<I, O>> for AnyPlan {
    fn from(plan: &Plan<I, O>) -> Self {
        Self { graph: plan.graph.clone() }
    }
}
