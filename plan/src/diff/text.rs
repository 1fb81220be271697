//! A difference of plans as a text: a line for each step, its fields below it.

use super::{Became, Difference, FieldDiff, OnResume, PlanDiff};
use hermes_core::compare::printable;
use std::fmt;

impl fmt::Display for OnResume {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reused => "reused",
            Self::IfValuesDiffer => "a conflict if the value differs",
            Self::RunsAgain => "runs again",
            Self::Conflict => "a conflict",
            Self::Refused => "the run is refused",
        })
    }
}

impl fmt::Display for PlanDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("no differences");
        }
        let mut lines = Vec::new();
        if !self.plan.is_empty() {
            lines.push("~ the plan".to_owned());
            for field in &self.plan {
                field.write(&mut lines);
            }
        }
        for step in &self.steps {
            let mark = match step.became {
                Became::Added => '+',
                Became::Removed => '-',
                Became::Changed => '~',
            };
            let from =
                step.renamed_from.as_ref().map_or_else(String::new, |from| format!(", renamed from {from}"));
            lines.push(format!("{mark} {}: {}{from}", step.path, step.kind));
            for field in &step.fields {
                field.write(&mut lines);
            }
        }
        f.write_str(&lines.join("\n"))
    }
}

impl FieldDiff {
    fn write(&self, lines: &mut Vec<String>) {
        let said = |said: &Option<String>| {
            said.as_ref().map_or_else(
                || "not set".to_owned(),
                |said| format!("`{}`", printable(said).replace('\n', "\\n")),
            )
        };
        let head = |rest: &str| format!("    {}{rest} ({})", self.field, self.on_resume);
        match &self.difference {
            Difference::Setting { old, new } => lines.push(head(&format!(": {} → {}", said(old), said(new)))),
            Difference::List(change) => lines.push(head(&format!(": {change}"))),
            Difference::Schema { changes } => {
                lines.push(head(""));
                lines.extend(changes.iter().map(|change| format!("        {change}")));
            }
            Difference::Text(change) => {
                lines.push(head(""));
                lines.extend(printable(&change.unified).lines().map(|line| format!("        {line}")));
            }
        }
    }
}
