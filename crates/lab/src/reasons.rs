//! Which reasons the operator really gives: every condition of every version of an object of ours that the API server shows
//! during a test run, with the scenario in whose namespace it was. A documented reason that no scenario produced fails a
//! full run, for every kind that has a CRD.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use conditions::{Entry, Origin, Vocabulary};
use futures::StreamExt;
use kube::ResourceExt;
use kube::api::{Api, DynamicObject, ListParams};
use kube::runtime::utils::Backoff;
use kube::runtime::{WatchStreamExt, watcher};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use vworkspace_api::operation::{Engine, Failed, TEMPLATES};

use crate::cluster::Cluster;
use crate::maturity;
use crate::paths;

/// Of all our kinds.
const VERSION: &str = "v1alpha1";
/// The operator's controllers write as `vworkspace-NAME`. What somebody else wrote proves nothing about them.
const MANAGERS: &str = "vworkspace-";

/// Something that a condition said in a scenario.
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Produced {
    pub(crate) kind: String,
    #[serde(rename = "type")]
    pub(crate) type_: String,
    pub(crate) status: String,
    pub(crate) reason: String,
    pub(crate) scenario: String,
}

impl Produced {
    /// Whether it is this entry of a kind's vocabulary.
    pub(crate) fn is(&self, kind: &str, entry: &Entry) -> bool {
        (self.kind.as_str(), self.type_.as_str(), self.status.as_str(), self.reason.as_str())
            == (kind, entry.type_, entry.status.as_str(), entry.reason)
    }

    /// For a person, without the scenario.
    pub(crate) fn words(&self) -> String {
        format!("{} {}={}/{}", self.kind, self.type_, self.status, self.reason)
    }
}

/// What has been produced so far, for scenarios that ask for something which passes quickly.
pub(crate) type Seen = watch::Receiver<BTreeSet<Produced>>;

/// The vocabularies of the kinds that the operator looks after: those with a CRD in its chart.
fn served() -> impl Iterator<Item = &'static Vocabulary> {
    let folder = paths::workspace().join("charts/vworkspace-operator/files/crds");
    let all = vworkspace_api::VOCABULARIES.into_iter().chain(kars_api::VOCABULARIES);
    all.filter(move |of| folder.join(format!("{}.{}.yaml", of.plural, of.group)).exists())
}

/// Watches all objects of these kinds for as long as it lives.
pub(crate) struct Recorder {
    seen: Seen,
    watching: Vec<JoinHandle<()>>,
}

impl Recorder {
    /// `scenarios` has the scenario of each namespace. What exists already is of another run and does not count.
    pub(crate) async fn start(cluster: &Cluster, scenarios: BTreeMap<String, &'static str>) -> Result<Self> {
        let (tell, seen) = watch::channel(BTreeSet::new());
        let (tell, scenarios) = (Arc::new(tell), Arc::new(scenarios));
        let mut recorder = Self { seen, watching: Vec::new() };
        for Vocabulary { group, kind, .. } in served() {
            let objects = cluster.dynamic(&format!("{group}/{VERSION}"), kind, None);
            let old = existing(&objects, kind).await?;
            let (tell, scenarios) = (Arc::clone(&tell), Arc::clone(&scenarios));
            recorder.watching.push(tokio::spawn(record(objects, kind, old, scenarios, tell)));
        }
        Ok(recorder)
    }

    pub(crate) fn seen(&self) -> Seen {
        self.seen.clone()
    }

    /// Everything that was produced.
    pub(crate) fn finish(self) -> BTreeSet<Produced> {
        self.seen.borrow().clone()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.watching.iter().for_each(JoinHandle::abort);
    }
}

