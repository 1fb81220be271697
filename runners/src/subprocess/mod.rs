//! `Subprocess`: any program as a runner. It reads one JSON request on its standard input, writes one JSON reply on its
//! standard output, and exits with 0.
//!
//! # The protocol, version 1
//!
//! **The request** is one JSON object, then end of file:
//!
//! ```json
//! {
//!   "protocol": 1,
//!   "run": "post-42",
//!   "path": "draft_sections[intro]/draft_section",
//!   "text": "Draft the section.\n\nsection:\n```json\n{\"title\":\"Intro\"}\n```",
//!   "inputs": [{"name": "section", "value": {"title": "Intro"}}],
//!   "expect": {"form": "json", "schema": {"type": "object"}},
//!   "tools": [], "skills": [], "model": null, "variant": null,
//!   "idempotency_key": "5f1d…", "attempt": 1, "workspace": "/path/runs.redb.work/1/…"
//! }
//! ```
//!
//! - `text` is what to send to a model, complete and unchanged. `inputs` are the same values by name, in the order the
//!   plan gives them, for programs that want data and not text: a list, because the order belongs to the prompt.
//! - `expect` is `{"form": "text"}` or `{"form": "json", "schema": ..}`. The executor validates; the program conveys.
//! - `idempotency_key` is the same for every dispatch of the same request, `attempt` counts these from 1.
//! - `workspace` is the working directory of the program: fresh and empty, unless the step says `Isolation::None`.
//!
//! If a step with `.repair(n)` refuses an answer, the program is started again, with two more fields:
//!
//! ```json
//! "previous": [{"answer": "{\"title\":\"\"}", "violations": ["at /title: too short"], "feedback": "Your answer cannot .."}],
//! "session": "s-1"
//! ```
//!
//! - `previous` are the refused answers of this attempt, oldest first: each as it came, what is wrong with it, and the text
//!   to send to have it mended. `text` is still the first message.
//! - `session` is what the last reply said it was, if it said so: a program that goes on with it sends the last `feedback`
//!   only. `attempt` and `workspace` stay the same, and in the workspace is what the turn before left.
//!
//! **The reply** is one JSON object. Either `ok`, with the answer in the form asked for, and what is known about it:
//!
//! ```json
//! {"protocol": 1, "ok": {"json": {"title": "Intro"}},
//!  "usage": {"input_tokens": 12, "output_tokens": 34}, "cost": {"basis": "known", "usd": 0.01},
//!  "model": "m-1", "session": "s-1", "tools": ["search"]}
//! ```
//!
//! or `{"protocol": 1, "ok": {"text": ".."}}`, or an error of kind `failed`, `not_begun` (nothing was done) or
//! `rate_limited`:
//!
//! ```json
//! {"protocol": 1, "error": {"kind": "rate_limited", "message": "too many requests", "retry_after": 20}}
//! ```
//!
//! where `retry_after` is a number of seconds: all calls of the runner wait for that.
//!
//! Everything but `protocol` and one of `ok` and `error` may be left out; other fields are ignored.
//!
//! **What else a call can end with**
//!
//! | the program | the call |
//! |---|---|
//! | cannot be started | not begun |
//! | exits with another code than 0, or by a kill | failed, with the end of its standard error (an `error` reply counts all the same, an `ok` does not) |
//! | exits with 0 and half a reply, or none | cut off, with what came out |
//! | writes something that is not a reply | invalid output, with what came out |
//! | writes over 64 MiB | ended, too large |
//! | closes its standard input early | nothing: it need not read |
//!
//! Standard error is free: its lines are the call's live lines, the first and last 64 KiB are kept for a failure.
//!
//! # Its processes
//!
//! The program runs in a process group of its own, in a clean environment: `PATH`, `HOME`, `LANG`, `LC_*`, `TMPDIR`,
//! `TERM`, `USER`, what [`Subprocess::env`] adds, and the call's cookie. A call that is cancelled ends in order: an
//! interrupt, then a request to terminate, then a kill, each to the whole group. When a call has ended, in whatever way,
//! what is left of its group is killed, and (on Linux, through `/proc`) every process that carries its cookie, also those
//! in sessions of their own. The same happens when the call's future is dropped. A descendant that empties its own
//! environment *and* leaves the group is not found.

mod reply;
mod request;
mod runner;

pub use runner::Subprocess;
