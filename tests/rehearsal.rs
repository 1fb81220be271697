//! Rehearsals: every ending of a plan is come to that can be, with made-up values, and nothing is called.

#[path = "../examples/blog_post/plan.rs"]
mod blog_post;
#[path = "../examples/topology/plans.rs"]
mod plans;
mod support;

use hermes_workflows::prelude::*;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use support::drawing::assert_drawing;

/// What a rehearsal did not come to.
fn uncovered(rehearsal: &Rehearsal) -> Vec<String> {
    rehearsal.uncovered.iter().map(|uncovered| uncovered.ending.to_string()).collect()
}

#[tokio::test]
async fn every_small_plan_comes_to_all_its_endings() {
    for plan in plans::plans().unwrap() {
        let rehearsal = plan.rehearse(Sampled).await.unwrap();
        // Which codes there are only the plan's author knows.
        let expected: &[&str] = match plan.name() {
            "branch_or_fail" => &[
                "language: takes arm french",
                "language:french/french: succeeds",
                "language:french/french: fails",
            ],
            _ => &[],
        };
        assert_eq!(uncovered(&rehearsal), expected, "{}\n{rehearsal}", plan.name());
    }
}

#[tokio::test]
async fn values_that_only_the_author_knows_are_given() {
    let plan = Plan::new("branch_or_fail", plans::only_known_languages).unwrap();
    let rehearsal =
        plan.rehearse("Il pleut.".to_owned()).answers("detect", ["fr", "de", "pl"]).await.unwrap();
    rehearsal.ensure_covered().unwrap();
    assert!(rehearsal.runs.iter().all(|run| run.input == "Il pleut."));
}

/// The shapes that its runs have, and the report, as the plan's author would keep them.
#[tokio::test]
async fn unrolled_layouts_are_snapshots() {
    for name in ["review", "repeat_or_else", "branch", "catch", "recursive", "ask_in_time"] {
        let plan = plans::plans().unwrap().into_iter().find(|plan| plan.name() == name).unwrap();
        let rehearsal = plan.rehearse(Sampled).await.unwrap();
        let layouts = rehearsal.layouts().join("\n\n");
        assert_drawing(&format!("rehearsal-{name}"), &format!("{rehearsal}\n{layouts}"));
    }
    let blog = Plan::new("blog-post", blog_post::blog_post).unwrap();
    let rehearsal = blog.rehearse("notes".to_owned()).await.unwrap();
    rehearsal.ensure_covered().unwrap();
    assert_drawing("rehearsal-blog_post", &rehearsal.to_string());
}

#[tokio::test]
async fn the_same_seed_is_the_same_rehearsal() {
    for plan in plans::plans().unwrap() {
        if !["parallel_dag", "at_least", "recursive", "streaming", "nested"].contains(&plan.name()) {
            continue;
        }
        let rehearse = |seed| plan.rehearse(Sampled).seed(seed).into_future();
        let (one, again, other) =
            (rehearse(3).await.unwrap(), rehearse(3).await.unwrap(), rehearse(4).await.unwrap());
        assert_eq!(one.to_string(), again.to_string());
        assert_eq!(one.layouts(), again.layouts());
        let inputs = |rehearsal: &Rehearsal| -> Vec<_> {
            rehearsal.runs.iter().map(|run| run.input.clone()).collect()
        };
        assert_eq!(inputs(&one), inputs(&again));
        assert_ne!(inputs(&one), inputs(&other));
    }
}

#[tokio::test]
async fn what_cannot_be_come_to_is_named_with_what_it_hangs_on() {
    let plan = Plan::new("never", |report: Step<String>| {
        let words = agent("count").input("report", report).prompt("Count its words.").returns::<u8>();
        branch("many", words)
            .when("yes", |_| false, |_| agent("cut").prompt("Cut it.").text())
            .otherwise(|_| value("short".to_owned()))
    })
    .unwrap();
    let rehearsal = plan.rehearse("A report.".to_owned()).await.unwrap();
    assert_eq!(
        uncovered(&rehearsal),
        ["many: takes arm yes", "many:yes/cut: succeeds", "many:yes/cut: fails"]
    );
    let said = rehearsal.ensure_covered().unwrap_err().to_string();
    assert!(said.contains("NOT COVERED many: takes arm yes") && said.contains("`.answers(..)`"), "{said}");
    assert!(said.contains("`count`") && said.contains("none of"), "{said}");

    let bounded = plan.rehearse("A report.".to_owned()).runs(2).await.unwrap();
    assert_eq!(bounded.runs.len(), 2);
    let said = bounded.to_string();
    assert!(said.contains("the bound of runs was reached, raise it with `.runs(..)`"), "{said}");
}

