use super::*;
use serde_json::json;

/// A history that is told step by step.
struct Told(Vec<Version>, Instant);

impl Told {
    fn new() -> Self {
        Self(Vec::new(), Instant::now())
    }

    fn then(mut self, kind: &'static str, after_ms: u64, object: &Value) -> Self {
        self.1 += Duration::from_millis(after_ms);
        let number = self.0.len() as u64 + 1;
        self.0.push(Version {
            kind,
            number,
            seen: self.1,
            object: object.clone(),
            is_gone: false,
            is_after_gap: false,
        });
        self
    }

    fn lies(&self) -> Vec<String> {
        lies(&self.0, Duration::ZERO)
    }
}

/// The instance says that its change waits.
fn waiting(generation: i64) -> Value {
    let mut object = instance(generation, generation, &["Ready", "Reconciling"]);
    object["status"]["conditions"][1]["reason"] = json!("ChangePending");
    object
}

#[test]
fn a_change_that_flux_was_given_does_not_wait() {
    let given = begun().then(RELEASE, 10, &release(1, true)).then(KIND, 0, &instance(2, 1, &["Ready"]));
    assert_eq!(given.then(KIND, 10, &waiting(2)).lies(), Vec::<String>::new());
    let given = begun().then(RELEASE, 10, &release(1, true)).then(KIND, 0, &instance(2, 1, &["Ready"]));
    let told = given.then(RELEASE, 10, &release(2, true)).then(KIND, 10, &waiting(2));
    assert!(told.lies().iter().any(|lie| lie.contains("Flux was given it")), "{:?}", told.lies());
}

fn condition(type_: &str, status: &str, generation: i64) -> Value {
    json!({"type": type_, "status": status, "reason": "R", "observedGeneration": generation,
        "lastTransitionTime": format!("{status}-{generation}")})
}

fn instance(generation: i64, observed: i64, truths: &[&str]) -> Value {
    let status = |type_: &str| if truths.contains(&type_) { "True" } else { "False" };
    let conditions: Vec<Value> =
        TYPES.iter().map(|type_| condition(type_, status(type_), observed)).collect();
    // Transition times are told by the status alone here.
    let conditions: Vec<Value> = conditions
        .into_iter()
        .map(|mut known| {
            known["lastTransitionTime"] = known["status"].clone();
            known
        })
        .collect();
    json!({"metadata": {"uid": "u", "generation": generation, "finalizers": [FINALIZER]},
        "spec": {"chart": {"version": "1.0.0"}, "values": {"inline": {"a": generation}}},
        "status": {"observedGeneration": observed, "conditions": conditions}})
}

fn source() -> Value {
    json!({"metadata": {"ownerReferences": [{"uid": "u"}]}, "spec": {"ref": {"tag": "1.0.0"}},
        "status": {"artifact": {"revision": "1.0.0@sha256:d"}}})
}

/// A release of the values of a generation, deployed up to another.
fn release(values: i64, deployed: bool) -> Value {
    let status = if deployed { "deployed" } else { "pending-upgrade" };
    json!({"metadata": {"generation": values, "ownerReferences": [{"uid": "u"}]},
        "spec": {"values": {"a": values}},
        "status": {"lastAttemptedGeneration": values, "lastAttemptedConfigDigest": "c",
            "history": [{"status": status, "configDigest": "c", "chartVersion": "1.0.0+x",
                "ociDigest": "sha256:d"}],
            "conditions": [condition("Released", if deployed { "True" } else { "Unknown" }, values)]}})
}

fn begun() -> Told {
    Told::new().then(KIND, 0, &instance(1, 1, &["Reconciling"])).then(REPOSITORY, 10, &source()).then(
        RELEASE,
        10,
        &release(1, false),
    )
}

#[test]
fn ready_after_flux_deployed_it_is_true_and_before_it_is_a_lie() {
    let honest = begun().then(RELEASE, 10, &release(1, true)).then(KIND, 10, &instance(1, 1, &["Ready"]));
    assert_eq!(honest.lies(), Vec::<String>::new());
    let hasty = begun().then(KIND, 10, &instance(1, 1, &["Ready"]));
    assert_eq!(hasty.lies().len(), 1, "{:?}", hasty.lies());
}

