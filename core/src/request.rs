//! Requests: everything the result of a recorded step depends on, by the closed table below.
//!
//! | kind | fields in the fingerprint |
//! |---|---|
//! | agent | prompt (rendered), each input (name and digest), output form and schema *with* descriptions, tools, skills, files (path and content hash), model (unset is a value), variant, isolation, tree, version, composition version |
//! | ask | title, each input, schema (bare), choices |
//! | step | each input, schema (bare), version |
//! | wait | nothing: its instant is fixed once, when it begins |
//! | command | argv, shell, stdin, each input, relative directory, each declared variable (name and value; of one that is only passed on, the name), each declared file (path and content hash), tree, output form and schema (bare), version |
//! | files | globs, schema (bare); never what the files hold: a snapshot is taken once |
//!
//! *Not* in it, so that changing them re-runs nothing: effect, budget, timeout, stall, retry, repair, limit, concurrency,
//! streaming, assignee, expiry, labels, the runner, a template's id and source hash (recorded beside the prompt, so that a
//! conflict can tell an edited template from a changed variable), a command's cap and redactions, the directory that
//! relative ones are relative to. "Bare" schemas have no titles, descriptions or examples. A step's name is not in it
//! either: its path has it. A command's texts are in it as they are stored: redacted.

use crate::{digest::Digest, effect::Isolation};
use serde::{Deserialize, Serialize};
use std::fmt;

/// One input of a step: the author's name for it and the digest of its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// The name given in `.input(name, ..)`.
    pub name: String,
    /// The digest of the value.
    pub digest: Digest,
}

/// A file that an agent or a command may read, as it was when the request was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileInput {
    /// Its path, as the author wrote it.
    pub path: String,
    /// The blake3 hash of its content; [`Digest::ZERO`] where there was no such file.
    pub content: Digest,
}

/// The template that a prompt was rendered from. Recorded, and not in the fingerprint: the rendered prompt is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemplateUse {
    /// Its id: the path that the author gave.
    pub id: String,
    /// The blake3 hash of its source.
    pub source: Digest,
}

/// A variable in the environment of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// The value the plan gives it; unset where the program's own is passed on, which is never stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

/// What an agent has to answer with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "form", rename_all = "snake_case")]
pub enum OutputForm {
    /// Plain text (`.text()`).
    Text,
    /// A JSON value (`.returns::<T>()`) valid for the schema with this id, descriptions included.
    Json {
        /// The structural id of the schema.
        schema: Digest,
    },
}

/// What the result of an agent call depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRequest {
    /// The version of the rules by which prompt and inputs are composed into the text sent.
    pub composition: u32,
    /// The rendered prompt.
    pub prompt: String,
    /// What the prompt was rendered from, if from a template. It does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<TemplateUse>,
    /// The named inputs, in order.
    pub inputs: Vec<Input>,
    /// The output form.
    pub output: OutputForm,
    /// Tools the agent may use, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Skills the agent is given, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    /// Files the agent may read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileInput>,
    /// The model asked for; unset leaves it to the runner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The variant (effort, mode) asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Where it works.
    pub isolation: Isolation,
    /// The tree it starts from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// The author's version of the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
}

/// What a question depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskRequest {
    /// The title shown to the person.
    pub title: String,
    /// What the person is shown, in order.
    pub inputs: Vec<Input>,
    /// The bare structural id of the answer's schema.
    pub schema: Digest,
    /// The digest of the list of choices, where there are choices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choices: Option<Digest>,
}

/// What the result of a local step depends on, as far as it can be seen: what its closure does and captures cannot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRequest {
    /// The named inputs, in order.
    pub inputs: Vec<Input>,
    /// The bare structural id of the output's schema.
    pub schema: Digest,
    /// The author's version of the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
}

/// What a wait depends on: nothing. Its instant is fixed once, when it begins; a plan that would choose another does not
/// change it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitRequest {}
/// What a command has to yield.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "form", rename_all = "snake_case")]
pub enum CommandForm {
    /// How it ended and what it wrote (`.output()`).
    Output,
    /// Its standard output as text (`.stdout()`).
    Stdout,
    /// Its standard output as a JSON value (`.json::<T>()`) valid for the schema with this bare id.
    Json {
        /// The bare structural id of the schema.
        schema: Digest,
    },
}

/// What the result of a command depends on, as far as it can be seen: files that are not declared cannot. Its texts are
/// redacted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRequest {
    /// The program and its arguments; none where a shell is asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<String>,
    /// The script, where a shell is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// What it reads on its standard input; unset is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// The named inputs, in order.
    pub inputs: Vec<Input>,
    /// The directory it works in, relative to the executor's; empty for that one itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub directory: String,
    /// What the plan puts into its environment, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<Variable>,
    /// The files it is declared to read, in the author's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileInput>,
    /// The tree it works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// What it has to yield.
    pub output: CommandForm,
    /// The author's version of the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
}

