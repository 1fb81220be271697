//! One test a row of the closed table: what changes a fingerprint, and what does not.

use super::*;
use crate::{
    effect::Isolation,
    request::{
        AgentRequest, AskRequest, CommandForm, CommandRequest, FileInput, FilesRequest, Input, OutputForm,
        StepRequest, TemplateUse, Variable, WaitRequest,
    },
};

fn digest(text: &str) -> Digest {
    Digest::of_bytes(text.as_bytes())
}

fn input(name: &str, value: &str) -> Input {
    Input { name: name.to_owned(), digest: digest(value) }
}

fn agent() -> AgentRequest {
    AgentRequest {
        composition: 1,
        prompt: "Write.".to_owned(),
        template: None,
        inputs: vec![input("topic", "rust"), input("style", "plain")],
        output: OutputForm::Json { schema: digest("schema") },
        tools: vec!["search".to_owned()],
        skills: vec!["deep-research".to_owned()],
        files: vec![FileInput { path: "a.md".to_owned(), content: digest("a") }],
        model: None,
        variant: None,
        isolation: Isolation::Workspace,
        tree: None,
        version: None,
    }
}

fn ask() -> AskRequest {
    AskRequest {
        title: "Choose".to_owned(),
        inputs: vec![input("options", "abc")],
        schema: digest("schema"),
        choices: Some(digest("choices")),
    }
}

fn step() -> StepRequest {
    StepRequest { inputs: vec![input("a", "1")], schema: digest("schema"), version: None }
}

fn command() -> CommandRequest {
    CommandRequest {
        argv: ["git", "log"].map(str::to_owned).to_vec(),
        shell: None,
        stdin: None,
        inputs: vec![input("since", "v1")],
        directory: String::new(),
        environment: vec![
            Variable { name: "MODE".to_owned(), value: Some("fast".to_owned()) },
            Variable { name: "TOKEN".to_owned(), value: None },
        ],
        files: vec![FileInput { path: "Cargo.toml".to_owned(), content: digest("a") }],
        tree: None,
        output: CommandForm::Json { schema: digest("schema") },
        version: None,
    }
}

fn files() -> FilesRequest {
    FilesRequest { globs: vec!["notes/*.md".to_owned(), "!notes/old*".to_owned()], schema: digest("schema") }
}

/// Asserts that the edit changes the fingerprint, and that the difference names exactly this field.
fn row<R: Clone>(base: R, wrap: fn(R) -> Request, field: &Field, edit: impl FnOnce(&mut R)) {
    let old = wrap(base.clone());
    let mut edited = base;
    edit(&mut edited);
    let new = wrap(edited);
    assert_ne!(fingerprint(&old), fingerprint(&new), "{field} must count");
    let changed = difference(&old, &new);
    assert_eq!(changed.iter().map(|changed| &changed.field).collect::<Vec<_>>(), [field], "{changed:?}");
}

fn agent_row(field: &Field, edit: impl FnOnce(&mut AgentRequest)) {
    row(agent(), Request::Agent, field, edit);
}

#[test]
fn agent_rendered_prompt_counts() {
    agent_row(&Field::Prompt, |agent| agent.prompt.push('!'));
}

#[test]
fn agent_input_digest_counts() {
    agent_row(&Field::Input("topic".to_owned()), |agent| agent.inputs[0].digest = digest("go"));
}

#[test]
fn agent_input_name_counts() {
    let mut renamed = agent();
    renamed.inputs[0].name = "subject".to_owned();
    let (old, new) = (Request::Agent(agent()), Request::Agent(renamed));
    assert_ne!(fingerprint(&old), fingerprint(&new));
    let fields: Vec<_> = difference(&old, &new).into_iter().map(|changed| changed.field).collect();
    assert_eq!(fields, [Field::Input("topic".to_owned()), Field::Input("subject".to_owned())]);
}

#[test]
fn agent_input_order_counts() {
    let mut swapped = agent();
    swapped.inputs.reverse();
    let (old, new) = (Request::Agent(agent()), Request::Agent(swapped));
    assert_ne!(fingerprint(&old), fingerprint(&new));
    assert_eq!(difference(&old, &new)[0].field, Field::Inputs);
}

#[test]
fn agent_output_schema_counts() {
    agent_row(&Field::Schema, |agent| agent.output = OutputForm::Json { schema: digest("other") });
}

#[test]
fn agent_text_instead_of_json_counts() {
    agent_row(&Field::Schema, |agent| agent.output = OutputForm::Text);
}

#[test]
fn agent_tools_count() {
    agent_row(&Field::Tools, |agent| agent.tools.push("shell".to_owned()));
}

#[test]
fn agent_skills_count() {
    agent_row(&Field::Skills, |agent| agent.skills.clear());
}

#[test]
fn a_tool_is_not_a_skill() {
    let (mut a, mut b) = (agent(), agent());
    (a.tools, a.skills) = (vec!["x".to_owned()], vec![]);
    (b.tools, b.skills) = (vec![], vec!["x".to_owned()]);
    assert_ne!(fingerprint(&Request::Agent(a)), fingerprint(&Request::Agent(b)));
}

