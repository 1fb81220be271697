//! Plan 8: 500 documents: each is summarised, those that cannot be are failures as values, and the report tells both.

use hermes_workflows::prelude::*;

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Document {
    name: String,
    text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Summary {
    line: String,
    words: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Report {
    summaries: Vec<Summary>,
    /// `name: what is wrong`, for each document without a summary.
    failed: Vec<String>,
}

fn summarise(document: Step<Document>) -> Step<Summary> {
    let words = step("count_words").input("document", document).try_run(|document| {
        match document.text.split_whitespace().count() {
            0 => Err("it is empty"),
            words => Ok(words),
        }
    });
    let line =
        agent("summarise").input("document", document).prompt("Sum it up in one line.").after(words).text();
    join((line, words)).map(|(line, words)| Summary { line: line.clone(), words: *words })
}

/// What became of each, in the order of the documents.
fn told(results: &[Keyed<Result<Summary, Failure>>]) -> Report {
    let mut report = Report { summaries: Vec::new(), failed: Vec::new() };
    for Keyed { key, value } in results {
        match value {
            Ok(summary) => report.summaries.push(summary.clone()),
            Err(failure) => report.failed.push(format!("{key}: {}", failure.message)),
        }
    }
    report
}

fn summarise_all(documents: Step<Vec<Document>>) -> Step<(Report, String)> {
    let results = parallel_each("documents", documents, summarise)
        .key_by(|document| document.name.clone())
        .limit(16)
        .keyed()
        .results();
    let report = results.map(|results| told(results));
    let letter = agent("letter")
        .input("failed", report.get(|report| &report.failed))
        .prompt("Write to the archive about the documents that need attention.")
        .text();
    join((report, letter))
}

mod run {
    use super::{Document, Report, Summary, summarise_all};
    use crate::drive::{Drive, input};
    use hermes_plan::assert_layout;
    use hermes_workflows::{executor::run_layout, prelude::*};

    /// Every fiftieth is empty.
    fn documents() -> Vec<Document> {
        let document = |number: usize| {
            let text =
                if number.is_multiple_of(50) { "  ".to_owned() } else { "word ".repeat(number % 9 + 1) };
            Document { name: format!("d{number}"), text }
        };
        (0..500).map(document).collect()
    }

    fn healthy() -> Scripted {
        Scripted::new()
            .on("documents[*]/summarise", |call: &AgentCall| {
                Ok(AgentReply::text(format!("about {}", input::<Document>(call, "document").name)))
            })
            .on("letter", |call: &AgentCall| {
                Ok(AgentReply::text(format!("{} need attention", input::<Vec<String>>(call, "failed").len())))
            })
    }

    /// The agent fails at ten others.
    fn script() -> Scripted {
        (0..10).fold(healthy(), |script, hundred| {
            let path = format!("documents[d{}]/summarise", hundred * 50 + 7);
            script.fail(&path, 9, RunnerError::new(RunnerErrorKind::Failed, "it cannot be read"))
        })
    }

    fn plan() -> Plan<Vec<Document>, (Report, String)> {
        Plan::new("documents", summarise_all).unwrap()
    }

    #[test]
    fn its_layout() {
        assert_layout!(plan(), "plan-documents");
    }

    #[tokio::test]
    async fn killed_anywhere_500_documents_end_with_a_report_of_the_failures() {
        let ended = Drive::new(plan(), documents(), script).survives(2).await;
        let (report, letter) = ended.value;
        assert_eq!(
            (report.summaries.len(), report.failed.len(), letter.as_str()),
            (480, 20, "20 need attention")
        );
        assert_eq!(report.summaries[0], Summary { line: "about d1".to_owned(), words: 2 });
        assert_eq!(report.failed[..2], ["d0: it is empty", "d7: it cannot be read"]);
        assert_eq!(ended.script.calls().len(), 490 + 1);
        assert!(ended.script.most_at_once() <= 8);
        // Drawn as one group with counts, not 500 lines.
        assert!(ended.layout.contains("500 items: 480 done, 20 failed"), "{}", ended.layout);
        assert!(ended.layout.lines().count() < 100, "{}", ended.layout);
    }

    #[tokio::test]
    async fn retried_only_what_failed_is_done_again_and_the_letter_follows() {
        let ledger = Ledger::in_memory().unwrap();
        let run = |script: &Scripted| {
            Executor::builder().ledger(ledger.clone()).runner(script.clone()).concurrency(8).build()
        };
        let executor = run(&script());
        let first = executor.start(&plan(), documents()).id("r").await.unwrap().outcome().await.unwrap();
        let Outcome::Completed(first) = first else { panic!("{first:?}") };
        assert_eq!((first.counts.failed, first.counts.skipped), (20, 10));
        drop(executor);

        let script = healthy();
        let executor = run(&script);
        let retried = executor.retry(&plan(), "r").await.unwrap().outcome().await.unwrap();
        let Outcome::Completed(done) = retried else { panic!("{retried:?}") };
        let (report, letter) = done.value;
        assert_eq!(
            (report.summaries.len(), report.failed.len(), letter.as_str()),
            (490, 10, "10 need attention")
        );
        assert_eq!((script.count("documents[*]/summarise"), script.count("letter")), (10, 1));
        let drawn = run_layout(&executor, &plan(), &crate::drive::id()).unwrap();
        assert!(drawn.contains("500 items: 490 done, 10 failed"), "{drawn}");
    }

    #[tokio::test]
    async fn rehearsed_it_has_every_ending() {
        assert_eq!(
            Drive::new(plan(), documents().into_iter().take(5).collect(), script)
                .never_rehearsed(|plan| plan)
                .await,
            [""; 0]
        );
    }
}
