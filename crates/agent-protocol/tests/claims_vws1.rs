//! Claims of the older form: the wire format of the server that issues them, what counts, and what is refused.

// The clippy setting for tests does not see functions beside the tests.
#![allow(clippy::expect_used, clippy::panic)]

use agent_protocol::{Expected, PublicKeys, Refused, SharedSecret, SigningKey, Vws1Claim, canonical};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};
use sha2::Sha256;

const SECRET: &str = "test-secret";
const BODY: &str = "eyJhdCI6IjIwMjYtMDYtMDFUMDA6MDA6MDBaIiwiYnkiOiJhZG1pbiIsImV4cCI6MTg5MzQ1NjAwMCwib3AiOiJyZXN0b3JlLTEiLCJyaWQiOjQyLCJ2IjoxfQ";
const DIGEST: &str = "dbda2c0090f2d8854d8b92e3c3593a483df1c5598090abe3ea6d1786a5e9c1e1";
const EXP: i64 = 1_893_456_000;

fn second(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).expect("a time")
}

fn secret() -> SharedSecret {
    SharedSecret::from_text(SECRET).expect("a secret")
}

fn claim() -> Vws1Claim {
    Vws1Claim {
        at: "2026-06-01T00:00:00Z".to_owned(),
        by: "admin".to_owned(),
        exp: second(EXP),
        op: "restore-1".to_owned(),
        rid: 42,
        v: 1,
    }
}

fn token() -> String {
    format!("vws1.{BODY}.{DIGEST}")
}

fn verify(token: &str) -> Result<Vws1Claim, Refused> {
    secret().verify(token, "restore-1", second(1_800_000_000))
}

/// A token with any text as its body, and the right digest.
fn sealed(body: &str) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("a key").chain_update(body);
    let digest: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("vws1.{body}.{digest}")
}

fn issued(json: &str) -> String {
    sealed(&URL_SAFE_NO_PAD.encode(json))
}

/// The claim with other fields, in canonical form.
fn body(change: Value) -> String {
    let mut value = serde_json::to_value(claim()).expect("JSON");
    let Value::Object(changes) = change else { panic!("an object") };
    value.as_object_mut().expect("an object").extend(changes);
    canonical::to_text(&value)
}

#[test]
fn the_wire_format_is_that_of_the_vector() {
    assert_eq!(secret().issue(&claim()), Ok(token()));
    assert_eq!(verify(&token()), Ok(claim()));
    assert_eq!(
        URL_SAFE_NO_PAD.decode(BODY).expect("base64url"),
        br#"{"at":"2026-06-01T00:00:00Z","by":"admin","exp":1893456000,"op":"restore-1","rid":42,"v":1}"#
    );
}

#[test]
fn a_secret_loses_one_newline_and_nothing_else() {
    let issue = |text: &str| SharedSecret::from_text(text).and_then(|secret| secret.issue(&claim()));
    for same in ["test-secret", "test-secret\n", "test-secret\r\n"] {
        assert_eq!(issue(same), Ok(token()), "{same:?}");
    }
    for other in ["test-secret\n\n", "test-secret ", " test-secret", "test-secret\r", "Test-secret"] {
        let other = issue(other).expect("a token");
        assert_ne!(other, token());
        assert_eq!(verify(&other), Err(Refused::BadDigest));
    }
    for empty in ["", "\n", "\r\n"] {
        assert_eq!(issue(empty), Err(Refused::NoSecret));
    }
    assert_eq!(format!("{:?}", secret()), "SharedSecret(not shown)");
    // Longer than the block of the hash: HMAC takes its digest.
    let long = SharedSecret::from_text(&"long ".repeat(40)).expect("a secret");
    let token = long.issue(&claim()).expect("a token");
    assert_eq!(long.verify(&token, "restore-1", second(EXP)), Ok(claim()));
}

#[test]
fn a_claim_holds_up_to_its_last_second() {
    let at = |now| secret().verify(&token(), "restore-1", second(now));
    assert_eq!(at(EXP), Ok(claim()));
    assert_eq!(at(EXP + 1), Err(Refused::Expired { since: second(EXP) }));
}

