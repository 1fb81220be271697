//! Plan 2: A migration: every file is rewritten, a local check says what is still wrong, an agent mends it up to three times, and a
//! person reviews what comes of it.

use hermes_workflows::prelude::*;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct SourceFile {
    path: String,
    text: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct CheckReport {
    /// `path:line: what is wrong`.
    problems: Vec<String>,
}

impl CheckReport {
    fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }
}

/// What the new interface no longer has.
const GONE: [&str; 2] = ["open_v1", "close_v1"];

/// The check: every call of what is gone, by file and line.
fn find_old_calls(files: &[SourceFile]) -> CheckReport {
    let mut problems = Vec::new();
    for file in files {
        for (number, line) in (1..).zip(file.text.lines()) {
            for gone in GONE.iter().filter(|gone| line.contains(*gone)) {
                problems.push(format!("{}:{number}: `{gone}` is gone", file.path));
            }
        }
    }
    CheckReport { problems }
}

fn fix_prompt(report: &CheckReport) -> String {
    format!("Return all files with these problems mended:\n{}", report.problems.join("\n"))
}

fn migrate(sources: Step<Vec<SourceFile>>) -> Step<Vec<SourceFile>> {
    let rewritten = parallel_each("rewrite", sources, |file| {
        agent("rewrite_file")
            .input("file", file)
            .prompt("Port this file to version 2.")
            .returns::<SourceFile>()
    })
    .key_by(|file| file.path.clone())
    .limit(4)
    .all();
    let checked = repeat("until_it_checks", rewritten, 3, |files| {
        let report = step("check").input("files", files).run(|files| find_old_calls(files));
        branch("clean", report).when("yes", CheckReport::is_clean, |_| files.done()).otherwise(|report| {
            agent("fix")
                .input("report", report)
                .input("files", files)
                .prompt_with(|report, _| fix_prompt(report))
                .returns::<Vec<SourceFile>>()
                .again()
        })
    })
    .or_else(|files| review("take_it_as_it_is", files).title("It still has problems. Take it?").approved());
    review("merge", checked)
        .title("Merge the migration?")
        .revise(|files, feedback| {
            agent("rework")
                .input("files", files)
                .input("feedback", feedback)
                .prompt("Answer the review.")
                .returns()
        })
        .approved()
}

mod run {
    use super::{SourceFile, find_old_calls, fix_prompt, migrate};
    use crate::{
        drawing::assert_drawing,
        drive::{Drive, input},
    };
    use hermes_plan::assert_layout;
    use hermes_workflows::{executor::Rehearsing, prelude::*};
    use serde_json::{Value, json};

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.to_owned(), text: text.to_owned() }
    }

    fn sources() -> Vec<SourceFile> {
        vec![
            file("src/main.rs", "open_v1();\nrun();\nclose_v1();"),
            file("src/lib.rs", "fn run() { open_v1() }"),
            file("src/none.rs", "// nothing\n"),
        ]
    }

    /// Mends the first old call of each file.
    fn mended(mut file: SourceFile) -> SourceFile {
        let old = if file.text.contains("open_v1") { "open_v1" } else { "close_v1" };
        file.text = file.text.replacen(old, &old.replace("_v1", "_v2"), 1);
        file
    }

    /// Rewrites nothing, and fixes a call a round and file.
    fn script() -> Scripted {
        Scripted::new()
            .on("rewrite[*]/rewrite_file", |call: &AgentCall| {
                Ok(AgentReply::json(json!(input::<SourceFile>(call, "file"))))
            })
            .on("until_it_checks[*]/clean:else/fix", |call: &AgentCall| {
                let files: Vec<SourceFile> = input(call, "files");
                Ok(AgentReply::json(json!(files.into_iter().map(mended).collect::<Vec<_>>())))
            })
            .on("merge[*]/rework", |call: &AgentCall| {
                let mut files: Vec<SourceFile> = input(call, "files");
                files.retain(|file| !file.text.starts_with("// nothing"));
                Ok(AgentReply::json(json!(files)))
            })
    }

    /// Fixes nothing.
    fn stubborn() -> Scripted {
        script().on("until_it_checks[*]/clean:else/fix", |call: &AgentCall| {
            Ok(AgentReply::json(json!(input::<Vec<SourceFile>>(call, "files"))))
        })
    }

    fn person(path: &str) -> Value {
        match path {
            "merge[1]" => json!({"decision": "request_changes", "feedback": "Drop the empty file."}),
            _ => json!({"decision": "approve"}),
        }
    }

    fn drive(script: fn() -> Scripted) -> Drive<Vec<SourceFile>, Vec<SourceFile>> {
        Drive::new(Plan::new("migrate", migrate).unwrap(), sources(), script).person(person)
    }

    #[test]
    fn its_layout_its_check_and_its_prompt() {
        assert_layout!(Plan::new("migrate", migrate).unwrap(), "plan-migrate");
        let report = find_old_calls(&sources());
        let problems = [
            "src/main.rs:1: `open_v1` is gone",
            "src/main.rs:3: `close_v1` is gone",
            "src/lib.rs:1: `open_v1` is gone",
        ];
        assert_eq!(report.problems, problems);
        assert!(fix_prompt(&report).ends_with("src/lib.rs:1: `open_v1` is gone"));
    }

    #[tokio::test]
    async fn killed_anywhere_it_is_fixed_as_often_as_it_takes_and_reviewed_once() {
        let ended = drive(script).survives(6).await;
        assert_eq!(
            ended.value,
            [
                file("src/main.rs", "open_v2();\nrun();\nclose_v2();"),
                file("src/lib.rs", "fn run() { open_v2() }")
            ]
        );
        assert_eq!(ended.script.count("until_it_checks[*]/clean:else/fix"), 2);
        assert_eq!(ended.asked, ["merge[1]", "merge[2]"]);
        assert_drawing("plan-migrate-run", &ended.layout);
    }

    #[tokio::test]
    async fn after_three_fixes_a_person_says_whether_to_take_it_as_it_is() {
        let ended = drive(stubborn).survives(3).await;
        assert_eq!(ended.script.count("until_it_checks[*]/clean:else/fix"), 3);
        assert!(!find_old_calls(&ended.value).is_clean());
        assert_eq!(ended.asked, ["until_it_checks:else/take_it_as_it_is[1]", "merge[1]", "merge[2]"]);
    }

    #[tokio::test]
    async fn a_file_cannot_be_rewritten_at_first_or_a_fix_fails() {
        drive(script).recovers("rewrite[src%2Flib.rs]/rewrite_file", 2).await;
        drive(script).recovers("until_it_checks[2]/clean:else/fix", 3).await;
    }

    #[tokio::test]
    async fn rehearsed_it_has_every_ending() {
        // No sampled file calls what is gone: those are given.
        let files = || [file("a.rs", "open_v1()"), file("b.rs", "run()")];
        let given = |plan: Rehearsing| {
            plan.answers("rewrite[*]/rewrite_file", files())
                .answers("until_it_checks[*]/clean:else/fix", [files().to_vec(), files()[1..].to_vec()])
        };
        assert_eq!(drive(script).never_rehearsed(given).await, [""; 0]);
    }
}
