//! Small plans, one a primitive: what each looks like in code, to be held beside its drawing.

use hermes_workflows::prelude::*;

/// All of them, in the order in which they are best read.
pub(crate) fn plans() -> Result<Vec<AnyPlan>, PlanErrors> {
    Ok(vec![
        Plan::new("agent", one_agent)?.into(),
        Plan::new("template", prompt_in_a_file)?.into(),
        Plan::new("ask", ask_a_person)?.into(),
        Plan::new("choose", choose_some)?.into(),
        Plan::new("ask_in_time", answer_within_an_hour)?.into(),
        Plan::new("review", approve_or_revise)?.into(),
        Plan::new("decide", rejection_is_a_way_on)?.into(),
        Plan::new("decision", rejection_is_a_value)?.into(),
        Plan::new("step", local_rust)?.into(),
        Plan::new("command", a_subprocess)?.into(),
        Plan::new("wait", a_day_later)?.into(),
        Plan::new("files", files_as_they_are)?.into(),
        Plan::new("derived", derived_values)?.into(),
        Plan::new("lists", verbs_on_lists)?.into(),
        Plan::new("parallel", known_fan_out)?.into(),
        Plan::new("parallel_each", fan_out_over_a_list)?.into(),
        Plan::new("results", failures_as_values)?.into(),
        Plan::new("options", failures_left_out)?.into(),
        Plan::new("keyed", results_under_their_keys)?.into(),
        Plan::new("at_least", the_first_that_succeed)?.into(),
        Plan::new("parallel_dag", items_that_need_each_other)?.into(),
        Plan::new("shared_limit", one_bound_for_several)?.into(),
        Plan::new("pipeline", stage_by_stage)?.into(),
        Plan::new("stage_with", beside_the_original)?.into(),
        Plan::new("streaming", each_item_ahead)?.into(),
        Plan::new("repeat", until_it_is_short)?.into(),
        Plan::new("repeat_or_else", as_good_as_it_gets)?.into(),
        Plan::new("branch", by_severity)?.into(),
        Plan::new("branch_or_fail", only_known_languages)?.into(),
        Plan::new("case", what_a_value_holds)?.into(),
        Plan::new("catch", one_way_or_the_other)?.into(),
        Plan::new("settled", whatever_becomes_of_it)?.into(),
        Plan::new("scope", the_same_twice)?.into(),
        Plan::new("call", a_plan_in_a_plan)?.into(),
        Plan::new("recursive", question_by_question)?.into(),
        Plan::new("then", as_many_rounds_as_it_takes)?.into(),
        Plan::new("after", order_without_data)?.into(),
        Plan::new("nested", pipelines_in_parallel)?.into(),
    ])
}

/// A bug report, as a service hands it in.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Report {
    pub(crate) title: String,
    pub(crate) severity: u8,
}

/// What an agent makes of a report.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Diagnosis {
    cause: String,
    files: Vec<String>,
}

/// A durable call to an agent: inputs by name, a prompt made of them, a typed answer.
pub(crate) fn one_agent(report: Step<Report>) -> Step<Diagnosis> {
    agent("diagnose")
        .input("report", report)
        .tools(["read", "grep"])
        .prompt_with(|report| format!("Find the cause of: {}", report.title))
        .returns()
}

/// A prompt in a file of its own, compiled in; its variables are the inputs.
pub(crate) fn prompt_in_a_file(report: Step<Report>) -> Step<Diagnosis> {
    agent("diagnose").input("report", report).prompt(template!("examples/topology/diagnose.md")).returns()
}

/// A typed question to a person.
pub(crate) fn ask_a_person(report: Step<Report>) -> Step<u8> {
    ask("severity").title("How severe is it?").input("report", report).returns()
}

/// A choice among options that an agent proposed.
pub(crate) fn choose_some(topic: Step<String>) -> Step<Vec<String>> {
    let angles = agent("angles").input("topic", topic).prompt("Propose five angles.").returns();
    ask("pick").title("Which angles are worth it?").choose_from(angles).many()
}

