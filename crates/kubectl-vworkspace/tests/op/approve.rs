//! `op approve`: the claim verifies, and is about exactly what was shown.

use std::path::PathBuf;

use agent_protocol::{Expected, PublicKeys, Refused, SigningKey, digest_of};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::server::{Answer, Asked, Cluster, OPERATIONS, absent, condition, operation, refusal, scratch};

const INSTANCES: &str = "/apis/apps.vworkspace.io/v1alpha1/namespaces/shop/applicationinstances";
const SEED: [u8; 32] = [7; 32];

fn key(name: &str) -> (PathBuf, PublicKeys) {
    let (key, path) = (SigningKey::from_seed(&SEED), scratch(name));
    std::fs::write(&path, key.to_pem().as_bytes()).unwrap();
    #[cfg(unix)]
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    (path, PublicKeys::parse(&key.public_key()).unwrap())
}

fn message(uid: &str, digest: &str, more: &str) -> String {
    format!(
        "spec.approvals.claim: there is no approval claim; expected one that starts with vws2. To approve: cluster lab, uid {uid}, digest {digest}{more}."
    )
}

/// A restore that waits, and the digest that the operator asks to approve.
fn restore() -> (Value, String) {
    let mut restore = operation("back", "Restore", "velero", Value::Null);
    restore["spec"]["parameters"] = json!({"backupName": "nightly"});
    let digest = digest_of(&restore["spec"]);
    restore["spec"]["approvals"] = json!({"required": true});
    restore["spec"]["ttlAfterFinished"] = json!("24h");
    restore["status"] = json!({"conditions": [condition("Blocked", "True", "AwaitingApproval", &message("back-uid", &digest, ""), "2026-01-02T03:00:01Z")]});
    (restore, digest)
}

fn instance(digest: &str) -> Value {
    let said = message("web-uid", digest, ", chart digest sha256:1");
    json!({
        "apiVersion": "apps.vworkspace.io/v1alpha1", "kind": "ApplicationInstance",
        "metadata": {"name": "web", "namespace": "shop", "uid": "web-uid", "resourceVersion": "9", "generation": 1},
        "spec": {"chart": {"version": "1.3.0"}, "approvals": {"required": true}},
        "status": {"lastApprovedChange": {"approvedAt": "2126-01-02T03:00:01Z"},
            "conditions": [condition("Blocked", "True", "AwaitingApproval", &said, "2026-01-02T03:00:01Z")]},
    })
}

fn with(path: &'static str, object: Value) -> Cluster {
    Cluster::start(move |Asked { method, path: asked, .. }, _| match method.as_str() {
        "GET" | "PATCH" if asked.starts_with(path) => Answer::Json(200, object.clone()),
        _ => absent("nothing is recorded"),
    })
}

#[test]
fn an_operation_is_approved_as_it_is_and_nothing_else_is() {
    let (restore, digest) = restore();
    let cluster = with(OPERATIONS, restore);
    let (path, public) = key("operation.pem");
    let run = cluster.run(&["approve", "back", "--key", path.to_str().unwrap(), "--yes", "--for", "30m"]);
    assert_eq!(run.exit, Some(0), "{}", run.err);
    assert!(run.out.starts_with("Operation back approved (claim back-"), "{}", run.out);
    for shown in ["backupName: nightly", "type: Restore", "cluster lab", &digest, "by \"ada\""] {
        assert!(run.err.contains(shown), "{shown}: {}", run.err);
    }
    let patch = cluster.written().pop().unwrap();
    assert_eq!(patch["metadata"], json!({"resourceVersion": "7"}));
    let token = patch["spec"]["approvals"]["claim"].as_str().unwrap();
    assert_eq!(patch["spec"], json!({"approvals": {"claim": token}}));

    let expected =
        Expected { cluster: "lab", namespace: "shop", kind: "Operation", uid: "back-uid", digest: &digest };
    let now = Timestamp::now();
    let claim = public.verify(token, &expected, now).unwrap();
    assert_eq!((claim.by.as_str(), claim.exp.as_second() - claim.at.as_second()), ("ada", 1800));
    assert!((claim.at.as_second() - now.as_second()).abs() < 30);
    let other = digest_of(&json!({}));
    for wrong in [
        Expected { cluster: "other", ..expected },
        Expected { namespace: "other", ..expected },
        Expected { kind: "ApplicationInstance", ..expected },
        Expected { uid: "other", ..expected },
        Expected { digest: &other, ..expected },
    ] {
        assert!(public.verify(token, &wrong, now).is_err(), "{wrong:?}");
    }
    let later = Timestamp::from_second(claim.exp.as_second() + 1).unwrap();
    assert!(matches!(public.verify(token, &expected, later), Err(Refused::Expired { .. })));
}

