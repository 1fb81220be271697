//! What a path keeps when it is written and read back.

use super::*;
use proptest::prelude::*;

fn mark() -> impl Strategy<Value = Mark> {
    prop_oneof![
        Just(Mark::Plain),
        Just(Mark::Any),
        any::<String>().prop_filter("empty", |s| !s.is_empty()).prop_map(Mark::Key),
        any::<String>().prop_filter("empty", |s| !s.is_empty()).prop_map(Mark::Label),
    ]
}

proptest! {
    #[test]
    fn every_path_reads_back(parts in prop::collection::vec(("[a-z_é]{1,8}", mark()), 0..6)) {
        let path = StepPath::new(parts.into_iter().map(|(name, mark)| Segment { name, mark }).collect());
        let text = path.to_string();
        prop_assert!(!text.chars().any(char::is_control));
        prop_assert_eq!(text.parse::<StepPath>().unwrap(), path);
    }

    #[test]
    fn two_keys_never_look_alike(a in any::<String>(), b in any::<String>()) {
        prop_assert_eq!(escape(&a) == escape(&b), a == b);
    }

    #[test]
    fn any_text_is_a_path_or_a_clear_error(text in any::<String>()) {
        if let Err(error) = text.parse::<StepPath>() {
            prop_assert!(error.to_string().contains("is not a step path"));
        }
    }
}

#[test]
fn keys_are_escaped_as_the_grammar_says() {
    let path = StepPath::new(vec![Segment { name: "a".into(), mark: Mark::Key("x/[y]:%#*\n".into()) }]);
    assert_eq!(path.to_string(), "a[x%2F%5By%5D%3A%25%23%2A%0A]");
}

#[test]
fn a_pattern_is_filled_from_the_outside() {
    let pattern: StepPath = "a[*]/b[*]/c".parse().unwrap();
    assert_eq!(pattern.fill(["x".into(), "2".into()]).to_string(), "a[x]/b[2]/c");
    let question: StepPath = "a[*]/review".parse().unwrap();
    assert_eq!(question.fill(["x".into(), "2".into()]).to_string(), "a[x]/review[2]");
    assert!(pattern.matches(&"a[1]/b[2]/c".parse().unwrap()));
    assert!(!pattern.matches(&"a[1]/b/c".parse().unwrap()));
}

#[test]
fn names_that_would_be_ambiguous_are_refused() {
    for bad in ["", " ", "a/b", "a[b", "a]", "a:b", "a%", "a#", "a*", "a\n", " a", &"x".repeat(201)] {
        assert!(check_name(bad).is_err(), "{bad:?}");
    }
    for good in ["a", "draft section", "Überschrift", "a.b-c_d", &"x".repeat(200)] {
        assert!(check_name(good).is_ok(), "{good:?}");
    }
}
