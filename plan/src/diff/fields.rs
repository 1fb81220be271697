//! What a plan says of a step, field by field, and what each field means for a finished step. The table of what makes a
//! fingerprint is in `hermes_core::request`.

use super::OnResume;
use crate::{
    graph::{
        Agent, Assignee, Command, CommandEnd, CommandLine, Fan, Graph, Keys, Kind, Node, Prompt, Redaction,
        Stdin, Text, Until,
    },
    layout::Lines,
};
use hermes_core::{retry::Retry, schema::Schema, value::Val};
use std::{collections::BTreeMap, fmt, time::Duration};

/// What a plan says of a field.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Said {
    Text(String),
    List(Vec<String>),
    /// A type, and whether what is said of it counts too.
    Schema(Schema, bool),
    Setting(String),
    /// The steps that an input is made from.
    Source(Vec<String>),
    /// Made by a closure: what it makes, only a run can tell.
    Closure,
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) | Self::Setting(text) => f.write_str(text),
            Self::List(list) | Self::Source(list) => f.write_str(&list.join(", ")),
            Self::Schema(schema, _) => f.write_str(schema.label()),
            Self::Closure => f.write_str("made by a closure"),
        }
    }
}

/// A field.
pub(super) struct Field {
    pub(super) name: String,
    pub(super) said: Said,
    pub(super) on_resume: OnResume,
}

impl Field {
    /// What an input is made from, by the names that steps have in the later plan.
    pub(super) fn follow(&mut self, names: &BTreeMap<String, String>) {
        let Said::Source(from) = &mut self.said else { return };
        for source in from {
            let (head, rest) = source.split_at(source.find('.').unwrap_or(source.len()));
            if let Some(name) = names.get(head) {
                *source = format!("{name}{rest}");
            }
        }
    }
}

/// The fields of a step, those that are not set left out.
pub(super) fn fields(lines: &Lines<'_>, graph: &Graph, node: &Node) -> Vec<Field> {
    let mut all = Fields { of: Vec::new() };
    all.setting("kind", node.kind.word(), OnResume::Conflict);
    match &node.kind {
        Kind::Agent(agent) => all.agent(agent),
        Kind::Command(command) => all.command(command),
        Kind::Step(step) => {
            all.optional("version", step.version, OnResume::RunsAgain);
            all.calls(step.timeout, None, step.retry);
            all.setting("effect", step.effect, OnResume::Reused);
        }
        Kind::Ask(ask) => {
            all.text("title", &ask.title, OnResume::Conflict);
            if let Some(choices) = ask.choices {
                all.setting("choices", if choices.many { "several" } else { "one" }, OnResume::Conflict);
            }
            match &ask.assignee {
                Some(Assignee::Fixed(who)) => all.setting("assignee", who, OnResume::Reused),
                Some(Assignee::Built { .. }) => all.closure("assignee", OnResume::Reused),
                None => {}
            }
            if let Some(expires) = &ask.expires {
                let then = expires.value.as_ref().map_or_else(|| "fails".to_owned(), json);
                all.setting("expires", format!("after {:?}: {then}", expires.after), OnResume::Reused);
            }
        }
        Kind::Files(files) => {
            all.list("globs", files.globs.written(), OnResume::Conflict);
            all.setting("yields", if files.texts { "texts" } else { "list" }, OnResume::Conflict);
        }
        Kind::Wait(Until::After(duration)) => all.setting("for", format!("{duration:?}"), OnResume::Reused),
        Kind::Wait(Until::Moment(_)) => all.closure("until", OnResume::Reused),
        Kind::Parallel { children, fan } => {
            let keys: Vec<_> = children.iter().map(|(key, _)| key.clone()).collect();
            all.list("children", &keys, OnResume::Reused);
            all.fan(fan);
        }
        Kind::Each { keys, needs, fan, .. } => {
            all.keys(graph, keys);
            if needs.is_some() {
                all.closure("needs", OnResume::IfValuesDiffer);
            }
            all.fan(fan);
        }
        Kind::Pipeline { keys, fan, stages } => {
            all.keys(graph, keys);
            all.setting("stages", stages.len(), OnResume::Reused);
            all.fan(fan);
        }
        Kind::Repeat(repeat) => {
            all.setting("rounds", repeat.max, OnResume::Reused);
            all.setting("or else", repeat.or_else.is_some(), OnResume::Reused);
        }
        Kind::Branch { arms, otherwise } => {
            let labels: Vec<_> = arms.iter().map(|arm| arm.label.clone()).collect();
            all.list("arms", &labels, OnResume::IfValuesDiffer);
            all.setting("otherwise", otherwise.is_some(), OnResume::IfValuesDiffer);
        }
        Kind::Recursive(recursive) => all.setting("levels", recursive.max_depth, OnResume::Reused),
        Kind::Review(review) => {
            all.text("title", &review.title, OnResume::Conflict);
            all.setting("rounds", review.max_rounds, OnResume::Reused);
            all.setting("revises", review.revise.is_some(), OnResume::Conflict);
            all.schema("answer", &review.answer, false);
        }
        Kind::Then(_) => all.closure("builds", OnResume::IfValuesDiffer),
        _ => {}
    }
    if node.kind.word() != "wait" {
        // What an agent's type says of itself reaches the model.
        let agent = matches!(&node.kind, Kind::Agent(agent) if !agent.text);
        all.schema("schema", &node.schema, agent);
    }
    all.sources(lines, graph, node);
    if let Some(on_change) = node.replay.on_change {
        all.setting("on_change", format!("{on_change:?}").to_lowercase(), OnResume::Reused);
    }
    if node.replay.memo {
        all.setting("memo", "yes", OnResume::Reused);
    }
    all.of
}

