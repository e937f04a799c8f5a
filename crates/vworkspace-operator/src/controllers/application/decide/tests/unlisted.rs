//! Kinds that cannot be listed hide what they have, and nothing more.

use serde_json::json;
use vworkspace_api::application_instance::Endpoint;

use super::*;

#[test]
fn a_release_that_cannot_be_listed_is_not_taken_for_absent() {
    let (app, known) = running();
    let why = || "helmreleases.helm.toolkit.fluxcd.io cannot be listed: forbidden".to_owned();
    let hidden = World { release: Sight::Unknown(why()), ..known };
    let plan = plan(&app, &hidden, noon());
    assert_conditions!(plan, { Ready: Unknown/Reconciling, Blocked: True/MissingDependencies });
    assert!(plan.children.is_empty() && plan.deletions.is_empty(), "nothing is done blindly");
    assert!(plan.status.conditions.get("Ready").unwrap().message.contains("cannot be listed"));
}

#[test]
fn an_optional_kind_that_cannot_be_listed_holds_back_only_who_asks_for_it() {
    let (app, known) = running();
    let why = || "the conversion webhook does not answer".to_owned();
    let hidden = World {
        certificates: Found::Unlisted(why()),
        external_secrets: Found::Unlisted(why()),
        services: Found::Unlisted(why()),
        ingresses: Found::Unlisted(why()),
        is_drift_seen: false,
        ..known
    };
    assert_conditions!(plan(&app, &hidden, noon()), { Ready: True/HelmReleaseReady, Blocked: False/NotBlocked });
    let asking = edited(app, |app| app.spec.integrations.cert_manager.enabled = true);
    let plan = plan(&asking, &hidden, noon());
    assert_conditions!(plan, { Blocked: True/MissingDependencies });
    let message = &plan.status.conditions.get("Blocked").unwrap().message;
    assert!(message.contains("webhook does not answer, and spec.integrations.certManager"), "{message}");
}

#[test]
fn what_was_seen_stays_said_while_it_cannot_be_listed() {
    let (app, known) = running();
    let endpoint =
        Endpoint { name: "web".to_owned(), url: "http://web".to_owned(), type_: None, notes: None };
    let app = edited(app, |app| app.status.as_mut().unwrap().endpoints = vec![endpoint.clone()]);
    let told = |world: &World| plan(&app, world, noon()).status.endpoints;
    let hidden = World { services: Found::Unlisted("no".to_owned()), ..known.clone() };
    assert_eq!((told(&hidden), told(&known)), (vec![endpoint], vec![]));

    let drifted = Drift { seen_at: noon(), message: "ConfigMap/shop/web changed".to_owned() };
    let app = after(app.clone(), &plan(&app, &World { drift: Some(drifted), ..known.clone() }, noon()));
    let unseen = World { is_drift_seen: false, ..known.clone() };
    assert_conditions!(plan(&app, &unseen, noon()), { Degraded: True/Drifted });
    assert_conditions!(plan(&app, &known, noon()), { Degraded: False/Recovered });

    let certificate = serde_json::from_value(json!({"metadata": {"name": "web", "namespace": "shop"},
        "spec": {"secretName": "web-tls", "issuerRef": {"name": "letsencrypt"}}}));
    let issuing = World { certificates: Found::Objects(vec![certificate.unwrap()]), ..known.clone() };
    let waiting = after(app.clone(), &plan(&app, &issuing, noon()));
    let unseen = World { certificates: Found::Unlisted("no".to_owned()), ..known.clone() };
    assert_conditions!(plan(&waiting, &unseen, noon()), { Ready: False/WaitingForCertificate });
    // Something else that is reported first does not make it forgotten.
    let Sight::Present(mut release) = known.release.clone() else { panic!("no release") };
    release.status.conditions = says(&[
        ("Ready", "False", "UpgradeFailed", "timed out"),
        ("Released", "False", "UpgradeFailed", "timed out"),
        ("Stalled", "True", "RetriesExceeded", "Failed to upgrade"),
    ]);
    let failed = plan(&waiting, &World { release: Sight::Present(release), ..unseen.clone() }, noon());
    assert_conditions!(failed, { Ready: False/HelmReleaseFailed });
    assert_conditions!(plan(&after(waiting.clone(), &failed), &unseen, noon()), { Ready: False/WaitingForCertificate });
    let none = World { certificates: Found::Objects(Vec::new()), ..known };
    assert_conditions!(plan(&waiting, &none, noon()), { Ready: True/HelmReleaseReady });
}
