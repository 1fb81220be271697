//! One test a row of the closed table: what changes a fingerprint, and what does not.

use super::*;
use crate::{
    effect::Isolation,
    request::{AgentRequest, AskRequest, FileInput, FilesRequest, Input, OutputForm, StepRequest},
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
