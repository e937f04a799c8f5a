//! What an upgrade by Helm is told.

use serde_json::{Map, Value};

use super::found::Given;
use super::problem::{Problems, problem};

/// What an upgrade is told; at least one of the two.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UpgradeParameters {
    /// The version of the chart.
    pub target_version: Option<String>,
    /// Values that replace those of the same name at the top level.
    pub values_patch: Option<Map<String, Value>>,
}

impl UpgradeParameters {
    pub(super) fn from_given(given: Given<'_>) -> Result<Self, Problems> {
        let read = Self {
            target_version: given.text("targetVersion").map(str::to_owned),
            values_patch: given.object("valuesPatch").cloned(),
        };
        if read == Self::default() {
            return Err(Problems::one(problem("", "neither targetVersion nor valuesPatch", "at least one")));
        }
        Ok(read)
    }
}
