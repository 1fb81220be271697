//! What the builders put into the graph: options and their defaults, keys of lists, schemas, questions.

use crate::{
    graph::{Agent, Choices, Edge, FanMode, Keys, Kind, LocalStep, NodeId, Placeholder, Prompt, Text},
    prelude::*,
};
use hermes_core::{
    people::{ApprovalAnswer, ReviewAnswer},
    schema::Schema,
};

fn kind<I, O>(plan: &Plan<I, O>, name: &str) -> Kind {
    plan.graph().nodes().find(|node| node.name == name).unwrap().kind.clone()
}

fn agent_of<I, O>(plan: &Plan<I, O>, name: &str) -> Agent {
    let Kind::Agent(agent) = kind(plan, name) else { panic!("{name} is no agent") };
    *agent
}

fn step_of<I, O>(plan: &Plan<I, O>, name: &str) -> LocalStep {
    let Kind::Step(step) = kind(plan, name) else { panic!("{name} is no step") };
    *step
}

#[test]
fn an_agent_has_its_options_and_defaults() -> Result<(), PlanErrors> {
    let plan = Plan::new("agents", |input: Step<String>| {
        let plain = agent("plain").input("text", input).prompt("Go.").text();
        let full = agent("full")
            .key("k")
            .input("plain", plain)
            .tools(["grep"])
            .tools(vec!["read".to_owned()])
            .skills(["research"])
            .model("large")
            .variant("high")
            .runner("fast")
            .prompt(String::from("Go."))
            .timeout(Duration::from_mins(1))
            .version(2)
            .after(input)
            .returns::<Vec<u8>>();
        let bare = agent("bare").isolation(Isolation::None).input("full", full).prompt("Go.").text();
        agent("harmless").isolation(Isolation::None).effect(Pure).input("bare", bare).prompt("Go.").text()
    })?;
    let simple = agent_of(&plan, "plain");
    assert!(matches!(simple.prompt, Prompt::Text(text) if text == "Go."));
    assert_eq!((simple.text, simple.isolation, simple.effect), (true, Isolation::Workspace, Idempotent));
    assert!(simple.model.is_none() && simple.title.is_none() && simple.checks.is_empty());
    assert_eq!((simple.variant, simple.runner, simple.timeout, simple.repair), (None, None, None, 0));
    let full = agent_of(&plan, "full[k]");
    assert_eq!((full.tools, full.skills), (vec!["grep".into(), "read".into()], vec!["research".into()]));
    assert!(matches!(full.model, Some(Text::Fixed(model)) if model == "large"));
    assert_eq!(full.variant.as_deref(), Some("high"));
    assert_eq!((full.runner.as_deref(), full.timeout), (Some("fast"), Some(Duration::from_mins(1))));
    assert_eq!((full.text, full.version), (false, Some(2)));
    assert_eq!(agent_of(&plan, "bare").effect, Unsafe);
    assert_eq!(agent_of(&plan, "harmless").effect, Pure);
    Ok(())
}

#[test]
fn a_step_is_pure_unless_it_says_otherwise() -> Result<(), PlanErrors> {
    let plan = Plan::new("steps", |input: Step<String>| {
        let pure = step("pure").input("text", input).run(String::len);
        step("write").input("n", pure).effect(Unsafe).version(1).timeout(Duration::from_secs(1)).run(|n| *n)
    })?;
    assert_eq!((step_of(&plan, "pure").effect, step_of(&plan, "pure").version), (Pure, None));
    let write = step_of(&plan, "write");
    assert_eq!((write.effect, write.version, write.timeout), (Unsafe, Some(1), Some(Duration::from_secs(1))));
    Ok(())
}

#[test]
fn inputs_and_order_are_edges() -> Result<(), PlanErrors> {
    let plan = Plan::new("edges", |input: Step<String>| {
        let first = step("first").input("text", input).run(String::clone);
        agent("second").input("a", first).input_value("b", &1).prompt("Go.").after(input).text()
    })?;
    let second = plan.graph().nodes().find(|node| node.name == "second").unwrap();
    let names: Vec<_> = second.inputs.iter().map(|input| &*input.name).collect();
    assert_eq!(names, ["a", "b"]);
    let edges: Vec<_> = plan.graph().edges_into(second.id).into_iter().map(|(_, edge)| edge).collect();
    assert_eq!(edges, [Edge::Data(0), Edge::Data(1), Edge::After]);
    assert_eq!(second.after, [NodeId(0)]);
    assert!(matches!(plan.graph().node(second.inputs[1].node).kind, Kind::Constant(_)));
    Ok(())
}

#[test]
fn lists_of_fan_outs_keep_their_keys_and_nothing_else_does() -> Result<(), PlanErrors> {
    let plan = Plan::new("keys", |input: Step<Vec<String>>| {
        let fan = parallel("fan", ["a"], |_| value("x".to_owned())).all();
        let each = parallel_each("of_fan", fan, |item| item).results();
        let pipe = pipeline("of_each", each).stage(|result| result.map(Result::is_ok)).options();
        let of_pipe = parallel_each("of_pipe", pipe, |item| item).all();
        parallel_each("of_map", of_pipe.map(Clone::clone), |item| item).all();
        parallel_each("of_review", review("review", of_pipe).approved(), |item| item).all();
        parallel_each("of_input", input, |item| item).all()
    })?;
    let keys = |name: &str| match kind(&plan, name) {
        Kind::Each { keys, .. } | Kind::Pipeline { keys, .. } => keys,
        other => panic!("{other:?}"),
    };
    for (of, from) in [("of_fan", "fan"), ("of_each", "of_fan"), ("of_pipe", "of_each")] {
        let Keys::Inherited(node) = keys(of) else { panic!("{of}") };
        assert_eq!(plan.graph().node(node).name, from);
    }
    for of in ["of_map", "of_review", "of_input"] {
        assert!(matches!(keys(of), Keys::Position), "{of}");
    }
    Ok(())
}

