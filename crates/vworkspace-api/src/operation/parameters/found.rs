//! Reads parameters that were checked. What is not of the type that the table says counts as not given.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The parameters that were given.
#[derive(Clone, Copy)]
pub(super) struct Given<'a>(pub(super) &'a Map<String, Value>);

impl<'a> Given<'a> {
    pub(super) fn value(self, name: &str) -> Option<&'a Value> {
        self.0.get(name)
    }

    /// A text that is not blank.
    pub(super) fn text(self, name: &str) -> Option<&'a str> {
        self.value(name)?.as_str().filter(|text| !text.trim().is_empty())
    }

    pub(super) fn boolean(self, name: &str) -> Option<bool> {
        self.value(name)?.as_bool()
    }

    pub(super) fn number(self, name: &str) -> Option<i64> {
        self.value(name)?.as_i64()
    }

    pub(super) fn small_number(self, name: &str) -> Option<i32> {
        self.number(name)?.try_into().ok()
    }

    pub(super) fn object(self, name: &str) -> Option<&'a Map<String, Value>> {
        self.value(name)?.as_object()
    }

    pub(super) fn texts(self, name: &str) -> Vec<String> {
        let items = self.value(name).and_then(Value::as_array).into_iter().flatten();
        items.filter_map(Value::as_str).map(str::to_owned).collect()
    }

    pub(super) fn text_map(self, name: &str) -> BTreeMap<String, String> {
        let entries = self.object(name).into_iter().flatten();
        entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
    }
}
