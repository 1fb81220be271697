//! The options of agents: shared ones, titles and models made from the inputs, and that only what counts is compared.

mod support;

use hermes_workflows::{
    core::{effect::Effect, journal::Event},
    executor::run_layout,
    plan::graph::{Agent, Kind},
    prelude::*,
};
use support::*;

fn memory(runner: impl Runner + 'static) -> Executor {
    Executor::builder().ledger(Ledger::in_memory().unwrap()).runner(runner).build()
}

fn agent_of<I, O>(plan: &Plan<I, O>) -> Agent {
    let found = plan.graph().nodes().find_map(|node| match &node.kind {
        Kind::Agent(agent) => Some((**agent).clone()),
        _ => None,
    });
    found.unwrap()
}

#[tokio::test]
async fn options_are_taken_over_and_of_two_the_later_call_counts() {
    let options = AgentOptions::builder()
        .tools(["read", "grep"])
        .skills(vec!["research".to_owned()])
        .model("large")
        .variant("high")
        .isolation(Isolation::None)
        .runner("fast")
        .timeout(Duration::from_secs(9))
        .effect(Pure)
        .version(3)
        .repair(2)
        .budget(Budget::usd(0.5))
        .build();
    let shared = options.clone();
    let plan = Plan::new("p", move |text: Step<String>| {
        let first =
            agent("first").input("text", text).model("small").tools(["grep"]).with(&shared).prompt("Go.");
        let small = AgentOptions::builder().model("small").repair(0).build();
        agent("second")
            .input("first", first.text())
            .with(&shared)
            .prompt("Go.")
            .with(&small)
            .version(4)
            .text()
    })
    .unwrap();
    let first = agent_of(&plan);
    assert_eq!((first.isolation, first.effect, first.version), (Isolation::None, Pure, Some(3)));
    assert_eq!((first.timeout, first.repair), (Some(Duration::from_secs(9)), 2));
    assert_eq!(first.budget, Some(Budget::usd(0.5)));
    assert_eq!((first.variant.as_deref(), first.runner.as_deref()), (Some("high"), Some("fast")));
    let script = Scripted::new().text("first", "1").text("second", "2");
    let ledger = Ledger::in_memory().unwrap();
    let executor = Executor::builder().ledger(ledger).named_runner("fast", script.clone()).build();
    start(&executor, &plan, "t".to_owned()).await.completed();
    let seen = script.seen();
    assert_eq!((seen[0].model.as_deref(), seen[1].model.as_deref()), (Some("large"), Some("small")));
    // Tools are added, each once.
    assert_eq!(
        (&seen[0].tools[..], &seen[1].tools[..]),
        (&["grep".into(), "read".into()][..], &["read".to_owned(), "grep".to_owned()][..])
    );
    assert_eq!(seen[1].skills, ["research"]);
    assert_eq!(options, options.clone());
}

#[test]
fn what_is_not_set_changes_nothing() {
    let plan = Plan::new("p", |text: Step<String>| {
        let nothing = AgentOptions::builder().build();
        let agent = agent("a").input("text", text).tools(["t"]).model("m").effect(Unsafe).repair(1);
        agent.with(&nothing).with(&AgentOptions::default()).prompt("Go.").text()
    });
    let agent = agent_of(&plan.unwrap());
    assert_eq!((agent.effect, agent.repair, &agent.tools[..]), (Unsafe, 1, &["t".to_owned()][..]));
    assert_eq!(agent.isolation, Isolation::Workspace);
    assert!(agent.model.is_some() && agent.version.is_none() && agent.timeout.is_none());
}

#[test]
fn blank_values_are_mistakes_where_they_are_given() {
    let blank = AgentOptions::builder()
        .tools(["", "read"])
        .skills([" "])
        .model(" ")
        .variant("")
        .runner("\t")
        .timeout(Duration::ZERO)
        .build();
    let at = line!() + 2;
    let plan = Plan::new("p", |text: Step<String>| {
        agent("a").input("text", text).with(&blank).title(" ").prompt("Go.").text()
    });
    let mistakes = plan.err().unwrap();
    let kinds: Vec<_> = mistakes.iter().map(|mistake| mistake.kind.code()).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "blank_option").count(), 5, "{mistakes}");
    assert_eq!(kinds.iter().filter(|kind| **kind == "zero_timeout").count(), 1, "{mistakes}");
    assert_eq!(kinds.iter().filter(|kind| **kind == "blank_title").count(), 1, "{mistakes}");
    assert!(mistakes.iter().all(|mistake| mistake.at.line() == at), "{mistakes}");
}