/// A question for somebody in particular, which has an answer in an hour at the latest.
pub(crate) fn answer_within_an_hour(report: Step<Report>) -> Step<bool> {
    ask("page_somebody")
        .input("report", report)
        .assign_with(|report| format!("on-call {}", report.severity))
        .expires_in(Duration::from_secs(60 * 60), OnExpiry::Value(true))
        .returns()
}

/// A review whose value may be rejected: the plan goes on one of two ways.
pub(crate) fn rejection_is_a_way_on(topic: Step<String>) -> Step<String> {
    let offer = agent("offer").input("topic", topic).prompt("Write an offer.").text();
    review("approve_offer", offer).decide(
        |offer| agent("send").input("offer", offer).prompt("Send it.").isolation(Isolation::None).text(),
        |_, reason| reason,
    )
}

/// The same, where the decision is a value.
pub(crate) fn rejection_is_a_value(topic: Step<String>) -> Step<Verdict<String>> {
    let offer = agent("offer").input("topic", topic).prompt("Write an offer.").text();
    review("approve_offer", offer).decision()
}

/// A moment that is fixed when the wait begins; nothing runs until then.
pub(crate) fn a_day_later(report: Step<Report>) -> Step<String> {
    let asked = agent("ask_reporter").input("report", report).prompt("Ask whether it still burns.").text();
    let day_after = wait("a_day").after(asked).for_(Duration::from_secs(24 * 60 * 60));
    let quiet = wait("quiet_hours").until(day_after.map(|then| then.after(Duration::from_secs(90 * 60))));
    agent("remind").input("asked", asked).prompt("Remind them.").after(quiet).text()
}

/// The approve-or-revise loop.
pub(crate) fn approve_or_revise(topic: Step<String>) -> Step<String> {
    let draft = agent("draft").input("topic", topic).prompt("Write a paragraph.").text();
    review("approve_draft", draft)
        .revise(|draft, feedback| {
            agent("revise")
                .input("draft", draft)
                .input("feedback", feedback)
                .prompt("Answer the feedback.")
                .text()
        })
        .max_rounds(5)
        .approved()
}

/// Local Rust whose result is recorded: it may fail, it may be plain, it may be async.
pub(crate) fn local_rust(version: Step<String>) -> Step<Vec<String>> {
    let numbers = step("parse")
        .input("version", version)
        .try_run(|version| version.split('.').map(str::parse::<u64>).collect::<Result<Vec<_>, _>>());
    let tag = step("tag_of_next")
        .input("numbers", numbers)
        .run(|numbers| format!("v{}", numbers.first().map_or(0, |major| major + 1)));
    step("read_changes")
        .input("tag", tag)
        .run_async(|tag| async move { vec![format!("{tag}: the first change")] })
}

/// A subprocess: its arguments are handed over as they are, and how it ended is a value.
pub(crate) fn a_subprocess(text: Step<String>) -> Step<String> {
    let left = command("find_todos")
        .input("text", text)
        .argv(["grep", "-n", "TODO"])
        .stdin_with(String::clone)
        .effect(Pure)
        .output();
    branch("anything_left", left)
        .when("yes", CommandOutput::success, |left| {
            agent("plan_them").input("todos", left.get(|left| &left.stdout)).prompt("Plan them.").text()
        })
        .otherwise(|_| value("nothing is left to do".to_owned()))
}

/// Values that are computed whenever they are needed, and never recorded: labels on the edges.
pub(crate) fn derived_values(report: Step<Report>) -> Step<String> {
    let title = report.get(|report| &report.title);
    let urgent = report.map(|report| report.severity > 7);
    let both = join((title, urgent));
    agent("announce")
        .input("report", both)
        .input("channel", value("ops".to_owned()))
        .prompt("Announce it.")
        .text()
}

/// A snapshot of files, which stay as they were then.
pub(crate) fn files_as_they_are(question: Step<String>) -> Step<String> {
    let notes = files("notes", ["examples/data/**/*.md", "!**/drafts"]).texts();
    agent("answer").input("question", question).input("notes", notes).prompt("Answer from the notes.").text()
}

