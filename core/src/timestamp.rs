//! `Timestamp`: a moment as plans hold it, in JSON an RFC 3339 text.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::{borrow::Cow, fmt, str::FromStr, time::Duration};

#[cfg(test)]
mod tests;

const DAY: i64 = 86_400_000;
/// The first millisecond of the year 0, and the last of the year 9999: what RFC 3339 can write.
const RANGE: (i64, i64) = (-62_167_219_200_000, 253_402_300_799_999);

/// A moment, to the millisecond, between the years 0 and 9999.
///
/// In JSON it is an RFC 3339 text: written in UTC (`2026-12-03T08:00:00.000Z`), read with any offset, so that people and
/// agents can give one. Equal moments are equal, however they were written.
///
/// ```
/// use hermes_core::timestamp::Timestamp;
///
/// let at: Timestamp = "2026-12-03T09:00:00+01:00".parse()?;
/// assert_eq!(at.to_string(), "2026-12-03T08:00:00.000Z");
/// # Ok::<(), hermes_core::timestamp::InvalidTimestamp>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// A text that is no moment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no moment; write it like `2026-12-03T08:00:00Z` or `2026-12-03T09:00:00.500+01:00`")]
pub struct InvalidTimestamp(String);

impl Timestamp {
    /// The moment so many milliseconds after the beginning of 1970, UTC. Beyond the years 0 and 9999 it is the nearest
    /// moment inside.
    pub fn from_millis(millis: i64) -> Self {
        Self(millis.clamp(RANGE.0, RANGE.1))
    }

    /// Milliseconds since the beginning of 1970, UTC.
    pub fn millis(self) -> i64 {
        self.0
    }

    /// The moment `duration` later; a part of a millisecond counts as a whole one.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        let millis = duration.as_nanos().div_ceil(1_000_000);
        Self::from_millis(self.0.saturating_add(i64::try_from(millis).unwrap_or(i64::MAX)))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, rest) = (self.0.div_euclid(DAY), self.0.rem_euclid(DAY));
        let (year, month, day) = civil(days);
        let (hour, minute, second) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", rest % 1000)
    }
}

/// The date so many days after the first of 1970.
fn civil(days: i64) -> (i64, i64, i64) {
    // Years that begin in March have their leap day last; 400 of them are 146,097 days.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    (era * 400 + year + i64::from(month <= 2), month, day)
}

/// How many days after the first of 1970 a date is.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + day - 719_468
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        let shown = || InvalidTimestamp(text.chars().take(60).flat_map(char::escape_debug).collect());
        read(text.as_bytes()).map(Self).ok_or_else(shown)
    }
}

fn read(text: &[u8]) -> Option<i64> {
    let number = |from: usize, length: usize| {
        let digits = text.get(from..from + length)?;
        digits
            .iter()
            .try_fold(0_i64, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0')))
    };
    let is = |at: usize, of: &[u8]| text.get(at).is_some_and(|byte| of.contains(byte));
    let marks = is(4, b"-") && is(7, b"-") && is(10, b"Tt ") && is(13, b":") && is(16, b":");
    let (year, month, day) = (number(0, 4)?, number(5, 2)?, number(8, 2)?);
    let (hour, minute, second) = (number(11, 2)?, number(14, 2)?, number(17, 2)?);
    let date = days(year, month, day);
    // A leap second is the first of the next minute: clocks that count milliseconds have no other name for it.
    let valid = (1..=12).contains(&month) && civil(date) == (year, month, day);
    if !(marks && valid && hour < 24 && minute < 60 && second <= 60) {
        return None;
    }
    let mut at = 19;
    let mut millis = 0;
    if is(at, b".") {
        let digits = text.get(at + 1..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
        for place in 0..3 {
            millis = millis * 10 + if place < digits { number(at + 1 + place, 1)? } else { 0 };
        }
        at += if digits > 0 { 1 + digits } else { return None };
    }
    let offset = if is(at, b"Zz") {
        at += 1;
        0
    } else {
        let sign = if is(at, b"+") { 1 } else { -1 };
        let (hours, minutes) = (number(at + 1, 2)?, number(at + 4, 2)?);
        if !(is(at, b"+-") && is(at + 3, b":") && hours < 24 && minutes < 60) {
            return None;
        }
        at += 6;
        sign * (hours * 60 + minutes)
    };
    let seconds = date * 86_400 + hour * 3600 + (minute - offset) * 60 + second;
    let whole = seconds * 1000 + millis;
    (at == text.len() && (RANGE.0..=RANGE.1).contains(&whole)).then_some(whole)
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

impl JsonSchema for Timestamp {
    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}