#[test]
fn what_does_not_count_is_refused_with_what_was_found_and_expected() {
    let told = [
        (
            body(json!({"op": "restore-2"})),
            "the approval claim is for operation 'restore-2'; expected 'restore-1'",
        ),
        (
            body(json!({"op": "Restore-1"})),
            "the approval claim is for operation 'Restore-1'; expected 'restore-1'",
        ),
        (body(json!({"v": 2})), "the approval claim has a body of version 2; expected 1"),
        (body(json!({"v": 0})), "the approval claim has a body of version 0; expected 1"),
        (
            body(json!({"exp": 0})),
            "the approval claim expired at 1970-01-01T00:00:00Z; expected one that holds now",
        ),
        // The first reason of several.
        (
            body(json!({"v": 2, "op": "x", "exp": 0})),
            "the approval claim has a body of version 2; expected 1",
        ),
        (body(json!({"op": "x", "exp": 0})), "the approval claim is for operation 'x'; expected 'restore-1'"),
    ];
    for (body, message) in told {
        let refused = verify(&issued(&body)).expect_err(&body);
        assert_eq!(refused.to_string(), message);
    }
    let other = SharedSecret::from_text("another-secret").expect("a secret");
    assert_eq!(other.verify(&token(), "restore-1", second(0)), Err(Refused::BadDigest));
    // Nothing of the content is told before the digest is good.
    assert_eq!(other.verify(&token(), "restore-2", second(EXP + 1)), Err(Refused::BadDigest));
}

