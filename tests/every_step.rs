//! Every step of every example plan, one at a time, fails once, panics once, passes its time limit once where it has one,
//! and runs twice: its outcome is computed and lost before the commit. Each time the run ends in an honest state, and a
//! retry or resume brings it to the output of the run that nothing disturbed, making again only what it must.

#[path = "every_step/answers.rs"]
mod answers;
#[path = "every_step/desk.rs"]
mod desk;
#[path = "every_step/faults.rs"]
mod faults;
#[path = "../examples/blog_post/plan.rs"]
mod plan;
#[path = "../examples/topology/plans.rs"]
mod plans;
#[path = "every_step/workshop.rs"]
mod workshop;

use desk::{Desk, Journal, Sits, Sitting};
use faults::{Fault, Faults, Place, SAYS, Stands};
use hermes_workflows::{
    core::{
        fold::{CellStatus, RunStatus},
        journal::EndKind,
    },
    prelude::*,
};
use plans::Report;
use std::collections::{BTreeMap, BTreeSet};

/// A plan, what it is run with, and how that goes when nothing disturbs it.
struct Case<I, O> {
    plan: Plan<I, O>,
    input: I,
    faults: Faults,
    value: serde_json::Value,
    places: BTreeMap<String, Place>,
    /// The steps that were called and the questions that were answered.
    made: BTreeSet<String>,
    journal: Journal,
}

/// Shows it all, for every step that a run of this plan comes to. Gives the steps that it does not come to.
async fn every_step<I: Data, O: Data + std::fmt::Debug>(
    plan: Plan<I, O>,
    input: I,
    faults: Faults,
) -> BTreeSet<String> {
    let (case, desk) = Case::undisturbed(plan, input, faults).await;
    let mut wrong: BTreeMap<&str, usize> = BTreeMap::new();
    let mut missed: BTreeSet<_> = case.journal.planned.difference(&case.journal.reached).cloned().collect();
    for (name, place) in &case.places {
        for fault in &place.faults {
            let reached = case.goes_wrong_once(name, place, *fault).await;
            missed.retain(|step| !reached.contains(step));
            *wrong.entry(fault.does()).or_default() += 1;
        }
    }
    let twice = case.runs_twice(&desk).await;
    println!("{}: {wrong:?}, {twice} run twice", case.plan.name());
    missed
}

impl<I: Data, O: Data + std::fmt::Debug> Case<I, O> {
    async fn undisturbed(plan: Plan<I, O>, input: I, faults: Faults) -> (Self, Desk) {
        let mut desk = Desk::new(&faults, None);
        let sitting = desk.sit(Sits::Starts, &plan, &input).await;
        let value = completed(&sitting, "undisturbed");
        assert!(!sitting.journal.steps.is_empty());
        for (path, count) in &sitting.made {
            assert_eq!(*count, 1, "{path}");
        }
        let (places, journal) = (faults.places(), sitting.journal);
        let made = sitting.made.into_keys().collect();
        (Self { plan, input, faults, value, places, made, journal }, desk)
    }

    /// One place goes wrong once: the run says so, says it again when it is looked at again, and can be retried.
    /// Gives what the run came to.
    async fn goes_wrong_once(&self, name: &str, place: &Place, fault: Fault) -> BTreeSet<String> {
        let label = format!("{}: {name} {}", self.plan.name(), fault.does());
        let mut desk = Desk::new(&self.faults, Some((name, fault)));
        let first = desk.sit(Sits::Starts, &self.plan, &self.input).await;
        assert!(!self.faults.pending(), "{label}: it did not");
        assert!(first.doubted.is_empty(), "{label}");
        honest(&first, place, fault, &label);

        let again = desk.sit(Sits::Resumes, &self.plan, &self.input).await;
        assert_eq!(said(&again.outcome), said(&first.outcome), "{label}");
        assert!(again.made.is_empty() && again.doubted.is_empty(), "{label}: {:?}", again.made);

        let retried = desk.sit(Sits::Retries, &self.plan, &self.input).await;
        assert_eq!(completed(&retried, &label), self.value, "{label}");
        self.made_what_it_must(&first.journal, &retried, &label);
        if place.stands != Stands::Closure {
            assert_eq!((first.made[name], retried.made.get(name)), (1, Some(&1)), "{label}");
        }
        // Only the call that may have acted was in doubt.
        assert!(retried.doubted.iter().all(|path| *path == place.blames), "{label}: {:?}", retried.doubted);
        first.journal.reached
    }