#[test]
fn an_application_is_approved_after_its_last_approval_and_printed_claims_are_not_sent() {
    let digest = "0123456789abcdef".repeat(4);
    let cluster = with(INSTANCES, instance(&digest));
    let (path, public) = key("instance.pem");
    let arguments = [
        "approve",
        "web",
        "--kind",
        "applicationinstance",
        "--key",
        path.to_str().unwrap(),
        "--by",
        "eve",
        "--yes",
    ];
    let run = cluster.run(&[&arguments[..], &["--print"]].concat());
    assert_eq!(run.exit, Some(0), "{}", run.err);
    assert_eq!(cluster.written(), [Value::Null; 0]);
    let expected = Expected {
        cluster: "lab",
        namespace: "shop",
        kind: "ApplicationInstance",
        uid: "web-uid",
        digest: &digest,
    };
    let claim = public.verify(&run.out, &expected, Timestamp::now()).unwrap();
    let last: Timestamp = "2126-01-02T03:00:01Z".parse().unwrap();
    assert_eq!((claim.by.as_str(), claim.at.as_second()), ("eve", last.as_second() + 1));
    assert_eq!(cluster.run(&arguments).exit, Some(0));
    assert_eq!(cluster.written()[0]["metadata"], json!({"resourceVersion": "9"}));
}

#[test]
fn what_cannot_be_approved_is_told_and_not_signed() {
    let (good, digest) = restore();
    let (path, _) = key("refused.pem");
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut object = good.clone();
        change(&mut object);
        object
    };
    let other = digest_of(&json!({}));
    let cases = [
        (
            changed(&|object| object["status"] = json!({})),
            "Operation back: found no Blocked=True/AwaitingApproval",
        ),
        (
            changed(&|object| object["metadata"]["generation"] = json!(2)),
            "the status is about generation 1; expected 2",
        ),
        (
            changed(&|object| object["metadata"]["uid"] = json!("new")),
            "the status is about uid back-uid; expected new",
        ),
        (
            changed(&|object| {
                object["status"]["conditions"][0]["message"] = json!("The digest is being looked up.");
            }),
            "does not say yet what there is to approve",
        ),
        (
            changed(&|object| {
                object["status"]["conditions"][0]["message"] = json!(message("back-uid", &other, ""));
            }),
            "expected it",
        ),
        (
            changed(&|object| object["spec"]["parameters"]["backupName"] = json!("another")),
            "the digest of the spec that is there",
        ),
    ];
    for (object, wanted) in cases {
        let cluster = with(OPERATIONS, object);
        let run = cluster.run(&["approve", "back", "--key", path.to_str().unwrap(), "--yes", "--print"]);
        let wanted = if wanted == "expected it" { format!("expected {digest}") } else { wanted.to_owned() };
        assert!(run.err.contains(&wanted), "{wanted}: {}", run.err);
        assert_eq!((run.out.as_str(), run.exit), ("", Some(3)), "{wanted}");
        assert_eq!(cluster.written(), [Value::Null; 0]);
    }
}

#[test]
fn without_a_terminal_it_asks_for_yes_and_reads_nothing() {
    let cluster = with(OPERATIONS, restore().0);
    let (path, _) = key("asked.pem");
    let run = cluster.run(&["approve", "back", "--key", path.to_str().unwrap()]);
    assert_eq!(run.err, "error: found no terminal to ask at; expected --yes where nobody can be asked\n");
    assert_eq!((run.exit, cluster.asked().len()), (Some(3), 0));
}

#[test]
fn who_changed_it_meanwhile_is_not_overwritten() {
    let object = restore().0;
    let cluster = Cluster::start(move |asked, _| match asked.method.as_str() {
        "GET" => Answer::Json(200, object.clone()),
        _ => refusal(409, "Conflict", "the object has been modified"),
    });
    let (path, _) = key("conflict.pem");
    let run = cluster.run(&["approve", "back", "--key", path.to_str().unwrap(), "--yes"]);
    assert!(
        run.err.contains("Operation back was changed while you looked at it; nothing was approved"),
        "{}",
        run.err
    );
    assert_eq!(run.exit, Some(3));
}

#[test]
fn a_bad_key_is_told_without_quoting_it() {
    let cluster = with(OPERATIONS, restore().0);
    let absent = cluster.run(&["approve", "back", "--key", "/nonexistent", "--yes"]);
    assert!(absent.err.starts_with("error: failed to read the key in /nonexistent: "), "{}", absent.err);
    let path = scratch("bad.pem");
    std::fs::write(&path, "hunter2").unwrap();
    let bad = cluster.run(&["approve", "back", "--key", path.to_str().unwrap(), "--yes"]);
    assert!(bad.err.contains("expected one Ed25519 private key in PEM"), "{}", bad.err);
    assert!(!bad.err.contains("hunter2") && bad.exit == Some(3));
    assert_eq!(cluster.asked().len(), 0);
}

#[cfg(unix)]
#[test]
fn a_key_that_others_can_read_is_used_with_a_warning_and_never_shown() {
    let cluster = with(OPERATIONS, restore().0);
    let (path, _) = key("open.pem");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let run = cluster.run(&["approve", "back", "--key", path.to_str().unwrap(), "--yes", "--print"]);
    assert!(run.err.contains("is open to others (mode 644); expected 600"), "{}", run.err);
    assert_eq!(run.exit, Some(0));
    let pem = std::fs::read_to_string(&path).unwrap();
    let secret = pem.lines().nth(1).unwrap();
    assert!(!run.out.contains(secret) && !run.err.contains(secret));
}
