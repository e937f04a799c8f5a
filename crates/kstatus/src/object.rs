//! An object as the rules see it: its sections, its conditions, and how numbers and texts are read.
//!
//! The convention reads strictly (a wrong type refuses the object), the rules for built-in kinds leniently (a wrong
//! type counts as absent). An integer is what Go's JSON decoding keeps as `int64`: `1.0`, `1e3` and anything above
//! 2^63-1 are floats and therefore not integers. `-0` is one.

use serde_json::{Map, Value};

use crate::evidence::{Evidence, Path};
use crate::refusal::Refusal;

pub(crate) const CONDITIONS: &str = "status.conditions";

/// An object that passed the strict checks.
#[derive(Debug)]
pub(crate) struct Object<'a> {
    pub(crate) root: &'a Map<String, Value>,
    pub(crate) metadata: Section<'a>,
    pub(crate) spec: Section<'a>,
    pub(crate) status: Section<'a>,
    pub(crate) conditions: Vec<Entry<'a>>,
    pub(crate) generation: Option<i64>,
    pub(crate) observed_generation: Option<i64>,
}

impl<'a> Object<'a> {
    pub(crate) fn kind(&self) -> &'a str {
        kind(self.root)
    }

    /// Which kind this is, to the record.
    pub(crate) fn kind_evidence(&self) -> Evidence<'a> {
        Evidence::field("kind", self.root.get("kind"))
    }

    /// API group; none if `apiVersion` is malformed. The version is of no interest.
    pub(crate) fn group(&self) -> Option<&'a str> {
        let version = self.root.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        match version.split_once('/') {
            None => Some(""),
            Some((_, rest)) if rest.contains('/') => None,
            Some((group, _)) => Some(group),
        }
    }

    /// First condition of `kind` with `status`.
    pub(crate) fn condition(&self, kind: &str, status: &str) -> Option<&Entry<'a>> {
        self.conditions.iter().find(|entry| entry.kind == kind && entry.status == status)
    }
}

/// `kind`, or nothing where it is no text.
pub(crate) fn kind(root: &Map<String, Value>) -> &str {
    root.get("kind").and_then(Value::as_str).unwrap_or_default()
}

/// As Go reads it: `-0` is the integer 0. `serde_json` has it as a float, which it cannot tell from `-0.0`.
pub(crate) fn integer(value: &Value) -> Option<i64> {
    let is_negative_zero = |number: f64| number == 0.0 && number.is_sign_negative();
    value.as_i64().or_else(|| value.as_f64().filter(|number| is_negative_zero(*number)).map(|_| 0))
}

/// One of `metadata`, `spec`, `status`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Section<'a> {
    name: &'static str,
    map: Option<&'a Map<String, Value>>,
}

impl<'a> Section<'a> {
    /// Null counts as absent, anything but an object is refused.
    pub(crate) fn strict(root: &'a Map<String, Value>, name: &'static str) -> Result<Section<'a>, Refusal> {
        match root.get(name) {
            None | Some(Value::Null) => Ok(Section { name, map: None }),
            Some(Value::Object(map)) => Ok(Section { name, map: Some(map) }),
            Some(other) => Err(Refusal::wrong_type(Path::Field(name), other, "an object")),
        }
    }

    /// Anything but an object counts as absent.
    pub(crate) fn lenient(root: &'a Map<String, Value>, name: &'static str) -> Section<'a> {
        Section { name, map: root.get(name).and_then(Value::as_object) }
    }

    /// The field at `path`, which starts with the section's name: `status.replicas`.
    pub(crate) fn field(&self, path: &'static str) -> Field<'a> {
        let mut steps = path.split('.');
        debug_assert_eq!(steps.clone().next(), Some(self.name));
        steps.next();
        let found = self.map.zip(steps.next()).and_then(|(map, key)| map.get(key));
        let raw =
            steps.fold(found, |value, key| value.and_then(Value::as_object).and_then(|map| map.get(key)));
        Field { path, raw }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.map.is_none_or(Map::is_empty)
    }
}

/// A field that may be absent or of another type than one hopes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field<'a> {
    pub(crate) path: &'static str,
    pub(crate) raw: Option<&'a Value>,
}

impl<'a> Field<'a> {
    pub(crate) fn int(&self) -> Option<i64> {
        self.raw.and_then(integer)
    }

    pub(crate) fn text(&self) -> Option<&'a str> {
        self.raw.and_then(Value::as_str)
    }

    pub(crate) fn flag(&self) -> bool {
        self.raw.and_then(Value::as_bool).unwrap_or_default()
    }

    pub(crate) fn list(&self) -> &'a [Value] {
        self.raw.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    /// Read as a number, with what the rule takes for an absent one.
    pub(crate) fn count(self, default: i64) -> Count<'a> {
        Count { value: self.int().unwrap_or(default), field: self }
    }

    pub(crate) fn evidence(&self) -> Evidence<'a> {
        Evidence::field(self.path, self.raw)
    }

    /// As an integer that has to be one if it is there at all; null is no integer.
    pub(crate) fn strict_int(&self) -> Result<Option<i64>, Refusal> {
        match self.raw {
            None => Ok(None),
            Some(value) => match integer(value) {
                Some(number) => Ok(Some(number)),
                None => Err(Refusal::wrong_type(Path::Field(self.path), value, "an integer")),
            },
        }
    }
}

/// A number and the field it came from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Count<'a> {
    pub(crate) value: i64,
    field: Field<'a>,
}

impl<'a> Count<'a> {
    pub(crate) fn evidence(&self) -> Evidence<'a> {
        self.field.evidence()
    }
}

/// An entry of `status.conditions`; what it does not give is empty.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub(crate) index: usize,
    pub(crate) kind: &'a str,
    pub(crate) status: &'a str,
    pub(crate) reason: &'a str,
    pub(crate) message: &'a str,
    map: Option<&'a Map<String, Value>>,
}

impl<'a> Entry<'a> {
    pub(crate) fn is(&self, kind: &str, status: &str) -> bool {
        self.kind == kind && self.status == status
    }

    /// Any field of the entry.
    pub(crate) fn get(&self, key: &'static str) -> Option<&'a Value> {
        self.map.and_then(|map| map.get(key))
    }

    pub(crate) fn evidence(&self, field: &'static str) -> Evidence<'a> {
        Evidence { path: Path::Entry { list: CONDITIONS, index: self.index, field }, value: self.get(field) }
    }
}

/// All conditions. One malformed entry refuses the object, whether or not anything depends on it.
pub(crate) fn conditions<'a>(status: &Section<'a>) -> Result<Vec<Entry<'a>>, Refusal> {
    match status.field(CONDITIONS).raw {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(entries)) => {
            entries.iter().enumerate().map(|(index, value)| entry(index, value)).collect()
        }
        Some(other) => Err(Refusal::wrong_type(Path::Field(CONDITIONS), other, "a list")),
    }
}

fn entry(index: usize, value: &Value) -> Result<Entry<'_>, Refusal> {
    let map = match value {
        Value::Null => None,
        Value::Object(map) => Some(map),
        other => {
            let path = Path::Entry { list: CONDITIONS, index, field: "" };
            return Err(Refusal::wrong_type(path, other, "an object"));
        }
    };
    let text = |field: &'static str| match map.and_then(|map| map.get(field)) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(other) => {
            Err(Refusal::wrong_type(Path::Entry { list: CONDITIONS, index, field }, other, "a string"))
        }
    };
    Ok(Entry {
        index,
        kind: text("type")?,
        status: text("status")?,
        reason: text("reason")?,
        message: text("message")?,
        map,
    })
}
