//! Changes that somebody has to approve.

use agent_protocol::{Claim, PublicKeys, SigningKey};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::json;
use vworkspace_api::application_instance::ApprovedChange;

use super::*;
use crate::controllers::application::observe::Version;

type InstancePlan = Plan<ApplicationInstanceStatus>;

/// A signing key, and rules that trust it.
fn approver() -> (SigningKey, Rules) {
    let key = SigningKey::from_seed(&[7; 32]);
    let approval_keys = PublicKeys::parse(&key.public_key()).unwrap();
    (key, Rules { approval_keys, ..rules() })
}

fn decided(app: &ApplicationInstance, world: &World) -> InstancePlan {
    plan_by(&approver().1, app, world, noon())
}

/// The digest that the message asks to approve.
fn to_approve(plan: &InstancePlan) -> String {
    let message = message(plan, "Blocked");
    let (_, rest) =
        message.split_once(", digest ").unwrap_or_else(|| panic!("nothing to approve in {message}"));
    rest.split([',', '.']).next().unwrap_or_default().to_owned()
}

/// The instance with a claim about what it asks to be approved in this world.
fn approved(app: &ApplicationInstance, world: &World, id: &str, at: &str) -> ApplicationInstance {
    let claim = Claim {
        v: 2,
        id: id.to_owned(),
        cluster: "cluster".to_owned(),
        namespace: "shop".to_owned(),
        kind: "ApplicationInstance".to_owned(),
        uid: app.metadata.uid.clone().unwrap(),
        digest: to_approve(&decided(app, world)),
        by: "admin".to_owned(),
        at: at.parse().unwrap(),
        exp: "2027-01-01T00:00:00Z".parse().unwrap(),
        key: None,
    };
    let token = approver().0.issue(&claim).unwrap();
    edited(app.clone(), |app| app.spec.approvals.claim = Some(token))
}

/// The source that was made to find out which chart there is to approve, when it has.
fn candidate(app: &ApplicationInstance, digest: &str) -> Option<Source> {
    let mut candidate = fetched(app, digest);
    candidate.metadata.name = Some("web-candidate".to_owned());
    Some(candidate)
}

/// Version 1.2.0 runs, 1.3.0 is asked for, and its digest has been looked up.
fn waiting() -> (ApplicationInstance, World) {
    let (app, world) = with("approvals", json!({"required": true}));
    let app = at_version(app, "1.3.0");
    let world = World { candidate: candidate(&app, DIGEST_1_3), ..world };
    (app, world)
}

/// The same with values from a Secret in this version.
fn waiting_with_values(resource_version: &str) -> (ApplicationInstance, World) {
    let (mut app, world) = waiting();
    set(&mut app, "values", json!({"source": "secretRef", "secretRef": {"name": "v", "key": "values.yaml"}}));
    let candidate = candidate(&app, DIGEST_1_3);
    let values = Version { uid: "s".to_owned(), resource_version: resource_version.to_owned() };
    (app, World { candidate, values_object: Some(values), ..world })
}

fn names(plan: &InstancePlan) -> Vec<String> {
    plan.children.iter().map(|child| child.id().to_string()).collect()
}

fn is_awaited(plan: &InstancePlan) -> bool {
    told(plan).contains(&"Blocked: True/AwaitingApproval".to_owned())
}

#[test]
fn a_change_that_needs_approval_waits_for_a_claim_about_exactly_it() {
    let (app, world) = waiting();
    let looking_up = decided(&app, &World { candidate: None, ..world.clone() });
    assert_conditions!(looking_up, { Blocked: True/AwaitingApproval, Ready: True/HelmReleaseReady });
    assert!(message(&looking_up, "Blocked").contains("is being looked up by OCIRepository web-candidate"));
    assert_eq!(names(&looking_up), ["OCIRepository shop/web-candidate"]);
    assert_eq!(looking_up.children[0].at("/spec/ref/tag"), Some(&json!("1.3.0")));

    let waiting = decided(&app, &world);
    assert_conditions!(waiting, { Blocked: True/AwaitingApproval, Ready: True/HelmReleaseReady, Reconciling: True/ChangePending, Stalled: False/NotStalled });
    assert!(message(&waiting, "Blocked").contains(&format!("chart digest {DIGEST_1_3}")));
    assert_eq!(names(&waiting), ["OCIRepository shop/web-candidate"]);

    // It is noted first, and goes out then.
    let app = approved(&app, &world, "c1", "2026-01-01T11:00:00Z");
    let noted = decided(&app, &world);
    assert_conditions!(noted, { Blocked: False/NotBlocked, Ready: True/HelmReleaseReady, Reconciling: True/ChangePending });
    let known = noted.status.last_approved_change.clone().unwrap();
    assert_eq!((known.claim_id.as_deref(), known.chart_digest.as_deref()), (Some("c1"), Some(DIGEST_1_3)));
    assert_eq!((names(&noted), noted.deletions.len()), (vec![], 0));
    let app = after(app, &noted);
    let out = decided(&app, &world);
    assert_conditions!(out, { Blocked: False/NotBlocked, Ready: False/Upgrading });
    assert_eq!(names(&out), ["OCIRepository shop/web", "HelmRelease shop/web"]);
    assert_eq!(out.children[0].at("/spec/ref"), Some(&json!({"tag": "1.3.0", "digest": DIGEST_1_3})));
    let gone: Vec<_> = out.deletions.iter().map(|deletion| deletion.id().to_string()).collect();
    assert_eq!(gone, ["OCIRepository shop/web-candidate"]);
    assert_eq!(out.status.last_approved_change, Some(known));
}

