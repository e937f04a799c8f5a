//! Which objects of a kind are watched, and how much of them.

/// The part of a kind that matters; the API server sends nothing else.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Selection {
    /// Only this namespace, whatever the operator as a whole looks at.
    pub(crate) namespace: Option<String>,
    pub(crate) labels: Option<String>,
    pub(crate) fields: Option<String>,
    pub(crate) depth: Depth,
}

/// How much of an object is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) enum Depth {
    /// All of it.
    #[default]
    Whole,
    /// Its metadata: the rest never leaves the API server.
    Metadata,
}

impl Selection {
    /// All objects.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// Those whose labels fit.
    #[must_use]
    pub fn labels(selector: &str) -> Self {
        Self { labels: Some(selector.to_owned()), ..Self::default() }
    }

    /// Those whose fields fit; the API server knows few fields of each kind.
    #[must_use]
    pub fn fields(selector: &str) -> Self {
        Self { fields: Some(selector.to_owned()), ..Self::default() }
    }

    /// The one with this name.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self::fields(&format!("metadata.name={name}"))
    }

    /// Only in this namespace.
    #[must_use]
    pub fn within(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// Nothing but their metadata.
    #[must_use]
    pub fn metadata_only(mut self) -> Self {
        self.depth = Depth::Metadata;
        self
    }
}
