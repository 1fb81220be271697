//! The plan of a spec, and the runner that answers it.

use super::spec::{Agent, Spec, says};
use hermes_workflows::{executor::Expect, prelude::*};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

pub(crate) fn plan(spec: &Spec) -> Plan<Vec<String>, String> {
    Plan::new("edited", |items: Step<Vec<String>>| {
        let (name, was) = &spec.fan;
        let each = spec.each;
        let fan = parallel_each(name.clone(), items, move |item: Step<String>| {
            agent("item").input("item", item).prompt(item_prompt(each)).text()
        });
        let fan = was.iter().fold(fan, |fan, was| fan.renamed_from(was.clone())).key_by(String::clone).all();
        let mut made: BTreeMap<u32, Step<String>> = BTreeMap::new();
        let mut whole = fan.map(|all| all.join(","));
        for one in &spec.agents {
            let output = build(one, items, fan, &made);
            made.insert(one.id, output);
            whole = join((whole, output)).map(|(whole, output)| format!("{whole};{output}"));
        }
        whole
    })
    .unwrap()
}

/// What an agent is asked.
pub(crate) fn prompt(one: &Agent) -> String {
    format!("Agent {}, take {}.", one.id, one.prompt)
}

/// What is asked for each item.
pub(crate) fn item_prompt(each: u8) -> String {
    format!("Item, take {each}.")
}

fn build(
    one: &Agent,
    items: Step<Vec<String>>,
    fan: Step<Vec<String>>,
    made: &BTreeMap<u32, Step<String>>,
) -> Step<String> {
    let values = one.needs.iter().map(|need| (format!("in{need}"), made[need].map(|one| vec![one.clone()])));
    let mut values: Vec<(String, Step<Vec<String>>)> = values.collect();
    values.extend(one.input.then(|| ("items".to_owned(), items)));
    values.extend(one.fan.then(|| ("fan".to_owned(), fan)));
    // Each input makes another type of builder: they come as one list of named lists.
    let inputs = values.into_iter().fold(value(Vec::<(String, Vec<String>)>::new()), |all, (name, step)| {
        join((all, step)).map(move |(all, step)| {
            let mut all = all.clone();
            all.push((name.clone(), step.clone()));
            all
        })
    });
    let builder = agent(one.name.clone()).input("inputs", inputs);
    let builder = one.was.iter().fold(builder, |builder, was| builder.renamed_from(was.clone()));
    let builder = one.version.into_iter().fold(builder, hermes_workflows::plan::AgentBuilder::version);
    let builder = if one.tool { builder.tools(["search"]) } else { builder };
    let builder = one.on_change.into_iter().fold(builder, |builder, rerun| {
        builder.on_change(if rerun { OnChange::Rerun } else { OnChange::Keep })
    });
    let builder = builder.prompt(prompt(one));
    if one.text { builder.text() } else { builder.returns::<String>() }
}

/// What was called.
#[derive(Clone, Default)]
pub(crate) struct Called(Arc<Mutex<Vec<String>>>);

impl Called {
    pub(crate) fn runner(&self) -> FnRunner {
        let called = self.clone();
        FnRunner::sync(move |call| {
            called.0.lock().unwrap().push(call.path.clone());
            let prompt = call.text.lines().next().unwrap_or_default();
            let said = says(&format!("{prompt} {}", call.inputs[0].1));
            Ok(match call.expect {
                Expect::Json(_) => AgentReply::json(said.into()),
                Expect::Text => AgentReply::text(said),
            })
        })
    }

    pub(crate) fn take(&self) -> Vec<String> {
        let mut called = std::mem::take(&mut *self.0.lock().unwrap());
        called.sort();
        called
    }
}
