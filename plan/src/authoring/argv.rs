//! The type state of commands: without what they start, and with it.

use crate::graph::CommandLine;

/// A command that does not know yet what it starts.
#[derive(Debug)]
pub struct NoArgv(());

/// A command that knows what it starts.
pub struct HasArgv {
    pub(super) line: CommandLine,
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::NoArgv {}
    impl Sealed for super::HasArgv {}
}

impl NoArgv {
    pub(super) fn new() -> Self {
        Self(())
    }
}

/// Implemented for a command's state before its arguments: inputs come first.
#[diagnostic::on_unimplemented(
    message = "inputs come before the arguments",
    label = "this command already has its arguments",
    note = "move `.input(..)` before `.argv(..)`, `.argv_with(..)` or `.shell(..)`"
)]
pub trait BeforeArgv: sealed::Sealed {}
impl BeforeArgv for NoArgv {}

/// Implemented for a command's state after its arguments: only then can it join the plan.
#[diagnostic::on_unimplemented(
    message = "this command has nothing to start",
    label = "a command joins the plan only with a program",
    note = "call `.argv([\"program\", \"argument\"])` or `.argv_with(|input| ..)` before this"
)]
pub trait WithArgv: sealed::Sealed {
    #[doc(hidden)]
    fn into_line(self) -> CommandLine;
}
impl WithArgv for HasArgv {
    fn into_line(self) -> CommandLine {
        self.line
    }
}