/// What a snapshot of files depends on. What the files hold is its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilesRequest {
    /// The globs, as the author wrote them.
    pub globs: Vec<String>,
    /// The bare structural id of the output's schema: whether the texts are in the value.
    pub schema: Digest,
}

/// A request of any kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Request {
    /// An agent call.
    Agent(AgentRequest),
    /// A question.
    Ask(AskRequest),
    /// A local step.
    Step(StepRequest),
    /// A command.
    Command(CommandRequest),
    /// A wait.
    Wait(WaitRequest),
    /// A snapshot of files.
    Files(FilesRequest),
}

/// One row of the closed table: a field that a fingerprint covers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// The kind of the step (agent, ask, step, command, wait, files).
    Kind,
    /// The rules of composition.
    Composition,
    /// The rendered prompt.
    Prompt,
    /// The source of the template with this id. It does not count by itself: a difference names it beside the prompt
    /// that it changed.
    TemplateSource(String),
    /// A question's title.
    Title,
    /// One named input.
    Input(String),
    /// The names and order of the inputs.
    Inputs,
    /// Text, or JSON of some schema.
    Schema,
    /// The choices of a question.
    Choices,
    /// The tools.
    Tools,
    /// The skills.
    Skills,
    /// One file.
    File(String),
    /// The names and order of the files.
    Files,
    /// The globs of a snapshot of files.
    Globs,
    /// The model asked for.
    Model,
    /// The variant asked for.
    Variant,
    /// Where an agent works.
    Isolation,
    /// The tree it starts from.
    Tree,
    /// The author's version.
    Version,
    /// A command's program and arguments.
    Argv,
    /// A command's script for the shell.
    Shell,
    /// What a command reads on its standard input.
    Stdin,
    /// The directory a command works in.
    Directory,
    /// One variable of a command's environment.
    Variable(String),
    /// The keys of a fan-out (`key_by`).
    Keys,
    /// The arm of a branch.
    Arm,
    /// The flow of a loop.
    Flow,
    /// What a `then` built.
    Structure,
    /// The members of a quorum.
    Members,
    /// The input of the run.
    RunInput,
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kind => "kind",
            Self::Composition => "composition",
            Self::Prompt => "prompt",
            Self::TemplateSource(id) => return write!(f, "template `{id}`"),
            Self::Title => "title",
            Self::Input(name) => return write!(f, "input `{name}`"),
            Self::Inputs => "inputs",
            Self::Schema => "schema",
            Self::Choices => "choices",
            Self::Tools => "tools",
            Self::Skills => "skills",
            Self::File(path) => return write!(f, "file `{path}`"),
            Self::Files => "files",
            Self::Globs => "globs",
            Self::Model => "model",
            Self::Variant => "variant",
            Self::Isolation => "isolation",
            Self::Tree => "tree",
            Self::Version => "version",
            Self::Argv => "argv",
            Self::Shell => "shell",
            Self::Stdin => "stdin",
            Self::Directory => "directory",
            Self::Variable(name) => return write!(f, "variable `{name}`"),
            Self::Keys => "key_by",
            Self::Arm => "arm",
            Self::Flow => "flow",
            Self::Structure => "structure",
            Self::Members => "members",
            Self::RunInput => "run input",
        })
    }
}