#[test]
fn ready_for_a_change_that_only_the_former_release_carries_is_a_lie() {
    let told = begun().then(RELEASE, 10, &release(1, true)).then(KIND, 10, &instance(1, 1, &["Ready"])).then(
        KIND,
        10,
        &instance(2, 2, &["Ready"]),
    );
    assert!(told.lies().iter().any(|lie| lie.contains("had not deployed")), "{:?}", told.lies());
}

#[test]
fn a_change_that_waits_leaves_ready_alone() {
    let begun = || begun().then(RELEASE, 10, &release(1, true));
    assert_eq!(begun().then(KIND, 10, &waiting(2)).lies(), Vec::<String>::new());
    // One that is under way does not.
    let hasty = begun().then(KIND, 10, &instance(2, 2, &["Ready", "Reconciling"]));
    assert!(hasty.lies().iter().any(|lie| lie.contains("had not deployed")), "{:?}", hasty.lies());
}

#[test]
fn ready_long_after_the_release_broke_is_a_lie_and_right_after_it_is_not() {
    let broken = || begun().then(RELEASE, 10, &release(1, true)).then(RELEASE, 10, &release(1, false));
    assert_eq!(broken().then(KIND, 100, &instance(1, 1, &["Ready"])).lies(), Vec::<String>::new());
    assert_eq!(broken().then(KIND, 5000, &instance(1, 1, &["Ready"])).lies().len(), 1);
}

#[test]
fn ready_that_nobody_takes_back_is_a_lie() {
    let said = || begun().then(RELEASE, 10, &release(1, true)).then(KIND, 10, &instance(1, 1, &["Ready"]));
    let broken = said().then(RELEASE, 10, &release(1, false));
    assert_eq!(broken.then(REPOSITORY, 100, &source()).lies(), Vec::<String>::new());
    let broken = said().then(RELEASE, 10, &release(1, false)).then(REPOSITORY, 5000, &source());
    assert!(broken.lies().iter().any(|lie| lie.contains("so no more")), "{:?}", broken.lies());
}

/// An instance with these conditions for these reasons, the others False.
fn saying(generation: i64, truths: &[(&str, &str)]) -> Value {
    let types: Vec<&str> = truths.iter().map(|(type_, _)| *type_).collect();
    let mut object = instance(generation, generation, &types);
    for known in object["status"]["conditions"].as_array_mut().expect("a list") {
        let said = truths.iter().find(|(type_, _)| known["type"] == *type_);
        if let Some((_, reason)) = said {
            known["reason"] = json!(reason);
        }
    }
    object
}

/// What Flux says after an action that failed; with what it did then.
fn failed(values: i64, more: &[(&str, &str)]) -> Value {
    let mut object = release(values, false);
    object["status"]["history"][0]["status"] = json!("failed");
    let more = more.iter().map(|(type_, status)| condition(type_, status, values));
    object["status"]["conditions"] =
        std::iter::once(condition("Released", "False", values)).chain(more).collect();
    object
}

/// Installed and well, and an upgrade begun.
fn upgrading() -> Told {
    begun()
        .then(RELEASE, 10, &release(1, true))
        .then(KIND, 10, &instance(1, 1, &["Ready"]))
        .then(KIND, 10, &instance(2, 1, &["Ready"]))
        .then(RELEASE, 10, &release(2, false))
}

fn is_honest(told: &Told) {
    assert_eq!(told.lies(), Vec::<String>::new());
}

fn lies_by(told: &Told, expected: &str) {
    let lies = told.lies();
    assert!(lies.iter().any(|lie| lie.contains(expected)), "{expected}: {lies:?}");
}

const DEGRADED: [(&str, &str); 2] = [("Degraded", "HelmReleaseDegraded"), ("Reconciling", "R")];

