//! What is worse than it was, and when that is over.

use serde_json::json;
use vworkspace_api::application_instance::Degraded;

use super::readiness::{check, unsynced};
use super::*;
use crate::controllers::application::decide::status::moment;
use crate::controllers::application::polls::readiness::Checked;
use crate::external::external_secrets::Presence;

#[test]
fn drift_is_told_for_two_intervals_and_not_after_a_new_release() {
    let (app, world) = running();
    let drift = |seen_at: &str| {
        Some(Drift { message: "x\nConfigMap/shop/web changed".to_owned(), seen_at: seen_at.parse().unwrap() })
    };
    // The interval is five minutes.
    let fresh = World { drift: drift("2026-01-01T11:51:00Z"), ..world.clone() };
    let drifted = plan(&app, &fresh, noon());
    assert_conditions!(drifted, { Ready: True/HelmReleaseReady, Degraded: True/Drifted });
    assert_eq!(message(&drifted, "Degraded"), "ConfigMap/shop/web changed");
    assert_eq!(drifted.requeue_at, Some("2026-01-01T12:01:00Z".parse().unwrap()));
    let app = after(app, &drifted);
    let old = World { drift: drift("2026-01-01T11:50:00Z"), ..world.clone() };
    assert_conditions!(plan(&app, &old, noon()), { Degraded: False/Recovered });

    let Sight::Present(mut release) = world.release.clone() else { panic!("no release") };
    release.status.history[0].last_deployed = Some(Time("2026-01-01T11:55:00Z".parse().unwrap()));
    let released_since = World { release: Sight::Present(release.clone()), ..fresh.clone() };
    assert_conditions!(plan(&app, &released_since, noon()), { Degraded: False/Recovered });
    release.status.history[0].last_deployed = Some(Time("2026-01-01T11:51:00Z".parse().unwrap()));
    let found_by_it = World { release: Sight::Present(release), ..fresh };
    assert_conditions!(plan(&app, &found_by_it, noon()), { Degraded: True/Drifted });
}

#[test]
fn a_source_that_stays_away_degrades_and_a_source_that_is_back_recovers() {
    let (app, world) = running();
    let Seen::Known(Sight::Present(mut source)) = world.source.clone() else { panic!("no source") };
    source.status.conditions =
        says(&[("FetchFailed", "True", "OCIArtifactPullFailed", "connection refused")]);
    let since = |time: &str| {
        let mut source = source.clone();
        source.status.conditions[0].last_transition_time = Some(Time(time.parse().unwrap()));
        World { source: Seen::Known(Sight::Present(source)), ..world.clone() }
    };
    let short = plan(&app, &since("2026-01-01T11:56:00Z"), noon());
    assert_conditions!(short, { Ready: True/HelmReleaseReady, Degraded: False/NotDegraded });
    assert_eq!(short.requeue_at, Some("2026-01-01T12:01:00Z".parse().unwrap()));
    let long = plan(&app, &since("2026-01-01T11:55:00Z"), noon());
    assert_conditions!(long, { Ready: True/HelmReleaseReady, Degraded: True/ChartUnreachable });
    assert_conditions!(plan(&after(app, &long), &world, noon()), { Degraded: False/Recovered });
}

#[test]
fn drift_and_checks_that_nobody_sees_any_more_do_not_stay_degraded() {
    let (app, world) = running();
    let fails = World { checks: vec![check(Some(Checked::Fails("no".to_owned())))], ..world.clone() };
    let degraded = after(app.clone(), &plan(&app, &fails, noon()));
    let upgrading = at_version(degraded, "1.3.0");
    let asked = plan(&upgrading, &fails, noon());
    assert_conditions!(asked, { Degraded: True/EndpointUnreachable });
    assert_eq!(asked.polls.len(), 1, "asked until it answers");
    let answers = World { checks: vec![check(Some(Checked::Passes))], ..world.clone() };
    assert_conditions!(plan(&after(upgrading, &asked), &answers, noon()), { Degraded: False/Recovered });

    let drift = Some(Drift { message: "x\ny".to_owned(), seen_at: noon() });
    let drifted = after(app.clone(), &plan(&app, &World { drift, ..world.clone() }, noon()));
    assert_conditions!(plan(&at_version(drifted, "1.3.0"), &world, noon()), { Degraded: False/Recovered });
}

#[test]
fn trouble_that_was_seen_is_not_over_because_nobody_can_look() {
    let unlisted = || "cannot be listed".to_owned();
    let (app, known) = running();
    let missing = World { external_secrets: unsynced(Presence::Absent), ..known.clone() };
    let waiting = after(app.clone(), &plan(&app, &missing, noon()));
    let unseen = World { external_secrets: Found::Unlisted(unlisted()), ..known.clone() };
    assert_conditions!(plan(&waiting, &unseen, noon()), { Ready: False/WaitingForSecret, Blocked: True/MissingSecret });
    assert_conditions!(plan(&app, &unseen, noon()), { Ready: True/HelmReleaseReady, Blocked: False/NotBlocked });
    let first = instance();
    let installed = World {
        external_secrets: Found::Unlisted(unlisted()),
        ..world(fetched(&first, DIGEST_1_2), released(&first, "1.2.0", DIGEST_1_2))
    };
    assert_conditions!(plan(&first, &installed, noon()), { Ready: True/HelmReleaseReady });

    let (asking, known) = with("integrations", json!({"ingress": {"enabled": true}}));
    let unserved = plan(&asking, &known, noon());
    assert_conditions!(unserved, { Ready: False/EndpointUnreachable, Degraded: True/EndpointUnreachable });
    let unseen = World { ingresses: Found::Unlisted(unlisted()), ..known.clone() };
    let still = plan(&after(asking, &unserved), &unseen, noon());
    assert_conditions!(still, { Ready: False/EndpointUnreachable, Degraded: True/EndpointUnreachable });

    let mut degraded = app;
    let at = moment(&degraded, noon());
    let conditions = &mut degraded.status.as_mut().unwrap().conditions;
    conditions.set(Degraded::ChartUnreachable, "no answer", at);
    let unseen = World { source: Seen::Known(Sight::Unknown(unlisted())), ..known.clone() };
    assert_conditions!(plan(&degraded, &unseen, noon()), { Degraded: True/ChartUnreachable });
    assert_conditions!(plan(&degraded, &known, noon()), { Degraded: False/Recovered });
}
