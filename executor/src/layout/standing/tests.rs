//! What members make of a group, for every kind of member.

use super::Standing;

/// All groups of three.
fn threes() -> impl Iterator<Item = [Standing; 3]> {
    let all = Standing::ALL;
    all.into_iter()
        .flat_map(move |a| all.into_iter().flat_map(move |b| all.into_iter().map(move |c| [a, b, c])))
}

fn of<const N: usize>(members: [Standing; N]) -> Standing {
    Standing::of(members).unwrap()
}

#[test]
fn a_group_is_done_only_if_all_of_it_is() {
    for group in threes() {
        let all = group.iter().all(|member| *member == Standing::Done);
        assert_eq!(of(group) == Standing::Done, all, "{group:?}");
    }
}

#[test]
fn nothing_more_comes_of_a_group_exactly_when_nothing_more_comes_of_its_members() {
    for group in threes() {
        assert_eq!(of(group).settled(), group.iter().all(|member| member.settled()), "{group:?}");
    }
}

#[test]
fn the_order_of_members_changes_nothing() {
    for group @ [a, b, c] in threes() {
        assert_eq!([of([b, c, a]), of([c, b, a])], [of(group), of(group)], "{group:?}");
    }
}

#[test]
fn a_group_says_what_a_reader_looks_for() {
    use Standing::{
        Begun, Done, Failed, Interrupted, NotStarted, Running, Skipped, Stopped, Suspended, Waiting,
    };
    for (group, stands) in [
        ([NotStarted, NotStarted], NotStarted),
        ([Done, NotStarted], Begun),
        ([Done, Running], Running),
        ([Waiting, Running], Running),
        ([Waiting, NotStarted], Waiting),
        ([Failed, Running], Running),
        ([Failed, Done], Failed),
        ([Failed, Skipped], Failed),
        ([Interrupted, Done], Begun),
        ([Done, Skipped], Stopped),
        ([Done, Suspended], Stopped),
    ] {
        assert_eq!(of(group), stands, "{group:?}");
    }
    assert_eq!(Standing::of([]), None);
}

#[test]
fn counts_name_what_there_is_in_a_fixed_order() {
    use Standing::{Done, Failed, NotStarted};
    assert_eq!(Standing::counts([NotStarted, Done, Failed, Done]), "2 done, 1 failed, 1 not started");
    assert_eq!(Standing::counts([]), "");
}