#[test]
fn a_degradation_needs_a_failure_after_the_last_success() {
    let degraded = saying(2, &DEGRADED);
    is_honest(&upgrading().then(RELEASE, 10, &failed(2, &[])).then(KIND, 10, &degraded));
    lies_by(&upgrading().then(KIND, 10, &degraded), "had not failed");
    // Every installation shows a release that is not ready yet; that is no failure.
    let mut unready = release(2, false);
    unready["status"]["conditions"] = json!([condition("Ready", "False", 2)]);
    lies_by(&upgrading().then(RELEASE, 10, &unready).then(KIND, 10, &degraded), "had not failed");
    // What failed before the last success is no reason any more.
    let mended = || begun().then(RELEASE, 10, &failed(1, &[])).then(RELEASE, 10, &release(1, true));
    lies_by(&mended().then(KIND, 5000, &saying(1, &DEGRADED)), "had not failed");
}

#[test]
fn what_was_never_well_is_not_degraded() {
    let told = begun().then(RELEASE, 10, &failed(1, &[])).then(KIND, 10, &saying(1, &DEGRADED));
    lies_by(&told, "never well");
}

#[test]
fn a_degradation_that_stays_after_flux_succeeded_again_is_a_lie() {
    let said = || upgrading().then(RELEASE, 10, &failed(2, &[])).then(KIND, 10, &saying(2, &DEGRADED));
    let mended = || said().then(RELEASE, 10, &release(2, true));
    is_honest(&mended().then(REPOSITORY, 1000, &source()));
    lies_by(&mended().then(REPOSITORY, 5000, &source()), "so no more");
}

#[test]
fn a_failed_upgrade_is_told_as_rolled_back_only_if_it_was() {
    let told = || saying(2, &[("Degraded", "UpgradeFailed"), ("Reconciling", "R")]);
    lies_by(&upgrading().then(RELEASE, 10, &failed(2, &[])).then(KIND, 10, &told()), "rolled nothing back");
    let rolled_back = || upgrading().then(RELEASE, 10, &failed(2, &[("Remediated", "True")]));
    is_honest(&rolled_back().then(KIND, 10, &told()));
    // The next try fails too, which takes Flux' word about the first away: nothing has succeeded since.
    is_honest(&rolled_back().then(RELEASE, 3000, &failed(2, &[])).then(KIND, 3000, &told()));
    // A moment after the next success it may still be said.
    is_honest(&rolled_back().then(RELEASE, 10, &release(2, true)).then(KIND, 10, &told()));
}

#[test]
fn a_chart_that_cannot_be_reached_is_a_source_that_flux_cannot_fetch() {
    let told = || saying(1, &[("Degraded", "ChartUnreachable"), ("Reconciling", "R")]);
    lies_by(&begun().then(KIND, 10, &told()), "every source answered");
    let mut away = source();
    away["status"]["conditions"] = json!([condition("FetchFailed", "True", 1)]);
    let away = begun().then(REPOSITORY, 10, &away).then(KIND, 10, &told());
    is_honest(&away);
    lies_by(&away.then(REPOSITORY, 10, &source()).then(RELEASE, 5000, &release(1, false)), "so no more");
}

#[test]
fn a_failure_that_is_told_is_one_of_flux() {
    let told = |reason: &str| {
        let mut told = saying(1, &[("Reconciling", "R")]);
        told["status"]["conditions"][0]["reason"] = json!(reason);
        told
    };
    lies_by(&begun().then(KIND, 10, &told("HelmReleaseFailed")), "had not failed");
    lies_by(&begun().then(KIND, 10, &told("ChartUnreachable")), "every source answered");
    is_honest(&begun().then(RELEASE, 10, &failed(1, &[])).then(KIND, 10, &told("HelmReleaseFailed")));
}

#[test]
fn a_stall_is_one_of_flux_or_of_the_source() {
    let given_up = || saying(1, &[("Stalled", "HelmReleaseFailed")]);
    let tried = || begun().then(RELEASE, 10, &failed(1, &[]));
    lies_by(&tried().then(KIND, 10, &given_up()), "had not given up");
    let stalled = begun().then(RELEASE, 10, &failed(1, &[("Stalled", "True")])).then(KIND, 10, &given_up());
    is_honest(&stalled);
    lies_by(&stalled.then(RELEASE, 10, &release(1, false)).then(REPOSITORY, 5000, &source()), "so no more");
    lies_by(&tried().then(KIND, 10, &saying(1, &[("Stalled", "InvalidSpec")])), "nothing here");
}

