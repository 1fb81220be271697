//! The first run and every resume of an unchanged plan see the same values, whatever the types; what JSON cannot carry
//! fails the step at once, by name.

mod support;

use hermes_workflows::prelude::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap, HashSet};
use support::*;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
enum Shape {
    Unit,
    Tuple(i64, f64),
    Named { text: String, inner: Option<Box<Shape>> },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type")]
enum Tagged {
    A { x: f32 },
    B,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Awkward {
    float: f64,
    single: f32,
    big: u64,
    small: i64,
    text: String,
    option: Option<bool>,
    map: BTreeMap<String, Vec<f64>>,
    numbered: HashMap<i32, String>,
    set: HashSet<String>,
    shape: Shape,
    tagged: Tagged,
    pair: (u8, char),
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sometimes: Vec<u8>,
    #[serde(skip)]
    skipped: u32,
    unit: (),
}

fn finite() -> impl Strategy<Value = f64> {
    any::<f64>().prop_filter("finite", |float| float.is_finite())
}

fn shape() -> impl Strategy<Value = Shape> {
    let leaf = prop_oneof![Just(Shape::Unit), (any::<i64>(), finite()).prop_map(|(a, b)| Shape::Tuple(a, b))];
    leaf.prop_recursive(3, 8, 1, |inner| {
        (any::<String>(), prop::option::of(inner))
            .prop_map(|(text, inner)| Shape::Named { text, inner: inner.map(Box::new) })
    })
}

fn awkward() -> impl Strategy<Value = Awkward> {
    let numbers =
        (finite(), any::<f32>().prop_filter("finite", |f| f.is_finite()), any::<u64>(), any::<i64>());
    let rest = (
        any::<String>(),
        any::<Option<bool>>(),
        prop::collection::btree_map(any::<String>(), prop::collection::vec(finite(), 0..3), 0..4),
        prop::collection::hash_map(any::<i32>(), any::<String>(), 0..4),
        prop::collection::hash_set(any::<String>(), 0..5),
        shape(),
        any::<(bool, f32)>().prop_map(|(b, x)| if b && x.is_finite() { Tagged::A { x } } else { Tagged::B }),
        any::<(u8, char)>(),
        prop::collection::vec(any::<u8>(), 0..2),
        any::<u32>(),
    );
    (numbers, rest).prop_map(
        |(
            (float, single, big, small),
            (text, option, map, numbered, set, shape, tagged, pair, sometimes, skipped),
        )| {
            Awkward {
                float,
                single,
                big,
                small,
                text,
                option,
                map,
                numbered,
                set,
                shape,
                tagged,
                pair,
                sometimes,
                skipped,
                unit: (),
            }
        },
    )
}

fn plan() -> Plan<Awkward, String> {
    Plan::new("awkward", |input: Step<Awkward>| {
        let again = step("again").input("input", input).run(|input: &Awkward| input.clone());
        let listed =
            step("listed").input("again", again).run(|value: &Awkward| vec![value.clone(), value.clone()]);
        let each = parallel_each("each", listed, |item| {
            let float = item.map(|item| item.float);
            let told = agent("told").input("item", item).input("float", float).prompt_with(|item, float| {
                format!("{float} {:?} {:?} {:?}", item.map, item.shape, item.skipped)
            });
            told.returns::<f64>()
        })
        .all();
        let sum = each.map(|floats| floats.iter().map(|float| float / 3.0).collect::<Vec<f64>>());
        agent("end").input("sum", sum).input("again", again).prompt("End.").text()
    })
    .unwrap()
}

/// Answers with numbers that a careless parser would change.
fn runner() -> FnRunner {
    FnRunner::sync(|call| {
        if call.path == "end" {
            return Ok(AgentReply::text(call.text.clone()));
        }
        Ok(AgentReply::json(serde_json::from_str(&call.inputs[1].1).unwrap()))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_first_run_and_the_resume_of_an_unchanged_plan_never_conflict(input in awkward()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = Store::new();
            let (first, _) = start(&store.executor(runner()), &plan(), input.clone()).await.completed();
            let (second, counts) = start(&store.replayer(), &plan(), input).await.completed();
            assert_eq!((first, counts.calls, counts.reused), (second, 0, 5));
        });
    }
}

fn yields<T: Data>(make: fn() -> T) -> Plan<(), u32> {
    Plan::new("yields", move |start: Step<()>| {
        let made = step("make").input("start", start).run(move |()| make());
        made.map(|_| 1)
    })
    .unwrap()
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Scored {
    scores: Vec<f64>,
}

#[tokio::test]
async fn what_json_cannot_carry_fails_the_step_by_name_and_place() {
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).build();
    let infinite = yields(|| Scored { scores: vec![1.0, f64::INFINITY] });
    let failure = executor.start(&infinite, ()).await.unwrap().outcome().await.failed();
    assert_eq!((failure.class, failure.path.as_str()), (FailureClass::Unencodable, "make"));
    assert!(failure.message.contains(".scores[1]"), "{failure}");

    let nested = yields(|| Some(None::<u32>));
    let failure = executor.start(&nested, ()).await;
    let failure = match failure {
        Ok(run) => run.outcome().await.failed(),
        Err(error) => panic!("{error}"),
    };
    assert_eq!(failure.class, FailureClass::Unencodable);
}

#[tokio::test]
async fn an_input_that_json_cannot_carry_is_refused_before_the_run_exists() {
    let plan = Plan::new("p", |x: Step<f64>| x.map(|x| *x)).unwrap();
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).build();
    let error = executor.start(&plan, f64::NAN).id("r").await.unwrap_err();
    assert!(error.to_string().contains("input"), "{error}");
    assert!(executor.ledger().find(&run_id()).unwrap().is_none());
}

#[tokio::test]
async fn every_consumer_gets_what_is_stored_the_first_run_included() {
    #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
    struct Half {
        kept: u32,
        #[serde(skip)]
        lost: u32,
    }
    let plan = Plan::new("p", |start: Step<u32>| {
        let half = step("half").input("start", start).run(|start: &u32| Half { kept: *start, lost: *start });
        step("sum").input("half", half).run(|half: &Half| half.kept + half.lost)
    })
    .unwrap();
    let executor = Executor::builder().ledger(Ledger::in_memory().unwrap()).build();
    assert_eq!(start(&executor, &plan, 7).await.completed().0, 7);
}
