//! A plan that has every kind of step and closure, all of which can be told to go wrong: the closures of an example's
//! local steps cannot.

use super::faults::Faults;
use hermes_workflows::prelude::*;

/// A plan of everything. Its input is a list of different words.
pub(crate) fn workshop(faults: &Faults) -> Plan<Vec<String>, Vec<String>> {
    let faults = faults.clone();
    Plan::new("workshop", move |words: Step<Vec<String>>| {
        let (f, limit) = (&faults, Duration::from_secs(60));
        let clean = local(f, words);
        let listed = clean.map({
            let f = f.clone();
            move |words| {
                f.closure("map", "intro");
                words.join(", ")
            }
        });
        let intro = agent("intro")
            .input("listed", listed)
            .timeout(limit)
            .title_with({
                let f = f.clone();
                move |listed: &String| {
                    f.closure("title_with", "intro");
                    format!("An introduction to {listed}")
                }
            })
            .model_with({
                let f = f.clone();
                move |listed: &String| {
                    f.closure("model_with", "intro");
                    if listed.len() > 9 { "large" } else { "small" }.to_owned()
                }
            })
            .prompt_with({
                let f = f.clone();
                move |listed: &String| {
                    f.closure("prompt_with", "intro");
                    format!("Introduce {listed}.")
                }
            })
            .check({
                let f = f.clone();
                move |_: &String| {
                    f.closure("check intro", "intro");
                    Ok(())
                }
            })
            .repair(1)
            .text();
        let drafts = each(f, clean);
        let polished = pipeline("polish", drafts)
            .stage(|draft| agent("smooth").input("draft", draft).prompt("Smooth it.").timeout(limit).text())
            .stage({
                let f = f.clone();
                |draft| {
                    step("trim").input("draft", draft).try_run(move |draft: &String| {
                        f.try_run(&format!("polish[{}]/trim", word_of(draft)))?;
                        Ok::<_, String>(draft.trim().to_owned())
                    })
                }
            })
            .stage(|draft| review("look", draft).approved())
            .all();
        let opinions = swallowed(clean, intro);
        let grown = grown(f, clean);
        let sent = sent(f, intro, grown);
        let counted = counted(f, clean);
        join((polished, opinions, sent, counted)).map(|(polished, opinions, sent, counted)| {
            let all = polished.iter().chain(opinions).chain([sent, counted]);
            all.cloned().collect()
        })
    })
    .unwrap()
}

/// Local steps of every form, in a row.
fn local(f: &Faults, words: Step<Vec<String>>) -> Step<Vec<String>> {
    let limit = Duration::from_secs(60);
    let f1 = f.clone();
    let sorted = step("sort").input("words", words).run(move |words: &Vec<String>| {
        f1.run("sort");
        let mut words = words.clone();
        words.sort();
        words
    });
    let f2 = f.clone();
    let checked = step("check").input("words", sorted).try_run(move |words: &Vec<String>| {
        f2.try_run("check")?;
        Ok::<_, String>(words.clone())
    });
    let f3 = f.clone();
    let slow = step("slow").input("words", checked).timeout(limit).run(move |words: &Vec<String>| {
        f3.run("slow");
        words.clone()
    });
    let f4 = f.clone();
    step("later").input("words", slow).timeout(limit).try_run_async(move |words| {
        let f = f4.clone();
        async move {
            f.run_async("later").await?;
            Ok::<_, String>((*words).clone())
        }
    })
}

/// The word that a text of the item `[word]` is about.
fn word_of(text: &str) -> &str {
    text.split_once('[').unwrap().1.split_once(']').unwrap().0
}

/// A keyed fan-out of an agent and a step, which fails fast.
fn each(f: &Faults, words: Step<Vec<String>>) -> Step<Vec<String>> {
    let (key, drafted) = (f.clone(), f.clone());
    parallel_each("each", words, move |word| {
        let draft = agent("draft").input("word", word).prompt("Write about the word.").text();
        step("measure").input("draft", draft).run(move |draft: &String| {
            drafted.run(&format!("each[{}]/measure", word_of(draft)));
            format!("{draft} ({})", draft.len())
        })
    })
    .key_by(move |word| {
        key.closure("key_by", "each");
        word.clone()
    })
    .limit(2)
    .all()
}