#[test]
fn another_default_account_is_a_change_that_waits_for_its_approval() {
    let (_, rules) = approver();
    let (app, world) = with("approvals", json!({"required": true}));
    let before = plan_by(&rules, &app, &world, noon());
    assert_conditions!(before, { Blocked: False/NotBlocked, Reconciling: False/Stable });
    let rules = Rules { default_service_account: Some("tenant".to_owned()), ..rules };
    let waiting = plan_by(&rules, &app, &world, noon());
    assert_conditions!(waiting, { Blocked: True/AwaitingApproval, Ready: True/HelmReleaseReady, Reconciling: True/ChangePending });
    assert_eq!(names(&waiting), ["OCIRepository shop/web-candidate"]);
}

#[test]
fn a_claim_counts_only_for_the_chart_and_the_values_that_it_was_given_for() {
    let (app, world) = waiting_with_values("7");
    let app = approved(&app, &world, "c1", "2026-01-01T11:00:00Z");
    let of_another_source = candidate(&instance(), DIGEST_1_3);
    let mut behind = candidate(&app, DIGEST_1_3);
    behind.as_mut().unwrap().metadata.generation = Some(2);
    let values = |uid: &str, version: &str| {
        Some(Version { uid: uid.to_owned(), resource_version: version.to_owned() })
    };
    let table = [
        ("nothing has changed", world.clone(), false),
        (
            "the tag was pushed again",
            World { candidate: candidate(&app, "sha256:14"), ..world.clone() },
            true,
        ),
        ("the Secret was changed", World { values_object: values("s", "8"), ..world.clone() }, true),
        ("the Secret is another one", World { values_object: values("t", "7"), ..world.clone() }, true),
        ("the Secret is not seen", World { values_object: None, ..world.clone() }, true),
        ("the chart is not looked up", World { candidate: None, ..world.clone() }, true),
        ("another chart was looked up", World { candidate: of_another_source, ..world.clone() }, true),
        ("it is looked up again", World { candidate: behind, ..world.clone() }, true),
    ];
    for (name, world, is_missing) in table {
        let plan = decided(&app, &world);
        assert_eq!(is_awaited(&plan), is_missing, "{name}");
        assert_eq!(plan.status.last_approved_change.is_none(), is_missing, "{name}");
    }
    let mut other = at_version(app, "1.4.0");
    let world = World { candidate: candidate(&other, DIGEST_1_3), ..world };
    assert!(is_awaited(&decided(&other, &world)), "another version");
    set(&mut other, "approvals", json!({"required": true}));
    assert!(message(&decided(&other, &world), "Blocked").contains("there is no approval claim"));
}

