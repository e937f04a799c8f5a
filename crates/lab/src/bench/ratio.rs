//! The operator beside a raw write, measured in turn: the middle against the middle, the worst against the worst.

use std::time::Duration;

use super::quantile;
use super::results::Row;

/// Two series of samples that were taken in turn.
#[derive(Default)]
pub(super) struct Pair {
    pub(super) raw: Vec<Duration>,
    pub(super) ours: Vec<Duration>,
}

impl Pair {
    /// A row for the middle and one for the worst.
    pub(super) fn rows(&self, what: &str, against: &str, targets: [f64; 2]) -> Vec<Row> {
        let row = |per_cent: usize, target: f64| {
            let (raw, ours) = (millis(&self.raw, per_cent), millis(&self.ours, per_cent));
            let detail = format!("{ours:.1} ms against {raw:.1} ms, {} samples", self.ours.len());
            Row::at_most(&format!("{what}, p{per_cent}, {against}"), target, "x", ours / raw).because(detail)
        };
        let [middle, worst] = targets;
        vec![row(50, middle), row(99, worst)]
    }
}

fn millis(series: &[Duration], per_cent: usize) -> f64 {
    quantile(series, per_cent).as_secs_f64() * 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_compared_with_the_middle_and_the_worst_with_the_worst() {
        let series = |middle: u64, worst: u64| -> Vec<Duration> {
            (0..100).map(|number| Duration::from_millis(if number < 99 { middle } else { worst })).collect()
        };
        let rows = Pair { raw: series(2, 10), ours: series(6, 80) }.rows("a", "raw", [4.0, 6.0]);
        let told: Vec<(&str, f64)> = rows.iter().map(|row| (row.measure.as_str(), row.share())).collect();
        assert_eq!(told, [("a, p50, raw", 3.0 / 4.0), ("a, p99, raw", 8.0 / 6.0)]);
    }
}