    /// Each outcome in turn is lost with the power, just before the sync that would have kept it: what made it is made a
    /// second time. Says how many.
    async fn runs_twice(&self, desk: &Desk) -> usize {
        let mut twice = BTreeSet::new();
        let mut before: Option<(Desk, Journal)> = None;
        for desk in desk.after_syncs() {
            let Some(journal) = desk.journal() else { continue };
            let lost: Vec<_> = journal
                .steps
                .iter()
                .filter(|(path, step)| step.done() && !twice.contains(*path))
                .map(|(path, _)| path.clone())
                .collect();
            let was = before.replace((desk, journal));
            if let (Some((mut desk, journal)), false) = (was, lost.is_empty()) {
                let label = format!("{}: {lost:?} lost", self.plan.name());
                let sitting = desk.sit(Sits::Resumes, &self.plan, &self.input).await;
                assert_eq!(completed(&sitting, &label), self.value, "{label}");
                self.made_what_it_must(&journal, &sitting, &label);
                let open = |path: &String| journal.steps[path].status == CellStatus::Started;
                assert!(sitting.doubted.iter().all(open), "{label}: {:?}", sitting.doubted);
            }
            twice.extend(lost);
        }
        assert!(twice.iter().eq(self.journal.steps.keys()), "{twice:?}");
        twice.len()
    }

    /// That a sitting made exactly once what `before` has no outcome of that still holds, and nothing else.
    fn made_what_it_must(&self, before: &Journal, sitting: &Sitting<O>, label: &str) {
        let due = self.made.iter().filter(|path| {
            let known = before.steps.get(*path).filter(|step| step.done());
            known.is_none_or(|step| step.fingerprint != sitting.journal.steps[*path].fingerprint)
        });
        let due: BTreeMap<_, _> = due.map(|path| (path.clone(), 1)).collect();
        assert_eq!(sitting.made, due, "{label}");
    }
}

/// What the run yields, which must be whole: nothing failed, nothing is left over.
fn completed<O: Data + std::fmt::Debug>(sitting: &Sitting<O>, label: &str) -> serde_json::Value {
    let Outcome::Completed(done) = &sitting.outcome else { panic!("{label}: {:?}", sitting.outcome) };
    assert!(!done.degraded(), "{label}: {:?}", done.counts);
    assert_eq!(sitting.journal.head.status, RunStatus::Completed, "{label}");
    assert_eq!(sitting.journal.end, Some(EndKind::Completed { failed: 0 }), "{label}");
    for (path, step) in &sitting.journal.steps {
        assert!(step.done(), "{label}: {path} {:?}", step.status);
    }
    serde_json::to_value(&done.value).unwrap()
}

/// That the run says what went wrong, and where: as its end, or as what its output swallowed.
fn honest<O>(sitting: &Sitting<O>, place: &Place, fault: Fault, label: &str) {
    let Sitting { outcome, journal, .. } = sitting;
    let is_it = |failure: &Failure| {
        assert_eq!(
            (failure.path.as_str(), failure.class),
            (place.blames.as_str(), place.class(fault)),
            "{label}"
        );
        assert!(fault == Fault::TimesOut || failure.message.contains(SAYS), "{label}: {failure}");
        if place.stands != Stands::Agent {
            let at = failure.location.as_deref().unwrap_or_default();
            assert!(at.contains("tests/every_step/workshop.rs:"), "{label}: {failure}");
        }
    };
    match outcome {
        Outcome::Failed(failure) => {
            is_it(failure);
            assert_eq!(journal.head.status, RunStatus::Failed, "{label}");
            assert_eq!(journal.end, Some(EndKind::Failed { failure: failure.clone() }), "{label}");
        }
        Outcome::Completed(done) => {
            assert_eq!((done.degraded(), done.counts.failed), (true, 1), "{label}");
            assert_eq!(journal.head.status, RunStatus::Completed, "{label}");
            assert_eq!(journal.end, Some(EndKind::Completed { failed: 1 }), "{label}");
            assert!(journal.steps[&place.blames].failure.is_some(), "{label}");
        }
        _ => panic!("{label}: neither failed nor completed"),
    }
    if place.stands != Stands::Closure {
        assert!(journal.steps[&place.blames].failure.is_some(), "{label}");
    }
    for (path, step) in &journal.steps {
        match &step.failure {
            Some(failure) if *path == place.blames => is_it(failure),
            // A group that fails cancels what it has under way.
            Some(failure) => assert_eq!(failure.class, FailureClass::Cancelled, "{label}: {path}"),
            None => assert_ne!(step.status, CellStatus::Started, "{label}: {path}"),
        }
    }
    assert!(journal.head.needs == 0, "{label}");
}

