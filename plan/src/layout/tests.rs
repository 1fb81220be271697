//! The text tree of every primitive, the pictures' arrows, and that laying out is deterministic and quick.

mod plans;
mod sketch;

use super::Layout;
use crate::graph::{FanMode, Graph, Keys, NodeId, Placeholder, Role};
use sketch::{Sketch, fan};

/// The tree, compared line by line so that a failure shows where.
fn assert_text(graph: &Graph, expected: &str) {
    let text = Layout::new(graph).text();
    let expected: Vec<_> =
        expected.trim().lines().map(|line| line.strip_prefix("        ").unwrap_or(line)).collect();
    assert_eq!(text.lines().collect::<Vec<_>>(), expected, "\n{text}\n");
}

fn stage(
    sketch: &mut Sketch,
    number: u32,
    fill: impl FnOnce(&mut Sketch, NodeId) -> NodeId,
) -> crate::graph::BodyId {
    sketch.body(Role::Stage(number), &[(Placeholder::Item, "SectionDraft")], |sketch, params| {
        fill(sketch, params[0])
    })
}

#[test]
fn a_static_parallel_shows_every_child() {
    let mut s = Sketch::new("string");
    let notes = s.agent("notes", &[s.input], "string");
    let input = s.input;
    let child = |key: &str| Role::Child(key.to_owned());
    let one = s.body(child("security"), &[], |s, _| s.agent("look", &[input], "string"));
    let two = s.body(child("style"), &[], |s, _| {
        let first = s.agent("look", &[input], "string");
        s.step("tidy", &[first], "string")
    });
    let three = s.body(child("old/notes"), &[], |s, _| s.derived("map", &[notes]));
    let four = s.body(child("unused"), &[], |s, _| {
        s.agent("look", &[input], "string");
        s.value()
    });
    let children = vec![("security", one), ("style", two), ("old/notes", three), ("unused", four)];
    let found = s.parallel("lenses", children, fan(3, FanMode::Collect), "[string]");
    let plan = s.plan("lenses", found, "[string]");
    assert_text(
        &plan,
        "
        plan lenses(input: string) -> [string]
        ├─ notes: agent(input) -> string
        └─ lenses: parallel, limit 3, collect -> [string]
           ├─ [security] look: agent(input) -> string
           ├─ [style]
           │  ├─ look: agent(input) -> string
           │  └─ tidy: step(look) -> string
           ├─ [old%2Fnotes] -> notes.map
           └─ [unused]
              ├─ look: agent(input) -> string
              └─ -> value",
    );
}

#[test]
fn a_loop_shows_its_flow_and_its_else() {
    let mut s = Sketch::new("Edits");
    let state = [(Placeholder::State, "Edits")];
    let body = s.body(Role::Round, &state, |s, state| {
        let state = state[0];
        let check = s.step("cargo_check", &[state], "CommandOutput");
        let value = [(Placeholder::Value, "CommandOutput")];
        let yes = s.body(Role::Arm("yes".to_owned()), &value, |s, _| s.derived("done", &[state]));
        let no = s.body(Role::Else, &value, |s, value| {
            let style = s.value();
            let fix = s.agent("fix", &[state, value[0], style], "Edits");
            s.derived("again", &[fix])
        });
        s.branch("compiles", check, vec![("yes", yes)], Some(no), "Flow")
    });
    let or_else = s.body(Role::Else, &state, |s, state| s.review("take_it", state[0], 3, None, "Edits"));
    let done = s.repeat("until_it_compiles", s.input, 3, (body, Some(or_else)), "Edits");
    let plan = s.plan("fix", done, "Edits");
    assert_text(
        &plan,
        "
        plan fix(input: Edits) -> Edits
        └─ until_it_compiles: repeat input up to 3 rounds -> Edits
           ├─ cargo_check: step(state) -> CommandOutput
           ├─ compiles: branch on cargo_check -> Flow
           │  ├─ when yes -> done state
           │  └─ otherwise
           │     ├─ fix: agent(state, value, constant) -> Edits
           │     └─ -> again fix
           └─ else
              └─ take_it: review(state) -> Edits",
    );
}

