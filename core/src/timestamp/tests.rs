//! Moments are read and written, and nothing else is taken for one.

use super::*;

fn at(text: &str) -> Result<i64, InvalidTimestamp> {
    text.parse::<Timestamp>().map(Timestamp::millis)
}

#[test]
fn what_is_written_is_read_back() {
    for millis in [0, 1, -1, 951_782_400_000, 951_868_799_999, 4_107_542_400_000, RANGE.0, RANGE.1] {
        let moment = Timestamp::from_millis(millis);
        assert_eq!(at(&moment.to_string()), Ok(millis), "{moment}");
        let json = serde_json::to_string(&moment).unwrap();
        assert_eq!(serde_json::from_str::<Timestamp>(&json).unwrap(), moment);
    }
    // Every day of some years, leap years of both kinds among them.
    for day in days(1896, 1, 1)..days(2104, 12, 31) {
        let (year, month, of_month) = civil(day);
        assert_eq!(days(year, month, of_month), day);
        assert_eq!(at(&Timestamp::from_millis(day * DAY).to_string()), Ok(day * DAY));
    }
}

#[test]
fn known_moments_have_their_numbers() {
    assert_eq!(at("1970-01-01T00:00:00Z"), Ok(0));
    assert_eq!(at("2000-02-29T12:34:56.789Z"), Ok(951_827_696_789));
    assert_eq!(at("2026-12-03T09:00:00.5+01:00"), at("2026-12-03t08:00:00.500z"));
    assert_eq!(at("2026-12-02T23:30:00-08:30"), at("2026-12-03 08:00:00Z"));
    assert_eq!(at("1990-12-31T23:59:60Z"), at("1991-01-01T00:00:00Z"));
    assert_eq!(at("2026-12-03T08:00:00.1239Z"), at("2026-12-03T08:00:00.123Z"));
    assert_eq!(Timestamp::from_millis(i64::MAX).to_string(), "9999-12-31T23:59:59.999Z");
}

#[test]
fn what_is_no_moment_is_refused() {
    for text in [
        "",
        "tomorrow",
        "2026-12-03",
        "2026-12-03T08:00:00",
        "2026-13-03T08:00:00Z",
        "2026-02-29T08:00:00Z",
        "2026-12-00T08:00:00Z",
        "2026-12-03T24:00:00Z",
        "2026-12-03T08:60:00Z",
        "2026-12-03T08:00:00.Z",
        "2026-12-03T08:00:00+0100",
        "2026-12-03T08:00:00+24:00",
        "2026-12-03T08:00:00Z ",
        "+026-12-03T08:00:00Z",
        "2026-12-03T08:00:00é",
        "0000-01-01T00:00:00+01:00",
    ] {
        assert!(at(text).is_err(), "{text}");
    }
    assert!(at("soon").unwrap_err().to_string().contains("`soon` is no moment; write it like"));
}

#[test]
fn later_moments_are_later() {
    let now = Timestamp::from_millis(5);
    assert_eq!(now.after(Duration::from_millis(7)).millis(), 12);
    assert_eq!(now.after(Duration::from_nanos(1)).millis(), 6);
    assert_eq!(now.after(Duration::MAX), Timestamp::from_millis(i64::MAX));
}
