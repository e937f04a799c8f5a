//! Claims: what counts, what is refused, and the wire format that must not drift.

// The clippy setting for tests does not see functions beside the tests.
#![allow(clippy::expect_used, clippy::panic)]

use agent_protocol::{BadKeys, Claim, Expected, PublicKeys, Refused, SigningKey, canonical, digest_of};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

const ABOUT: Expected<'static> = Expected {
    cluster: "cluster-1",
    namespace: "shop",
    kind: "Operation",
    uid: "uid-1",
    digest: "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
};

fn second(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).expect("a time")
}

fn key() -> SigningKey {
    SigningKey::from_seed(&[7; 32])
}

fn keys() -> PublicKeys {
    PublicKeys::parse(&key().public_key()).expect("a key")
}

fn claim() -> Claim {
    Claim {
        v: 2,
        id: "claim-1".to_owned(),
        cluster: ABOUT.cluster.to_owned(),
        namespace: ABOUT.namespace.to_owned(),
        kind: ABOUT.kind.to_owned(),
        uid: ABOUT.uid.to_owned(),
        digest: ABOUT.digest.to_owned(),
        by: "ada".to_owned(),
        at: second(1000),
        exp: second(2000),
        key: None,
    }
}

/// A token with any body, signed well.
fn signed(body: &str) -> String {
    let seed = ed25519_dalek::SigningKey::from_bytes(&[7; 32]);
    let signed = format!("vws2.{}", URL_SAFE_NO_PAD.encode(body));
    let signature = ed25519_dalek::Signer::sign(&seed, signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.to_bytes()))
}

fn verify(token: &str) -> Result<Claim, Refused> {
    keys().verify(token, &ABOUT, second(1500))
}

#[test]
fn the_wire_format_is_that_of_the_vectors() {
    let vectors: Value = serde_json::from_str(include_str!("vectors.json")).expect("vectors");
    for vector in vectors["digests"].as_array().expect("digests") {
        assert_eq!(canonical::to_text(&vector["value"]), vector["canonical"]);
        assert_eq!(digest_of(&vector["value"]), vector["digest"]);
    }
    let seed: Vec<u8> = (0..32).collect();
    let key = SigningKey::from_seed(&seed.try_into().expect("32 bytes"));
    assert_eq!(key.public_key(), vectors["publicKey"]);
    let keys = PublicKeys::parse(&key.public_key()).expect("a key");
    for vector in vectors["claims"].as_array().expect("claims") {
        let claim: Claim = serde_json::from_value(vector["claim"].clone()).expect("a claim");
        let token = vector["token"].as_str().expect("a token");
        assert_eq!(key.issue(&claim).as_deref(), Ok(token));
        let about = Expected {
            cluster: &claim.cluster,
            namespace: &claim.namespace,
            kind: &claim.kind,
            uid: &claim.uid,
            digest: &claim.digest,
        };
        assert_eq!(keys.verify(token, &about, claim.at), Ok(claim.clone()));
    }
}

#[test]
fn a_claim_about_something_else_is_refused_with_both_names() {
    type Change = fn(&mut Claim);
    let told: [(Change, &str); 5] = [
        (|claim| claim.cluster = "c2".into(), "the approval claim is for cluster 'c2'; expected 'cluster-1'"),
        (
            |claim| claim.namespace = "prod".into(),
            "the approval claim is for namespace 'prod'; expected 'shop'",
        ),
        (
            |claim| claim.kind = "Cluster".into(),
            "the approval claim is for kind 'Cluster'; expected 'Operation'",
        ),
        (
            |claim| claim.uid = "uid-2".into(),
            "the approval claim is for the object with UID 'uid-2'; expected 'uid-1'",
        ),
        (
            |claim| claim.digest = "0".into(),
            "the approval claim is for the change with digest '0'; expected \
             '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a'",
        ),
    ];
    for (change, message) in told {
        let mut claim = claim();
        change(&mut claim);
        let token = key().issue(&claim).expect("a token");
        assert_eq!(verify(&token).map_err(|refused| refused.to_string()), Err(message.to_owned()));
    }
}

#[test]
fn a_claim_holds_up_to_its_last_second() {
    let token = key().issue(&claim()).expect("a token");
    assert_eq!(keys().verify(&token, &ABOUT, second(2000)), Ok(claim()));
    assert_eq!(keys().verify(&token, &ABOUT, second(2001)), Err(Refused::Expired { since: second(2000) }));
}