async fn record(
    objects: Api<DynamicObject>,
    kind: &'static str,
    old: BTreeSet<String>,
    scenarios: Arc<BTreeMap<String, &'static str>>,
    tell: Arc<watch::Sender<BTreeSet<Produced>>>,
) {
    // A broken watch goes on where it was, so nothing is missed.
    let events = watcher(objects, watcher::Config::default()).backoff(AtOnce);
    let objects = events.touched_objects().filter_map(async |object| object.ok());
    let mut objects = pin!(objects);
    while let Some(object) = objects.next().await {
        let is_old = object.uid().is_some_and(|uid| old.contains(&uid));
        let scenario = object.namespace().and_then(|namespace| scenarios.get(&namespace));
        let said = scenario.filter(|_| !is_old).map(|name| said(&object, kind, name));
        tell.send_if_modified(|known| add(known, said.unwrap_or_default()));
    }
}

/// A kind that appears while we watch says its first words at once: there is no time to back off.
struct AtOnce;

impl Iterator for AtOnce {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        Some(Duration::from_millis(100))
    }
}

impl Backoff for AtOnce {
    fn reset(&mut self) {}
}

/// Whether there was anything new.
fn add(known: &mut BTreeSet<Produced>, said: Vec<Produced>) -> bool {
    let before = known.len();
    known.extend(said);
    known.len() > before
}

async fn existing(objects: &Api<DynamicObject>, kind: &str) -> Result<BTreeSet<String>> {
    match objects.list(&ListParams::default()).await {
        Ok(known) => Ok(known.iter().filter_map(ResourceExt::uid).collect()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(BTreeSet::new()),
        Err(error) => {
            Err(error).with_context(|| format!("failed to list objects of kind {kind} that exist already"))
        }
    }
}

/// What an object's conditions say, if the operator wrote them.
fn said(object: &DynamicObject, kind: &str, scenario: &str) -> Vec<Produced> {
    let mut writers = object
        .managed_fields()
        .iter()
        .filter(|entry| entry.subresource.as_deref() == Some("status"))
        .filter_map(|entry| entry.manager.as_deref());
    if !writers.all(|manager| manager.starts_with(MANAGERS)) {
        return Vec::new();
    }
    let conditions = object.data.pointer("/status/conditions").and_then(Value::as_array);
    let text = |condition: &Value, field: &str| {
        condition.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let told = conditions.into_iter().flatten().map(|condition| Produced {
        kind: kind.to_owned(),
        type_: text(condition, "type"),
        status: text(condition, "status"),
        reason: text(condition, "reason"),
        scenario: scenario.to_owned(),
    });
    told.collect()
}

/// How much of the scenarios a run has seen.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(crate) enum Run {
    /// All of them: what an earlier run saw is forgotten.
    Full,
    /// Those that were asked for.
    Filtered,
}

/// Keeps what a run produced.
pub(crate) fn store(produced: &BTreeSet<Produced>, run: Run) -> Result<()> {
    let mut all = produced.clone();
    if run == Run::Filtered {
        all.extend(load(&file())?);
    }
    let file = file();
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).with_context(|| format!("failed to create {}", folder.display()))?;
    }
    fs::write(&file, text(&all)?).with_context(|| format!("failed to write {}", file.display()))
}

/// What was produced, by the last full run and filtered ones since.
pub(crate) fn file() -> PathBuf {
    paths::workspace().join("target/lab/reasons.json")
}

/// Nothing, if there is no such file.
pub(crate) fn load(file: &Path) -> Result<BTreeSet<Produced>> {
    if !file.exists() {
        return Ok(BTreeSet::new());
    }
    let text = fs::read_to_string(file).with_context(|| format!("failed to read {}", file.display()))?;
    serde_json::from_str(&text)
        .with_context(|| format!("{} is not as the lab writes it; remove it", file.display()))
}

/// One row a line, so that a change is a line.
pub(crate) fn text(produced: &BTreeSet<Produced>) -> Result<String> {
    let rows: Vec<String> = produced.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
    Ok(format!("[\n  {}\n]\n", rows.join(",\n  ")))
}

