//! Lengths of time for tables, as kubectl shortens them.

use jiff::Timestamp;

/// From `since` to `now`: `45s`, `12m`, `5h`, `3d`.
pub(super) fn between(since: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second().saturating_sub(since.as_second()).max(0);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7200 => format!("{}m", seconds / 60),
        7200..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let told = [(0, "0s"), (119, "119s"), (120, "2m"), (7199, "119m"), (7200, "2h"), (172_800, "2d")];
        for (seconds, text) in told {
            assert_eq!(between(at(1000), at(1000 + seconds)), text);
        }
        assert_eq!(between(at(1000), at(0)), "0s");
    }
}
