//! One object and its status: the element of the JSON output.

use std::borrow::Cow;

use kstatus::{Options, OwnedEvidence, Status, compute};
use serde::Serialize;
use serde_json::Value;

/// What `-o json` shows for an object.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// As the object has it; empty where it has none, like the next three.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// The status.
    pub status: Status,
    /// Why.
    pub message: String,
    /// The resulting `Reconciling` or `Stalled` condition, if any.
    pub conditions: Vec<RowCondition>,
    /// The fields that decided.
    pub evidence: Vec<OwnedEvidence>,
    /// Why the object was refused; its status is then `Unknown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A resulting condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RowCondition {
    /// `Reconciling` or `Stalled`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Always `True`.
    pub status: &'static str,
    /// One word, may be empty.
    pub reason: String,
    /// One sentence, may be empty.
    pub message: String,
}

impl Row {
    /// The status of `object`.
    pub fn of(object: &Value, options: &Options) -> Row {
        let mut row = Row::unknown(object);
        match compute(object, options) {
            Ok(outcome) => {
                row.status = outcome.status;
                row.conditions = outcome.condition.into_iter().map(RowCondition::from).collect();
                row.evidence = outcome.evidence.iter().map(|evidence| evidence.into_owned()).collect();
                row.message = outcome.message.into_owned();
            }
            Err(refusal) => row.error = Some(refusal.to_string()),
        }
        row
    }

    /// An object that the cluster does not have.
    pub fn not_found(api_version: String, kind: String, namespace: String, name: String) -> Row {
        Row {
            api_version,
            kind,
            namespace,
            name,
            status: Status::NotFound,
            message: "Resource not found".to_owned(),
            conditions: Vec::new(),
            evidence: Vec::new(),
            error: None,
        }
    }

    /// An object of which nothing but the name is known.
    pub fn unknown(object: &Value) -> Row {
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        Row {
            api_version: text("/apiVersion"),
            kind: text("/kind"),
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
            status: Status::Unknown,
            message: String::new(),
            conditions: Vec::new(),
            evidence: Vec::new(),
            error: None,
        }
    }

    /// `Deployment/web`
    pub fn title(&self) -> String {
        let kind = if self.kind.is_empty() { "?" } else { &self.kind };
        let name = if self.name.is_empty() { "?" } else { &self.name };
        format!("{kind}/{name}")
    }

    /// The reason of the resulting condition.
    pub fn reason(&self) -> &str {
        self.conditions.first().map(|condition| condition.reason.as_str()).unwrap_or_default()
    }

    /// What to tell a person.
    pub fn text(&self) -> Cow<'_, str> {
        match &self.error {
            Some(error) => Cow::Owned(format!("refused: {error}")),
            None => Cow::Borrowed(&self.message),
        }
    }
}

impl From<kstatus::Condition<'_>> for RowCondition {
    fn from(condition: kstatus::Condition<'_>) -> Self {
        RowCondition {
            kind: condition.kind.as_str(),
            status: "True",
            reason: condition.reason.into_owned(),
            message: condition.message.into_owned(),
        }
    }
}
