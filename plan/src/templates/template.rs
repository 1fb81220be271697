//! `Template`: what an author gives to `.prompt(..)` instead of a text.

/// A prompt as a minijinja template: its variables are the agent's named inputs.
///
/// Either compiled into the program with [`template!`](crate::template!), or a file that is read when the plan is first
/// run: [`Template::file`].
///
/// - What is rendered is the prompt as it is sent: no block of JSON follows for an input, as none follows with
///   `.prompt_with`. `{{ research | tojson }}` puts an input's JSON into it.
/// - Undefined variables are errors. Those that no input has, and fields that an input's schema rules out, are mistakes
///   of the plan; what only a value can tell (a field that may be missing, an unknown filter, a field of a loop's own
///   variable) fails the step before its agent is called.
/// - A variable that the template sets inside an `if` or `for` is not known after it: set it before.
/// - A template is one source: `include`, `extends`, `import` and macros are not there.
/// - Nothing is escaped, whatever the file is called. One line break at the end is dropped.
///
/// The rendered prompt counts for replay. Which template it came from, and the hash of its source, are recorded beside
/// it: when a finished step's prompt differs, the conflict names the template if that was edited, and the input if that
/// changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pub(crate) id: String,
    pub(crate) source: Source,
}

/// Where the source of a template is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// In the program.
    CompiledIn(&'static str),
    /// With whoever runs the plan.
    File,
}

impl Template {
    /// A template that the executor reads, once, when it is first given a plan that uses it: from the folder of
    /// `Executor::builder().templates(folder)`, or through `.template_loader(..)`. The path is relative to that folder.
    ///
    /// What is wrong with it is found when the run is started, with the same errors that `Plan::new` gives; or by
    /// [`Plan::check_templates`](crate::Plan::check_templates).
    ///
    /// ```
    /// use hermes_plan::prelude::*;
    ///
    /// let plan = Plan::new("draft", |topic: Step<String>| {
    ///     agent("draft").input("topic", topic).prompt(Template::file("draft.md")).text()
    /// })?;
    /// let source = |path: &str| match path {
    ///     "draft.md" => Ok("Write about {{ topic }}."),
    ///     _ => Err("no such file"),
    /// };
    /// plan.check_templates(source)?;
    /// # Ok::<(), PlanErrors>(())
    /// ```
    pub fn file(path: impl Into<String>) -> Self {
        Self { id: path.into(), source: Source::File }
    }

    #[doc(hidden)]
    pub fn compiled_in(path: &'static str, source: &'static str) -> Self {
        Self { id: path.to_owned(), source: Source::CompiledIn(source) }
    }
}

/// A [`Template`] that is compiled into the program. The path is relative to the folder of the package's
/// `Cargo.toml`.
///
/// What is wrong with it is found by `Plan::new`: mistakes in its syntax, variables that no input has, fields that an
/// input's schema does not have.
///
/// ```
/// use hermes_plan::prelude::*;
///
/// // The file says: Write about {{ topic }}.
/// let plan = Plan::new("draft", |topic: Step<String>| {
///     agent("draft").input("topic", topic).prompt(template!("tests/prompts/draft.md")).text()
/// })?;
/// # Ok::<(), PlanErrors>(())
/// ```
#[macro_export]
macro_rules! template {
    ($path:literal $(,)?) => {
        $crate::Template::compiled_in(
            $path,
            ::core::include_str!(::core::concat!(::core::env!("CARGO_MANIFEST_DIR"), "/", $path)),
        )
    };
    ($($other:tt)*) => {
        ::core::compile_error!(
            "`template!` takes a path written out, for it is read while compiling: `template!(\"prompts/x.md\")`; a path \
             known only later is for `Template::file(path)`"
        )
    };
}