/// The value of one field, borrowed from its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// A number.
    Number(u64),
    /// A text.
    Text(&'a str),
    /// A text, or unset.
    MaybeText(Option<&'a str>),
    /// A number, or unset.
    MaybeNumber(Option<u64>),
    /// A digest.
    Digest(&'a Digest),
    /// A list of texts.
    Texts(&'a [String]),
}

/// A borrowed field name, so that walking a request allocates nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldRef<'a> {
    /// A field there is one of.
    One(&'static Field),
    /// A named input.
    Input(&'a str),
    /// A file.
    File(&'a str),
    /// A variable.
    Variable(&'a str),
}

impl FieldRef<'_> {
    /// The owned name.
    pub fn to_field(self) -> Field {
        match self {
            Self::One(field) => field.clone(),
            Self::Input(name) => Field::Input(name.to_owned()),
            Self::File(path) => Field::File(path.to_owned()),
            Self::Variable(name) => Field::Variable(name.to_owned()),
        }
    }
}

impl Request {
    /// Visits the fields that count, in the fixed order of the table. Fingerprint and difference are both made from
    /// this one walk, so they cannot disagree on what counts.
    pub fn visit<'a>(&'a self, visit: &mut dyn FnMut(FieldRef<'a>, Part<'a>)) {
        use FieldRef::One;
        match self {
            Self::Agent(agent) => {
                visit(One(&Field::Kind), Part::Text("agent"));
                visit(One(&Field::Composition), Part::Number(agent.composition.into()));
                visit(One(&Field::Prompt), Part::Text(&agent.prompt));
                for input in &agent.inputs {
                    visit(FieldRef::Input(&input.name), Part::Digest(&input.digest));
                }
                match &agent.output {
                    OutputForm::Text => visit(One(&Field::Schema), Part::Text("text")),
                    OutputForm::Json { schema } => visit(One(&Field::Schema), Part::Digest(schema)),
                }
                visit(One(&Field::Tools), Part::Texts(&agent.tools));
                visit(One(&Field::Skills), Part::Texts(&agent.skills));
                for file in &agent.files {
                    visit(FieldRef::File(&file.path), Part::Digest(&file.content));
                }
                visit(One(&Field::Model), Part::MaybeText(agent.model.as_deref()));
                visit(One(&Field::Variant), Part::MaybeText(agent.variant.as_deref()));
                visit(One(&Field::Isolation), Part::Text(agent.isolation.as_str()));
                visit(One(&Field::Tree), Part::MaybeText(agent.tree.as_deref()));
                visit(One(&Field::Version), Part::MaybeNumber(agent.version.map(Into::into)));
            }
            Self::Ask(ask) => {
                visit(One(&Field::Kind), Part::Text("ask"));
                visit(One(&Field::Title), Part::Text(&ask.title));
                for input in &ask.inputs {
                    visit(FieldRef::Input(&input.name), Part::Digest(&input.digest));
                }
                visit(One(&Field::Schema), Part::Digest(&ask.schema));
                if let Some(choices) = &ask.choices {
                    visit(One(&Field::Choices), Part::Digest(choices));
                }
            }
            Self::Step(step) => {
                visit(One(&Field::Kind), Part::Text("step"));
                for input in &step.inputs {
                    visit(FieldRef::Input(&input.name), Part::Digest(&input.digest));
                }
                visit(One(&Field::Schema), Part::Digest(&step.schema));
                visit(One(&Field::Version), Part::MaybeNumber(step.version.map(Into::into)));
            }
            Self::Command(command) => command.visit(visit),
            Self::Wait(WaitRequest {}) => visit(One(&Field::Kind), Part::Text("wait")),
            Self::Files(files) => {
                visit(One(&Field::Kind), Part::Text("files"));
                visit(One(&Field::Globs), Part::Texts(&files.globs));
                visit(One(&Field::Schema), Part::Digest(&files.schema));
            }
        }
    }

    /// The author's version of the step, where it has one.
    pub fn version(&self) -> Option<u32> {
        match self {
            Self::Agent(agent) => agent.version,
            Self::Step(step) => step.version,
            Self::Command(command) => command.version,
            Self::Ask(_) | Self::Wait(_) | Self::Files(_) => None,
        }
    }
}

impl CommandRequest {
    fn visit<'a>(&'a self, visit: &mut dyn FnMut(FieldRef<'a>, Part<'a>)) {
        use FieldRef::One;
        visit(One(&Field::Kind), Part::Text("command"));
        visit(One(&Field::Argv), Part::Texts(&self.argv));
        visit(One(&Field::Shell), Part::MaybeText(self.shell.as_deref()));
        visit(One(&Field::Stdin), Part::MaybeText(self.stdin.as_deref()));
        for input in &self.inputs {
            visit(FieldRef::Input(&input.name), Part::Digest(&input.digest));
        }
        visit(One(&Field::Directory), Part::Text(&self.directory));
        for variable in &self.environment {
            visit(FieldRef::Variable(&variable.name), Part::MaybeText(variable.value.as_deref()));
        }
        for file in &self.files {
            visit(FieldRef::File(&file.path), Part::Digest(&file.content));
        }
        visit(One(&Field::Tree), Part::MaybeText(self.tree.as_deref()));
        match &self.output {
            CommandForm::Output => visit(One(&Field::Schema), Part::Text("output")),
            CommandForm::Stdout => visit(One(&Field::Schema), Part::Text("stdout")),
            CommandForm::Json { schema } => visit(One(&Field::Schema), Part::Digest(schema)),
        }
        visit(One(&Field::Version), Part::MaybeNumber(self.version.map(Into::into)));
    }
}
