//! The agent: a program that notes when it begins and ends, and answers as the plan's agents do.

use crate::{
    gate,
    support::every_primitive::{NOTES, says},
};
use hermes_workflows::prelude::*;
use serde_json::{Value, json};
use std::{fs::OpenOptions, io::Write, os::unix::process::parent_id, path::Path, process::ExitCode};

pub(crate) const ROLE: &str = "agent";

pub(crate) fn serve(desk: &Path) -> ExitCode {
    let request: Value = serde_json::from_reader(std::io::stdin()).unwrap();
    let path = request["path"].as_str().unwrap();
    note(desk, &format!("begin {path}"));
    gate::pass(desk, &format!("{ROLE} {} {path}", parent_id()));
    note(desk, &format!("end {path}"));
    let reply = match says(path) {
        Ok(Answer::Text(text)) => json!({ "protocol": 1, "ok": { "text": text } }),
        Ok(Answer::Json(value)) => json!({ "protocol": 1, "ok": { "json": value } }),
        Err(why) => json!({ "protocol": 1, "error": { "kind": "failed", "message": why } }),
    };
    println!("{reply}");
    ExitCode::SUCCESS
}

fn note(desk: &Path, line: &str) {
    let mut notes = OpenOptions::new().create(true).append(true).open(desk.join(NOTES)).unwrap();
    notes.write_all(format!("{line}\n").as_bytes()).unwrap();
    notes.sync_all().unwrap();
}
