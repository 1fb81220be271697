//! What a program wrote, read as a reply of the protocol.

use super::request::PROTOCOL;
use hermes_core::receipt::{Cost, Usage};
use hermes_executor::{
    AgentReply, Answer, RunnerError, RunnerErrorKind,
    process::{HeadTail, KEPT},
};
use serde::Deserialize;
use serde_json::{Value, error::Category};
use std::time::Duration;

#[derive(Deserialize)]
struct Reply {
    protocol: u32,
    ok: Option<Given>,
    error: Option<Refusal>,
    usage: Option<Usage>,
    cost: Option<Cost>,
    model: Option<String>,
    session: Option<String>,
    #[serde(default)]
    tools: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Given {
    Json(Value),
    Text(String),
}

#[derive(Deserialize)]
struct Refusal {
    kind: RefusalKind,
    message: String,
    /// Of a rate limit: after how many seconds calls are taken again.
    retry_after: Option<f64>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RefusalKind {
    Failed,
    NotBegun,
    RateLimited,
}

/// Reads what a program that exited with 0 wrote. `who` names the program and the step.
pub(super) fn read(output: &[u8], who: &str) -> Result<AgentReply, RunnerError> {
    let raw = || HeadTail::of(output, KEPT).text();
    let wrong = |kind, message: String| RunnerError::new(kind, format!("{who} {message}")).with_raw(raw());
    let not_a_reply = "is not a reply of the protocol";
    if output.iter().all(u8::is_ascii_whitespace) {
        let message =
            "exited with 0 and wrote no reply; it must write one JSON object to its standard output";
        return Err(RunnerError::new(RunnerErrorKind::CutOff, format!("{who} {message}")));
    }
    let text = std::str::from_utf8(output).map_err(|error| {
        let at = error.valid_up_to();
        if error.error_len().is_none() {
            return wrong(
                RunnerErrorKind::CutOff,
                format!("wrote half a reply: it ends inside a character, at byte {at}"),
            );
        }
        wrong(RunnerErrorKind::InvalidOutput, format!("wrote something that is not UTF-8, from byte {at} on"))
    })?;
    let reply: Reply = serde_json::from_str(text).map_err(|error| match error.classify() {
        Category::Eof => wrong(RunnerErrorKind::CutOff, format!("wrote half a reply: {error}")),
        _ => wrong(RunnerErrorKind::InvalidOutput, format!("wrote something that {not_a_reply}: {error}")),
    })?;
    if reply.protocol != PROTOCOL {
        let message =
            format!("answers in version {} of the protocol; this runner speaks {PROTOCOL}", reply.protocol);
        return Err(wrong(RunnerErrorKind::InvalidOutput, message));
    }
    match (reply.ok, reply.error) {
        (Some(given), None) => Ok(AgentReply {
            answer: match given {
                Given::Json(value) => Answer::Json(value),
                Given::Text(text) => Answer::Text(text),
            },
            raw: None,
            usage: reply.usage,
            cost: reply.cost.unwrap_or_default(),
            model: reply.model,
            tools: reply.tools,
            session: reply.session,
        }),
        (None, Some(refusal)) => {
            let (kind, word) = match refusal.kind {
                RefusalKind::Failed => (RunnerErrorKind::Failed, "failed"),
                RefusalKind::NotBegun => (RunnerErrorKind::NotBegun, "did not begin"),
                RefusalKind::RateLimited => (RunnerErrorKind::RateLimited, "is rate limited"),
            };
            let error = RunnerError::new(kind, format!("{who} {word}: {}", refusal.message));
            // A number of seconds that is none says nothing.
            let after = refusal.retry_after.and_then(|after| Duration::try_from_secs_f64(after).ok());
            Err(match after {
                Some(after) => error.retry_after(after),
                None => error,
            })
        }
        (Some(_), Some(_)) => Err(wrong(
            RunnerErrorKind::InvalidOutput,
            format!("wrote what {not_a_reply}: it has both `ok` and `error`"),
        )),
        (None, None) => Err(wrong(
            RunnerErrorKind::InvalidOutput,
            format!("wrote what {not_a_reply}: it has neither `ok` nor `error`"),
        )),
    }
}

/// The error that a program reported itself although it did not exit with 0; an answer would not count.
pub(super) fn reported(output: &[u8], who: &str) -> Option<RunnerError> {
    let reply: Reply = serde_json::from_slice(output).ok()?;
    if reply.error.is_some() { read(output, who).err() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn error(output: impl AsRef<[u8]>) -> RunnerError {
        read(output.as_ref(), "`w` (step `a`)").unwrap_err()
    }

    #[test]
    fn an_answer_is_read_with_what_is_known_about_it() {
        let reply = json!({
            "protocol": 1, "ok": {"json": {"a": 1.5}}, "usage": {"input_tokens": 3, "output_tokens": 4},
            "cost": {"basis": "known", "usd": 0.5}, "model": "m", "session": "s", "tools": ["t"], "more": true,
        });
        let reply = read(format!("\n{reply}\n").as_bytes(), "w").unwrap();
        assert_eq!(reply.answer, Answer::Json(json!({"a": 1.5})));
        assert_eq!(reply.usage, Some(Usage { input_tokens: 3, output_tokens: 4 }));
        assert_eq!(reply.cost, Cost::Known { usd: 0.5 });
        assert_eq!((reply.model.as_deref(), reply.session.as_deref()), (Some("m"), Some("s")));
        assert_eq!(reply.tools, ["t"]);

        let bare = read(br#"{"protocol":1,"ok":{"text":"hi"}}"#, "w").unwrap();
        assert_eq!((bare.answer, bare.cost), (Answer::Text("hi".to_owned()), Cost::Unknown));
        let null = read(br#"{"protocol":1,"ok":{"json":null}}"#, "w").unwrap();
        assert_eq!(null.answer, Answer::Json(Value::Null));
    }

    #[test]
    fn a_reported_error_keeps_its_kind_and_message() {
        for (kind, expected) in [
            ("failed", RunnerErrorKind::Failed),
            ("not_begun", RunnerErrorKind::NotBegun),
            ("rate_limited", RunnerErrorKind::RateLimited),
        ] {
            let reply = json!({"protocol": 1, "error": {"kind": kind, "message": "why"}}).to_string();
            let error = error(&reply);
            assert_eq!(error.kind, expected);
            assert!(error.message.starts_with("`w` (step `a`)") && error.message.ends_with("why"), "{error}");
            assert_eq!(reported(reply.as_bytes(), "w").map(|error| error.kind), Some(expected));
        }
        assert_eq!(reported(br#"{"protocol":1,"ok":{"text":"hi"}}"#, "w"), None);
        assert_eq!(reported(b"nonsense", "w"), None);
    }

    #[test]
    fn a_rate_limit_says_after_how_long_calls_are_taken_again() {
        let after = |seconds: Value| {
            let refusal = json!({"kind": "rate_limited", "message": "why", "retry_after": seconds});
            error(json!({"protocol": 1, "error": refusal}).to_string()).retry_after
        };
        assert_eq!(after(json!(2.5)), Some(Duration::from_millis(2500)));
        assert_eq!((after(json!(null)), after(json!(-1)), after(json!(1e300))), (None, None, None));
    }

    #[test]
    fn half_a_reply_is_cut_off_and_kept_wherever_the_cut_is() {
        let whole = json!({"protocol": 1, "ok": {"text": "grün, and more"}}).to_string();
        for cut in 1..whole.len() {
            let error = error(&whole.as_bytes()[..cut]);
            assert_eq!(error.kind, RunnerErrorKind::CutOff, "cut at {cut}: {error}");
            assert!(error.raw.is_some_and(|raw| whole.starts_with(raw.trim_end_matches('\u{fffd}'))));
        }
        for nothing in ["", " \n\t"] {
            let error = error(nothing);
            assert_eq!(error.kind, RunnerErrorKind::CutOff);
            assert!(error.message.contains("no reply"), "{error}");
        }
    }

    #[test]
    fn what_is_not_a_reply_is_named_and_kept() {
        for (output, word) in [
            (&b"hello"[..], "not a reply"),
            (b"[1]", "not a reply"),
            (b"{}", "protocol"),
            (br#"{"protocol":2,"ok":{"text":"hi"}}"#, "version 2"),
            (br#"{"protocol":1}"#, "neither"),
            (br#"{"protocol":1,"ok":{"text":"hi"},"error":{"kind":"failed","message":"m"}}"#, "both"),
            (br#"{"protocol":1,"ok":{"html":"hi"}}"#, "html"),
            (br#"{"protocol":1,"ok":{"text":"hi"}} {"protocol":1}"#, "trailing"),
            (b"{\"protocol\":1,\xff\xfe}", "UTF-8"),
        ] {
            let error = error(output);
            assert_eq!(error.kind, RunnerErrorKind::InvalidOutput, "{error}");
            assert!(error.message.contains(word), "{error}");
            assert!(error.raw.is_some());
        }
    }
}
