//! A finished step is replayed as its type, without a call; a changed prompt, input or schema parks the run with the field
//! named; each decision then works.

mod support;

use hermes_workflows::prelude::*;
use support::*;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct ResearchPacket {
    claims: Vec<String>,
    open_questions: u32,
}

/// The same packet as tomorrow's author might have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ResearchPacket")]
struct WiderPacket {
    claims: Vec<String>,
    open_questions: u32,
    sources: Option<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ResearchPacket")]
struct StricterPacket {
    claims: Vec<String>,
    open_questions: u32,
    author: String,
}

fn plan_of<T: Data>(prompt: &str, version: Option<u32>) -> Plan<String, T> {
    let prompt = prompt.to_owned();
    Plan::new("research", move |topic: Step<String>| {
        let agent = agent("research").input("topic", topic);
        let agent = agent.prompt_with(move |topic| format!("{prompt} {topic}"));
        let agent = match version {
            Some(version) => agent.version(version),
            None => agent,
        };
        agent.returns::<T>()
    })
    .unwrap()
}

fn plan(prompt: &str) -> Plan<String, ResearchPacket> {
    plan_of(prompt, None)
}

fn packet() -> ResearchPacket {
    ResearchPacket { claims: vec!["water is wet".to_owned()], open_questions: 2 }
}

fn answers() -> Scripted {
    Scripted::new().on("research", serde_json::json!({"claims": ["water is wet"], "open_questions": 2}))
}

async fn finished(store: &Store) {
    let executor = store.executor(answers());
    let (value, counts) = start(&executor, &plan("Research"), "water".to_owned()).await.completed();
    assert_eq!(value, packet());
    assert_eq!((counts.calls, counts.ok, counts.reused), (1, 1, 0));
}

#[tokio::test]
async fn a_finished_step_is_replayed_as_its_type_without_a_call() {
    let store = Store::new();
    finished(&store).await;
    let executor = store.replayer();
    let (value, counts) = start(&executor, &plan("Research"), "water".to_owned()).await.completed();
    assert_eq!(value, packet());
    assert_eq!((counts.calls, counts.reused), (0, 1));
    let (value, _) = resume(&executor, &plan("Research")).await.completed();
    assert_eq!(value, packet());
}

#[tokio::test]
async fn a_changed_rendered_prompt_parks_with_the_field_named() {
    let store = Store::new();
    finished(&store).await;
    let needs = resume(&store.replayer(), &plan("Look into")).await.parked();
    assert_eq!(changed_fields(&needs), ["research: prompt"]);
}

#[tokio::test]
async fn a_changed_run_input_parks_and_keep_goes_on_with_the_recorded_one() {
    let store = Store::new();
    finished(&store).await;
    let executor = store.replayer();
    let needs = start(&executor, &plan("Research"), "fire".to_owned()).await.parked();
    assert_eq!(changed_fields(&needs), ["input: run input"]);
    decide_all(&executor, Decision::Keep).await;
    let (value, _) = start(&executor, &plan("Research"), "fire".to_owned()).await.completed();
    assert_eq!(value, packet());
    // A third input is a difference again.
    start(&executor, &plan("Research"), "air".to_owned()).await.parked();
}

#[tokio::test]
async fn a_changed_schema_parks_and_keep_is_offered_only_where_the_stored_value_decodes() {
    let store = Store::new();
    finished(&store).await;
    // The whole plan yields another type: that run is another run.
    let error = resume(&store.replayer(), &plan_of::<StricterPacket>("Research", None)).await.unwrap_err();
    assert!(error.to_string().contains("another type"), "{error}");
}

fn counting_plan<T: Data>(read: fn(&T) -> usize) -> Plan<String, usize> {
    Plan::new("counting", move |topic: Step<String>| {
        let packet = agent("research").input("topic", topic).prompt("Research.").returns::<T>();
        packet.map(read)
    })
    .unwrap()
}

#[tokio::test]
async fn a_new_optional_field_parks_and_can_be_kept() {
    let store = Store::new();
    let before = counting_plan::<ResearchPacket>(|packet| packet.claims.len());
    start(&store.executor(answers()), &before, "water".to_owned()).await.completed();

    let after = counting_plan::<WiderPacket>(|packet| packet.claims.len());
    let executor = store.replayer();
    let needs = resume(&executor, &after).await.parked();
    assert_eq!(changed_fields(&needs), ["research: schema"]);
    decide_all(&executor, Decision::Keep).await;
    let (value, counts) = resume(&executor, &after).await.completed();
    assert_eq!((value, counts.calls), (1, 0));
}

#[tokio::test]
async fn a_new_required_field_parks_and_cannot_be_kept() {
    let store = Store::new();
    let before = counting_plan::<ResearchPacket>(|packet| packet.claims.len());
    start(&store.executor(answers()), &before, "water".to_owned()).await.completed();

    let after = counting_plan::<StricterPacket>(|packet| packet.claims.len());
    let executor = store.replayer();
    let needs = resume(&executor, &after).await.parked();
    assert_eq!(changed_fields(&needs), ["research: schema"]);
    let refused = executor.decide(&run_id(), &needs[0], Decision::Keep).await.unwrap_err();
    assert!(refused.to_string().contains("author"), "{refused}");
    drop(executor);

    let runner = Scripted::new()
        .on("research", serde_json::json!({"claims": ["a", "b"], "open_questions": 0, "author": "me"}));
    let executor = store.executor(runner);
    decide_all(&executor, Decision::Rerun).await;
    let (value, counts) = resume(&executor, &after).await.completed();
    assert_eq!((value, counts.calls), (2, 1));
}

#[tokio::test]
async fn rerun_calls_again_and_keep_does_not() {
    for (decision, calls) in [(Decision::Rerun, 1), (Decision::Keep, 0)] {
        let store = Store::new();
        finished(&store).await;
        let executor = store.executor(answers());
        resume(&executor, &plan("Look into")).await.parked();
        decide_all(&executor, decision.clone()).await;
        let (value, counts) = resume(&executor, &plan("Look into")).await.completed();
        assert_eq!((value, counts.calls), (packet(), calls), "{decision:?}");
        drop(executor);
        // What was decided holds for later resumes.
        resume(&store.replayer(), &plan("Look into")).await.completed();
    }
}

#[tokio::test]
async fn a_new_version_runs_again_without_asking_whatever_else_differs() {
    let store = Store::new();
    finished(&store).await;
    let executor = store.executor(answers());
    let (value, counts) = resume(&executor, &plan_of("Look into", Some(1))).await.completed();
    assert_eq!((value, counts.calls), (packet(), 1));
    drop(executor);
    let (_, counts) =
        resume(&store.replayer(), &plan_of::<ResearchPacket>("Look into", Some(1))).await.completed();
    assert_eq!((counts.calls, counts.reused), (0, 1));
}

#[tokio::test]
async fn a_conflict_names_old_and_new() {
    let store = Store::new();
    finished(&store).await;
    let needs = resume(&store.replayer(), &plan("Look into")).await.parked();
    let NeedKind::Conflict { fields, count, examples, .. } = &needs[0].kind else { panic!("{needs:?}") };
    assert_eq!(*count, 1);
    assert_eq!(examples, &["research"]);
    assert_eq!(fields[0].old.as_deref(), Some("Research water"));
    assert_eq!(fields[0].new.as_deref(), Some("Look into water"));
}