/// An outcome as text.
fn said<O: Data + std::fmt::Debug>(outcome: &Outcome<O>) -> String {
    match outcome {
        Outcome::Completed(done) => format!("{:?}", done.value),
        other => format!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn every_step_of_the_blog_post() {
    let plan = Plan::new("blog-post", plan::blog_post).unwrap();
    let left = every_step(plan, "Notes about tides.".to_owned(), Faults::default()).await;
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test(start_paused = true)]
async fn every_step_and_closure_of_a_plan_of_everything() {
    let faults = Faults::default();
    let words = ["tide", "moon", "sea"].map(str::to_owned).to_vec();
    let left = every_step(workshop::workshop(&faults), words, faults).await;
    assert!(left.is_empty(), "{left:?}");
}

/// The small plans of the other example, each with inputs and answers that between them reach all its steps.
#[tokio::test(start_paused = true)]
async fn every_step_of_the_small_plans() {
    let report = |severity: u8| Report { title: format!("It burns, {severity}"), severity };
    let reports = || vec![report(1), report(5)];
    let (text, long) = (|| "a text".to_owned(), || "long ".repeat(80));
    let (as_they_are, says) = (Faults::default, Faults::saying);
    let change = |id: &str, after: &[&str]| plans::Change {
        id: id.to_owned(),
        after: after.iter().map(|id| (*id).to_owned()).collect(),
    };
    let changes = || vec![change("b", &["a"]), change("a", &[])];
    let pages = || vec!["page one".to_owned(), "page two".to_owned()];
    // By plan, what none of its runs so far came to.
    let mut left: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    macro_rules! small {
        ($($name:literal $plan:ident $input:expr, $faults:expr;)*) => {
            $(
                let missed = every_step(Plan::new($name, plans::$plan).unwrap(), $input, $faults).await;
                let all_missed = left.entry($name.to_owned()).or_insert_with(|| missed.clone());
                all_missed.retain(|step| missed.contains(step));
            )*
        };
    }
    small! {
        "agent" one_agent report(5), as_they_are();
        "template" prompt_in_a_file report(5), as_they_are();
        "ask" ask_a_person report(5), as_they_are();
        "choose" choose_some text(), as_they_are();
        "ask_in_time" answer_within_an_hour report(5), as_they_are();
        "review" approve_or_revise text(), as_they_are();
        "decide" rejection_is_a_way_on text(), as_they_are();
        "decision" rejection_is_a_value text(), as_they_are();
        "wait" a_day_later report(5), as_they_are();
        "step" local_rust "4.2".to_owned(), as_they_are();
        "command" a_subprocess text(), as_they_are();
        "command" a_subprocess "a TODO".to_owned(), as_they_are();
        "files" files_as_they_are text(), as_they_are();
        "derived" derived_values report(5), as_they_are();
        "lists" verbs_on_lists reports(), as_they_are();
        "parallel" known_fan_out text(), as_they_are();
        "parallel_each" fan_out_over_a_list reports(), as_they_are();
        "results" failures_as_values reports(), as_they_are();
        "options" failures_left_out reports(), as_they_are();
        "keyed" results_under_their_keys reports(), as_they_are();
        "pipeline" stage_by_stage pages(), as_they_are();
        "stage_with" beside_the_original pages(), as_they_are();
        "streaming" each_item_ahead pages(), as_they_are();
        "parallel_dag" items_that_need_each_other changes(), as_they_are();
        "shared_limit" one_bound_for_several pages(), as_they_are();
        "repeat" until_it_is_short long(), as_they_are();
        "repeat_or_else" as_good_as_it_gets long(), says("shorten", &long());
        "branch" by_severity report(5), as_they_are();
        "branch" by_severity report(9), as_they_are();
        "branch_or_fail" only_known_languages text(), says("detect", "de");
        "branch_or_fail" only_known_languages text(), says("detect", "fr");
        "case" what_a_value_holds plans::Ticket::Bug(report(5)), as_they_are();
        "case" what_a_value_holds plans::Ticket::Question { asked: text() }, as_they_are();
        "case" what_a_value_holds plans::Ticket::Praise, as_they_are();
        "catch" one_way_or_the_other text(), as_they_are();
        "settled" whatever_becomes_of_it text(), as_they_are();
        "scope" the_same_twice text(), as_they_are();
        "call" a_plan_in_a_plan text(), as_they_are();
        "recursive" question_by_question text(), as_they_are();
        "recursive" question_by_question "why".to_owned(), as_they_are();
        "then" as_many_rounds_as_it_takes long(), as_they_are();
        "after" order_without_data text(), as_they_are();
        "nested" pipelines_in_parallel pages(), as_they_are();
    }
    // The last level does not go deeper.
    left.entry("recursive".to_owned())
        .or_default()
        .remove("answer[1]/short:else/parts[*]/answer[2]/short:else/merge");
    // A quorum does without what failed, also when the run is retried: `quorum.rs` has its failures.
    let plans = plans::plans().unwrap();
    for plan in plans.iter().filter(|plan| plan.name() != "at_least") {
        assert_eq!(left.get(plan.name()), Some(&BTreeSet::new()), "{}", plan.name());
    }
}