#[test]
fn agent_file_content_counts() {
    agent_row(&Field::File("a.md".to_owned()), |agent| agent.files[0].content = digest("b"));
}

#[test]
fn agent_model_counts_and_unset_is_a_value() {
    agent_row(&Field::Model, |agent| agent.model = Some("m".to_owned()));
    agent_row(&Field::Model, |agent| agent.model = Some(String::new()));
}

#[test]
fn agent_variant_counts() {
    agent_row(&Field::Variant, |agent| agent.variant = Some("high".to_owned()));
}

#[test]
fn agent_isolation_counts() {
    agent_row(&Field::Isolation, |agent| agent.isolation = Isolation::None);
}

#[test]
fn agent_tree_counts() {
    agent_row(&Field::Tree, |agent| agent.tree = Some("4b825dc".to_owned()));
}

#[test]
fn agent_version_counts() {
    agent_row(&Field::Version, |agent| agent.version = Some(1));
    agent_row(&Field::Version, |agent| agent.version = Some(0));
}

#[test]
fn agent_composition_version_counts() {
    agent_row(&Field::Composition, |agent| agent.composition = 2);
}

fn rendered(prompt: &str, id: &str, source: &str) -> Request {
    let template = Some(TemplateUse { id: id.to_owned(), source: digest(source) });
    Request::Agent(AgentRequest { prompt: prompt.to_owned(), template, ..agent() })
}

fn fields(old: &Request, new: &Request) -> Vec<String> {
    difference(old, new).iter().map(|changed| changed.field.to_string()).collect()
}

#[test]
fn agent_template_does_not_count() {
    let old = rendered("Write.", "a.md", "one");
    for new in [rendered("Write.", "a.md", "two"), rendered("Write.", "b.md", "one"), Request::Agent(agent())]
    {
        assert_eq!(fingerprint(&old), fingerprint(&new));
        assert!(difference(&old, &new).is_empty());
    }
}

#[test]
fn a_difference_of_the_prompt_names_the_template_whose_source_changed() {
    let old = rendered("Write.", "a.md", "one");
    assert_eq!(fields(&old, &rendered("Draw.", "a.md", "two")), ["prompt", "template `a.md`"]);
    assert_eq!(fields(&old, &rendered("Draw.", "a.md", "one")), ["prompt"]);
    assert_eq!(fields(&old, &rendered("Draw.", "moved.md", "one")), ["prompt"]);

    let other = difference(&old, &rendered("Draw.", "b.md", "two"));
    assert_eq!(other[1].field, Field::TemplateSource("b.md".to_owned()));
    assert_eq!(other[1].old, Some(format!("{} of a.md", digest("one").short())));
    assert_eq!(other[1].new, Some(digest("two").short()));

    let plain = Request::Agent(AgentRequest { prompt: "Draw.".to_owned(), ..agent() });
    assert_eq!(fields(&old, &plain), ["prompt", "template `a.md`"]);
    assert_eq!(fields(&plain, &old), ["prompt", "template `a.md`"]);
}

#[test]
fn ask_title_counts() {
    row(ask(), Request::Ask, &Field::Title, |ask| ask.title.push('?'));
}

#[test]
fn ask_input_counts() {
    row(ask(), Request::Ask, &Field::Input("options".to_owned()), |ask| ask.inputs[0].digest = digest("x"));
}

#[test]
fn ask_schema_counts() {
    row(ask(), Request::Ask, &Field::Schema, |ask| ask.schema = digest("x"));
}

#[test]
fn ask_choices_count() {
    row(ask(), Request::Ask, &Field::Choices, |ask| ask.choices = Some(digest("x")));
    row(ask(), Request::Ask, &Field::Choices, |ask| ask.choices = None);
}

#[test]
fn step_input_counts() {
    row(step(), Request::Step, &Field::Input("a".to_owned()), |step| step.inputs[0].digest = digest("2"));
}

#[test]
fn step_schema_counts() {
    row(step(), Request::Step, &Field::Schema, |step| step.schema = digest("x"));
}

#[test]
fn step_version_counts() {
    row(step(), Request::Step, &Field::Version, |step| step.version = Some(2));
}

fn command_row(field: &Field, edit: impl FnOnce(&mut CommandRequest)) {
    row(command(), Request::Command, field, edit);
}

#[test]
fn command_argv_counts_and_is_not_joined() {
    command_row(&Field::Argv, |command| command.argv.push("--all".to_owned()));
    command_row(&Field::Argv, |command| command.argv = vec!["git log".to_owned()]);
}

#[test]
fn command_shell_counts() {
    command_row(&Field::Shell, |command| command.shell = Some("git log".to_owned()));
}

