//! One rehearsed run: the ordinary executor over a ledger in memory, with somebody who answers at once.

use super::{
    Ending, RehearsedRun,
    endings::What,
    part::{Given, Part, Player, violations},
    sample::{Dice, sample},
};
use crate::{
    clock::{Clock, ClockHand},
    error::DriveError,
    executor::{Executor, Outcome, RunLayout},
    ledger::{Ledger, LedgerError},
};
use hermes_core::{
    fold::CellStatus,
    ids::{RunId, Seq},
    journal::Event,
    path::{Mark, StepPath},
    people::{Need, NeedKind},
    schema::Schema,
    timestamp::Timestamp,
    value::Val,
};
use hermes_plan::graph::{Graph, Kind, Node};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};

/// The most times that a run stops for people, or for time.
const STOPS: usize = 2000;

/// What all runs of a rehearsal share.
pub(super) struct Stage {
    pub(super) graph: Arc<Graph>,
    pub(super) given: Arc<Given>,
    pub(super) inputs: Vec<Value>,
    /// Whether inputs are also made from the schema.
    pub(super) sampled: bool,
    pub(super) ledger: Ledger,
    pub(super) templates: Option<PathBuf>,
}

/// What came of a run.
pub(super) struct Played {
    pub(super) run: RehearsedRun,
    pub(super) endings: BTreeSet<Ending>,
    pub(super) reached: BTreeSet<String>,
    pub(super) why: BTreeMap<String, String>,
}

impl Stage {
    /// Plays a part to its end.
    pub(super) async fn play(&self, part: &Part, number: usize) -> Result<Played, DriveError> {
        let id = RunId::new(format!("rehearsal-{number}"))?;
        let player = Arc::new(Player::new(part.clone(), Arc::clone(&self.given)));
        let (clock, hand) = Clock::by_hand(Timestamp::from_millis(1_700_000_000_000));
        let stand_in = Arc::clone(&player);
        let executor = Executor::rehearsing(self.ledger.clone(), clock, self.templates.clone(), stand_in);
        let input = self.input(part).map_err(DriveError::Input)?;
        let outcome = self.perform(&executor, &id, &player, &hand, &input).await?;
        let mut layout = RunLayout::of_graph(&executor, &self.graph, &id)?.text()?;
        layout.truncate(layout.trim_end().len());
        let (endings, reached) = self.read(&id, &player)?;
        let why = std::mem::take(&mut player.seen().why);
        Ok(Played { run: RehearsedRun { layout, input, outcome }, endings, reached, why })
    }

    fn input(&self, part: &Part) -> Result<Value, String> {
        let mut given = Given::new();
        let sampled = self.sampled && (self.inputs.is_empty() || part.coin("", "sampled"));
        if !sampled {
            given.insert(String::new(), self.inputs.clone());
        }
        let schema = self.graph.input();
        let wrong = |value: &Value| violations(schema, value);
        part.value(("", ""), &given, &|dice: &mut Dice| sample(schema.json(), dice), &wrong)
            .map_err(|why| format!("the plan's input: {why}"))
    }

    async fn perform(
        &self,
        executor: &Executor,
        id: &RunId,
        player: &Player,
        hand: &ClockHand,
        input: &Value,
    ) -> Result<Outcome<Value>, DriveError> {
        let mut stops = 0;
        loop {
            let input = Ok(Val::from_json(input.clone()));
            let run = executor.start_graph::<Value>(Arc::clone(&self.graph), input).id(id.as_str()).await?;
            let outcome = run.outcome().await?;
            let Outcome::Waiting(needs) = &outcome else { return Ok(outcome) };
            stops += 1;
            let mut moved = false;
            for need in &needs.list {
                moved |= self.answer(executor, id, player, need, stops).await?;
            }
            match needs.until {
                _ if stops > STOPS => return Ok(outcome),
                _ if moved => {}
                Some(until) => hand.set(until),
                None => return Ok(outcome),
            }
        }
    }

    /// Answers a question, where somebody does. False where it stays open.
    async fn answer(
        &self,
        executor: &Executor,
        id: &RunId,
        player: &Player,
        need: &Need,
        stops: usize,
    ) -> Result<bool, DriveError> {
        let NeedKind::Review { schema, choices, many, expires, .. } = &need.kind else { return Ok(false) };
        let (pattern, round) = self.asked(&need.path);
        if player.part.silent.contains(&pattern) && expires.is_some() {
            return Ok(false);
        }
        let schema = Schema::from_json(self.blob(schema)?)
            .map_err(|error| DriveError::Broken(format!("the schema of `{}` is none: {error}", need.path)))?;
        let choices = choices.as_ref().map(|blob| self.blob(blob)).transpose()?;
        let says = player.part.says.get(&pattern);
        let says = says.map(|says| if says.always || round == 1 { says.decision } else { "approve" });
        let make = |dice: &mut Dice| match &choices {
            Some(choices) => chosen(choices, *many, dice),
            None => spoken(&schema, says, dice),
        };
        // An answer that is refused, or asked for again, is another one the next time.
        for again in 0..8 {
            let at = format!("{} {stops} {again}", need.path);
            let wrong = |value: &Value| violations(&schema, value);
            let Ok(answer) = player.part.value((&pattern, &at), &player.given, &make, &wrong) else { break };
            if executor.answer(id, need, &answer).await.is_ok() {
                return Ok(true);
            }
        }
        let why = "no sampled answer is accepted; give one with `.answers(..)`".to_owned();
        player.seen().why.insert(pattern, why);
        Ok(false)
    }