/// What differs of plans as a whole. `later`: the one that says which names it had before.
pub(super) fn of_plan(graph: &Graph, later: &Graph) -> Vec<Field> {
    let mut all = Fields { of: Vec::new() };
    let known = graph.name() == later.name() || later.old_names().iter().any(|name| name == graph.name());
    let on_resume = if known { OnResume::Reused } else { OnResume::Refused };
    all.setting("name", graph.name(), on_resume);
    all.add("input", Said::Schema(graph.input().clone(), false), OnResume::Reused);
    all.add("output", Said::Schema(graph.output().clone(), false), OnResume::Refused);
    all.of
}

fn json(value: &Val) -> String {
    value.text().map_or_else(|error| error.to_string(), |text| text.to_string())
}

struct Fields {
    of: Vec<Field>,
}

impl Fields {
    fn add(&mut self, name: impl Into<String>, said: Said, on_resume: OnResume) {
        self.of.push(Field { name: name.into(), said, on_resume });
    }

    fn setting(&mut self, name: &str, value: impl ToString, on_resume: OnResume) {
        self.add(name, Said::Setting(value.to_string()), on_resume);
    }

    fn optional(&mut self, name: &str, value: Option<impl ToString>, on_resume: OnResume) {
        if let Some(value) = value {
            self.setting(name, value, on_resume);
        }
    }

    fn text(&mut self, name: &str, text: &str, on_resume: OnResume) {
        self.add(name, Said::Text(text.to_owned()), on_resume);
    }

    fn list(&mut self, name: &str, list: &[String], on_resume: OnResume) {
        self.add(name, Said::List(list.to_vec()), on_resume);
    }

    fn schema(&mut self, name: &str, schema: &Schema, words: bool) {
        self.add(name, Said::Schema(schema.clone(), words), OnResume::Conflict);
    }

    fn closure(&mut self, name: &str, on_resume: OnResume) {
        self.add(name, Said::Closure, on_resume);
    }

    fn made(&mut self, name: &str, text: Option<&Text>, on_resume: OnResume) {
        match text {
            Some(Text::Fixed(text)) => self.setting(name, text, on_resume),
            Some(Text::Made { .. }) => self.closure(name, on_resume),
            None => {}
        }
    }

    fn agent(&mut self, agent: &Agent) {
        match &agent.prompt {
            Prompt::Text(text) => self.text("prompt", text, OnResume::Conflict),
            Prompt::Built { .. } => self.closure("prompt", OnResume::IfValuesDiffer),
            Prompt::Template { id, ready, .. } => {
                self.setting("template", id, OnResume::Reused);
                // Without its source it is known only to whoever runs the plan.
                let source = ready.as_ref().map(|ready| ready.used().source.short());
                self.optional("template source", source, OnResume::IfValuesDiffer);
            }
        }
        self.setting("answers", if agent.text { "text" } else { "JSON" }, OnResume::Conflict);
        self.list("tools", &agent.tools, OnResume::Conflict);
        self.list("skills", &agent.skills, OnResume::Conflict);
        self.list("files", &agent.files, OnResume::Conflict);
        self.made("model", agent.model.as_ref(), OnResume::Conflict);
        self.optional("variant", agent.variant.as_ref(), OnResume::Conflict);
        self.setting("isolation", format!("{:?}", agent.isolation).to_lowercase(), OnResume::Conflict);
        self.optional("version", agent.version, OnResume::RunsAgain);
        self.made("title", agent.title.as_ref(), OnResume::Reused);
        self.optional("runner", agent.runner.as_ref(), OnResume::Reused);
        self.setting("checks", agent.checks.len(), OnResume::Reused);
        self.setting("repair", agent.repair, OnResume::Reused);
        self.setting("effect", agent.effect, OnResume::Reused);
        self.optional("budget", agent.budget, OnResume::Reused);
        self.calls(agent.timeout, agent.stall, agent.retry);
    }

