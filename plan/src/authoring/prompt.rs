//! The type state of prompts, and what a fixed prompt can be.

use crate::graph::{Location, Prompt};
use std::borrow::Cow;

/// An agent that has no prompt yet.
#[derive(Debug)]
pub struct NoPrompt(());

/// An agent that has its prompt.
pub struct Prompted {
    pub(super) prompt: Prompt,
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::NoPrompt {}
    impl Sealed for super::Prompted {}
    impl Sealed for &str {}
    impl Sealed for String {}
    impl Sealed for &String {}
    impl Sealed for super::Cow<'_, str> {}
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
    fn into_prompt(self) -> Prompt;
}
impl HasPrompt for Prompted {
    fn into_prompt(self) -> Prompt {
        self.prompt
    }
}

/// What a fixed prompt can be: a text.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a prompt",
    label = "not a text",
    note = "`.prompt(..)` takes a text; a prompt made from the inputs is `.prompt_with(|input| ..)`"
)]
pub trait PromptText: sealed::Sealed {
    #[doc(hidden)]
    fn into_text(self, at: Location) -> Prompt;
}

macro_rules! prompt_text {
    ($($T:ty),*) => {
        $(impl PromptText for $T {
            fn into_text(self, _at: Location) -> Prompt {
                Prompt::Text(self.into())
            }
        })*
    };
}
prompt_text!(&str, String, &String, Cow<'_, str>);