/// The gate of a full run: every documented reason was produced, and the committed snapshot says so.
pub(crate) fn check(produced: &BTreeSet<Produced>) -> Result<()> {
    let snapshot = maturity::snapshot()?;
    for of in served() {
        let kind = of.kind;
        let (missing, later): (Vec<Entry>, Vec<Entry>) =
            uncovered(of, produced, Origin::Contract).into_iter().partition(is_possible);
        if !later.is_empty() {
            println!(
                "     {kind}: not produced, because no template of its engine can run yet: {}",
                listed(&later)
            );
        }
        let extensions = uncovered(of, produced, Origin::Extension);
        if !extensions.is_empty() {
            let listed = listed(&extensions);
            println!("     {kind}: not produced, and not of the published contract: {listed}");
        }
        if !missing.is_empty() {
            let told: Vec<String> = missing.iter().map(|entry| line(kind, entry, &snapshot)).collect();
            bail!("no scenario produced these documented reasons of {kind}:\n{}", told.join("\n"));
        }
    }
    maturity::check(&snapshot, produced)
}

/// Whether this version can say it: one engine has a reason of its own, and its templates may not be supported yet.
fn is_possible(entry: &Entry) -> bool {
    let runs_workflows =
        TEMPLATES.iter().any(|template| template.engine == Engine::Workflow && template.is_supported);
    runs_workflows || entry.reason != Failed::WorkflowFailed.entry().reason
}

/// Entries of the kind's own types that nothing produced. `Stalled` follows from the others and is not among them.
fn uncovered(of: &Vocabulary, produced: &BTreeSet<Produced>, origin: Origin) -> Vec<Entry> {
    let entries = of.types.iter().flat_map(|type_| type_.entries).filter(|entry| entry.origin == origin);
    entries.filter(|entry| !produced.iter().any(|one| one.is(of.kind, entry))).copied().collect()
}

fn listed(entries: &[Entry]) -> String {
    let words: Vec<String> = entries.iter().map(words).collect();
    words.join(", ")
}

fn words(entry: &Entry) -> String {
    format!("{}={}/{}", entry.type_, entry.status, entry.reason)
}

/// A missing reason, and what to run: the scenario that produced it when the snapshot was taken.
fn line(kind: &str, entry: &Entry, snapshot: &BTreeSet<Produced>) -> String {
    let known = snapshot.iter().find(|one| one.is(kind, entry));
    let run = known.map_or_else(
        || "no scenario shows it yet; add one below crates/lab/src/scenario".to_owned(),
        |known| format!("run: cargo lab test {}", known.scenario),
    );
    format!("  {:<45} {run}", words(entry))
}

