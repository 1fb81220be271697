//! Tests of authoring: the blog plan as the contract has it, every mistake, paths, keys, closures, building.

mod blog;
mod building;
mod closures;
mod commands;
mod leaks;
mod mistakes;
mod nodes;
mod paths;
mod people;

use crate::prelude::*;

/// The line of this source that ends in `// marker`.
fn line(source: &str, marker: &str) -> u32 {
    let end = format!("// {marker}");
    let mut lines =
        source.lines().zip(1..).filter(|(line, _)| line.ends_with(&end)).map(|(_, number)| number);
    let line = lines.next().unwrap_or_else(|| panic!("no line ends in {end}"));
    assert_eq!(lines.next(), None, "two lines end in {end}");
    line
}

/// The mistakes of a plan that must have some.
#[track_caller]
fn mistakes<O: Data>(build: impl FnOnce(Step<String>) -> Step<O>) -> PlanErrors {
    Plan::new("plan", build).expect_err("a plan with mistakes")
}

/// What the only mistake must be.
struct Expected<'a> {
    source: &'a str,
    kind: PlanErrorKind,
    at: &'a str,
    also: Option<&'a str>,
    says: &'a str,
}

impl Expected<'_> {
    fn is_the_only_one(&self, errors: &PlanErrors) {
        assert_eq!(errors.iter().count(), 1, "{errors}");
        self.is_in(errors);
    }

    fn is_in(&self, errors: &PlanErrors) {
        let found = errors.iter().find(|error| {
            error.kind == self.kind
                && error.at.line() == line(self.source, self.at)
                && error.also.map(|also| also.line()) == self.also.map(|also| line(self.source, also))
        });
        let error = found.unwrap_or_else(|| panic!("{:?} at {} is not in {errors}", self.kind, self.at));
        assert!(error.message.contains(self.says), "{error}");
        assert!(!error.mend.is_empty());
        let shown = errors.to_string();
        assert!(
            shown.contains(&format!("{}:{}: {}", error.at.file(), error.at.line(), error.message)),
            "{shown}"
        );
        if let Some(also) = error.also {
            assert!(shown.contains(&format!("{}:{}", also.file(), also.line())), "{shown}");
        }
        assert_eq!(shown, format!("{errors:?}"));
    }
}

/// A node's pattern as text, by its name; it must be the only one of that name.
fn pattern<I, O>(plan: &Plan<I, O>, name: &str) -> String {
    let mut found = plan.graph().nodes().filter(|node| node.name == name);
    let node = found.next().unwrap_or_else(|| panic!("no node is named {name}"));
    assert!(found.next().is_none(), "two nodes are named {name}");
    node.pattern.to_string()
}

/// The patterns of all named nodes, in the order in which they joined.
fn patterns<I, O>(plan: &Plan<I, O>) -> Vec<String> {
    let named = plan.graph().nodes().filter(|node| !node.pattern.is_empty());
    named.map(|node| node.pattern.to_string()).collect()
}
