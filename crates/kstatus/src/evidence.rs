//! Which field said so.

use std::fmt;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::Value;

/// Where a field is, in the notation of Kubernetes' own messages: `status.conditions[1].reason`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// A field at a fixed place.
    Field(&'static str),
    /// A field of one entry of a list.
    Entry {
        /// Where the list is.
        list: &'static str,
        /// Which entry, from 0.
        index: usize,
        /// The field in the entry; empty for the entry itself.
        field: &'static str,
    },
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Path::Field(path) => f.write_str(path),
            Path::Entry { list, index, field: "" } => write!(f, "{list}[{index}]"),
            Path::Entry { list, index, field } => write!(f, "{list}[{index}].{field}"),
        }
    }
}

/// A field and what it was found to be; `V` is a value or a reference to one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FieldEvidence<V> {
    /// Where.
    pub path: Path,
    /// What; `None` if the field is absent.
    pub value: Option<V>,
}

/// What an outcome points at: the value stays in the object.
pub type Evidence<'a> = FieldEvidence<&'a Value>;

/// Evidence that outlives the object.
pub type OwnedEvidence = FieldEvidence<Value>;

impl<'a> Evidence<'a> {
    pub(crate) fn field(path: &'static str, value: Option<&'a Value>) -> Evidence<'a> {
        Evidence { path: Path::Field(path), value }
    }

    /// With a copy of the value.
    pub fn into_owned(self) -> OwnedEvidence {
        OwnedEvidence { path: self.path, value: self.value.cloned() }
    }
}

/// `path=value` with the value as JSON, or `path (absent)`.
impl<V: fmt::Display> fmt::Display for FieldEvidence<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(f, "{}={value}", self.path),
            None => write!(f, "{} (absent)", self.path),
        }
    }
}

/// `{"path": ..., "value": ...}`; an absent field has no `value`, a null one has `null`.
impl<V: Serialize> Serialize for FieldEvidence<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Evidence", 2)?;
        fields.serialize_field("path", &format_args!("{}", self.path))?;
        match &self.value {
            Some(value) => fields.serialize_field("value", value)?,
            None => fields.skip_field("value")?,
        }
        fields.end()
    }
}