#[test]
fn a_tag_that_is_pushed_again_after_the_approval_changes_nothing() {
    let (app, world) = waiting();
    let app = approved(&app, &world, "c1", "2026-01-01T11:00:00Z");
    let app = after(app.clone(), &decided(&app, &world));
    // Flux is done; it tells a chart that was asked for by its digest without a tag.
    let mut source = fetched(&app, DIGEST_1_3);
    source.spec.reference.digest = DIGEST_1_3.to_owned();
    source.status.artifact.as_mut().unwrap().revision = DIGEST_1_3.to_owned();
    let done = super::world(source, released(&app, "1.3.0+13", DIGEST_1_3));
    let plan = decided(&app, &done);
    assert_conditions!(plan, { Ready: True/HelmReleaseReady, Reconciling: False/Stable, Blocked: False/NotBlocked });
    let pin = json!({"tag": "1.3.0", "digest": DIGEST_1_3});
    assert_eq!(plan.children[0].at("/spec/ref"), Some(&pin));
    // Also when nobody has to approve any more; but not for another change.
    let lifted = edited(after(app, &plan), |app| app.spec.approvals.required = false);
    assert_eq!(decided(&lifted, &done).children[0].at("/spec/ref"), Some(&pin));
    let other = at_version(lifted, "1.4.0");
    assert_eq!(decided(&other, &done).children[0].at("/spec/ref"), Some(&json!({"tag": "1.4.0"})));
}

#[test]
fn an_approval_is_compared_when_the_change_goes_out_and_not_when_it_was_given() {
    let (mut app, world) = waiting_with_values("7");
    set(
        &mut app,
        "maintenanceWindows",
        json!([{"name": "night", "schedule": "0 11 * * *", "duration": "2h"}]),
    );
    let app = approved(&app, &world, "c1", "2026-01-01T11:00:00Z");
    let inside = decided(&app, &world);
    assert_conditions!(inside, { Suspended: True/MaintenanceWindow, Blocked: False/NotBlocked });
    assert_eq!(inside.status.last_approved_change, None);
    assert!(
        inside.temporary_watches.iter().any(|temporary_watch| temporary_watch.kind() == "Secret"),
        "it may still change"
    );
    let app = after(app, &inside);
    let later = |world: &World| plan_by(&approver().1, &app, world, "2026-01-01T13:00:00Z".parse().unwrap());
    assert!(later(&world).status.last_approved_change.is_some());
    let values = Some(Version { uid: "s".to_owned(), resource_version: "8".to_owned() });
    assert!(is_awaited(&later(&World { values_object: values, ..world })));
}

#[test]
fn values_are_looked_at_only_while_an_approval_names_their_version() {
    let (app, world) = waiting_with_values("7");
    let looks = |plan: &InstancePlan| {
        plan.temporary_watches.iter().any(|temporary_watch| temporary_watch.kind() == "Secret")
    };
    assert!(looks(&decided(&app, &world)));
    let app = approved(&app, &world, "c1", "2026-01-01T11:00:00Z");
    let app = after(app.clone(), &decided(&app, &world));
    assert!(!looks(&decided(&app, &world)));
    let unasked = edited(app, |app| app.spec.approvals.required = false);
    assert!(!looks(&decided(&unasked, &world)));
}

#[test]
fn nothing_but_the_status_is_written_while_the_annotation_pauses() {
    let (mut app, world) = waiting();
    app.metadata.annotations =
        Some([("apps.vworkspace.io/reconcile".to_owned(), "disabled".to_owned())].into());
    let plan = decided(&app, &World { candidate: None, ..world });
    assert!(is_awaited(&plan));
    assert_eq!(plan.children, []);
}

#[test]
fn the_chart_of_a_referenced_source_is_part_of_the_approval_and_that_of_a_classic_repository_is_not() {
    let (mut app, world) = with("approvals", json!({"required": true}));
    let reference =
        json!({"sourceRef": {"kind": "OCIRepository", "name": "charts"}, "name": "web", "version": "1.3.0"});
    set(&mut app, "chart", reference);
    let having = |digest: &str| {
        let mut source = fetched(&app, digest);
        source.spec.url = "oci://registry.example/web".to_owned();
        source.spec.reference.tag = "1.3.0".to_owned();
        World { source: Seen::Known(Sight::Present(source)), ..world.clone() }
    };
    let claimed = approved(&app, &having(DIGEST_1_2), "c1", "2026-01-01T11:00:00Z");
    assert!(!is_awaited(&decided(&claimed, &having(DIGEST_1_2))));
    assert!(is_awaited(&decided(&claimed, &having(DIGEST_1_3))));
    assert_eq!(
        names(&decided(&app, &having(DIGEST_1_2))),
        Vec::<String>::new(),
        "there is nothing to look up"
    );

    let classic =
        json!({"sourceType": "helm", "url": "https://charts.example", "name": "web", "version": "1.3.0"});
    set(&mut app, "chart", classic);
    let plan = decided(&app, &empty());
    assert!(!message(&plan, "Blocked").contains("chart digest"));
    assert!(!is_awaited(&decided(&approved(&app, &empty(), "c1", "2026-01-01T11:00:00Z"), &empty())));
}