/// What `cargo lab reasons` shows: how much of the vocabulary was produced, and what is missing.
pub(crate) fn summary(produced: &BTreeSet<Produced>) -> Result<String> {
    let snapshot = maturity::snapshot()?;
    let mut lines = Vec::new();
    let origins = [(Origin::Contract, "documented"), (Origin::Extension, "extensions")];
    for (of, (origin, whose)) in served().flat_map(|of| origins.map(|origin| (of, origin))) {
        let entries = of.types.iter().flat_map(|type_| type_.entries);
        let all = entries.filter(|entry| entry.origin == origin).count();
        let missing = uncovered(of, produced, origin);
        lines.push(format!("{}, {whose}: {} of {all} produced", of.kind, all - missing.len()));
        lines.extend(missing.iter().map(|entry| line(of.kind, entry, &snapshot)));
    }
    Ok(lines.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;
    use conditions::Kind;
    use serde_json::json;
    use vworkspace_api::application_instance::ApplicationInstance;

    const KIND: &str = "ApplicationInstance";
    const OF: &Vocabulary = ApplicationInstance::VOCABULARY;

    fn instance(status_managers: &[&str]) -> DynamicObject {
        let managers: Vec<Value> = status_managers
            .iter()
            .map(|manager| json!({"manager": manager, "operation": "Apply", "subresource": "status"}))
            .collect();
        serde_json::from_value(json!({
            "apiVersion": "apps.vworkspace.io/v1alpha1", "kind": KIND,
            "metadata": {"name": "shop", "namespace": "there", "managedFields": managers},
            "status": {"conditions": [
                {"type": "Ready", "status": "False", "reason": "Installing", "message": "x"},
                {"type": "Blocked", "status": "False", "reason": "NotBlocked", "message": ""}]}}))
        .expect("an object")
    }

    fn row(type_: &str, status: &str, reason: &str, scenario: &str) -> Produced {
        Produced {
            kind: KIND.to_owned(),
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            scenario: scenario.to_owned(),
        }
    }

    #[test]
    fn what_the_operator_says_counts_for_the_scenario() {
        let expected =
            vec![row("Ready", "False", "Installing", "it"), row("Blocked", "False", "NotBlocked", "it")];
        assert_eq!(said(&instance(&["vworkspace-application"]), KIND, "it"), expected);
    }

    #[test]
    fn a_status_that_somebody_else_has_a_hand_in_proves_nothing() {
        assert!(said(&instance(&["vworkspace-application", "kubectl-edit"]), KIND, "it").is_empty());
    }

    #[test]
    fn a_kind_counts_from_its_crd_on() {
        let kinds: Vec<&str> = served().map(|of| of.kind).collect();
        assert_eq!(kinds, [KIND, "Operation"]);
    }

    #[test]
    fn every_documented_reason_counts_and_stalled_does_not() {
        let missing = uncovered(OF, &BTreeSet::new(), Origin::Contract);
        assert_eq!(missing.len(), 31);
        assert!(missing.iter().all(|entry| entry.type_ != "Stalled"));
    }

    #[test]
    fn a_reason_that_was_produced_is_not_missing_and_one_of_another_status_or_kind_is() {
        let installing = |produced: Produced| {
            let missing = uncovered(OF, &BTreeSet::from([produced]), Origin::Contract);
            missing.iter().any(|entry| entry.reason == "Installing")
        };
        assert!(!installing(row("Ready", "False", "Installing", "it")));
        assert!(installing(row("Ready", "True", "Installing", "it")));
        assert!(installing(Produced {
            kind: "Operation".to_owned(),
            ..row("Ready", "False", "Installing", "it")
        }));
    }

    #[test]
    fn a_missing_reason_is_told_with_the_command_that_showed_it_before() {
        let missing = uncovered(OF, &BTreeSet::new(), Origin::Contract);
        let ready = missing.iter().find(|entry| entry.reason == "HelmReleaseReady").expect("a row");
        let known = BTreeSet::from([row("Ready", "True", "HelmReleaseReady", "application_life")]);
        assert!(line(KIND, ready, &known).ends_with("run: cargo lab test application_life"));
        assert!(line(KIND, ready, &BTreeSet::new()).contains("add one below crates/lab/src/scenario"));
    }

    #[test]
    fn a_namespace_tells_which_scenario_it_is_of() {
        let all: Vec<_> = scenario::ALL.iter().collect();
        assert_eq!(scenario::namespaces(&all).len(), all.len());
    }

    #[test]
    fn rows_are_sorted_without_doubles_and_come_back() {
        let rows = BTreeSet::from([
            row("Ready", "True", "B", "it"),
            row("Ready", "True", "A", "it"),
            row("Ready", "True", "A", "it"),
        ]);
        let text = text(&rows).expect("JSON");
        assert_eq!(
            text.lines().nth(1),
            Some(
                r#"  {"kind":"ApplicationInstance","type":"Ready","status":"True","reason":"A","scenario":"it"},"#
            )
        );
        assert_eq!(serde_json::from_str::<BTreeSet<Produced>>(&text).expect("rows"), rows);
    }
}