/// Fan-outs that swallow failures, and what comes of them further down.
fn swallowed(words: Step<Vec<String>>, intro: Step<String>) -> Step<Vec<String>> {
    let tried = parallel_each("try", words, |word| {
        agent("opinion").input("word", word).input("intro", intro).prompt("What of it?").text()
    })
    .options();
    let tested = parallel("test", ["long", "short"], |length| {
        let asked = value(length.to_owned());
        agent("verdict").input("length", asked).input("intro", intro).prompt("Is it?").text()
    })
    .results();
    let summary = agent("summary")
        .input("tried", tried)
        .input("tested", tested.map(|all| all.iter().map(|one| one.clone().ok()).collect::<Vec<_>>()))
        .prompt("Sum up.")
        .text();
    join((tried, summary)).map(|(tried, summary)| {
        let tried = tried.iter().flatten().cloned();
        tried.chain([summary.clone()]).collect()
    })
}

/// A loop and a branch, with the closures that decide.
fn grown(f: &Faults, words: Step<Vec<String>>) -> Step<String> {
    let (got, begun, next, enough, odd) = (f.clone(), f.clone(), f.clone(), f.clone(), f.clone());
    let first = words.get(move |words| {
        got.closure("get", "start");
        &words[0]
    });
    let start = step("start").input("first", first).run(move |_: &String| {
        begun.run("start");
        0_u32
    });
    let size = repeat("grow", start, 5, move |state| {
        let next = step("next").input("state", state).run(move |state: &u32| {
            next.run(&format!("grow[{}]/next", state + 1));
            state + 1
        });
        branch("enough", next)
            .when(
                "yes",
                move |size| {
                    enough.closure(&format!("when enough {size}"), &format!("grow[{size}]/enough"));
                    *size >= 3
                },
                |size| size.done(),
            )
            .otherwise(|size| size.again())
    })
    .or_fail();
    branch("odd", size)
        .when(
            "yes",
            move |size| {
                odd.closure("when odd", "odd");
                size % 2 == 1
            },
            |size| agent("odd_size").input("size", size).prompt("Say something odd.").text(),
        )
        .otherwise(|_| value("even".to_owned()))
}

/// A process, which is unsafe to start twice, and the closures that make what it is given.
fn counted(f: &Faults, words: Step<Vec<String>>) -> Step<String> {
    let (argv, stdin) = (f.clone(), f.clone());
    command("count")
        .input("words", words)
        .argv_with(move |_| {
            argv.closure("argv_with", "count");
            ["wc", "-w"]
        })
        .stdin_with(move |words| {
            stdin.closure("stdin_with", "count");
            words.join(" ")
        })
        .stdout()
}

/// What acts on the world, after a person has said so.
fn sent(f: &Faults, intro: Step<String>, grown: Step<String>) -> Step<String> {
    let posted = f.clone();
    let (assigned, approved) = (f.clone(), f.clone());
    let go = ask("go")
        .title("Send it?")
        .input("intro", intro)
        .assign_with(move |intro: &String| {
            assigned.closure("assign_with", "go");
            format!("whoever reads {intro}")
        })
        .expires_in(Duration::from_secs(60), OnExpiry::Value(true))
        .returns::<bool>();
    let cooled = wait("cool_down").after(go).for_(Duration::from_secs(60));
    let grown = review("approve", grown).decide(
        |grown| {
            step("sign").input("grown", grown).run(move |grown: &String| {
                approved.run("approve:approved/sign");
                format!("{grown}, signed")
            })
        },
        |_, reason| reason,
    );
    let tone = ask("tone").choose_from(value(vec!["kind".to_owned(), "curt".to_owned()])).one();
    let letter = agent("send")
        .input("grown", grown)
        .input("tone", tone)
        .after(cooled)
        .prompt("Send it.")
        .effect(Unsafe);
    step("post").input("letter", letter.text()).effect(Unsafe).try_run(move |letter: &String| {
        posted.try_run("post")?;
        Ok::<_, String>(letter.clone())
    })
}