#[test]
fn other_degradations_and_blockers_cannot_be() {
    lies_by(&upgrading().then(KIND, 10, &saying(2, &[("Degraded", "Drifted")])), "nothing here");
    lies_by(&upgrading().then(KIND, 10, &saying(2, &[("Blocked", "MissingSecret")])), "nothing here");
}

/// The instance says that its change waits for an approval.
fn unapproved(required: bool) -> Value {
    let waits = [("Blocked", "AwaitingApproval"), ("Reconciling", "ChangePending"), ("Ready", "R")];
    let mut object = saying(2, &waits);
    object["spec"]["approvals"] = json!({"required": required});
    object
}

#[test]
fn an_approval_is_awaited_only_while_flux_does_not_have_the_change() {
    let installed = || begun().then(RELEASE, 10, &release(1, true));
    is_honest(&installed().then(KIND, 10, &unapproved(true)));
    lies_by(&installed().then(KIND, 10, &unapproved(false)), "nothing has to be approved");
    let given = || installed().then(RELEASE, 10, &release(2, true));
    lies_by(&given().then(KIND, 5000, &unapproved(true)), "Flux had the change");
    let kept = installed().then(KIND, 10, &unapproved(true)).then(RELEASE, 10, &release(2, true));
    lies_by(&kept.then(REPOSITORY, 5000, &source()), "so no more");
    // Another version, which only the source has.
    let mut other = unapproved(true);
    other["spec"]["chart"]["version"] = json!("1.1.0");
    other["spec"]["values"]["inline"] = json!({"a": 1});
    is_honest(&installed().then(KIND, 5000, &other));
}

#[test]
fn a_chart_is_missing_only_while_its_source_does_not_have_it() {
    let blocked = || saying(1, &[("Blocked", "MissingChartSource"), ("Stalled", "MissingChartSource")]);
    lies_by(&begun().then(KIND, 10, &blocked()), "its source had it");
    let mut without = source();
    without["status"]["conditions"] = json!([condition("FetchFailed", "True", 1)]);
    let missing = begun().then(REPOSITORY, 10, &without).then(KIND, 10, &blocked());
    is_honest(&missing);
    lies_by(&missing.then(REPOSITORY, 10, &source()).then(RELEASE, 5000, &release(1, false)), "so no more");
}

#[test]
fn a_source_of_somebody_else_has_to_have_the_version() {
    let theirs = |tag: &str| {
        json!({"metadata": {"uid": "t", "name": "theirs"}, "spec": {"ref": {"tag": tag}},
            "status": {"artifact": {"revision": format!("{tag}@sha256:d")}}})
    };
    let blocked = || {
        let mut object = saying(1, &[("Blocked", "MissingChartSource"), ("Stalled", "MissingChartSource")]);
        object["spec"]["chart"]["sourceRef"] = json!({"kind": REPOSITORY, "name": "theirs"});
        object
    };
    is_honest(&Told::new().then(KIND, 0, &blocked()));
    let come = || Told::new().then(KIND, 0, &blocked()).then(REPOSITORY, 5000, &theirs("1.0.0"));
    is_honest(&come().then(KIND, 10, &blocked()));
    lies_by(&come().then(REPOSITORY, 5000, &theirs("1.0.0")), "so no more");
    is_honest(&Told::new().then(REPOSITORY, 0, &theirs("0.9.0")).then(KIND, 5000, &blocked()));
    lies_by(&Told::new().then(REPOSITORY, 0, &theirs("1.0.0")).then(KIND, 5000, &blocked()), "source had it");
    let kept = Told::new().then(REPOSITORY, 0, &theirs("0.9.0")).then(KIND, 10, &blocked());
    let kept = kept.then(REPOSITORY, 10, &theirs("1.0.0"));
    lies_by(&kept.then(REPOSITORY, 5000, &theirs("1.0.0")), "so no more");
}

