//! A length of time as Flux and Go write it.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration as Length;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// What a duration looks like; the number of digits and [`MAX_LENGTH`] keep it below the 290 years that CEL and Go can
/// count.
pub(crate) const PATTERN: &str = "^([0-9]{1,6}(ms|s|m|h))+$";
/// More characters than any sensible duration has.
const MAX_LENGTH: usize = 20;

/// The units, longest first, in milliseconds.
const UNITS: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];
/// The units where days are allowed too, which Flux and Go do not know.
const WITH_DAYS: [(&str, u64); 4] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)];

/// A length of time, written like `30s`, `5m` or `1h30m`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(Length);

/// A text that is no duration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotADuration(String);

impl Duration {
    /// A whole number of seconds.
    #[must_use]
    pub const fn from_secs(seconds: u64) -> Self {
        Self(Length::from_secs(seconds))
    }

    /// A whole number of minutes.
    #[must_use]
    pub const fn from_mins(minutes: u64) -> Self {
        Self::from_secs(minutes * 60)
    }

    /// Reads a text that may have days, such as `30d` or `30d12h`; a day has 24 hours.
    ///
    /// # Errors
    /// When it is none.
    pub fn with_days(text: &str) -> Result<Self, NotADuration> {
        Self::read(text, &WITH_DAYS)
    }

    fn read(text: &str, units: &[(&str, u64)]) -> Result<Self, NotADuration> {
        milliseconds(text, units)
            .map(|total| Self(Length::from_millis(total)))
            .ok_or_else(|| NotADuration(text.into()))
    }
}

impl From<Duration> for Length {
    fn from(duration: Duration) -> Self {
        duration.0
    }
}

impl FromStr for Duration {
    type Err = NotADuration;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::read(text, &UNITS)
    }
}

/// One number with its unit after the other.
fn milliseconds(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    if text.is_empty() || text.len() > MAX_LENGTH {
        return None;
    }
    let (mut rest, mut total) = (text, 0_u64);
    while !rest.is_empty() {
        let (number, after) =
            rest.split_at_checked(rest.find(|character: char| !character.is_ascii_digit())?)?;
        let unit = after.split(|character: char| character.is_ascii_digit()).next()?;
        let (_, length) = units.iter().find(|(name, _)| *name == unit)?;
        total = total.checked_add(number.parse::<u64>().ok()?.checked_mul(*length)?)?;
        rest = after.strip_prefix(unit)?;
    }
    Some(total)
}

impl fmt::Display for Duration {
    /// The shortest form that Flux understands.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.as_millis();
        if rest == 0 {
            return f.write_str("0s");
        }
        for (unit, length) in UNITS {
            let (whole, left) = (rest / u128::from(length), rest % u128::from(length));
            if whole > 0 {
                write!(f, "{whole}{unit}")?;
            }
            rest = left;
        }
        Ok(())
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for NotADuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is no duration; expected one such as 30s, 5m or 1h30m", self.0)
    }
}

impl std::error::Error for NotADuration {}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<'de, str>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Duration {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    // A CRD's schema has no references.
    fn inline_schema() -> bool {
        true
    }

    // What it must look like is a CEL rule of the field, which can say more than a pattern.
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "maxLength": MAX_LENGTH})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_read_as_flux_reads_it_and_written_in_its_shortest_form() {
        let told = [
            ("5m", "5m"),
            ("300s", "5m"),
            ("90m", "1h30m"),
            ("1h0m30s", "1h30s"),
            ("1500ms", "1s500ms"),
            ("0s", "0s"),
        ];
        for (text, written) in told {
            assert_eq!(
                text.parse::<Duration>().map(|read| read.to_string()),
                Ok(written.to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_duration_is_told_as_found() {
        for text in [
            "",
            "5",
            "m",
            "-5m",
            "5 m",
            "1.5h",
            "5d",
            "5µs",
            "5min",
            "99999999999999999999h",
            "9h9h9h9h9h9h9h9h9h9h9h",
        ] {
            let error = text.parse::<Duration>().expect_err(text).to_string();
            assert!(error.starts_with(&format!("'{text}' is no duration")), "{error}");
        }
    }
}
