//! Every mistake a plan can have, with its places.

use super::{Expected, mistakes};
use crate::{authoring::Step, build::PlanErrorKind::*, prelude::*};
use serde_json::Value;
use std::borrow::Cow;

fn only(kind: PlanErrorKind, at: &str, also: Option<&str>, says: &str, errors: &PlanErrors) {
    Expected { source: include_str!("mistakes.rs"), kind, at, also, says }.is_the_only_one(errors);
}

fn is_in(kind: PlanErrorKind, at: &str, also: Option<&str>, says: &str, errors: &PlanErrors) {
    Expected { source: include_str!("mistakes.rs"), kind, at, also, says }.is_in(errors);
}

fn echo(name: &str, text: Step<String>) -> Step<String> {
    step(name).input("text", text).run(String::clone)
}

#[test]
fn two_steps_of_one_name() {
    let errors = mistakes(|input| {
        let one = step("same").input("text", input).run(String::clone); // same 1
        step("same").input("text", one).run(String::clone) // same 2
    });
    only(DuplicateName, "same 2", Some("same 1"), "two things are named `same`", &errors);
}

#[test]
fn a_step_and_a_group_of_one_name() {
    let errors = mistakes(|input| {
        let list = parallel("both", ["a"], |_| input).all(); // group 1
        step("both").input("list", list).run(Vec::len) // group 2
    });
    only(DuplicateName, "group 2", Some("group 1"), "`both`", &errors);
}

#[test]
fn two_scopes_of_one_name() {
    let errors = mistakes(|input| {
        let one = scope("part", || echo("a", input)); // scope 1
        scope("part", || echo("b", one)) // scope 2
    });
    only(DuplicateName, "scope 2", Some("scope 1"), "`part`", &errors);
}

#[test]
fn one_name_in_two_stages() {
    let errors = mistakes(|input| {
        let list = join([input, input]);
        pipeline("polish", list)
            .stage(|item| step("again").input("item", item).run(String::clone)) // stage 1
            .stage(|item| step("again").input("item", item).run(String::clone)) // stage 2
            .all()
    });
    only(DuplicateName, "stage 2", Some("stage 1"), "`again`", &errors);
}

#[test]
fn two_steps_of_one_name_and_key() {
    let errors = mistakes(|input| {
        let one = step("lint").key("core").input("text", input).run(String::clone); // key 1
        step("lint").key("core").input("text", one).run(String::clone) // key 2
    });
    only(DuplicateKey, "key 2", Some("key 1"), "have the key `core`", &errors);
}

#[test]
fn a_keyed_step_and_a_group_of_one_name() {
    let errors = mistakes(|input| {
        let one = step("lint").key("1").input("text", input).run(String::clone); // keyed
        review("lint", one).approved() // reviewed
    });
    only(DuplicateName, "reviewed", Some("keyed"), "`lint`", &errors);
    let errors = mistakes(|input| {
        let one = review("lint", input).approved(); // reviewed first
        step("lint").key("1").input("text", one).run(String::clone) // keyed then
    });
    only(DuplicateName, "keyed then", Some("reviewed first"), "`lint`", &errors);
}

#[test]
fn a_key_that_is_blank_or_too_long() {
    let errors = mistakes(|input| step("lint").key(" ").input("text", input).run(String::clone)); // blank key
    only(InvalidKey, "blank key", None, "blank", &errors);
    let long = "k".repeat(1025);
    let errors = mistakes(|input| step("lint").key(long).input("text", input).run(String::clone)); // long key
    only(InvalidKey, "long key", None, "it has 1025 bytes", &errors);
}

#[test]
fn children_with_one_key_or_a_blank_one() {
    let errors = mistakes(|input| parallel("fan", ["a", "b", "a"], |_| input).all()); // children
    only(DuplicateKey, "children", Some("children"), "the key `a`: items 0 and 2", &errors);
    let errors = mistakes(|input| parallel("fan", ["a", ""], |_| input).all()); // blank child
    only(InvalidKey, "blank child", None, "blank", &errors);
}

#[test]
fn two_inputs_of_one_name() {
    let errors = mistakes(|input| {
        agent("a")
            .input("text", input) // input 1
            .input("text", input) // input 2
            .prompt("Compare.")
            .text()
    });
    only(DuplicateInput, "input 2", Some("input 1"), "two inputs of `a` are named `text`", &errors);
}

