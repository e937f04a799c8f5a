//! Durations as kubectl writes them: `90s`, `10m`, `1h30m`, `0` for "look once".

use std::time::Duration;

/// Reads a duration.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || format!("expected a duration such as 90s, 10m or 1h30m, found {text:?}");
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
        let (number, tail) = rest.split_at_checked(digits).ok_or_else(wrong)?;
        let unit = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at_checked(unit).ok_or_else(wrong)?;
        let number: u64 = number.parse().map_err(|_| wrong())?;
        let seconds = match unit {
            "ms" => None,
            "s" => Some(1),
            "m" => Some(60),
            "h" => Some(3600),
            _ => return Err(wrong()),
        };
        let part = match seconds {
            None => Some(Duration::from_millis(number)),
            Some(seconds) => number.checked_mul(seconds).map(Duration::from_secs),
        };
        total = part.and_then(|part| total.checked_add(part)).ok_or_else(wrong)?;
        rest = tail;
    }
    if text.is_empty() { Err(wrong()) } else { Ok(total) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_kubectl_writes_them() {
        assert_eq!(parse("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse("1h30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(parse("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse("0"), Ok(Duration::ZERO));
        for wrong in ["", "5", "s", "5x", "-5s", "5 s", "99999999999999999999s", "9999999999999999999h"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
