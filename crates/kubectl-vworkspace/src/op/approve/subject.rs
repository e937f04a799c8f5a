//! What there is to approve: read from the status, and shown.

use std::io::{self, Write};

use agent_protocol::digest_of;
use jiff::Timestamp;
use kube::ResourceExt;
use kube::api::DynamicObject;
use serde_json::Value;
use vworkspace_api::operation::OperationSpec;

use super::ApprovedKind;
use crate::columns::one_line;
use crate::op::OpError;
use crate::style::{STRONG, styled};

/// As many lines of the spec are shown.
const LINES: usize = 60;
/// Digits of a digest.
const DIGITS: usize = 64;

/// What a claim has to be about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Subject {
    pub(super) cluster: String,
    pub(super) namespace: String,
    pub(super) kind: String,
    pub(super) uid: String,
    pub(super) digest: String,
    /// When the last claim that was used was issued.
    pub(super) last: Option<Timestamp>,
}

impl Subject {
    /// What the status asks for, if it is about the object as it is now.
    pub(super) fn of(object: &DynamicObject, kind: ApprovedKind) -> Result<Subject, OpError> {
        let word = kind.resource().kind;
        let name = object.name_any();
        let refused = |what: String| Err(OpError::Refused(format!("{word} {name}: {what}")));
        let Some(blocked) = blocked(&object.data) else {
            return refused(format!(
                "found no Blocked=True/AwaitingApproval; expected it, because otherwise nothing waits for an approval. `kubectl vworkspace status {word}/{name}` shows its state"
            ));
        };
        let text = |field: &str| blocked.get(field).and_then(Value::as_str).unwrap_or_default();
        let (said, now) =
            (blocked.get("observedGeneration").and_then(Value::as_i64), object.metadata.generation);
        if said != now {
            let words = |generation: Option<i64>| generation.map_or("none".to_owned(), |g| g.to_string());
            return refused(format!(
                "the status is about generation {}; expected {}, the present one: wait until the operator has looked at it",
                words(said),
                words(now)
            ));
        }
        let message = text("message");
        let Some((cluster, uid, digest)) = to_approve(message) else {
            return refused(format!(
                "the status does not say yet what there is to approve; expected \"To approve: cluster ..., uid ..., digest ...\", found: {}",
                one_line(message)
            ));
        };
        let own = object.uid().unwrap_or_default();
        if uid != own {
            return refused(format!("the status is about uid {uid}; expected {own}, the object's own"));
        }
        if kind == ApprovedKind::Operation {
            match operation_digest(&object.data) {
                Some(own) if own == digest => {}
                Some(own) => {
                    return refused(format!(
                        "the status asks to approve digest {digest}; expected {own}, the digest of the spec that is there. \
                         Somebody else wrote that status, or the operator is of another version than this plugin"
                    ));
                }
                None => return refused("found a spec that this version cannot read; expected the operator's version of the plugin".to_owned()),
            }
        }
        let last = object.data.pointer("/status/lastApprovedChange/approvedAt").and_then(Value::as_str);
        Ok(Subject {
            cluster: cluster.to_owned(),
            namespace: object.namespace().unwrap_or_default(),
            kind: word,
            uid: uid.to_owned(),
            digest: digest.to_owned(),
            last: last.and_then(|time| time.parse().ok()),
        })
    }

    /// The spec that would be approved, and what the claim would say.
    pub(super) fn show(&self, object: &DynamicObject, err: &mut impl Write) -> io::Result<()> {
        let title = format!("{} {}/{}", self.kind, self.namespace, object.name_any());
        writeln!(err, "{} waits for an approval of this:", styled(STRONG, title))?;
        let mut spec = object.data.get("spec").cloned().unwrap_or_default();
        if let Value::Object(fields) = &mut spec {
            fields.remove("approvals");
        }
        let text = serde_saphyr::to_string(&spec).map_err(io::Error::other)?;
        for line in text.lines().take(LINES) {
            writeln!(err, "  {}", line.replace(char::is_control, " "))?;
        }
        let more = text.lines().count().saturating_sub(LINES);
        if more > 0 {
            writeln!(err, "  ... and {more} more lines, as `kubectl get -o yaml` shows them")?;
        }
        writeln!(err, "cluster {}\nuid     {}\ndigest  {}", self.cluster, self.uid, self.digest)
    }
}

/// The condition that asks for an approval.
fn blocked(data: &Value) -> Option<&Value> {
    let conditions = data.pointer("/status/conditions")?.as_array()?;
    conditions.iter().find(|condition| {
        let is = |field: &str, wanted: &str| condition.get(field).and_then(Value::as_str) == Some(wanted);
        is("type", "Blocked") && is("status", "True") && is("reason", "AwaitingApproval")
    })
}

/// Cluster, uid and digest of `... To approve: cluster C, uid U, digest D.`
fn to_approve(message: &str) -> Option<(&str, &str, &str)> {
    let (_, rest) = message.rsplit_once("To approve: cluster ")?;
    let (cluster, rest) = rest.split_once(", uid ")?;
    let (uid, rest) = rest.split_once(", digest ")?;
    let digest = rest.get(..DIGITS)?;
    let is_digest = digest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let ends = rest.get(DIGITS..).is_some_and(|after| after.starts_with(['.', ',']));
    (is_digest && ends && !cluster.is_empty() && !uid.is_empty()).then_some((cluster, uid, digest))
}

/// Of everything that an operation asks for, as the operator counts it: so nobody signs what was not shown.
fn operation_digest(data: &Value) -> Option<String> {
    let spec: OperationSpec = serde_json::from_value(data.get("spec")?.clone()).ok()?;
    Some(digest_of(&spec.approved_content()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_there_is_to_approve_stands_in_the_message() {
        let digest = "0123456789abcdef".repeat(4);
        let told = [
            (format!("x. To approve: cluster lab, uid u-1, digest {digest}."), true),
            (
                format!(
                    "x. To approve: cluster lab, uid u-1, digest {digest}, chart digest sha256:1. The catalog policy requires it."
                ),
                true,
            ),
            (format!("To approve: cluster lab, uid u-1, digest {digest}"), false),
            (format!("To approve: cluster lab, uid u-1, digest {digest}0."), false),
            (format!("To approve: cluster lab, uid u-1, digest {}.", digest.to_uppercase()), false),
            (format!("To approve: cluster , uid u-1, digest {digest}."), false),
            ("The change needs an approval. The digest of the chart is being looked up".to_owned(), false),
            ("To approve: cluster a, uid b, digest \u{e9}".to_owned(), false),
        ];
        for (message, is_there) in told {
            let wanted = is_there.then_some(("lab", "u-1", digest.as_str()));
            assert_eq!(to_approve(&message), wanted, "{message}");
        }
    }
}