/// Verbs on lists, derived as well. What stays of a fan-out's result keeps its items' keys.
pub(crate) fn verbs_on_lists(reports: Step<Vec<Report>>) -> Step<(Vec<String>, Option<Report>)> {
    let diagnoses =
        parallel_each("reports", reports, one_agent).key_by(|report| report.title.clone()).results();
    let fixes = parallel_each("fixes", diagnoses.successes(), |diagnosis| {
        agent("fix").input("diagnosis", diagnosis).prompt("Propose a fix.").text()
    })
    .all();
    let open = agent("tell").input("failures", diagnoses.failures()).prompt("Tell what failed.").text();
    let all =
        join((fixes, open)).map(|(fixes, open)| [fixes.as_slice(), std::slice::from_ref(open)].concat());
    join((all, reports.filter(|report| report.severity > 7).first()))
}

/// A fan-out whose children are known when the plan is built.
pub(crate) fn known_fan_out(code: Step<String>) -> Step<Vec<String>> {
    parallel("lenses", ["security", "style", "tests"], |lens| {
        agent("look").input("code", code).prompt(format!("Review it for {lens}.")).text()
    })
    .all()
}

/// A fan-out over a list known at run time: each item under its own key, four at once, and the first failure fails it.
pub(crate) fn fan_out_over_a_list(reports: Step<Vec<Report>>) -> Step<Vec<Diagnosis>> {
    parallel_each("reports", reports, one_agent).key_by(|report| report.title.clone()).limit(4).all()
}

/// Failures as values: what failed is told, the rest goes on.
pub(crate) fn failures_as_values(reports: Step<Vec<Report>>) -> Step<String> {
    let diagnoses = parallel_each("reports", reports, one_agent).results();
    agent("sum_up").input("diagnoses", diagnoses).prompt("Sum up what was found, and what failed.").text()
}

/// Failures as gaps.
pub(crate) fn failures_left_out(reports: Step<Vec<Report>>) -> Step<usize> {
    let diagnoses = parallel_each("reports", reports, one_agent).options();
    diagnoses.map(|diagnoses| diagnoses.iter().flatten().count())
}

/// Each element of the result with the key of its item.
pub(crate) fn results_under_their_keys(reports: Step<Vec<Report>>) -> Step<String> {
    let diagnoses =
        parallel_each("reports", reports, one_agent).key_by(|report| report.title.clone()).keyed().all();
    agent("sum_up").input("diagnoses", diagnoses).prompt("Sum them up by title.").text()
}

/// The first that succeed are enough: of three opinions two, and of two tries one.
pub(crate) fn the_first_that_succeed(text: Step<String>) -> Step<(Vec<String>, String)> {
    let opinions = parallel("opinions", ["bold", "sober", "funny"], |tone| {
        agent("opine").input("text", text).prompt(format!("A {tone} opinion on it.")).text()
    })
    .at_least(2);
    let titles = parallel("titles", ["short", "long"], |length| {
        agent("title").input("text", text).prompt(format!("A {length} title.")).text()
    })
    .first();
    join((opinions, titles))
}

/// A change, and the changes that have to be made before it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Change {
    pub(crate) id: String,
    pub(crate) after: Vec<String>,
}

/// Items that depend on each other, known at run time: each starts when those it needs are done, and gets their outputs.
pub(crate) fn items_that_need_each_other(changes: Step<Vec<Change>>) -> Step<Vec<String>> {
    parallel_dag("changes", changes, |change, before: Step<Vec<Keyed<String>>>| {
        agent("make").input("change", change).input("before", before).prompt("Make the change.").text()
    })
    .key_by(|change| change.id.clone())
    .needs(|change| change.after.clone())
    .limit(4)
    .all()
}

/// One bound for several fan-outs.
pub(crate) fn one_bound_for_several(pages: Step<Vec<String>>) -> Step<(Vec<String>, Vec<String>)> {
    let translators = Limit::shared("translators", 3);
    let to = |language: &str| {
        parallel_each(language, pages, |page| {
            agent("translate").input("page", page).prompt(format!("Translate it to {language}.")).text()
        })
        .limit(&translators)
        .all()
    };
    join((to("german"), to("french")))
}