#[test]
fn a_question_whose_input_has_the_name_of_its_options() {
    let errors = mistakes(|input| {
        let list = join([input]);
        ask("which")
            .input("options", input) // options 1
            .choose_from(list) // options 2
            .one()
    });
    only(DuplicateInput, "options 2", Some("options 1"), "`options`", &errors);
}

#[test]
fn arms_of_one_label_or_a_blank_or_reserved_one() {
    let errors = mistakes(|input| {
        branch("kind", input)
            .when("yes", |_| true, |text| text) // arm 1
            .when("yes", |_| true, |text| text) // arm 2
            .when(" ", |_| true, |text| text) // blank arm
            .when("else", |_| true, |text| text) // else arm
            .otherwise(|text| text)
    });
    assert_eq!(errors.iter().count(), 3, "{errors}");
    is_in(DuplicateLabel, "arm 2", Some("arm 1"), "labelled `yes`", &errors);
    is_in(InvalidLabel, "blank arm", None, "blank", &errors);
    is_in(InvalidLabel, "else arm", None, "otherwise", &errors);
}

#[test]
fn names_that_cannot_stand_in_a_path() {
    let errors = mistakes(|input| echo2("a/b", input));
    only(InvalidName, "echo2", None, "`a/b` cannot be a name", &errors);
    let errors = mistakes(|input| scope("", || input)); // blank scope
    only(InvalidName, "blank scope", None, "blank", &errors);
    let errors = mistakes(|input| ask("q").input("a:b", input).returns::<String>()); // bad input
    only(InvalidName, "bad input", None, "cannot name an input", &errors);
    let errors = Plan::new(" ", |input: Step<String>| input).expect_err("a blank name"); // bad plan
    only(InvalidName, "bad plan", None, "cannot name a plan", &errors);
}

fn echo2(name: &str, text: Step<String>) -> Step<String> {
    step(name).input("text", text).run(String::clone) // echo2
}

#[test]
fn blank_texts() {
    let errors = mistakes(|input| {
        let said = agent("a")
            .input("text", input)
            .model("") // model
            .variant(" ") // variant
            .runner("") // runner
            .tools(["grep", ""]) // tools
            .skills(["\n"]) // skills
            .prompt(" \n ") // prompt
            .text();
        let answer = ask("q")
            .title("") // title
            .input("said", said)
            .returns::<String>();
        review("r", answer)
            .title(" ") // title of review
            .approved()
    });
    assert_eq!(errors.iter().count(), 8, "{errors}");
    is_in(BlankOption, "model", None, "the model of `a` is blank", &errors);
    is_in(BlankOption, "variant", None, "the variant", &errors);
    is_in(BlankOption, "runner", None, "the runner", &errors);
    is_in(BlankOption, "tools", None, "a tool", &errors);
    is_in(BlankOption, "skills", None, "a skill", &errors);
    is_in(BlankPrompt, "prompt", None, "the prompt of `a` is blank", &errors);
    is_in(BlankTitle, "title", None, "the title of `q`", &errors);
    is_in(BlankTitle, "title of review", None, "the title of `r`", &errors);
}

#[test]
fn no_limit_no_round_no_time() {
    let errors = mistakes(|input| {
        let list = parallel("fan", ["a"], |_| input)
            .limit(0) // limit
            .all();
        let list = repeat("loop", list, 0, |state| state.done::<Vec<String>>()).or_fail(); // loop
        let list = review("review", list)
            .max_rounds(0) // rounds
            .approved();
        step("late")
            .input("list", list)
            .timeout(Duration::ZERO) // timeout
            .run(Vec::len)
    });
    assert_eq!(errors.iter().count(), 4, "{errors}");
    is_in(ZeroLimit, "limit", None, "the limit of `fan` is 0", &errors);
    is_in(ZeroRounds, "loop", None, "the loop `loop` has no round", &errors);
    is_in(ZeroRounds, "rounds", None, "the review `review` has no round", &errors);
    is_in(ZeroTimeout, "timeout", None, "the timeout of `late` is zero", &errors);
}

#[test]
fn a_pipeline_without_a_stage() {
    let errors = mistakes(|input| pipeline("polish", join([input])).all()); // pipeline
    only(NoStages, "pipeline", None, "`polish` has no stage", &errors);
}

