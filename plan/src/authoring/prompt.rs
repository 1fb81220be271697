//! The type state of prompts and checks, and what can be given as a prompt.

use crate::{
    graph::{Check, Prompt},
    templates::Template,
};
use hermes_core::data::Data;
use std::{borrow::Cow, marker::PhantomData};

/// An agent that has no prompt yet.
#[derive(Debug)]
pub struct NoPrompt(());

/// An agent that has its prompt.
pub struct Prompted {
    pub(super) prompt: Prompt,
}

/// An agent that has its prompt, and whose answer is checked as a `T`.
pub struct Checked<T> {
    pub(super) prompt: Prompt,
    pub(super) checks: Vec<Check>,
    pub(super) answer: PhantomData<fn(T)>,
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::NoPrompt {}
    impl Sealed for super::Prompted {}
    impl<T> Sealed for super::Checked<T> {}
    impl Sealed for &str {}
    impl Sealed for String {}
    impl Sealed for &String {}
    impl Sealed for super::Cow<'_, str> {}
    impl Sealed for super::Template {}
}

impl NoPrompt {
    pub(super) fn new() -> Self {
        Self(())
    }
}

/// Implemented for an agent's state before its prompt: inputs come first.
#[diagnostic::on_unimplemented(
    message = "inputs come before the prompt",
    label = "this agent already has its prompt",
    note = "move `.input(..)` before `.prompt(..)` or `.prompt_with(..)`"
)]
pub trait BeforePrompt: sealed::Sealed {}
impl BeforePrompt for NoPrompt {}

/// Implemented for an agent's state after its prompt: only then can it join the plan.
#[diagnostic::on_unimplemented(
    message = "this agent has no prompt",
    label = "an agent joins the plan only with a prompt",
    note = "call `.prompt(\"..\")` or `.prompt_with(|input| ..)` before this"
)]
pub trait HasPrompt: sealed::Sealed {
    #[doc(hidden)]
    fn into_parts(self) -> (Prompt, Vec<Check>);
}
impl HasPrompt for Prompted {
    fn into_parts(self) -> (Prompt, Vec<Check>) {
        (self.prompt, Vec::new())
    }
}
impl<T> HasPrompt for Checked<T> {
    fn into_parts(self) -> (Prompt, Vec<Check>) {
        (self.prompt, self.checks)
    }
}

/// Implemented for an agent's state if its answer can be a `T`: any type, until `.check(|t: &T| ..)` has named one.
#[diagnostic::on_unimplemented(
    message = "this agent's answer is checked as another type than `{T}`",
    label = "not the type that `.check(..)` takes",
    note = "let the closure of `.check(..)` take a reference to what the agent returns"
)]
pub trait Yields<T>: sealed::Sealed {}
// Without a prompt it cannot join the plan either; that is for `HasPrompt` to say.
impl<T> Yields<T> for NoPrompt {}
impl<T: Data> Yields<T> for Prompted {}
impl<T: Data> Yields<T> for Checked<T> {}

/// What `.prompt(..)` takes: a text, or a [`Template`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a prompt",
    label = "neither a text nor a template",
    note = "`.prompt(..)` takes a text or a template; a prompt made from the inputs by a function is `.prompt_with(|input| ..)`"
)]
pub trait PromptText: sealed::Sealed {
    #[doc(hidden)]
    fn into_given(self) -> Given;
}

/// What was given as a prompt.
#[doc(hidden)]
pub enum Given {
    Text(String),
    Template(Template),
}

macro_rules! prompt_text {
    ($($T:ty),*) => {
        $(impl PromptText for $T {
            fn into_given(self) -> Given {
                Given::Text(self.into())
            }
        })*
    };
}
prompt_text!(&str, String, &String, Cow<'_, str>);

impl PromptText for Template {
    fn into_given(self) -> Given {
        Given::Template(self)
    }
}
