//! Draws small plans, one a primitive:
//!
//! ```text
//! cargo run --example topology                     # all of them
//! cargo run --example topology -- review branch    # these two
//! cargo run --example topology -- --mermaid nested
//! cargo run --example topology -- --rehearse review
//! ```

mod plans;

use clap::{Args, Parser};
use hermes_workflows::{
    executor::{DriveError, Sampled},
    prelude::*,
};
use std::{
    io::{self, ErrorKind, Write},
    process::ExitCode,
};

/// Draws small plans, one a primitive.
#[derive(Parser)]
#[command(name = "topology")]
struct Options {
    /// The plans to draw, by name; all without any.
    names: Vec<String>,
    #[command(flatten)]
    form: Form,
    /// Names the plans, and draws none.
    #[arg(long, conflicts_with_all = ["names", "mermaid", "dot", "json", "rehearse"])]
    list: bool,
}

/// How they are drawn; as text without any of these.
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own on the command line")]
#[derive(Args)]
#[group(multiple = false)]
struct Form {
    /// Draws them as Mermaid.
    #[arg(long)]
    mermaid: bool,
    /// Draws them as DOT, for Graphviz.
    #[arg(long)]
    dot: bool,
    /// Writes them as JSON, one plan a line.
    #[arg(long)]
    json: bool,
    /// Rehearses them, with made-up values and without calling anything, and reports which endings they had.
    #[arg(long)]
    rehearse: bool,
}

impl Options {
    /// What is printed of a plan.
    async fn show(&self, plan: &AnyPlan) -> Result<String, DriveError> {
        Ok(if self.list {
            plan.name().to_owned()
        } else if self.form.mermaid {
            plan.layout().mermaid()
        } else if self.form.dot {
            plan.layout().dot()
        } else if self.form.json {
            plan.layout().json().to_string()
        } else if self.form.rehearse {
            plan.rehearse(Sampled).await?.to_string()
        } else {
            format!("{}\n", plan.layout().text())
        })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let options = Options::parse();
    let plans = match plans::plans() {
        Ok(plans) => plans,
        Err(errors) => {
            eprintln!("error: {errors}");
            return ExitCode::FAILURE;
        }
    };
    let valid: Vec<_> = plans.iter().map(AnyPlan::name).collect();
    if let Some(unknown) = options.names.iter().find(|name| !valid.contains(&name.as_str())) {
        eprintln!("error: there is no plan `{unknown}`; there are {}", valid.join(", "));
        return ExitCode::from(2);
    }
    let wanted = plans
        .iter()
        .filter(|plan| options.names.is_empty() || options.names.iter().any(|name| name == plan.name()));
    let mut drawings = Vec::new();
    for plan in wanted {
        match options.show(plan).await {
            Ok(drawing) => drawings.push(drawing),
            Err(error) => {
                eprintln!("error: {}: {error}", plan.name());
                return ExitCode::FAILURE;
            }
        }
    }
    match print(&drawings) {
        // Whoever reads has seen enough.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprintln!("error: the drawings cannot be written: {error}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}

fn print(drawings: &[String]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    drawings.iter().try_for_each(|drawing| writeln!(out, "{drawing}"))?;
    out.flush()
}
