//! What the operator counts.

use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::product::Product;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Of {
    controller: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reconcile {
    controller: &'static str,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Failure {
    controller: &'static str,
    category: &'static str,
}

/// Adds metrics of the product's own.
pub(crate) type Register = Box<dyn FnOnce(&mut Registry) + Send>;

/// All metrics of one operator.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    reconciles: Family<Reconcile, Counter>,
    errors: Family<Of, Counter>,
    failures: Family<Failure, Counter>,
    durations: Family<Of, Histogram>,
    depth: Family<Of, Gauge>,
    writes: Family<Of, Counter>,
    leading: Gauge,
}

/// How a reconcile of an object ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Nothing had to be written.
    Unchanged,
    /// Something was written.
    Changed,
    /// The caches are older than our own last write, or than what a former leader said; or a request is not due again.
    Waiting,
    /// Somebody else wrote first.
    Conflict,
    /// The object cannot be read as what it should be.
    Undecodable,
    /// The object is gone.
    Gone,
    /// Something could not be done.
    Error,
}

impl Ended {
    fn label(self) -> &'static str {
        match self {
            Ended::Unchanged => "unchanged",
            Ended::Changed => "changed",
            Ended::Waiting => "waiting",
            Ended::Conflict => "conflict",
            Ended::Undecodable => "undecodable",
            Ended::Gone => "gone",
            Ended::Error => "error",
        }
    }
}

impl Metrics {
    pub(crate) fn new(product: Product, own: Vec<Register>) -> Self {
        let mut metrics = Self {
            registry: Registry::default(),
            reconciles: Family::default(),
            errors: Family::default(),
            failures: Family::default(),
            durations: Family::new_with_constructor(|| {
                Histogram::new([0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0])
            }),
            depth: Family::default(),
            writes: Family::default(),
            leading: Gauge::default(),
        };
        let Self { registry, reconciles, errors, failures, durations, depth, writes, leading } = &mut metrics;
        // The library adds `_total` to counters.
        registry.register(
            product.metric("reconcile"),
            "Reconciles of an object, by how they ended",
            reconciles.clone(),
        );
        registry.register(
            "controller_runtime_reconcile_errors",
            "Reconciles that ended with an error",
            errors.clone(),
        );
        registry.register(
            product.metric("failures"),
            "What could not be done, by kind of trouble",
            failures.clone(),
        );
        registry.register(
            product.metric("reconcile_duration_seconds"),
            "How long a reconcile took",
            durations.clone(),
        );
        registry.register(product.metric("queue_depth"), "Objects that are due and wait", depth.clone());
        registry.register(
            product.metric("writes"),
            "Requests that may change something, leases apart",
            writes.clone(),
        );
        registry.register(product.metric("leading"), "1 while this process holds the lease", leading.clone());
        for register in own {
            register(registry);
        }
        metrics
    }

    /// A counter that has never counted is zero, not absent: alerts rely on it.
    pub(crate) fn introduce(&self, controller: &'static str) {
        drop(self.errors.get_or_create(&Of { controller }));
        drop(self.writes.get_or_create(&Of { controller }));
        drop(self.depth.get_or_create(&Of { controller }));
        drop(self.reconciles.get_or_create(&Reconcile { controller, outcome: Ended::Unchanged.label() }));
    }

    pub(crate) fn reconciled(&self, controller: &'static str, ended: Ended, took: Duration) {
        self.reconciles.get_or_create(&Reconcile { controller, outcome: ended.label() }).inc();
        self.durations.get_or_create(&Of { controller }).observe(took.as_secs_f64());
        if ended == Ended::Error {
            self.errors.get_or_create(&Of { controller }).inc();
        }
    }

    pub(crate) fn failed(&self, controller: &'static str, category: &'static str) {
        self.failures.get_or_create(&Failure { controller, category }).inc();
    }

    pub(crate) fn wrote(&self, controller: &'static str, writes: u64) {
        self.writes.get_or_create(&Of { controller }).inc_by(writes);
    }

    pub(crate) fn queued(&self, controller: &'static str, depth: usize) {
        self.depth.get_or_create(&Of { controller }).set(i64::try_from(depth).unwrap_or(i64::MAX));
    }

    pub(crate) fn set_leading(&self, leading: bool) {
        self.leading.set(i64::from(leading));
    }

    /// All of it in the OpenMetrics text format.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = text::encode(&mut text, &self.registry);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::product::TESTED;

    #[test]
    fn the_names_are_those_that_dashboards_know() {
        let metrics = Metrics::new(TESTED, Vec::new());
        metrics.introduce("application");
        metrics.reconciled("application", Ended::Error, Duration::from_millis(3));
        let text = metrics.text();
        for line in [
            "test_operator_reconcile_total{controller=\"application\",outcome=\"error\"} 1",
            "test_operator_reconcile_total{controller=\"application\",outcome=\"unchanged\"} 0",
            "controller_runtime_reconcile_errors_total{controller=\"application\"} 1",
            "test_operator_queue_depth{controller=\"application\"} 0",
        ] {
            assert!(text.lines().any(|known| known == line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn every_metric_is_documented() {
        let documented = include_str!("../../../docs/operations.md");
        let metrics = Metrics::new(Product { metrics: "vworkspace_operator", ..TESTED }, Vec::new());
        metrics.introduce("application");
        metrics.failed("application", "forbidden");
        metrics.reconciled("application", Ended::Unchanged, Duration::from_millis(3));
        let text = metrics.text();
        let names: Vec<&str> = text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.split(['{', ' ']).next())
            .filter(|name| !["_bucket", "_sum", "_count"].iter().any(|part| name.ends_with(part)))
            .collect();
        assert!(names.len() >= 6, "{text}");
        for name in names {
            assert!(documented.contains(&format!("`{name}`")), "{name} is not in docs/operations.md");
        }
    }
}
