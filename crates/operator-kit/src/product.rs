//! What the product is called that an operator belongs to, wherever others see it.

/// The names of a product. They are an interface: another name makes every child and every metric another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Product {
    /// Field managers are `NAME-CONTROLLER`.
    pub name: &'static str,
    /// Annotations that the kit itself puts on children are `DOMAIN/...`.
    pub domain: &'static str,
    /// Metrics are `METRICS_...`.
    pub metrics: &'static str,
}

impl Product {
    pub(crate) fn field_manager(self, controller: &str) -> String {
        format!("{}-{controller}", self.name)
    }

    /// Says on a child by which reconcile it was made. Its field manager has the same name in it: so a second one that makes
    /// the same child, because it does not know of the first, meets a field that is owned by another manager, and is refused.
    pub(crate) fn creation_annotation(self) -> String {
        format!("{}/creation", self.domain)
    }

    /// Says on a child what was last applied to it, so that a field that is no longer wanted is noticed, also by an operator
    /// that has just started.
    pub(crate) fn hash_annotation(self) -> String {
        format!("{}/applied-intent-hash", self.domain)
    }

    pub(crate) fn metric(self, name: &str) -> String {
        format!("{}_{name}", self.metrics)
    }
}

#[cfg(test)]
pub(crate) const TESTED: Product =
    Product { name: "test", domain: "test.example.org", metrics: "test_operator" };