#[test]
fn command_stdin_counts_and_unset_is_a_value() {
    command_row(&Field::Stdin, |command| command.stdin = Some("text".to_owned()));
    command_row(&Field::Stdin, |command| command.stdin = Some(String::new()));
}

#[test]
fn command_input_counts() {
    command_row(&Field::Input("since".to_owned()), |command| command.inputs[0].digest = digest("v2"));
}

#[test]
fn command_directory_counts() {
    command_row(&Field::Directory, |command| command.directory = "docs".to_owned());
}

#[test]
fn command_declared_variable_counts() {
    let name = |name: &str| Field::Variable(name.to_owned());
    command_row(&name("MODE"), |command| command.environment[0].value = Some("slow".to_owned()));
    command_row(&name("TOKEN"), |command| command.environment[1].value = Some(String::new()));
    command_row(&name("TOKEN"), |command| drop(command.environment.pop()));
}

#[test]
fn command_declared_file_counts() {
    command_row(&Field::File("Cargo.toml".to_owned()), |command| command.files[0].content = digest("b"));
    command_row(&Field::File("Cargo.toml".to_owned()), |command| command.files[0].content = Digest::ZERO);
}

#[test]
fn command_tree_counts() {
    command_row(&Field::Tree, |command| command.tree = Some("4b825dc".to_owned()));
}

#[test]
fn command_output_form_and_schema_count() {
    for form in [CommandForm::Output, CommandForm::Stdout, CommandForm::Json { schema: digest("other") }] {
        command_row(&Field::Schema, |command| command.output = form);
    }
}

#[test]
fn command_version_counts() {
    command_row(&Field::Version, |command| command.version = Some(0));
}

#[test]
fn the_encoding_of_a_command_is_pinned() {
    let stored = r#"{"kind":"command","argv":["git","log"],"inputs":[],"output":{"form":"stdout"}}"#;
    let request: Request = serde_json::from_str(stored).unwrap();
    assert_eq!(fingerprint(&request).to_string(), PINNED_COMMAND);
    let again: Request =
        serde_json::from_str(&serde_json::to_string(&Request::Command(command())).unwrap()).unwrap();
    assert_eq!(again, Request::Command(command()));
}

const PINNED_COMMAND: &str = "1b87e196cd9615560c096b74da9f487fc72c5663fcf314ea1f5db001ca3fb27a";

#[test]
fn kinds_never_collide() {
    let step = Request::Step(StepRequest { inputs: vec![], schema: digest("s"), version: None });
    let ask =
        Request::Ask(AskRequest { title: String::new(), inputs: vec![], schema: digest("s"), choices: None });
    assert_ne!(fingerprint(&step), fingerprint(&ask));
}

#[test]
fn the_encoding_is_pinned() {
    // A change here re-fingerprints every stored request: raise the version, and keep reading the old one.
    assert_eq!(
        fingerprint(&Request::Step(step())).short(),
        fingerprint(&serde_json::from_str(&serde_json::to_string(&Request::Step(step())).unwrap()).unwrap())
            .short()
    );
    let stored = r#"{"kind":"step","inputs":[],"schema":"0000000000000000000000000000000000000000000000000000000000000000"}"#;
    let request: Request = serde_json::from_str(stored).unwrap();
    assert_eq!(fingerprint(&request).to_string(), PINNED);
}

const PINNED: &str = "ead8f1a086d81f79c70c003688d0f5dadd18764a359f53ebba243720a8dadac6";

#[test]
fn crashes_keep_the_idempotency_key_and_causes_change_it() {
    let print = fingerprint(&Request::Agent(agent()));
    let key = idempotency_key("run", "a/b", &print, 0);
    assert_eq!(key, idempotency_key("run", "a/b", &print, 0));
    for other in [
        idempotency_key("run", "a/b", &print, 1),
        idempotency_key("run", "a/c", &print, 0),
        idempotency_key("other", "a/b", &print, 0),
        idempotency_key("run", "a/b", &digest("x"), 0),
    ] {
        assert_ne!(key, other);
    }
}

#[test]
fn a_wait_counts_nothing_but_that_it_is_one() {
    let wait = Request::Wait(WaitRequest {});
    assert_eq!(fingerprint(&wait), fingerprint(&Request::Wait(WaitRequest::default())));
    assert_eq!(serde_json::to_string(&wait).unwrap(), "{\"kind\":\"wait\"}");
    let changed = difference(&Request::Step(step()), &wait);
    assert!(changed.iter().any(|changed| changed.field == Field::Kind), "{changed:?}");
    assert_ne!(fingerprint(&Request::Step(step())), fingerprint(&wait));
}

#[test]
fn files_globs_count() {
    row(files(), Request::Files, &Field::Globs, |files| files.globs.push("more/*.md".to_owned()));
}

#[test]
fn files_glob_order_counts() {
    row(files(), Request::Files, &Field::Globs, |files| files.globs.reverse());
}

#[test]
fn files_schema_counts() {
    row(files(), Request::Files, &Field::Schema, |files| files.schema = digest("texts"));
}
