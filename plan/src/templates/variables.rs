//! The variables of a template against the schemas of the inputs that it is rendered with.

use super::{engine::ReadyTemplate, line::line_of};
use hermes_core::schema::Schema;
use std::collections::BTreeSet;

/// Something that a template reads and the inputs do not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    /// As the template has it: `section.titel`.
    pub(crate) variable: String,
    /// The line of the template, from 1, where it was found.
    pub(crate) line: Option<usize>,
    /// What is missing, and what there is.
    pub(crate) why: String,
    /// How to mend it.
    pub(crate) mend: String,
}

impl ReadyTemplate {
    /// Everything that the template reads and these inputs do not have. Where a schema does not tell, nothing is missing.
    pub(crate) fn missing(&self, inputs: &[(&str, Option<Schema>)]) -> Vec<Missing> {
        let Ok(template) = self.template() else { return Vec::new() };
        let variables: BTreeSet<String> = template.undeclared_variables(true).into_iter().collect();
        let mut missing = Vec::new();
        for variable in variables {
            let mut path = variable.split('.');
            let root = path.next().unwrap_or_default();
            let path: Vec<&str> = path.collect();
            let (why, mend) = match inputs.iter().find(|(name, _)| *name == root) {
                None if self.is_builtin(root) => continue,
                None => no_input(root, inputs),
                Some((_, None)) => continue,
                Some((_, Some(schema))) => match schema.reaches(&path) {
                    Ok(()) => continue,
                    Err(no_field) => {
                        let owner: Vec<&str> = [root].into_iter().chain(path.iter().copied()).collect();
                        let owner = owner[..=no_field.found.min(path.len())].join(".");
                        let name = path.get(no_field.found).copied().unwrap_or_default();
                        let has = match no_field.known.as_slice() {
                            [] => "it has no fields".to_owned(),
                            known => format!("it has {}", list(known.iter().map(String::as_str))),
                        };
                        let why = format!("`{owner}` is `{}` and has no `{name}`; {has}", no_field.of);
                        (why, "name one of its fields, or add the field to the type".to_owned())
                    }
                },
            };
            let line = line_of(template.source(), &variable);
            missing.push(Missing { variable, line, why, mend });
        }
        missing
    }
}

fn no_input(name: &str, inputs: &[(&str, Option<Schema>)]) -> (String, String) {
    let there_are = if inputs.is_empty() {
        "there are none".to_owned()
    } else {
        format!("its inputs are {}", list(inputs.iter().map(|(name, _)| *name)))
    };
    let mend = format!(
        "name an input, or add `.input({name:?}, ..)` before the prompt; what the template sets itself has to be set \
         before, and not inside an `if` or `for`"
    );
    (format!("no input has that name; {there_are}"), mend)
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