#[test]
fn what_runs_may_be_ready_while_its_change_is_stalled() {
    let stalled = |truths: &[(&str, &str)]| {
        let mut object = saying(2, truths);
        object["spec"]["chart"]["sourceRef"] = json!({"kind": REPOSITORY, "name": "theirs"});
        object
    };
    let installed = || begun().then(RELEASE, 10, &release(1, true));
    let blocked = [("Ready", "R"), ("Blocked", "MissingChartSource"), ("Stalled", "MissingChartSource")];
    is_honest(&installed().then(KIND, 10, &stalled(&blocked)));
    let told = installed().then(KIND, 10, &stalled(&[("Ready", "R"), ("Stalled", "MissingChartSource")]));
    lies_by(&told, "both True");
}

#[test]
fn a_pause_is_told_with_its_reason() {
    let paused = |reason: &str, spec: &Value| {
        let mut object = saying(1, &[("Suspended", reason), ("Reconciling", "ChangePending")]);
        object["spec"]["suspend"] = spec["suspend"].clone();
        object["spec"]["maintenanceWindows"] = spec["maintenanceWindows"].clone();
        object
    };
    let (by_hand, window) = (json!({"suspend": true}), json!({"maintenanceWindows": [{"name": "w"}]}));
    let mut suspended = release(1, false);
    suspended["spec"]["suspend"] = json!(true);
    let begun = || begun().then(RELEASE, 10, &suspended);
    is_honest(&begun().then(KIND, 10, &paused("MaintenanceWindow", &window)));
    is_honest(&begun().then(KIND, 10, &paused("ManuallySuspended", &by_hand)));
    lies_by(&begun().then(KIND, 10, &paused("ManuallySuspended", &window)), "the spec means");
    lies_by(&begun().then(KIND, 10, &paused("MaintenanceWindow", &json!({}))), "the spec means");
    lies_by(
        &begun().then(KIND, 10, &instance(1, 1, &[])).then(KIND, 10, &{
            let mut object = instance(1, 1, &[]);
            object["spec"]["maintenanceWindows"] = window["maintenanceWindows"].clone();
            object
        }),
        "the spec means Suspended=True/MaintenanceWindow",
    );
}

#[test]
fn a_chart_of_a_classic_repository_is_the_one_that_flux_made_of_it() {
    let chart =
        |version: &str| json!({"spec": {"version": version}, "status": {"artifact": {"revision": version}}});
    let mut deployed = release(1, true);
    deployed["spec"]["chart"] = json!({"spec": {"version": "1.0.0"}});
    deployed["status"]["history"][0]["chartVersion"] = json!("1.0.0");
    deployed["status"]["history"][0]["ociDigest"] = json!(null);
    let told = |version: &str| {
        let begun = Told::new().then(KIND, 0, &instance(1, 1, &["Reconciling"]));
        let begun = begun.then(HELM_CHART, 10, &chart(version)).then(RELEASE, 10, &deployed);
        begun.then(KIND, 10, &instance(1, 1, &["Ready"]))
    };
    is_honest(&told("1.0.0"));
    lies_by(&told("1.1.0"), "had not deployed");
}

#[test]
fn children_belong_to_their_instance_by_label_and_go_before_it() {
    let child =
        |uid: &str| json!({"metadata": {"uid": uid, "labels": {"apps.vworkspace.io/instance-uid": "u"}}});
    let ends = |mut told: Told, kind: &'static str, object: &Value| {
        told = told.then(kind, 10, object);
        told.0.last_mut().expect("a version").is_gone = true;
        told
    };
    let held = || Told::new().then(KIND, 0, &instance(1, 1, &["Reconciling"]));
    for kind in CHILDREN {
        let made = || held().then(kind, 10, &child("c"));
        let right = ends(ends(made(), kind, &child("c")), KIND, &instance(1, 1, &[]));
        is_honest(&right);
        let late = ends(ends(made(), KIND, &instance(1, 1, &[])), kind, &child("c"));
        lies_by(&late, "outlived");
        // Nobody ever took it away.
        lies_by(&ends(made(), KIND, &instance(1, 1, &[])), "outlived");
    }
    let early = Told::new().then(REPOSITORY, 0, &child("c")).then(KIND, 10, &instance(1, 1, &[]));
    lies_by(&early, "before the finalizer");
    lies_by(&held().then(RELEASE, 10, &json!({"metadata": {"uid": "c"}})), "belongs to nobody");
    is_honest(&held().then(REPOSITORY, 10, &json!({"metadata": {"uid": "theirs"}})));
}