#[test]
fn a_key_where_keys_are_inherited() {
    let errors = mistakes(|input| {
        let list = parallel("first", ["a"], |_| input).all(); // first fan
        let list = parallel_each("second", list, |item| item)
            .key_by(String::clone) // key by
            .all();
        pipeline("third", list)
            .stage(|item| item)
            .key_by(String::clone) // key by too
            .all()
    });
    assert_eq!(errors.iter().count(), 2, "{errors}");
    is_in(KeysInherited, "key by", Some("first fan"), "`second`", &errors);
}

#[test]
fn a_second_revision() {
    let errors = mistakes(|input| {
        review("r", input)
            .revise(|text, _| text) // revise 1
            .revise(|text, _| text) // revise 2
            .approved()
    });
    only(RevisedTwice, "revise 2", Some("revise 1"), "`r` has two revisions", &errors);
}

#[test]
fn a_constant_that_json_cannot_hold() {
    let errors = mistakes(|_| value(f64::INFINITY)); // infinite
    only(Unencodable, "infinite", None, "does not survive JSON", &errors);
    let errors = mistakes(|_| value(Some(None::<u8>))); // some none
    only(Unencodable, "some none", None, "does not survive JSON", &errors);
}

/// A type whose schema refers to a document that is nowhere.
#[derive(Clone, Serialize, Deserialize)]
struct Elsewhere;

impl JsonSchema for Elsewhere {
    fn schema_name() -> Cow<'static, str> {
        "Elsewhere".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = schemars::Schema::default();
        schema.insert("$ref".to_owned(), Value::from("https://example.com/schema.json"));
        schema
    }
}

#[test]
fn a_schema_that_leads_elsewhere_is_told_once() {
    let errors = mistakes(|input| {
        let one = agent("one").input("text", input).prompt("Go.").returns::<Elsewhere>(); // elsewhere
        agent("two").input("one", one).prompt("Go.").returns::<Elsewhere>()
    });
    only(InexpressibleSchema, "elsewhere", None, "Elsewhere` cannot be used", &errors);
}

#[test]
#[expect(unused_must_use, reason = "that is the mistake")]
fn builders_dropped_before_their_last_call() {
    let errors = mistakes(|input| {
        let list = join([input]);
        agent("a").input("text", input).prompt("Go."); // agent
        ask("b"); // ask
        ask("c").choose_from(list); // choose
        step("d").input("text", input); // step
        parallel("e", ["a"], |_| input); // parallel
        parallel_each("f", list, |item| item).limit(2); // each
        pipeline("g", list).stage(|item| item); // staged
        repeat("h", input, 2, |state| state.done::<String>()); // repeat
        branch("i", input).when("yes", |_| true, |text| text); // branch
        review("j", input).max_rounds(2); // review
        input
    });
    assert_eq!(errors.iter().count(), 10, "{errors}");
    let all = [
        ("agent", "agent(\"a\", ..)"),
        ("ask", "ask(\"b\", ..)"),
        ("choose", "ask(\"c\", ..)"),
        ("step", "step(\"d\", ..)"),
        ("parallel", "parallel(\"e\", ..)"),
        ("each", "parallel_each(\"f\", ..)"),
        ("staged", "pipeline(\"g\", ..)"),
        ("repeat", "repeat(\"h\", ..)"),
        ("branch", "branch(\"i\", ..)"),
        ("review", "review(\"j\", ..)"),
    ];
    for (at, what) in all {
        is_in(Unfinished, at, None, what, &errors);
    }
}

#[test]
fn a_builder_carried_away_is_not_in_the_plan_either() {
    let mut away = None;
    let errors = mistakes(|input| {
        away = Some(agent("away").input("text", input).prompt("Go.")); // away
        std::mem::forget(step("forgotten")); // forgotten
        input
    });
    assert_eq!(errors.iter().count(), 2, "{errors}");
    is_in(Unfinished, "away", None, "dropped before its last call", &errors);
    is_in(Unfinished, "forgotten", None, "dropped before its last call", &errors);
}

#[test]
fn all_are_told_in_the_order_of_the_source() {
    let errors = mistakes(|input| {
        let _unfinished = agent("first").input("text", input);
        let one = agent("second").input("text", input).prompt("").text();
        agent("second").input("text", one).prompt(" ").text()
    });
    let kinds: Vec<_> = (&errors).into_iter().map(|error| error.kind.code()).collect();
    assert_eq!(kinds, ["unfinished", "blank_prompt", "blank_prompt", "duplicate_name"]);
    assert!(errors.to_string().starts_with("the plan `plan` has 4 mistakes:\n- "), "{errors}");
}