    fn blob(&self, digest: &hermes_core::digest::Digest) -> Result<Value, DriveError> {
        let bytes = self.ledger.blob(digest)?.unwrap_or_default();
        let read = serde_json::from_slice(&bytes);
        read.map_err(|error| {
            LedgerError::damaged(format!("blob {} is not JSON: {error}", digest.short())).into()
        })
    }

    /// The pattern of a question, and its round where it has rounds.
    fn asked(&self, path: &str) -> (String, u32) {
        let Ok(path) = path.parse::<StepPath>() else { return (path.to_owned(), 1) };
        let mut plain = path.segments().to_vec();
        let mut round = 1;
        if let Some(last) = plain.last_mut()
            && let Mark::Key(key) = std::mem::replace(&mut last.mark, Mark::Plain)
        {
            round = key.parse().unwrap_or(1);
        }
        let plain = StepPath::new(plain);
        let is_it = |node: &&Node| match &node.kind {
            Kind::Ask(_) => node.pattern.matches(&path),
            Kind::Review(_) => node.pattern.matches(&plain),
            _ => false,
        };
        let node = self.graph.nodes().find(is_it);
        (node.map_or_else(|| path.to_string(), |node| node.pattern.to_string()), round)
    }

    /// Which endings the run had, and what it came to: from what was noted, and from its journal.
    fn read(&self, id: &RunId, player: &Player) -> Result<(BTreeSet<Ending>, BTreeSet<String>), DriveError> {
        let number = self.ledger.find(id)?.ok_or_else(|| DriveError::NoSuchRun(id.to_string()))?;
        let state = self.ledger.state(number)?;
        let event = |seq: Seq| -> Result<Event, DriveError> {
            self.ledger.record(number, seq)?.event().map_err(|error| DriveError::Broken(error.to_string()))
        };
        let nodes: BTreeMap<String, &Node> =
            self.graph.nodes().map(|node| (node.pattern.to_string(), node)).collect();
        let mut reached = BTreeSet::new();
        let mut had: BTreeSet<Ending> = BTreeSet::new();
        for (at, cell) in state.cells() {
            let Some((pattern, _)) = state.steps.get(at.step.0 as usize) else { continue };
            let path = pattern.to_string();
            reached.insert(path.clone());
            let Some(node) = nodes.get(&path) else { continue };
            let round = at.place.ordinal;
            let what = match (cell.status, &node.kind) {
                (CellStatus::Expired, Kind::Ask(_)) => Some(What::Expires),
                (CellStatus::Answered, Kind::Ask(_)) => Some(match event(cell.outcome)? {
                    Event::Expired(_) => What::Expires,
                    _ => What::Answered,
                }),
                (CellStatus::Answered, Kind::Review(review)) => match event(cell.outcome)? {
                    Event::Answered(given) => {
                        let last = round >= review.max_rounds.get();
                        decision(given.answer.get()).and_then(|said| reviewed(&said, last))
                    }
                    _ => None,
                },
                (CellStatus::Decided, kind) => match (event(cell.outcome)?, kind) {
                    (Event::Decided(decided), Kind::Branch { .. }) => {
                        let label = decided.decision.strip_prefix("arm ");
                        Some(label.map_or(What::Otherwise, |label| What::Arm(label.to_owned())))
                    }
                    (Event::Decided(decided), Kind::Repeat(repeat)) => match decided.decision.as_str() {
                        "again" => (round >= repeat.max.get()).then_some(What::UsedUp),
                        _ if round <= 1 => Some(What::FirstRound),
                        _ => Some(What::LaterRound),
                    },
                    _ => None,
                },
                _ => None,
            };
            had.extend(what.map(|what| Ending { path, what }));
        }
        for at in state.opened.keys() {
            let Some((pattern, _)) = state.steps.get(at.step.0 as usize) else { continue };
            let (path, scope) = (pattern.to_string(), state.scope(*at));
            reached.insert(path.clone());
            if let Some((_, scope)) = scope.filter(|(_, scope)| scope.frozen) {
                let what = match scope.order.len() {
                    0 => What::NoItems,
                    1 => What::OneItem,
                    _ => What::Items,
                };
                had.insert(Ending { path, what });
            }
        }
        let mut seen = player.seen();
        reached.append(&mut seen.reached);
        had.extend(std::mem::take(&mut seen.noted).into_iter().map(|(path, what)| Ending { path, what }));
        Ok((had, reached))
    }
}

fn decision(answer: &str) -> Option<String> {
    let answer: Value = serde_json::from_str(answer).ok()?;
    answer.get("decision")?.as_str().map(ToOwned::to_owned)
}

fn reviewed(said: &str, last: bool) -> Option<What> {
    match said {
        "approve" => Some(What::Approved),
        "edit" => Some(What::Edited),
        "reject" => Some(What::Rejected),
        "request_changes" if last => Some(What::NotApproved),
        "request_changes" => Some(What::Changes),
        _ => None,
    }
}

/// One of the choices, or several, or none.
fn chosen(choices: &Value, many: bool, dice: &mut Dice) -> Value {
    let choices = choices.as_array().map_or(&[][..], Vec::as_slice);
    if many {
        choices.iter().filter(|_| dice.below(2) == 0).cloned().collect()
    } else {
        dice.one(choices).cloned().unwrap_or_default()
    }
}

/// An answer of this schema; of a review, one with the decision that is wanted.
fn spoken(schema: &Schema, says: Option<&str>, dice: &mut Dice) -> Value {
    let mut answer = sample(schema.json(), dice);
    if let Some(says) = says {
        for _ in 0..64 {
            if answer.get("decision").is_some_and(|decision| decision == says) {
                break;
            }
            answer = sample(schema.json(), dice);
        }
    }
    answer
}
