//! Who asked the API server for what, from its audit log: which verbs an account uses, and what it writes at rest.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use jiff::Timestamp;
use serde::Deserialize;

/// One finished request.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Request {
    pub(crate) verb: String,
    user: User,
    #[serde(default)]
    object_ref: Option<ObjectRef>,
    #[serde(default)]
    response_status: Option<ResponseStatus>,
    request_received_timestamp: Timestamp,
    stage: String,
}

#[derive(Clone, Debug, Deserialize)]
struct User {
    username: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ObjectRef {
    resource: String,
    subresource: String,
    api_group: String,
    namespace: String,
    name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ResponseStatus {
    code: u16,
    message: String,
}

impl Request {
    /// A request that may change something; leases apart, which say only that somebody is alive.
    pub(crate) fn is_write(&self) -> bool {
        let reads = ["get", "list", "watch"];
        !reads.contains(&self.verb.as_str())
            && self.object_ref.as_ref().is_none_or(|object| object.resource != "leases")
    }

    /// Whether it is about something in this namespace.
    pub(crate) fn is_in(&self, namespace: &str) -> bool {
        self.object_ref.as_ref().is_some_and(|object| object.namespace == namespace)
    }

    /// Whether it is about something in namespaces `PREFIX-...`.
    pub(crate) fn is_below(&self, prefix: &str) -> bool {
        let rest = |object: &ObjectRef| {
            object.namespace.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('-'))
        };
        self.object_ref.as_ref().is_some_and(rest)
    }

    /// Whether it is about objects of this resource.
    pub(crate) fn is_about(&self, resource: &str) -> bool {
        self.object_ref.as_ref().is_some_and(|object| object.resource == resource)
    }

    /// `verb group/resource/subresource`, as a role would have to grant it.
    pub(crate) fn permission(&self) -> String {
        let group = self.object_ref.as_ref().map_or("", |object| object.api_group.as_str());
        let group = if group.is_empty() { String::new() } else { format!("{group}/") };
        format!("{} {group}{}", self.verb, self.resource())
    }

    /// `resource/subresource`
    fn resource(&self) -> String {
        let object = self.object_ref.clone().unwrap_or_default();
        let subresource =
            if object.subresource.is_empty() { String::new() } else { format!("/{}", object.subresource) };
        object.resource + &subresource
    }

    /// The answer.
    pub(crate) fn code(&self) -> u16 {
        self.response_status.as_ref().map_or(0, |status| status.code)
    }

    /// Whether it was refused because nobody granted it. A policy that refuses answers the same code, and so does a
    /// namespace that ends.
    pub(crate) fn lacks_rights(&self) -> bool {
        let message = self.response_status.as_ref().map_or("", |status| status.message.as_str());
        self.code() == 403 && message.contains(" cannot ")
    }

    /// For a person: what was asked, of which object, and the answer.
    pub(crate) fn describe(&self) -> String {
        let object = self.object_ref.clone().unwrap_or_default();
        format!("{} {}/{} -> {}", self.permission(), object.namespace, object.name, self.code())
    }
}

/// The finished requests of one user since a moment, oldest first; logs that were put aside when they grew included.
pub(crate) fn requests(log: &Path, user: &str, since: Timestamp) -> Result<Vec<Request>> {
    let failed = || format!("failed to read the audit log {}", log.display());
    let mut requests = Vec::new();
    for path in files(log)? {
        for line in BufReader::new(File::open(&path).with_context(failed)?).lines() {
            let line = line?;
            // Most lines are about others: they need not be read.
            if !line.contains(user) {
                continue;
            }
            // The last line may be half written.
            let Ok(request) = serde_json::from_str::<Request>(&line) else { continue };
            // A watch is told when it starts and again when it ends.
            let is_finished = request.stage == "ResponseComplete" || request.stage == "ResponseStarted";
            if is_finished && request.user.username == user && request.request_received_timestamp >= since {
                requests.push(request);
            }
        }
    }
    requests.sort_by_key(|request| request.request_received_timestamp);
    Ok(requests)
}

/// All lines about one user's requests, bodies included where the policy keeps them.
pub(crate) fn bodies(log: &Path, user: &str) -> Result<String> {
    let by_user = format!("\"username\":\"{user}\"");
    let mut found = String::new();
    for path in files(log)? {
        let text = fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?;
        for line in text.lines().filter(|line| line.contains(&by_user)) {
            found += line;
            found.push('\n');
        }
    }
    Ok(found)
}

/// The log, and those that were put aside when they grew.
fn files(log: &Path) -> Result<Vec<PathBuf>> {
    let failed = || format!("failed to find the audit log {}", log.display());
    let folder = log.parent().with_context(failed)?;
    let mut files = Vec::new();
    for file in fs::read_dir(folder).with_context(failed)? {
        let path = file?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with("audit") && name.ends_with(".log") {
            files.push(path);
        }
    }
    Ok(files)
}

/// How often each thing was asked for in the mean, for so many objects: `create jobs 1.00, patch operations 2.00`.
pub(crate) fn per_object<'a>(requests: impl Iterator<Item = &'a Request>, count: usize) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for request in requests {
        *counts.entry(format!("{} {}", request.verb, request.resource())).or_default() += 1;
    }
    let told = counts.iter().map(|(asked, times)| format!("{asked} {:.2}", *times as f64 / count as f64));
    told.collect::<Vec<_>>().join(", ")
}

/// What a role must grant for these requests.
pub(crate) fn permissions(requests: &[Request]) -> BTreeSet<String> {
    requests.iter().map(Request::permission).collect()
}

/// The user name of a service account.
pub(crate) fn service_account(namespace: &str, name: &str) -> String {
    format!("system:serviceaccount:{namespace}:{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(verb: &str, object: &str) -> Request {
        let line = format!(
            r#"{{"stage":"ResponseComplete","verb":"{verb}","user":{{"username":"u"}},"objectRef":{object},
                "requestReceivedTimestamp":"2026-01-01T00:00:00.000001Z","responseStatus":{{"code":200}}}}"#
        );
        serde_json::from_str(&line).expect("a request")
    }

    #[test]
    fn requests_are_told_for_one_object() {
        let status = request("patch", r#"{"resource":"pods","subresource":"status","apiGroup":"x.io"}"#);
        let all = [
            request("create", r#"{"resource":"jobs","apiGroup":"batch"}"#),
            status.clone(),
            status.clone(),
            status,
        ];
        assert_eq!(per_object(all.iter(), 2), "create jobs 0.50, patch pods/status 1.50");
    }

    #[test]
    fn a_lease_is_no_write_and_a_patch_of_a_status_is() {
        let lease = request("update", r#"{"resource":"leases","apiGroup":"coordination.k8s.io"}"#);
        let status =
            request("patch", r#"{"resource":"pods","subresource":"status","namespace":"a","name":"b"}"#);
        assert_eq!(
            [lease.is_write(), status.is_write(), request("watch", "{}").is_write()],
            [false, true, false]
        );
        assert_eq!(status.permission(), "patch pods/status");
        assert_eq!(status.describe(), "patch pods/status a/b -> 200");
        assert_eq!(lease.permission(), "update coordination.k8s.io/leases");
    }
}