#[test]
fn why_a_digest_cannot_be_looked_up_is_told() {
    let (app, world) = waiting();
    let mut failing = candidate(&app, DIGEST_1_3).unwrap();
    failing.status.artifact = None;
    failing.status.conditions = says(&[("FetchFailed", "True", "OCIArtifactPullFailed", "MANIFEST_UNKNOWN")]);
    let words =
        "failed to apply OCIRepository shop/web-candidate: it exists and belongs to nobody".to_owned();
    let object = "OCIRepository shop/web-candidate".to_owned();
    let refusals = vec![Refusal { object, deed: Deed::Make, cause: Cause::Owned, message: words }];
    let table = [
        (World { candidate: Some(failing), ..world.clone() }, "So far: MANIFEST_UNKNOWN"),
        (World { candidate: None, refusals, ..world }, "it exists and belongs to nobody"),
    ];
    for (world, expected) in table {
        let told = message(&decided(&app, &world), "Blocked");
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn what_the_policy_requires_the_spec_cannot_lift_and_what_the_spec_requires_neither_can_the_policy() {
    let policy =
        |text: &str| CatalogPolicy::read(&[("requiredApprovals".to_owned(), text.to_owned())].into());
    let table = [
        (false, "", false),
        (true, "", true),
        (true, "- namespaces: [elsewhere]", true),
        (false, "- namespaces: [elsewhere]", false),
        (false, "- {}", true),
        (false, "- {namespaces: [shop], catalogIds: [web]}", true),
    ];
    for (of_spec, of_policy, required) in table {
        let (app, world) = with("approvals", json!({"required": of_spec}));
        let world = World { policy: policy(of_policy), ..world };
        let plan = plan(&at_version(app.clone(), "1.3.0"), &world, noon());
        let is_blocked = told(&plan).contains(&"Blocked: True/AwaitingApproval".to_owned());
        assert_eq!(is_blocked, required, "{of_spec} {of_policy}");
        assert_eq!(
            message(&plan, "Blocked").contains("catalog policy"),
            required && !of_policy.contains("else") && !of_policy.is_empty()
        );
        // What Flux has already needs none.
        assert_conditions!(super::plan(&app, &world, noon()), { Blocked: False/NotBlocked });
    }
    let (app, world) = with("approvals", json!({"required": false}));
    let world = World { policy: policy("namespaces: [elsewhere]"), ..world };
    assert_conditions!(plan(&at_version(app, "1.3.0"), &world, noon()), { Blocked: True/PolicyDenied });
}

#[test]
fn an_old_claim_does_not_bring_an_old_change_back() {
    let (app, world) = waiting();
    let mut app = approved(&app, &world, "c1", "2026-01-01T10:00:00Z");
    let later = |time: &str| {
        Some(ApprovedChange {
            digest: "another".to_owned(),
            change: Some("another".to_owned()),
            chart_digest: None,
            claim_id: Some("c2".to_owned()),
            approved_at: Some(Time(time.parse().unwrap())),
            time: Time(noon()),
        })
    };
    app.status.as_mut().unwrap().last_approved_change = later("2026-01-01T11:00:00Z");
    assert!(is_awaited(&decided(&app, &world)));
    app.status.as_mut().unwrap().last_approved_change = later("2026-01-01T09:00:00Z");
    let noted = decided(&app, &world);
    assert_eq!(noted.status.last_approved_change.as_ref().unwrap().claim_id.as_deref(), Some("c1"));
    assert_conditions!(decided(&after(app, &noted), &world), { Ready: False/Upgrading });
}

#[test]
fn the_chart_that_flux_has_stays_pinned_although_another_change_was_approved_since() {
    let (app, world) = waiting();
    let app = approved(&app, &world, "c1", "2026-01-01T11:00:00Z");
    let mut app = after(app.clone(), &decided(&app, &world));
    let mut source = fetched(&app, DIGEST_1_3);
    source.spec.reference.digest = DIGEST_1_3.to_owned();
    let done = super::world(source, released(&app, "1.3.0", DIGEST_1_3));
    // Another one was noted, did not go out, and was taken back.
    let noted = app.status.as_mut().unwrap().last_approved_change.as_mut().unwrap();
    noted.change = Some("another".to_owned());
    let plan = decided(&app, &done);
    let pin = json!({"tag": "1.3.0", "digest": DIGEST_1_3});
    assert_eq!(plan.children[0].at("/spec/ref"), Some(&pin));
}