#[test]
fn endings_fix_the_mode_and_the_type() -> Result<(), PlanErrors> {
    let plan: Plan<Vec<u8>, _> = Plan::new("endings", |input: Step<Vec<u8>>| {
        let all: Step<Vec<u8>> = parallel_each("all", input, |item| item).limit(3).all();
        let results: Step<Vec<Result<u8, Failure>>> = parallel_each("results", input, |item| item).results();
        let options: Step<Vec<Option<u8>>> = parallel_each("options", input, |item| item).options();
        join((all, results, options))
    })?;
    let expected = [
        ("all", FanMode::FailFast, Some(3), Schema::of::<Vec<u8>>()),
        ("results", FanMode::Collect, None, Schema::of::<Vec<Result<u8, Failure>>>()),
        ("options", FanMode::Null, None, Schema::of::<Vec<Option<u8>>>()),
    ];
    for (name, mode, limit, schema) in expected {
        let Kind::Each { fan, .. } = kind(&plan, name) else { panic!("{name}") };
        assert_eq!((fan.mode, fan.limit.map(u32::from)), (mode, limit));
        assert_eq!(plan.graph().nodes().find(|node| node.name == name).unwrap().schema, schema);
    }
    Ok(())
}

#[test]
fn nothing_to_fan_out_is_an_empty_list() -> Result<(), PlanErrors> {
    let plan = Plan::new("nothing", |input: Step<String>| {
        let none: Step<Vec<String>> = parallel("none", Vec::<String>::new(), |_| input).all();
        join((none, join(Vec::<Step<u8>>::new())))
    })?;
    assert!(matches!(kind(&plan, "none"), Kind::Parallel { children, .. } if children.is_empty()));
    Ok(())
}

#[test]
fn questions_have_titles_and_choices() -> Result<(), PlanErrors> {
    let plan = Plan::new("questions", |input: Step<Vec<String>>| {
        let one: Step<String> = ask("one").title("Which?").input("all", input).choose_from(input).one();
        let many: Step<Vec<String>> = ask("many").after(one).choose_from(input).many();
        ask("free").input("many", many).returns::<bool>()
    })?;
    let question = |name: &str| match kind(&plan, name) {
        Kind::Ask(ask) => (ask.title, ask.choices),
        other => panic!("{other:?}"),
    };
    assert_eq!(question("one"), ("Which?".to_owned(), Some(Choices { input: 1, many: false })));
    assert_eq!(question("many"), ("many".to_owned(), Some(Choices { input: 0, many: true })));
    assert_eq!(question("free"), ("free".to_owned(), None));
    Ok(())
}

#[test]
fn changes_can_be_requested_only_where_there_is_a_revision() -> Result<(), PlanErrors> {
    let plan = Plan::new("reviews", |input: Step<String>| {
        let with = review("with", input).title("Look").max_rounds(5).revise(|text, _| text).approved();
        review("without", with).approved()
    })?;
    let review = |name: &str| match kind(&plan, name) {
        Kind::Review(review) => *review,
        other => panic!("{other:?}"),
    };
    let (with, without) = (review("with"), review("without"));
    assert_eq!((&*with.title, with.max_rounds.get()), ("Look", 5));
    assert_eq!((&*without.title, without.max_rounds.get()), ("without", 3));
    assert_eq!(with.answer, Schema::of::<ReviewAnswer<String>>());
    assert_eq!(without.answer, Schema::of::<ApprovalAnswer<String>>());
    let body = plan.graph().body(with.revise.unwrap());
    let words: Vec<_> = body.params.iter().map(|param| plan.graph().node(*param).kind.clone()).collect();
    let expected = [Placeholder::Value, Placeholder::Feedback];
    for (kind, expected) in words.iter().zip(expected) {
        assert!(matches!(kind, Kind::Placeholder(placeholder) if *placeholder == expected));
    }
    assert!(without.revise.is_none());
    Ok(())
}

#[test]
fn eight_inputs_fit_every_call() -> Result<(), PlanErrors> {
    let plan = Plan::new("eight", |n: Step<u8>| {
        let eight = || {
            let four = step("eight").input("a", n).input("b", n).input("c", n).input("d", n);
            four.input("e", n).input("f", n).input("g", n).input("h", n)
        };
        scope("one", || {
            eight().run(|a, b, c, d, e, f, g, h| [a, b, c, d, e, f, g, h].into_iter().sum::<u8>())
        })
    })?;
    assert_eq!(plan.graph().nodes().find(|node| node.name == "eight").unwrap().inputs.len(), 8);
    Ok(())
}

#[test]
fn any_plan_forgets_the_types_only() -> Result<(), PlanErrors> {
    let plan = Plan::new("any", |input: Step<String>| input)?;
    let any = AnyPlan::from(&plan);
    assert_eq!((any.name(), any.graph().len()), ("any", 1));
    let moved: AnyPlan = plan.clone().into();
    assert_eq!(moved.graph().input(), plan.graph().input());
    Ok(())
}
