//! A source made ready for rendering. The only file that knows the engine's settings.

use hermes_core::{
    digest::Digest,
    failure::{Failure, FailureClass},
    request::TemplateUse,
    value::Val,
};
use minijinja::{
    AutoEscape, Environment, Error, ErrorKind, Template, UndefinedBehavior, Value, value::Kwargs,
};
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use std::{borrow::Cow, collections::BTreeMap, fmt, sync::Arc};

/// A template whose source is known and has no mistake in its syntax.
pub struct ReadyTemplate {
    used: TemplateUse,
    environment: Environment<'static>,
}

/// What is wrong with a template, and where in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The template's id.
    pub template: String,
    /// The line, from 1, where it is known.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.template, self.message),
            None => write!(f, "{}: {}", self.template, self.message),
        }
    }
}

impl Flaw {
    fn new(template: &str, error: &Error) -> Self {
        let what = error.detail().map_or_else(String::new, |detail| format!(": {detail}"));
        Self { template: template.to_owned(), line: error.line(), message: format!("{}{what}", error.kind()) }
    }
}

impl ReadyTemplate {
    /// Makes a source ready.
    ///
    /// # Errors
    /// A mistake in its syntax.
    pub fn new(id: impl Into<String>, source: impl Into<Cow<'static, str>>) -> Result<Self, Flaw> {
        let (id, source) = (id.into(), source.into());
        let used = TemplateUse { source: Digest::of_bytes(source.as_bytes()), id };
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.add_filter("tojson", to_json);
        // Errors then name the expression that is undefined, in every build.
        environment.set_debug(true);
        match environment.add_template_owned(used.id.clone(), source) {
            Ok(()) => Ok(Self { used, environment }),
            Err(error) => Err(Flaw::new(&used.id, &error)),
        }
    }

    /// Its id and the hash of its source: what is recorded of it.
    pub fn used(&self) -> &TemplateUse {
        &self.used
    }

    /// Renders it with these inputs, by name.
    ///
    /// # Errors
    /// [`FailureClass::TemplateFailed`], with the template's id and line; or an input that cannot be read.
    pub fn render<'a>(&self, inputs: impl Iterator<Item = (&'a str, &'a Val)>) -> Result<String, Failure> {
        let mut values: BTreeMap<Arc<str>, Value> = BTreeMap::new();
        for (name, input) in inputs {
            let value = input
                .decode::<Value>()
                .map_err(|error| Failure::new(FailureClass::Undecodable, error.to_string()))?;
            values.insert(name.into(), Value::clone(&value));
        }
        self.template()
            .and_then(|template| template.render(values))
            .map_err(|error| Flaw::new(&self.used.id, &error))
            .map_err(|flaw| Failure::new(FailureClass::TemplateFailed, flaw.to_string()))
    }

    pub(super) fn template(&self) -> Result<Template<'_, '_>, Error> {
        self.environment.get_template(&self.used.id)
    }

    /// The engine's own names, which no input has to have.
    pub(super) fn is_builtin(&self, name: &str) -> bool {
        self.environment.globals().any(|(builtin, _)| builtin == name)
    }
}

/// The filter `tojson`: a value's JSON as it is stored, or spread over lines with `indent=2`. The engine's own escapes
/// what HTML would take for markup.
fn to_json(value: Value, options: Kwargs) -> Result<String, Error> {
    let indent = options.get::<Option<usize>>("indent")?;
    options.assert_all_used()?;
    if value.is_undefined() {
        return Err(Error::from(ErrorKind::UndefinedError));
    }
    let written = match indent {
        None => serde_json::to_string(&value),
        Some(indent) => {
            let (mut text, indent) = (Vec::new(), " ".repeat(indent.min(16)));
            let formatter = PrettyFormatter::with_indent(indent.as_bytes());
            value
                .serialize(&mut Serializer::with_formatter(&mut text, formatter))
                .map(|()| String::from_utf8_lossy(&text).into_owned())
        }
    };
    written.map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))
}

impl fmt::Debug for ReadyTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReadyTemplate({} {})", self.used.id, self.used.source.short())
    }
}