/// Each item goes on to its next stage as soon as it has ended one.
pub(crate) fn each_item_ahead(pages: Step<Vec<String>>) -> Step<Vec<String>> {
    pipeline("pages", pages)
        .stage(|page| agent("translate").input("page", page).prompt("Translate the page.").text())
        .stage(|page| agent("proofread").input("page", page).prompt("Proofread the page.").text())
        .streaming()
        .limit(2)
        .all()
}

/// All items end one stage before the next begins.
pub(crate) fn stage_by_stage(pages: Step<Vec<String>>) -> Step<Vec<String>> {
    pipeline("pages", pages)
        .stage(|page| agent("translate").input("page", page).prompt("Translate the page.").text())
        .stage(|page| agent("proofread").input("page", page).prompt("Proofread the page.").text())
        .limit(8)
        .all()
}

/// A later stage may see the item as it entered the pipeline.
pub(crate) fn beside_the_original(pages: Step<Vec<String>>) -> Step<Vec<String>> {
    pipeline("pages", pages)
        .stage(|page| agent("translate").input("page", page).prompt("Translate the page.").text())
        .stage_with(|translated, page| {
            agent("compare").input("page", page).input("translated", translated).prompt("Mend it.").text()
        })
        .all()
}

fn shorter(text: Step<String>) -> Step<Flow<String, String>> {
    let short = text.map(|text| text.len() < 280);
    branch("short", short)
        .when("yes", |short| *short, |_| text.done())
        .otherwise(|_| agent("shorten").input("text", text).prompt("Shorten it.").text().again())
}

/// A bounded loop that fails when its rounds are used up.
pub(crate) fn until_it_is_short(text: Step<String>) -> Step<String> {
    repeat("until_short", text, 3, shorter).or_fail()
}

/// A bounded loop that goes on with its last state when its rounds are used up.
pub(crate) fn as_good_as_it_gets(text: Step<String>) -> Step<String> {
    repeat("until_short", text, 3, shorter).or_else(|text| {
        step("cut").input("text", text).run(|text| text.chars().take(280).collect::<String>())
    })
}

/// A choice between arms, made of a value at run time.
pub(crate) fn by_severity(report: Step<Report>) -> Step<String> {
    branch("severity", report)
        .when(
            "critical",
            |report| report.severity > 7,
            |report| ask("wake_somebody").title("Whom shall we wake?").input("report", report).returns(),
        )
        .when("minor", |report| report.severity < 3, |_| value("backlog".to_owned()))
        .otherwise(|report| {
            agent("assign").input("report", report).prompt("Name the team it belongs to.").text()
        })
}

/// A choice that fails where no arm takes the value.
pub(crate) fn only_known_languages(text: Step<String>) -> Step<String> {
    let language = agent("detect").input("text", text).prompt("Name its language, as a code.").text();
    branch("language", language)
        .when(
            "german",
            |code| code.starts_with("de"),
            |_| agent("german").input("text", text).prompt("Kürze ihn.").text(),
        )
        .when(
            "french",
            |code| code.starts_with("fr"),
            |_| agent("french").input("text", text).prompt("Abrège-le.").text(),
        )
        .or_fail()
}

/// A ticket, as a classifier reads it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) enum Ticket {
    Bug(Report),
    Question { asked: String },
    Praise,
}

/// A choice by what a value holds: each arm gets what its case found.
pub(crate) fn what_a_value_holds(ticket: Step<Ticket>) -> Step<String> {
    let bug = |ticket: &Ticket| if let Ticket::Bug(report) = ticket { Some(report.clone()) } else { None };
    let asked = |ticket: &Ticket| match ticket {
        Ticket::Question { asked } => Some(asked.clone()),
        _ => None,
    };
    branch("ticket", ticket)
        .case("bug", bug, |report| agent("fix").input("report", report).prompt("Fix it.").text())
        .case("question", asked, |asked| agent("answer").input("asked", asked).prompt("Answer it.").text())
        .otherwise(|_| value("thanks".to_owned()))
}