#[test]
fn what_is_no_claim_is_refused_without_quoting_it() {
    let good = key().issue(&claim()).expect("a token");
    let (two, signature) = good.rsplit_once('.').expect("parts");
    let told = [
        (String::new(), "there is no approval claim"),
        (" \n".to_owned(), "there is no approval claim"),
        ("vws1.body.0123".to_owned(), "is a vws1 claim"),
        ("vws3.body.sig".to_owned(), "is of version vws3; expected vws2"),
        ("hunter2".to_owned(), "it has no parts"),
        ("hunter2.a.b".to_owned(), "does not start with a version"),
        ("vws.a.b".to_owned(), "does not start with a version"),
        ("vws99999999.a.b".to_owned(), "does not start with a version"),
        (two.to_owned(), "it has two parts instead of three"),
        (format!("{good}.x"), "it has more than three parts"),
        (format!("{two}.{signature}="), "its signature is no base64url"),
        (format!("{two}.AAAA"), "its signature has not the length"),
        (format!("vws2.{}.x", "a".repeat(9000)), "it has more than 8192 characters"),
        (signed("hunter2"), "its body is no canonical JSON"),
        (signed("{\"v\": 2}"), "its body is no canonical JSON"),
        (signed("{\"v\":2}"), "its body lacks a field"),
        (signed(&body(json!({"v": 1}))), "its body is of another version"),
        (signed(&body(json!({"more": 1}))), "its body lacks a field, or has one of another"),
        (signed(&body(json!({"exp": "2000"}))), "its body lacks a field, or has one of another"),
        (signed(&body(json!({"exp": i64::MAX}))), "its body lacks a field, or has one of another"),
    ];
    for (token, message) in told {
        let refused = verify(&token).expect_err(&token).to_string();
        assert!(refused.contains(message), "{token}: {refused}");
        assert!(!refused.contains("hunter2"), "{refused}");
    }
}

/// The claim with other fields, in canonical form.
fn body(change: Value) -> String {
    let mut value = serde_json::to_value(claim()).expect("JSON");
    let Value::Object(changes) = change else { panic!("an object") };
    value.as_object_mut().expect("an object").extend(changes);
    canonical::to_text(&value)
}

#[test]
fn only_the_operators_own_keys_count() {
    let token = key().issue(&claim()).expect("a token");
    let other = SigningKey::from_seed(&[8; 32]).public_key();
    let verify = |keys: &str| {
        PublicKeys::parse(keys).expect("keys").verify(&token, &ABOUT, second(1500)).map(|claim| claim.id)
    };
    assert_eq!(verify(""), Err(Refused::NoKeys));
    assert_eq!(verify(&other), Err(Refused::BadSignature));
    assert_eq!(
        verify(&format!("# old\n{other} 2029\n\n  {}\tthe new one # since May\n", key().public_key())),
        Ok("claim-1".to_owned())
    );
}

#[test]
fn a_line_that_is_no_public_key_is_named_and_not_quoted() {
    let told = [
        ("hunter2!".to_owned(), 1, "a word that is no base64"),
        (format!("# x\n{}\nAAAA", key().public_key()), 3, "base64 of another length"),
        (STANDARD.encode([2; 32]), 1, "32 bytes that are no public key"),
        (STANDARD.encode([0; 32]), 1, "a weak key, with which anybody can sign"),
    ];
    for (text, line, found) in told {
        assert_eq!(PublicKeys::parse(&text), Err(BadKeys { line, found }));
    }
}

#[test]
fn a_claim_that_would_not_be_read_is_not_issued() {
    assert_eq!(key().issue(&Claim { v: 3, ..claim() }), Err(Refused::UnknownVersion(3)));
    assert!(key().issue(&Claim { by: "a".repeat(9000), ..claim() }).is_err());
}

#[test]
fn a_private_key_is_not_shown() {
    assert_eq!(format!("{:?}", key()), format!("SigningKey(of {})", key().public_key()));
}

proptest! {
    #[test]
    fn any_flipped_byte_is_refused(at in any::<prop::sample::Index>(), bits in 1_u8..=255) {
        let mut bytes = key().issue(&claim()).expect("a token").into_bytes();
        let at = at.index(bytes.len());
        bytes[at] ^= bits;
        if let Ok(token) = String::from_utf8(bytes) {
            prop_assert!(verify(&token).is_err());
        }
    }

    #[test]
    fn any_changed_field_is_refused(field in 0_usize..10, text in "[a-z0-9-]{1,40}", number in 0_i64..4_000_000_000) {
        let names = ["id", "cluster", "namespace", "kind", "uid", "digest", "by", "key", "at", "exp"];
        let changed = if field < 8 { json!({names[field]: text}) } else { json!({names[field]: number}) };
        prop_assume!(body(changed.clone()) != body(json!({})));
        let token = key().issue(&claim()).expect("a token");
        let signature = token.rsplit_once('.').expect("parts").1;
        let forged = format!("vws2.{}.{signature}", URL_SAFE_NO_PAD.encode(body(changed)));
        prop_assert_eq!(verify(&forged), Err(Refused::BadSignature));
    }

    #[test]
    fn no_text_makes_it_panic(token in "(vws[0-9]{0,6}\\.)?\\PC{0,200}(\\.\\PC{0,90})?", keys in any::<String>()) {
        let _ = verify(&token);
        let _ = PublicKeys::parse(&keys);
    }
}