/// An agent a topic, with a title of its own.
fn titled(title: &'static str, effect: Effect) -> Plan<Vec<String>, Vec<String>> {
    Plan::new("titled", move |topics: Step<Vec<String>>| {
        let scale = value(10_u32);
        parallel_each("drafts", topics, move |topic| {
            agent("draft")
                .input("topic", topic)
                .input("scale", scale)
                .title_with(move |topic, scale| format!("{title} on\n {topic}, of {scale}"))
                .prompt("Write.")
                .effect(effect)
                .text()
        })
        .key_by(String::clone)
        .all()
    })
    .unwrap()
}

#[tokio::test]
async fn a_title_is_shown_where_the_run_is_drawn_and_nothing_depends_on_it() {
    let store = Store::new();
    let plan = titled("A word", Effect::Idempotent);
    let topics = || vec!["tides".to_owned(), "dunes".to_owned()];
    start(&store.executor(echo().0), &plan, topics()).await.completed();
    // Another title: the recorded one is what the call was known by.
    let other = titled("Something else", Effect::Idempotent);
    let executor = store.replayer();
    resume(&executor, &other).await.completed();
    let drawn = run_layout(&executor, &other, &run_id()).unwrap();
    let line = "[tides] draft: agent(item, constant) -> string “A word on tides, of 10” · done";
    let plain = line.replace("constant", "value");
    assert!(drawn.contains(line) || drawn.contains(&plain), "{drawn}");
}

#[tokio::test]
async fn what_a_person_has_to_decide_has_the_title() {
    let store = Store::new();
    let topics = || vec!["tides".to_owned()];
    let failing = FnRunner::sync(|_| Err(RunnerError::new(RunnerErrorKind::Failed, "no")));
    start(&store.executor(failing), &titled("A word", Effect::Unsafe), topics()).await.failed();
    let needs = retry(&store.replayer(), &titled("A word", Effect::Unsafe)).await.parked();
    assert!(needs[0].title.starts_with("A word on tides, of 10: it failed"), "{needs:?}");

    let store = Store::new();
    let plan = |prompt: &'static str| {
        Plan::new("p", move |text: Step<String>| {
            agent("a").input("text", text).title("The only one").prompt(prompt).text()
        })
        .unwrap()
    };
    start(&store.executor(echo().0), &plan("Go."), "t".to_owned()).await.completed();
    let needs = resume(&store.replayer(), &plan("Go on.")).await.parked();
    assert_eq!(needs[0].title, "The only one: prompt changed since it was recorded");
}

#[tokio::test]
async fn the_model_made_from_the_inputs_is_asked_for_and_compared() {
    let plan = |small: &'static str| {
        Plan::new("p", move |text: Step<String>| {
            agent("a")
                .input("text", text)
                .model_with(move |text| if text.len() > 3 { "large".to_owned() } else { small.to_owned() })
                .prompt("Go.")
                .text()
        })
        .unwrap()
    };
    for (text, model) in [("a long text", "large"), ("t", "small")] {
        let script = Scripted::new().text("a", "done");
        start(&memory(script.clone()), &plan("small"), text.to_owned()).await.completed();
        assert_eq!(script.seen()[0].model.as_deref(), Some(model));
    }
    let store = Store::new();
    start(&store.executor(echo().0), &plan("small"), "t".to_owned()).await.completed();
    resume(&store.replayer(), &plan("small")).await.completed();
    let needs = resume(&store.replayer(), &plan("tiny")).await.parked();
    assert_eq!(changed_fields(&needs), ["a: model"]);
    // A later call counts.
    let fixed = Plan::new("p", |text: Step<String>| {
        agent("a").input("text", text).model_with(|_| "large".into()).model("small").prompt("Go.").text()
    });
    resume(&store.replayer(), &fixed.unwrap()).await.completed();
}

type Builds = fn(Step<String>) -> Step<String>;