#[test]
fn derived_nodes_and_constants_are_read_at_their_users() {
    let mut s = Sketch::new("string");
    let a = s.agent("a", &[s.input], "string");
    let b = s.agent("b", &[s.input], "string");
    let mapped = s.derived("map", &[a]);
    let both = s.derived("join", &[mapped, b]);
    let again = s.derived("join", &[both, a]);
    let style = s.value();
    let called = s.step("c", &[again, style], "string");
    let pair = s.derived("map", &[both]);
    let twice = s.derived("get", &[pair]);
    let d = s.step("d", &[twice], "[string]");
    let mut long = a;
    for _ in 0..9 {
        long = s.derived("map", &[long]);
    }
    let late = s.step("e", &[long], "string");
    s.after(late, called);
    s.after(late, both);
    let list = s.derived("join", &[a, b]);
    let each = s.each("f", list, (Keys::Position, fan(0, FanMode::Null)), "[string]", |s, item| {
        s.derived("get", &[item])
    });
    s.after(each, d);
    let result = s.derived("join", &[each, d]);
    let plan = s.plan("derived", result, "[string]");
    assert_text(
        &plan,
        "
        plan derived(input: string) -> [string]
        ├─ a: agent(input) -> string
        ├─ b: agent(input) -> string
        ├─ c: step(a.map, b, a, value) -> string
        ├─ d: step((a.map, b).map.get) -> [string]
        ├─ e: step(a.map.map.map.map.…) after c, a.map, b -> string
        ├─ f: parallel each of (a, b) by position, null after d -> [string]
        │  └─ -> item.get
        └─ -> f, d",
    );
}

#[test]
fn a_name_means_the_nearest_step_of_that_name() {
    let mut s = Sketch::new("[string]");
    let input = s.input;
    let lint = s.step("lint", &[input], "string");
    let deep = s.scope("core", |s| {
        let own = s.step("lint", &[lint], "string");
        s.scope("deep", |s| s.step("look", &[own, lint], "string"))
    });
    let word = s.step("item", &[deep], "string");
    let how = || (Keys::Position, fan(0, FanMode::FailFast));
    let outer = s.each("outer", input, how(), "[string]", |s, outer| {
        s.each("inner", outer, how(), "[string]", |s, inner| {
            let own = s.scope("core", |s| s.step("lint", &[inner, outer], "string"));
            s.step("use", &[own, deep, lint, word], "string")
        })
    });
    let stages = vec![s.body(Role::Stage(1), &[(Placeholder::Item, "A")], |_, item| item[0]), {
        let params = [(Placeholder::Item, "A"), (Placeholder::Item, "B")];
        s.body(Role::Stage(2), &params, |s, params| s.step("both", params, "string"))
    }];
    let last = s.pipeline("last", outer, how(), stages, "[string]");
    let plan = s.plan("names", last, "[string]");
    assert_text(
        &plan,
        "
        plan names(input: [string]) -> [string]
        ├─ lint: step(input) -> string
        ├─ core: scope
        │  ├─ lint: step(/lint) -> string
        │  └─ deep: scope
        │     └─ look: step(lint, /lint) -> string
        ├─ item: step(core/deep/look) -> string
        ├─ outer: parallel each of input by position, fail fast -> [string]
        │  └─ inner: parallel each of item by position, fail fast -> [string]
        │     ├─ core: scope
        │     │  └─ lint: step(item, item of outer) -> string
        │     └─ use: step(core/lint, core/deep/look, lint, /item) -> string
        └─ last: pipeline over outer by position, fail fast -> [string]
           ├─ stage 1 -> item
           └─ stage 2
              └─ both: step(item, original item) -> string",
    );
}

/// Groups of every kind, order without data, and a plan input that nobody but a scope uses.
fn groups() -> Graph {
    let mut s = Sketch::new("string");
    let notes = s.scope("prepare", |s| s.agent("notes", &[s.input, s.input], "string"));
    let child = |key: &str| Role::Child(key.to_owned());
    let one = s.body(child("a"), &[], |s, _| s.agent("look", &[notes], "string"));
    let two = s.body(child("b"), &[], |s, _| s.derived("map", &[notes]));
    let found = s.parallel("found", vec![("a", one), ("b", two)], fan(0, FanMode::FailFast), "[string]");
    s.after(found, notes);
    let stages = vec![
        stage(&mut s, 1, |s, item| s.step("first", &[item], "string")),
        s.body(Role::Stage(2), &[(Placeholder::Item, "A"), (Placeholder::Item, "B")], |_, items| items[0]),
    ];
    let how = (Keys::Inherited(found), fan(2, FanMode::Null));
    let line = s.pipeline("line", found, how, stages, "[string]");
    let state = [(Placeholder::State, "string")];
    let body = s.body(Role::Round, &state, |s, state| {
        let arm =
            s.body(Role::Arm("x".to_owned()), &[(Placeholder::Value, "string")], |s, v| s.derived("done", v));
        s.branch("which", state[0], vec![("x", arm)], None, "Flow")
    });
    let or_else = s.body(Role::Else, &state, |_, state| state[0]);
    let done = s.repeat("loop", line, 2, (body, Some(or_else)), "string");
    s.plan("groups", done, "string")
}

