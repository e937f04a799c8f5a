//! Changes that somebody has to approve.

use agent_protocol::{Claim, PublicKeys, SigningKey};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::json;
use vworkspace_api::application_instance::ApprovedChange;

use super::beyond_flux::{message, with};
use super::*;

/// A signing key, and rules that trust it.
fn approver() -> (SigningKey, Rules) {
    let key = SigningKey::from_seed(&[7; 32]);
    let approval_keys = PublicKeys::parse(&key.public_key()).unwrap();
    (key, Rules { approval_keys, ..rules() })
}

fn claim(app: &ApplicationInstance, id: &str, at: &str) -> Claim {
    Claim {
        v: 2,
        id: id.to_owned(),
        cluster: "cluster".to_owned(),
        namespace: "shop".to_owned(),
        kind: "ApplicationInstance".to_owned(),
        uid: app.metadata.uid.clone().unwrap(),
        digest: Order::of(app).unwrap().change().to_owned(),
        by: "admin".to_owned(),
        at: at.parse().unwrap(),
        exp: "2027-01-01T00:00:00Z".parse().unwrap(),
        key: None,
    }
}

#[test]
fn a_change_that_needs_approval_waits_for_a_claim_about_exactly_it() {
    let (key, rules) = approver();
    let (app, world) = with("approvals", json!({"required": true}));
    let app = at_version(app, "1.3.0");
    let waiting = super::super::plan(&app, &world, &rules, noon());
    assert_conditions!(waiting, { Blocked: True/AwaitingApproval, Ready: True/HelmReleaseReady, Reconciling: True/ChangePending, Stalled: False/NotStalled });
    assert!(message(&waiting, "Blocked").contains(Order::of(&app).unwrap().change()));
    assert_eq!(waiting.children, []);

    let token = key.issue(&claim(&app, "c1", "2026-01-01T11:00:00Z")).unwrap();
    let mut approved = app.clone();
    approved.spec.approvals.claim = Some(token.clone());
    let plan = super::super::plan(&approved, &world, &rules, noon());
    assert_conditions!(plan, { Blocked: False/NotBlocked, Ready: False/Upgrading });
    assert_eq!(plan.status.last_approved_change.unwrap().claim_id.as_deref(), Some("c1"));

    let mut other = at_version(app, "1.4.0");
    other.spec.approvals.claim = Some(token);
    assert_conditions!(super::super::plan(&other, &world, &rules, noon()), { Blocked: True/AwaitingApproval });
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
fn an_approval_is_noted_also_by_an_operator_that_died_after_handing_the_change_over() {
    let (key, rules) = approver();
    let (app, _) = with("approvals", json!({"required": true}));
    let mut app = at_version(app, "1.3.0");
    app.spec.approvals.claim = Some(key.issue(&claim(&app, "c1", "2026-01-01T11:00:00Z")).unwrap());
    let handed_over = world(fetched(&app, DIGEST_1_3), new_release(&app));
    let plan = super::super::plan(&app, &handed_over, &rules, noon());
    assert_eq!(plan.status.last_approved_change.unwrap().claim_id.as_deref(), Some("c1"));
}

#[test]
fn an_old_claim_does_not_bring_an_old_change_back() {
    let (key, rules) = approver();
    let (mut app, world) = with("approvals", json!({"required": true}));
    app = at_version(app, "1.3.0");
    app.spec.approvals.claim = Some(key.issue(&claim(&app, "c1", "2026-01-01T10:00:00Z")).unwrap());
    let later = |time: &str| {
        Some(ApprovedChange {
            digest: "another".to_owned(),
            claim_id: Some("c2".to_owned()),
            approved_at: Some(Time(time.parse().unwrap())),
            time: Time(noon()),
        })
    };
    app.status.as_mut().unwrap().last_approved_change = later("2026-01-01T11:00:00Z");
    assert_conditions!(super::super::plan(&app, &world, &rules, noon()), { Blocked: True/AwaitingApproval });
    app.status.as_mut().unwrap().last_approved_change = later("2026-01-01T09:00:00Z");
    assert_conditions!(super::super::plan(&app, &world, &rules, noon()), { Ready: False/Upgrading });
}