/// A failure that is caught: something else takes the place of the output.
pub(crate) fn one_way_or_the_other(text: Step<String>) -> Step<String> {
    catch("first_try", || {
        let short = agent("shorten").input("text", text).prompt("Shorten it.").text();
        step("check")
            .input("short", short)
            .try_run(|short| if short.len() < 280 { Ok(short.clone()) } else { Err("still too long") })
    })
    .or_else(|failure| {
        agent("second_try")
            .input("text", text)
            .input("why", failure)
            .prompt("Mind why the first failed.")
            .text()
    })
}

/// What became of a step, a failure included, as a value; and a step that waits for another in any case.
pub(crate) fn whatever_becomes_of_it(text: Step<String>) -> Step<bool> {
    let posted = agent("post").input("text", text).prompt("Post it.").text();
    let noted = step("note")
        .input("posted", posted.settled())
        .run(|posted| posted.as_ref().map_or_else(|failure| failure.message.clone(), Clone::clone));
    let tidied = step("tidy_up").after(noted).run(|| "tidied".to_owned());
    join((noted, tidied)).map(|(noted, _)| noted.is_empty())
}

/// Names for groups of steps: one function of handles, used twice.
pub(crate) fn the_same_twice(text: Step<String>) -> Step<(String, String)> {
    let first = scope("first_opinion", || critique(text));
    let second = scope("second_opinion", || critique(text));
    join((first, second))
}

fn critique(text: Step<String>) -> Step<String> {
    let weak = agent("weaknesses").input("text", text).prompt("Name its weaknesses.").text();
    agent("advice").input("weaknesses", weak).prompt("Say how to mend them.").text()
}

/// A plan in a plan: its steps have paths below the name it is called by.
pub(crate) fn a_plan_in_a_plan(text: Step<String>) -> Step<(String, String)> {
    match Plan::new("critique", critique) {
        Ok(plan) => {
            let first = plan.call("first_opinion", text);
            join((first, plan.call("second_opinion", first)))
        }
        // The mistakes of the inner plan would be its own.
        Err(mistakes) => value((mistakes.to_string(), String::new())),
    }
}

/// A part of a plan that may stand in itself again, for shapes that are as deep as their data.
pub(crate) fn question_by_question(question: Step<String>) -> Step<String> {
    recursive("answer", question, 2, |again, question| {
        let parts = agent("split")
            .input("question", question)
            .prompt("Split it, where it wants to be.")
            .returns::<Vec<String>>();
        let short = question.map(|question| question.len() < 5 || question.contains("answer["));
        branch("short", short)
            .when(
                "yes",
                |short| *short,
                |_| agent("look_up").input("question", question).prompt("Answer it.").text(),
            )
            .otherwise(|_| {
                let answers = parallel_each("parts", parts, |part| again.call(part)).all();
                agent("merge").input("answers", answers).prompt("Make one answer of them.").text()
            })
    })
}

/// A part of a plan that is built from a value at run time: here a loop, as a function that calls itself.
pub(crate) fn as_many_rounds_as_it_takes(text: Step<String>) -> Step<String> {
    let shorter = agent("shorten").input("text", text).prompt("Shorten it.").text();
    shorter.then(
        "again",
        move |text| {
            if text.len() < 280 { shorter } else { as_many_rounds_as_it_takes(shorter) }
        },
    )
}

/// Order where no data flows.
pub(crate) fn order_without_data(version: Step<String>) -> Step<String> {
    let tag = step("tag").input("version", version).run(|version| format!("v{version}"));
    agent("announce").input("version", version).prompt("Announce the release.").after(tag).text()
}

/// Everything nests in everything: a pipeline for each language, a review in its last stage.
pub(crate) fn pipelines_in_parallel(pages: Step<Vec<String>>) -> Step<Vec<Vec<String>>> {
    parallel("languages", ["de", "fr"], |language| {
        pipeline("pages", pages)
            .stage(|page| {
                agent("translate").input("page", page).prompt(format!("Translate it to {language}.")).text()
            })
            .stage(|page| review("approve", page).title(format!("Approve the {language} page")).approved())
            .all()
    })
    .all()
}