#[test]
fn mermaid_draws_groups_and_reads_its_arrows_from_the_graph() {
    let expected = r##"
---
title: "groups"
---
flowchart TD
  n1(["input<br/>string"])
  subgraph g1["prepare<br/>scope"]
    n2["notes<br/>agent -#62; string"]
  end
  subgraph g2["found<br/>parallel, fail fast"]
    subgraph g3["#91;a#93;"]
      n3["look<br/>agent -#62; string"]
    end
    n4(["#45;#62; #91;string#93;"])
  end
  subgraph g4["line<br/>pipeline by its keys, limit 2, null"]
    subgraph g5["stage 1"]
      n5(["item<br/>SectionDraft"])
      n6["first<br/>step -#62; string"]
    end
    subgraph g6["stage 2"]
      n7(["item<br/>A"])
      n8(["original item<br/>B"])
    end
    n9(["#45;#62; #91;string#93;"])
  end
  subgraph g7["loop<br/>repeat up to 2 rounds"]
    n10(["state<br/>string"])
    subgraph g8["which<br/>branch"]
      subgraph g9["when x"]
        n11(["value<br/>string"])
      end
      n12(["#45;#62; Flow"])
    end
    subgraph g10["else"]
      n13(["state<br/>string"])
    end
    n14(["#45;#62; string"])
  end
  n15(["output<br/>string"])
  n1 --> n2
  n2 --> n3
  n3 --> n4
  n2 -->|"map, #91;b#93;"| n4
  n2 -.-> g2
  n5 --> n6
  n4 --> n5
  n6 --> n7
  n4 --> n8
  n7 --> n9
  n10 --> n11
  n11 -->|"done"| n12
  n9 --> n10
  n12 -->|"again"| n10
  n12 -->|"done"| n14
  n12 -->|"rounds used up"| n13
  n13 --> n14
  n14 --> n15
"##;
    assert_eq!(Layout::new(&groups()).mermaid(), expected.trim_start());
}

#[test]
fn dot_draws_the_same_picture() {
    let dot = Layout::new(&groups()).dot();
    for line in [
        "digraph \"groups\" {",
        "    subgraph cluster_3 {",
        "      label=\"&#91;a&#93;\";",
        "      n3 [label=\"look\\nagent -&gt; string\"];",
        "    n4 [label=\"-&gt; &#91;string&#93;\", shape=oval];",
        "  n3 -> n4;",
        "  n2 -> n4 [label=\"map, &#91;b&#93;\"];",
        "  n2 -> n4 [style=dashed, lhead=cluster_2];",
    ] {
        assert!(dot.lines().any(|found| found == line), "{line} in\n{dot}");
    }
    // The input is fed to its one user twice, which is one arrow.
    assert_eq!(dot.lines().filter(|line| line.starts_with("  n") && line.contains(" -> ")).count(), 18);
}

#[test]
fn a_review_and_an_unused_step_are_drawn() {
    let mut s = Sketch::new("string");
    let params = [(Placeholder::Value, "string"), (Placeholder::Feedback, "string")];
    let revise = s.body(Role::Revise, &params, |s, params| s.agent("mend", params, "string"));
    let fine = s.review("fine", s.input, 1, Some(revise), "string");
    s.ask("unused", &[], "boolean");
    let plan = s.plan("people", fine, "string");
    assert_text(
        &plan,
        "
        plan people(input: string) -> string
        ├─ fine: review(input) up to 1 round -> string
        │  └─ mend: agent(value, feedback) -> string
        ├─ unused: ask() -> boolean
        └─ -> fine",
    );
    let mermaid = Layout::new(&plan).mermaid();
    assert!(mermaid.contains("  n6{{\"unused<br/>ask -#62; boolean\"}}\n"), "{mermaid}");
    let loops = "  n2 --> n3\n  n2 -->|\"request changes\"| n4\n  n5 -->|\"revised\"| n2\n  n2 --> n7\n";
    assert!(mermaid.ends_with(loops), "{mermaid}");
}

#[test]
fn a_long_plan_is_a_line_a_step_and_the_same_every_time() {
    let (plan, twin) = (many(5_000), many(5_000));
    let layout = Layout::new(&plan);
    // The plan itself, and for each pair of steps a scope, two steps and a body's result.
    assert_eq!(layout.text().lines().count(), 1 + 2_500 * 4 + 1);
    assert_eq!(layout.text(), Layout::new(&twin).to_string());
    assert_eq!(layout.mermaid(), Layout::new(&twin).mermaid());
    assert_eq!(layout.dot(), Layout::new(&twin).dot());
}

/// Chains, fan-ins, derived nodes and bodies, `steps` steps in all.
fn many(steps: u32) -> Graph {
    let mut s = Sketch::new("string");
    let mut last = s.input;
    let mut mapped = last;
    let mut some = Vec::new();
    for i in 0..steps / 2 {
        mapped = s.derived("map", &[mapped]);
        let first = s.scope("group", |s| s.agent(&format!("a{i}"), &[last, mapped], "string"));
        let how = (Keys::Position, fan(0, FanMode::Null));
        last = s.each(&format!("e{i}"), first, how, "string", |_, item| item);
        some.push(last);
    }
    let all = s.derived("join", &some);
    let end = s.step("end", &[all], "string");
    s.plan("many", end, "string")
}
