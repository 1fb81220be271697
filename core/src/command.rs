//! What a command yields: how it ended, and what it wrote.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What came of a command that was asked for its `.output()`: a value, whatever its exit status.
///
/// ```
/// use hermes_core::command::CommandOutput;
///
/// let ended: CommandOutput = serde_json::from_str(r#"{"code": 1, "stdout": "", "stderr": "no such file"}"#)?;
/// assert!(!ended.success());
/// assert_eq!(ended.how(), "exited with 1");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandOutput {
    /// Its exit code; none where it was ended by a kill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// The number of the kill that ended it, e.g. 9; none where it exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub killed_by: Option<i32>,
    /// What it wrote to its standard output. Of more than the command's cap, the beginning and the end, with a line
    /// between them that says how many bytes are left out.
    pub stdout: String,
    /// What it wrote to its standard error, likewise.
    pub stderr: String,
    /// How many bytes of its standard output were left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stdout_left_out: u64,
    /// How many bytes of its standard error were left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stderr_left_out: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference in")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl CommandOutput {
    /// Whether it exited with 0. Fits a branch: `.when("yes", CommandOutput::success, |_| ..)`.
    pub fn success(&self) -> bool {
        self.code == Some(0)
    }

    /// How it ended, in words: `exited with 1`, `was ended by kill -9`.
    pub fn how(&self) -> String {
        Exit { code: self.code, killed_by: self.killed_by }.to_string()
    }
}

/// How a process ended, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Its exit code.
    pub code: Option<i32>,
    /// The number of the kill that ended it.
    pub killed_by: Option<i32>,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.killed_by) {
            (Some(code), _) => write!(f, "exited with {code}"),
            (None, Some(number)) => write!(f, "was ended by kill -{number}"),
            (None, None) => f.write_str("ended"),
        }
    }
}