#[tokio::test]
async fn what_the_closures_do_wrong_fails_the_step_at_their_line_before_anything_is_paid() {
    let at = line!() + 3;
    let plans: [(Builds, FailureClass, &str); 3] = [
        (
            |text| agent("a").input("text", text).title_with(|_| panic!("no title")).prompt("Go.").text(),
            FailureClass::Panicked,
            "no title",
        ),
        (
            |text| agent("a").input("text", text).model_with(|_| panic!("no model")).prompt("Go.").text(),
            FailureClass::Panicked,
            "no model",
        ),
        (
            |text| agent("a").input("text", text).model_with(|_| " ".to_owned()).prompt("Go.").text(),
            FailureClass::Rejected,
            "blank",
        ),
    ];
    for (build, class, says) in plans {
        let plan = Plan::new("p", build).unwrap();
        let failure = start(&memory(refuses()), &plan, "t".to_owned()).await.failed();
        assert_eq!((failure.class, &*failure.path), (class, "a"));
        assert!(failure.message.contains(says), "{failure}");
        let location = failure.location.unwrap();
        let line: u32 = location.strip_prefix("tests/agent_options.rs:").unwrap().parse().unwrap();
        assert!((at..at + 24).contains(&line), "{location}");
    }
}

#[tokio::test]
async fn a_blank_title_is_none_and_a_long_one_is_cut() {
    let plan = |title: String| {
        Plan::new("p", move |text: Step<String>| {
            agent("a").input("text", text).title_with(move |_| title.clone()).prompt("Go.").text()
        })
        .unwrap()
    };
    for (given, recorded) in [(" \n".to_owned(), None), ("é".repeat(300), Some("é".repeat(200) + "…"))] {
        let executor = memory(echo().0);
        start(&executor, &plan(given), "t".to_owned()).await.completed();
        let run = executor.ledger().find(&run_id()).unwrap().unwrap();
        let Event::Started(started) =
            executor.ledger().record(run, hermes_workflows::core::ids::Seq(3)).unwrap().event().unwrap()
        else {
            panic!("no start")
        };
        assert_eq!(started.title, recorded);
    }
}

#[tokio::test]
async fn what_is_made_from_the_inputs_so_far_is_not_disturbed_by_more_of_them() {
    let plan = Plan::new("p", |pair: Step<(String, u32)>| {
        let (text, number) = (pair.get(|pair| &pair.0), pair.get(|pair| &pair.1));
        agent("a")
            .model_with(|| "plain".to_owned())
            .input("text", text)
            .title_with(|text| format!("About {text}"))
            .input("number", number)
            .prompt_with(|text, number| format!("{text} {number}"))
            .text()
    });
    let (plan, script) = (plan.unwrap(), Scripted::new().text("a", "done"));
    let executor = memory(script.clone());
    start(&executor, &plan, ("tides".to_owned(), 7)).await.completed();
    let seen = &script.seen()[0];
    assert_eq!((seen.model.as_deref(), &*seen.text), (Some("plain"), "tides 7"));
    let drawn = run_layout(&executor, &plan, &run_id()).unwrap();
    assert!(drawn.contains("-> string “About tides” · done"), "{drawn}");
}

#[tokio::test]
async fn files_are_handed_on_by_path_and_compared_by_content() {
    let plan = || {
        Plan::new("files", |topic: Step<String>| {
            agent("read").input("topic", topic).files(["notes.md", "none.md"]).prompt("Read them.").text()
        })
        .unwrap()
    };
    let (store, base) = (Store::new(), tempfile::tempdir().unwrap());
    let over = |runner: FnRunner| {
        Executor::builder().ledger(store.open()).runner(runner).base_dir(base.path()).build()
    };
    std::fs::write(base.path().join("notes.md"), "tides").unwrap();
    let runner = FnRunner::sync(|call| {
        let read = call.files.iter().map(|file| std::fs::read_to_string(file).unwrap_or_default());
        Ok(AgentReply::text(read.collect::<Vec<_>>().join("|")))
    });
    let (value, _) = start(&over(runner), &plan(), "t".to_owned()).await.completed();
    assert_eq!(value, "tides|");
    resume(&over(refuses()), &plan()).await.completed();
    std::fs::write(base.path().join("notes.md"), "moons").unwrap();
    let needs = resume(&over(refuses()), &plan()).await.parked();
    assert_eq!(changed_fields(&needs), ["read: file `notes.md`"]);
    let mistakes = Plan::new("outside", |_: Step<()>| agent("read").files(["../x"]).prompt("Go.").text());
    assert_eq!(mistakes.unwrap_err().iter().next().unwrap().kind, PlanErrorKind::InvalidPath);
}
