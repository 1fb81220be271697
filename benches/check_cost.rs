//! What plans cost at compile time: `cargo check` of a package with 500 agent calls in it, beside the same without them.
//! `cargo bench --bench check_cost`; the first run also checks this package's dependencies.

use std::{env, fmt::Write as _, fs, path::Path, process::Command, time::Instant};

/// Agent calls in the package that is measured.
const CALLS: usize = 500;
/// Calls in one function.
const TOGETHER: usize = 10;
/// How often each is measured; the least time counts.
const TIMES: usize = 3;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let place = home.display();
    fs::create_dir(folder.path().join("src")).unwrap();
    fs::copy(home.join("Cargo.lock"), folder.path().join("Cargo.lock")).unwrap();
    let manifest = format!(
        "[package]\nname = \"cost\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n\
         hermes-workflows = {{ path = \"{place}\" }}\nschemars = \"1.2\"\nserde = {{ version = \"1\", features = [\"derive\"] }}\n"
    );
    fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
    let target = home.join("target/check_cost");
    check(folder.path(), &target, 0, 0);
    let least = |calls| {
        let times = (0..TIMES).map(|time| check(folder.path(), &target, calls, time));
        times.fold(f64::INFINITY, f64::min)
    };
    let (none, all) = (least(0), least(CALLS));
    println!(
        "cargo check without agent calls: {none:.2} s; with {CALLS}: {all:.2} s; they add {:.2} s",
        all - none
    );
}

/// Writes the package anew, so that it is checked again, and says how long that took, in seconds.
fn check(folder: &Path, target: &Path, calls: usize, time: usize) -> f64 {
    fs::write(folder.join("src/lib.rs"), source(calls, time)).unwrap();
    let began = Instant::now();
    let mut command = Command::new(env!("CARGO"));
    command.args(["check", "--quiet", "--offline"]).current_dir(folder).env("CARGO_TARGET_DIR", target);
    assert!(command.status().unwrap().success());
    began.elapsed().as_secs_f64()
}

fn source(calls: usize, time: usize) -> String {
    let mut text = format!(
        "//! {time}\nuse hermes_workflows::prelude::*;\n\
         #[derive(Clone, Serialize, Deserialize, JsonSchema)] pub struct Report {{ pub title: String }}\n\
         #[derive(Clone, Serialize, Deserialize, JsonSchema)] pub struct Cause {{ pub cause: String }}\n"
    );
    for part in 0..calls / TOGETHER {
        writeln!(text, "pub fn part{part}(report: Step<Report>) -> Step<Cause> {{").unwrap();
        let mut before = None;
        for call in 0..TOGETHER {
            let agent = format!("agent(\"call{part}_{call}\").input(\"report\", report)");
            let built = match before {
                None => ".prompt_with(|report| report.title.clone())".to_owned(),
                Some(before) => format!(
                    ".input(\"before\", call{before}).prompt_with(|report, before| format!(\"{{}} {{}}\", report.title, before.cause))"
                ),
            };
            writeln!(text, "    let call{call} = {agent}{built}.returns::<Cause>();").unwrap();
            before = Some(call);
        }
        writeln!(text, "    call{}\n}}", TOGETHER - 1).unwrap();
    }
    text
}