    fn command(&mut self, command: &Command) {
        let clean = |text: &String| {
            command.redactions.iter().fold(text.clone(), |text, redaction| match redaction {
                Redaction::Text(secret) if !secret.is_empty() => text.replace(secret, "(redacted)"),
                _ => text,
            })
        };
        match &command.line {
            CommandLine::Argv(argv) => {
                let argv: Vec<_> = argv.iter().map(clean).collect();
                self.list("argv", &argv, OnResume::Conflict);
            }
            CommandLine::Shell(script) => self.text("shell", &clean(script), OnResume::Conflict),
            CommandLine::Built { .. } => self.closure("argv", OnResume::IfValuesDiffer),
        }
        match &command.stdin {
            Stdin::Empty => {}
            Stdin::Text(text) => self.text("stdin", &clean(text), OnResume::Conflict),
            Stdin::Built { .. } => self.closure("stdin", OnResume::IfValuesDiffer),
        }
        // A variable may hold a secret: its name is told, and whether its value is another, not the value.
        for (name, value) in &command.environment {
            let digest = hermes_core::digest::Digest::of_bytes(value.as_bytes()).short();
            self.add(format!("env {name}"), Said::Setting(format!("value {digest}")), OnResume::Conflict);
        }
        self.list("passed on", &command.inherited, OnResume::Conflict);
        self.setting("directory", &command.directory, OnResume::Conflict);
        self.list("files", &command.files, OnResume::Conflict);
        self.setting(
            "yields",
            match command.output {
                CommandEnd::Output => "output",
                CommandEnd::Stdout => "stdout",
                CommandEnd::Json => "JSON",
            },
            OnResume::Conflict,
        );
        let secrets = command.redactions.iter().map(|redaction| match redaction {
            Redaction::Text(_) => "a text".to_owned(),
            Redaction::Variable(name) => name.clone(),
        });
        self.list("redacted", &secrets.collect::<Vec<_>>(), OnResume::IfValuesDiffer);
        self.setting("cap", command.cap, OnResume::Reused);
        self.optional("version", command.version, OnResume::RunsAgain);
        self.setting("effect", command.effect, OnResume::Reused);
        self.calls(command.timeout, command.stall, command.retry);
    }

    /// How it is called.
    fn calls(&mut self, timeout: Option<Duration>, stall: Option<Duration>, retry: Retry) {
        self.optional("timeout", timeout.map(|time| format!("{time:?}")), OnResume::Reused);
        self.optional("stall", stall.map(|time| format!("{time:?}")), OnResume::Reused);
        if retry != Retry::default() {
            self.setting("retry", format!("{retry:?}"), OnResume::Reused);
        }
    }

    fn keys(&mut self, graph: &Graph, keys: &Keys) {
        match keys {
            Keys::Position => self.setting("keys", "by position", OnResume::IfValuesDiffer),
            Keys::By { .. } => self.closure("keys", OnResume::IfValuesDiffer),
            Keys::Inherited(from) => {
                let from = format!("those of {}", graph.node(*from).pattern);
                self.setting("keys", from, OnResume::IfValuesDiffer);
            }
        }
    }

    fn fan(&mut self, fan: &Fan) {
        self.optional("limit", fan.limit, OnResume::Reused);
        self.optional("shared limit", fan.shared.as_ref(), OnResume::Reused);
        self.optional("budget", fan.bounds.as_ref().map(|bounds| bounds.budget), OnResume::Reused);
        self.setting("streaming", fan.streaming, OnResume::Reused);
        self.setting("ends", format!("{:?}", fan.mode), OnResume::Reused);
        self.setting("keyed", fan.keyed, OnResume::Reused);
    }

    /// Where its inputs and its place in the order come from.
    fn sources(&mut self, lines: &Lines<'_>, graph: &Graph, node: &Node) {
        for (input, from) in node.inputs.iter().zip(lines.inputs(node)) {
            let said = match &graph.node(input.node).kind {
                Kind::Constant(value) => Said::Setting(json(value)),
                _ => Said::Source(from),
            };
            let name =
                if input.name.is_empty() { "input".to_owned() } else { format!("input {}", input.name) };
            self.add(name, said, OnResume::IfValuesDiffer);
        }
        let after = lines.order(node);
        if !after.is_empty() {
            self.list("after", &after, OnResume::Reused);
        }
    }
}