#[test]
fn what_is_no_claim_is_refused_without_quoting_it() {
    let told = [
        (String::new(), "there is no approval claim; expected one that starts with vws1."),
        (" \n".to_owned(), "there is no approval claim; expected one that starts with vws1."),
        ("hunter2".to_owned(), "it has not three parts; expected vws1.<body>.<digest>"),
        (format!("vws1.{BODY}"), "it has not three parts"),
        (format!("{}.x", token()), "it has not three parts"),
        (format!("hunter2.{BODY}.{DIGEST}"), "it does not start with a version"),
        (format!("VWS1.{BODY}.{DIGEST}"), "it does not start with a version"),
        (format!("vws.{BODY}.{DIGEST}"), "it does not start with a version"),
        (format!("vws2.{BODY}.{DIGEST}"), "is of version vws2; expected vws1"),
        (format!("vws1.{}.{DIGEST}", "a".repeat(9000)), "it has more than 8192 characters"),
        (format!("vws1.{BODY}."), "64 hex digits in lower case"),
        (format!("vws1.{BODY}.{}", DIGEST.to_uppercase()), "64 hex digits in lower case"),
        (format!("vws1.{BODY}.{DIGEST}00"), "64 hex digits in lower case"),
        (format!("vws1.{BODY}.{DIGEST}0"), "64 hex digits in lower case"),
        (format!("vws1.{BODY}.{}", "é".repeat(32)), "64 hex digits in lower case"),
        (format!("vws1.{BODY}.{}", "0".repeat(64)), "made with another secret"),
        (format!("vws1..{DIGEST}"), "made with another secret"),
        (format!("vws1.{BODY}=.{DIGEST}"), "made with another secret"),
        (sealed(&format!("{BODY}==")), "its body is no base64url"),
        (sealed(&STANDARD.encode(body(json!({"by": "???>>>"})))), "its body is no base64url"),
        (sealed(""), "its body is no JSON object"),
        (issued("hunter2"), "its body is no JSON object"),
        (issued(&format!("{}x", body(json!({})))), "its body is no JSON object"),
        (issued("{}"), "its body lacks a field"),
        (issued(r#"["x","admin",1893456000,"restore-1",42,1]"#), "its body is no JSON object"),
        (issued("42"), "its body is no JSON object"),
    ];
    for (token, message) in told {
        let refused = verify(&token).expect_err(&token).to_string();
        assert!(refused.contains(message), "{token}: {refused}");
        assert!(!refused.contains("hunter2") && !refused.contains(SECRET), "{refused}");
    }
}

#[test]
fn a_body_has_every_field_in_its_own_type() {
    let whole: Value = serde_json::from_str(&body(json!({}))).expect("JSON");
    for name in ["at", "by", "exp", "op", "rid", "v"] {
        let mut lacking = whole.clone();
        lacking.as_object_mut().expect("an object").remove(name).expect("a field");
        let mut bodies = vec![lacking.to_string(), body(json!({name: null})), body(json!({name: true}))];
        let other = if whole[name].is_string() { json!(1) } else { json!("1") };
        bodies.push(body(json!({name: other})));
        bodies.push(body(json!({})).replacen('{', &format!("{{\"{name}\":{},", whole[name]), 1));
        for body in bodies {
            let refused =
                Refused::MalformedVws1("its body lacks a field, or has one twice or of another type");
            assert_eq!(verify(&issued(&body)), Err(refused), "{body}");
        }
    }
    assert!(verify(&issued(&body(json!({"exp": i64::MAX})))).is_err());
    assert!(verify(&issued(&body(json!({"rid": 1.5})))).is_err());
}

#[test]
fn a_body_in_another_spelling_counts() {
    let spaced = r#"{ "v": 1, "rid": 42, "op": "restore-1", "exp": 1893456000, "by": "admin", "at": "2026-06-01T00:00:00Z" }"#;
    assert_eq!(verify(&issued(spaced)), Ok(claim()));
    let escaped = body(json!({})).replace("admin", "Zo\\u00eb");
    assert_eq!(verify(&issued(&escaped)), Ok(Vws1Claim { by: "Zoë".to_owned(), ..claim() }));
    assert_eq!(verify(&issued(&body(json!({"more": [1]})))), Ok(claim()));
    assert_eq!(verify(&format!(" {}\n", token())), Ok(claim()));
}

#[test]
fn a_claim_is_remembered_by_its_request_and_all_that_it_says() {
    let id = claim().id();
    assert_eq!(id, "vws1-42-bd73c3f22e26b5808fc17cbdf0f8d6f0451d1a348629e843a022e37a11abff12");
    let others = [
        Vws1Claim { at: "later".to_owned(), ..claim() },
        Vws1Claim { by: "ada".to_owned(), ..claim() },
        Vws1Claim { exp: second(EXP + 1), ..claim() },
        Vws1Claim { op: "restore-2".to_owned(), ..claim() },
        Vws1Claim { rid: 43, ..claim() },
    ];
    for other in others {
        assert_ne!(other.id(), id);
    }
    let spaced = body(json!({"more": 1})).replace(',', " , ");
    assert_eq!(verify(&issued(&spaced)).map(|claim| claim.id()), Ok(id));
}

#[test]
fn a_claim_that_would_not_be_read_is_not_issued() {
    assert_eq!(secret().issue(&Vws1Claim { v: 2, ..claim() }), Err(Refused::OtherBodyVersion(2)));
    let long = Vws1Claim { by: "a".repeat(9000), ..claim() };
    assert_eq!(secret().issue(&long), Err(Refused::MalformedVws1("it has more than 8192 characters")));
}

#[test]
fn where_only_vws2_counts_it_is_still_refused() {
    let about = Expected { cluster: "c", namespace: "n", kind: "ApplicationInstance", uid: "u", digest: "d" };
    let keys = PublicKeys::parse(&SigningKey::from_seed(&[7; 32]).public_key()).expect("a key");
    let refused = keys.verify(&token(), &about, second(0)).expect_err("a vws1 claim");
    assert_eq!(
        refused.to_string(),
        "the approval claim is a vws1 claim, which is bound to neither cluster nor content; expected a vws2 claim"
    );
}

proptest! {
    #[test]
    fn what_is_issued_is_read_back(at in any::<String>(), by in any::<String>(), op in any::<String>(), rid in any::<i64>(), exp in 0_i64..4_000_000_000) {
        let claim = Vws1Claim { at, by, exp: second(exp), op, rid, v: 1 };
        if let Ok(token) = secret().issue(&claim) {
            prop_assert_eq!(secret().verify(&token, &claim.op, claim.exp), Ok(claim));
        }
    }

    #[test]
    fn any_flipped_byte_is_refused(at in any::<prop::sample::Index>(), bits in 1_u8..=255) {
        let mut bytes = token().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] ^= bits;
        if let Ok(token) = String::from_utf8(bytes) {
            prop_assert!(verify(&token).is_err());
        }
    }

    #[test]
    fn any_changed_field_is_refused(field in 0_usize..6, text in "[a-z0-9-]{1,40}", number in 0_i64..4_000_000_000) {
        let names = ["at", "by", "op", "exp", "rid", "v"];
        let changed = if field < 3 { json!({names[field]: text}) } else { json!({names[field]: number}) };
        prop_assume!(body(changed.clone()) != body(json!({})));
        let forged = format!("vws1.{}.{DIGEST}", URL_SAFE_NO_PAD.encode(body(changed)));
        prop_assert_eq!(verify(&forged), Err(Refused::BadDigest));
    }

    #[test]
    fn a_token_cut_short_or_made_longer_is_refused(length in any::<prop::sample::Index>(), more in "[0-9a-zA-Z.=_-]{1,80}") {
        let whole = token();
        prop_assert!(verify(whole.split_at(length.index(whole.len())).0).is_err());
        let longer = format!("{whole}{more}");
        prop_assert!(verify(&longer).is_err());
        let longer = format!("{more}{whole}");
        prop_assert!(verify(&longer).is_err());
        let longer = format!("vws1.{BODY}{more}.{DIGEST}");
        prop_assert!(verify(&longer).is_err());
    }

    #[test]
    fn no_text_makes_it_panic(token in "(vws[0-9]{0,6}\\.)?\\PC{0,200}(\\.(\\PC{0,90}|[0-9a-f]{64}))?", text in any::<String>()) {
        let _ = verify(&token);
        let _ = verify(&text);
        let _ = verify(&sealed(&text));
        let _ = verify(&issued(&text));
        let _ = SharedSecret::from_text(&text);
    }
}