#[test]
fn what_was_ready_does_not_stop_to_be_by_looking_at_it() {
    let told = begun().then(RELEASE, 10, &release(1, true)).then(KIND, 10, &instance(1, 1, &["Ready"])).then(
        KIND,
        10,
        &instance(1, 1, &["Reconciling"]),
    );
    assert!(told.lies().iter().any(|lie| lie.contains("Ready went")), "{:?}", told.lies());
}

#[test]
fn each_other_lie_is_found() {
    let mut two_minds = instance(1, 1, &["Reconciling", "Stalled"]);
    let mut incomplete = instance(1, 1, &[]);
    incomplete["status"]["conditions"].as_array_mut().expect("a list").pop();
    let mut early = instance(1, 2, &[]);
    early["status"]["observedGeneration"] = json!(1);
    let mut suspended = instance(1, 1, &["Suspended"]);
    suspended["spec"]["suspend"] = json!(false);
    let mut unheld = instance(1, 1, &[]);
    unheld["metadata"]["finalizers"] = json!([]);
    two_minds["metadata"]["uid"] = json!("v");
    let table = [
        ("both True", Told::new().then(KIND, 0, &two_minds)),
        ("has no condition Stalled", Told::new().then(KIND, 0, &incomplete)),
        ("speaks of generation 2", Told::new().then(KIND, 0, &early)),
        ("the spec means Suspended=False/Active", Told::new().then(KIND, 0, &suspended)),
        ("nobody deleted", Told::new().then(KIND, 0, &instance(1, 1, &["Deleting"]))),
        ("before the finalizer", Told::new().then(KIND, 0, &unheld).then(RELEASE, 0, &release(1, false))),
        (
            "observedGeneration went",
            Told::new().then(KIND, 0, &instance(2, 2, &[])).then(KIND, 0, &instance(2, 1, &[])),
        ),
    ];
    for (expected, told) in table {
        let lies = told.lies();
        assert!(lies.iter().any(|lie| lie.contains(expected)), "{expected}: {lies:?}");
    }
}

/// What one version says after the release was given the first generation's values.
fn beyond(now: &Value) -> Vec<String> {
    beyond_the_release(&Told::new().then(RELEASE, 0, &release(1, true)).then(KIND, 10, now).0)
}

#[test]
fn what_was_refused_is_not_claimed() {
    let says = |generation: i64, type_: &str, reason: &str, truths: &[&str]| {
        let mut object = instance(generation, generation, truths);
        let conditions = object["status"]["conditions"].as_array_mut().expect("a list");
        let known = conditions.iter_mut().find(|known| known["type"] == type_).expect("the type");
        known["reason"] = json!(reason);
        object
    };
    let table = [
        ("the release carries it", says(1, "Ready", "Upgrading", &[]), 0),
        ("it does not", says(2, "Ready", "Upgrading", &[]), 1),
        ("under way", says(2, "Reconciling", "HelmReleaseUpgrading", &["Reconciling"]), 1),
        ("it waits", says(2, "Reconciling", "ChangePending", &["Reconciling", "Ready"]), 0),
        ("done", says(2, "Reconciling", "Stable", &["Ready"]), 1),
        ("given up", says(2, "Reconciling", "Stable", &["Stalled"]), 0),
        ("asleep", says(1, "Suspended", "MaintenanceWindow", &["Suspended"]), 1),
        ("left alone by annotation", says(1, "Suspended", "ReconcilePaused", &["Suspended"]), 0),
    ];
    for (name, now, lies) in table {
        assert_eq!(beyond(&now).len(), lies, "{name}: {:?}", beyond(&now));
    }
    // Nothing was made at all.
    let told = Told::new().then(KIND, 0, &says(1, "Ready", "Installing", &[]));
    assert_eq!(beyond_the_release(&told.0).len(), 1);
    // It is suspended, and it says so.
    let mut release = release(1, true);
    release["spec"]["suspend"] = json!(true);
    let told = Told::new().then(RELEASE, 0, &release);
    let told = told.then(KIND, 0, &says(1, "Suspended", "ManuallySuspended", &["Suspended"]));
    assert_eq!(beyond_the_release(&told.0), Vec::<String>::new());
}
