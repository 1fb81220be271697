//! Money is exact, and what is unknown is never nothing.

use super::*;
use crate::receipt::{Cost, Usage};
use crate::usd::Usd;

#[test]
fn money_is_exact_where_floats_are_not() {
    let tenth = Usd::nearest(0.1).unwrap();
    let sum = (0..10).fold(Usd::default(), |sum, _| sum.plus(tenth));
    assert_eq!(sum, Usd::nearest(1.0).unwrap());
    assert_eq!(sum.dollars().to_string(), "1");
    assert_eq!(Usd::nearest(0.07).unwrap().as_nanos(), 70_000_000);
    assert_eq!(Usd::nearest(1e30).unwrap().as_nanos(), u64::MAX);
    assert_eq!(Usd::nearest(-0.0), Some(Usd::default()));
    for no_amount in [-0.01, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(Usd::nearest(no_amount), None);
        assert!(Budget::usd(no_amount).leaves_nothing());
    }
}

#[test]
fn amounts_read_well() {
    let shown: Vec<_> =
        [0.0, 5.0, 0.01, 0.000_000_001, 12.3456].map(|usd| Usd::nearest(usd).unwrap().to_string()).into();
    assert_eq!(shown, ["$0.00", "$5.00", "$0.01", "$0.000000001", "$12.3456"]);
    let budget = Budget::tokens(9).and(Budget::time(Duration::from_secs(90))).and(Budget::calls(1));
    assert_eq!(budget.to_string(), "9 tokens, 1 agent call, 90s");
}

#[test]
fn a_bound_is_the_lower_of_two_and_is_raised_to_the_higher() {
    let (one, two) = (Budget::usd(1.0).and(Budget::calls(9)), Budget::usd(2.0).and(Budget::tokens(5)));
    assert_eq!(one.within(two), Budget::usd(1.0).and(Budget::calls(9)).and(Budget::tokens(5)));
    assert_eq!(one.raised(two), Budget::usd(2.0).and(Budget::calls(9)));
    assert_eq!(two.raised(one), two);
}

#[test]
fn what_is_not_known_counts_as_the_bound() {
    let bound = Budget::usd(0.5).and(Budget::tokens(100));
    let all = Spent::settled(&bound, Spent::default(), None);
    assert_eq!((all.usd, all.tokens), (Usd::nearest(0.5).unwrap(), 100));
    assert_eq!((all.unknown_usd, all.unknown_tokens, all.calls), (1, 1, 1));
    let receipt = Receipt {
        cost: Some(Cost::Known { usd: 99.0 }),
        usage: Some(Usage { input_tokens: 3, output_tokens: 4 }),
        ..Receipt::default()
    };
    let known = Spent::settled(&bound, Spent::default(), Some(&receipt));
    assert_eq!((known.usd.dollars().to_string(), known.tokens), ("99".to_owned(), 7));
    assert_eq!((known.unknown_usd, known.unknown_tokens), (0, 0));
    // Turns that are known to have cost more than the bound did so, whatever the last one cost.
    let turns = Spent { usd: Usd::nearest(3.0).unwrap(), ..Spent::default() };
    assert_eq!(Spent::settled(&bound, turns, None).usd, turns.usd);
    for cost in [f64::NAN, -1.0] {
        let receipt = Receipt { cost: Some(Cost::Estimated { usd: cost }), ..Receipt::default() };
        assert_eq!(Spent::settled(&bound, Spent::default(), Some(&receipt)).unknown_usd, 1);
    }
}

#[test]
fn a_budget_in_the_journal_has_whole_numbers_only() {
    let budget = Budget::usd(0.1).and(Budget::time(Duration::from_secs(2)));
    let text = serde_json::to_string(&budget).unwrap();
    assert_eq!(text, r#"{"nano_usd":100000000,"millis":2000}"#);
    assert_eq!(serde_json::from_str::<Budget>(&text).unwrap(), budget);
}