#[tokio::test]
async fn nothing_is_called_but_pure_steps_and_closures() {
    let ran = Arc::new(AtomicUsize::new(0));
    let (pure, acting) = (Arc::clone(&ran), Arc::new(AtomicUsize::new(0)));
    let acted = Arc::clone(&acting);
    let folder = tempfile::tempdir().unwrap();
    let marker = folder.path().join("made");
    let plan = Plan::new("careful", move |name: Step<String>| {
        let (pure, acted) = (Arc::clone(&pure), Arc::clone(&acted));
        let length = step("length").input("name", name).run(move |name| {
            pure.fetch_add(1, Ordering::SeqCst);
            name.len()
        });
        let made = command("make").argv(["touch".to_owned(), marker.display().to_string()]).output();
        let sent = step("send").input("length", length).effect(Effect::Unsafe).run(move |length| {
            acted.fetch_add(1, Ordering::SeqCst);
            *length
        });
        let said = agent("say").input("sent", sent).prompt("Say so.").after(made).text();
        let quiet = wait("quiet").after(said).for_(Duration::from_secs(365 * 24 * 60 * 60));
        ask("fine").title("Fine?").after(quiet).returns::<bool>()
    })
    .unwrap();
    // No runner, no clock, nobody to answer.
    let rehearsal = plan.rehearse("Ada".to_owned()).await.unwrap();
    rehearsal.ensure_covered().unwrap();
    assert_eq!(acting.load(Ordering::SeqCst), 0);
    assert!(ran.load(Ordering::SeqCst) > 0 && std::fs::read_dir(folder.path()).unwrap().next().is_none());
}

#[tokio::test]
async fn made_up_values_stand_the_checks_of_their_steps() {
    let checked = |least: u64| {
        Plan::new("checked", move |topic: Step<String>| {
            let year = agent("year").input("topic", topic).prompt("When?").returns::<u64>();
            agent("later")
                .input("year", year)
                .prompt("A later one.")
                .check(
                    move |year: &u64| if *year >= least { Ok(()) } else { Err("that is too early".into()) },
                )
                .returns::<u64>()
        })
        .unwrap()
    };
    let rehearsal = checked(3).rehearse("tides".to_owned()).await.unwrap();
    rehearsal.ensure_covered().unwrap();
    let values = rehearsal.runs.iter().filter_map(|run| match &run.outcome {
        Outcome::Completed(done) => done.value.as_u64(),
        _ => None,
    });
    assert!(values.clone().count() > 0 && values.into_iter().all(|value| value >= 3));

    let rehearsal = checked(1 << 40).rehearse("tides".to_owned()).await.unwrap();
    let said = rehearsal.to_string();
    assert!(said.contains("NOT COVERED later: succeeds") && said.contains("that is too early"), "{said}");
    let given = checked(1 << 40).rehearse("tides".to_owned()).answers("later", [1_u64 << 41]).await.unwrap();
    given.ensure_covered().unwrap();
}

#[tokio::test]
async fn given_values_that_do_not_fit_are_refused_before_anything_runs() {
    let plan = Plan::new("fix", |report: Step<String>| {
        let length = report.map(String::len);
        let fixed =
            agent("fix").input("report", report).input("length", length).prompt("Fix it.").returns::<u8>();
        step("double").input("fixed", fixed).run(|fixed| u32::from(*fixed) * 2)
    })
    .unwrap();
    let rehearse = || plan.rehearse("It burns.".to_owned());
    let said = |given: Result<Rehearsal, _>| {
        let error: hermes_workflows::executor::DriveError = given.unwrap_err();
        error.to_string()
    };
    let unknown = said(rehearse().answers("fux", [1]).await);
    assert!(unknown.contains("no such step; there are fix"), "{unknown}");
    let unfit = said(rehearse().answers("fix", ["three"]).await);
    assert!(unfit.contains("`.answers(\"fix\", ..)`") && unfit.contains("three"), "{unfit}");
    let local = said(rehearse().answers("double", [1]).await);
    assert!(local.contains("not made up"), "{local}");
    let no_path = said(rehearse().answers("a//b", [1]).await);
    assert!(no_path.contains("a//b"), "{no_path}");
    let input = said(rehearse().input(&3).await);
    assert!(input.contains('3'), "{input}");
}
