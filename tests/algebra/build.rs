//! The plan of a shape.

use super::{
    reference::{ENOUGH, MISSING, MOST, items, small, sum},
    shape::{Ending, Shape},
    world,
};
use hermes_workflows::prelude::*;

pub(crate) fn plan(shape: &Shape) -> Plan<i64, i64> {
    Plan::new("random", |input| build(shape, input, &Away::default())).unwrap()
}

/// Where a local step stands: a closure does not know its path.
#[derive(Clone, Default)]
pub(crate) struct Away {
    sheltered: bool,
}

fn build(shape: &Shape, input: Step<i64>, away: &Away) -> Step<i64> {
    let named = |word: &str, name: &u32| format!("{word}{name}");
    match shape {
        Shape::Same => input,
        Shape::Agent(name) => {
            let agent = agent(named("agent", name)).input("number", input);
            let sheltered = if away.sheltered { "calmly" } else { "" };
            agent.prompt_with(move |number| format!("Say something to {number}. {sheltered}")).returns()
        }
        Shape::Step(name) => {
            let (label, sheltered) = (named("step", name), away.sheltered);
            step(label.clone())
                .input("number", input)
                .try_run(move |number| world::step(&label, *number, sheltered))
        }
        Shape::Ask(name) => ask(named("ask", name)).input("number", input).returns(),
        Shape::Review(name) => {
            let sheltered = if away.sheltered { "calmly" } else { "" };
            review(named("review", name), input)
                .revise(|number, feedback| {
                    agent(named("revise", name))
                        .input("number", number)
                        .input("feedback", feedback)
                        .prompt_with(move |number, _: &String| format!("Revise {number}. {sheltered}"))
                        .returns()
                })
                .approved()
        }
        Shape::Then(one, two) => build(two, build(one, input, away), away),
        Shape::Both(one, two) => {
            join((build(one, input, away), build(two, input, away))).map(|(one, two)| sum(&[*one, *two]))
        }
        Shape::Each { name, body, limit, ending } => {
            let list = input.map(|input| items(*input));
            let away = Away { sheltered: away.sheltered || *ending == Ending::AtLeast };
            let limit = if *ending == Ending::AtLeast { 1 } else { *limit };
            let fan = parallel_each(named("each", name), list, |item| build(body, item, &away)).limit(limit);
            match ending {
                Ending::All => fan.all().map(|all| sum(all)),
                Ending::Results => fan.results().map(|all| {
                    sum(&all.iter().map(|one| one.clone().unwrap_or(MISSING)).collect::<Vec<_>>())
                }),
                Ending::Options => fan.options().map(missing),
                Ending::AtLeast => fan.at_least(ENOUGH).map(|all| sum(all)),
            }
        }
        Shape::Chain { name, first, second, keyed, thinned } => {
            let list = input.map(|input| items(*input));
            let fan = parallel_each(named("fan", name), list, |item| build(first, item, away));
            let fan = if *keyed { fan.key_by(|item| format!("k{item}")) } else { fan };
            let firsts = if *thinned { fan.options().flatten() } else { fan.all() };
            parallel_each(named("over", name), firsts, |item| build(second, item, away))
                .all()
                .map(|all| sum(all))
        }
        Shape::Parallel { name, body, ending } => {
            let fan = parallel(named("known", name), [1_i64, 2], |more| {
                build(body, input.map(move |input| small(input + more)), away)
            });
            match ending {
                Ending::All | Ending::AtLeast => fan.all().map(|all| sum(all)),
                Ending::Results | Ending::Options => fan.options().map(missing),
            }
        }
        Shape::Pipeline { name, first, second, streaming, limit, ending } => {
            let list = input.map(|input| items(*input));
            let staged = pipeline(named("pipe", name), list)
                .stage(|item| scope("first", || build(first, item, away)))
                .stage_with(|now, item| {
                    let both = join((now, item)).map(|(now, item)| small(now + item));
                    scope("second", || build(second, both, away))
                })
                .limit(*limit);
            let staged = if *streaming { staged.streaming() } else { staged };
            match ending {
                Ending::All | Ending::AtLeast => staged.all().map(|all| sum(all)),
                Ending::Results | Ending::Options => staged.options().map(missing),
            }
        }
        Shape::Dag { name, body, ending } => {
            let list = input.map(|input| (0..).zip(items(*input)).collect::<Vec<(i64, i64)>>());
            let dag = parallel_dag(named("dag", name), list, |item, before: Step<Vec<Keyed<i64>>>| {
                let number = join((item, before)).map(|((place, item), before)| {
                    let before: i64 = before.iter().map(|one| one.value).sum();
                    if *place == 0 { *item } else { small(item + before) }
                });
                build(body, number, away)
            })
            .needs(|(place, _)| (*place > 0).then(|| place - 1));
            match ending {
                Ending::All | Ending::AtLeast => dag.all().map(|all| sum(all)),
                Ending::Results | Ending::Options => dag.options().map(missing),
            }
        }
        Shape::Branch { name, yes, no } => branch(named("branch", name), input)
            .case("yes", |input| (input % 2 == 0).then(|| small(input + 1)), |more| build(yes, more, away))
            .otherwise(|input| build(no, input.map(|input| small(input + 1)), away)),
        Shape::Repeat { name, body, or_else } => repeat(named("repeat", name), input, MOST, |state| {
            let next = build(body, state, away);
            branch(named("flow", name), next)
                .when("done", |next| next % 3 == 0, |next| next.done())
                .otherwise(|next| next.again())
        })
        .or_else(|state| build(or_else, state, away)),
        Shape::Catch { name, body, or_else } => catch(named("catch", name), || build(body, input, away))
            .or_else(|_| build(or_else, input.map(|input| small(input + 5)), away)),
        Shape::Settled { name, body } => {
            // A body of its own: what is settled is the whole of it.
            let whole = parallel(named("whole", name), ["part"], |_| build(body, input, away)).all();
            whole.settled().map(|whole| whole.as_ref().map_or(-1, |whole| whole[0]))
        }
        Shape::Grown { name, even, odd } => {
            let (even, odd, away) = (even.clone(), odd.clone(), away.clone());
            input.then(named("grown", name), move |number| {
                let shape = if number % 2 == 0 { &even } else { &odd };
                build(shape, input.map(|input| small(input + 2)), &away)
            })
        }
        Shape::Recursive { name, body } => {
            recursive(named("recursive", name), input, MOST, |again, input| {
                let number = build(body, input, away);
                branch(named("even", name), number)
                    .when("yes", |number| number % 2 == 0, |number| number)
                    .otherwise(|number| {
                        again.call(number.map(|number| small(number + 1))).map(|number| small(number + 1))
                    })
            })
        }
        Shape::Call { name, body } => {
            let inner = Plan::new("inner", |input| build(body, input, away)).unwrap();
            inner.call(named("call", name), input.map(|input| small(input + 3)))
        }
    }
}

#[expect(clippy::ptr_arg, reason = "a `map` over a list hands on a `&Vec`")]
fn missing(all: &Vec<Option<i64>>) -> i64 {
    sum(&all.iter().map(|one| one.unwrap_or(MISSING)).collect::<Vec<_>>())
}
