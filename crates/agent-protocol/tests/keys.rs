//! Private keys: new ones, and their text.

// The clippy setting for tests does not see functions beside the tests.
#![allow(clippy::expect_used)]

use agent_protocol::{BadPrivateKey, Claim, Expected, PublicKeys, SigningKey};
use jiff::Timestamp;
use proptest::prelude::*;

/// Written by openssl, of the bytes 0, 1, 2 to 31; its public key is the example in docs/approvals.md.
const PEM: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f
-----END PRIVATE KEY-----
";
const PUBLIC: &str = "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=";

#[test]
fn a_private_key_is_read_and_written_as_openssl_does() {
    let key = SigningKey::from_pem(PEM).expect("a key");
    assert_eq!(key.public_key(), PUBLIC);
    assert_eq!(key.to_pem().as_str(), PEM);
    let windows = format!("\n{}", PEM.replace('\n', "\r\n"));
    assert_eq!(SigningKey::from_pem(&windows).map(|key| key.public_key()), Ok(PUBLIC.to_owned()));
    assert_eq!(format!("{key:?}"), format!("SigningKey(of {PUBLIC})"));
}

#[test]
fn what_a_new_key_signs_its_public_text_verifies() {
    let new = SigningKey::generate().expect("random bytes");
    let again = SigningKey::from_pem(&new.to_pem()).expect("a key");
    assert_eq!(new.public_key(), again.public_key());
    let keys = PublicKeys::parse(&format!("{} the new one\n", new.public_key())).expect("a key");
    let about = Expected { cluster: "c", namespace: "n", kind: "k", uid: "u", digest: "d" };
    let claim = Claim {
        v: 2,
        id: "claim-1".to_owned(),
        cluster: about.cluster.to_owned(),
        namespace: about.namespace.to_owned(),
        kind: about.kind.to_owned(),
        uid: about.uid.to_owned(),
        digest: about.digest.to_owned(),
        by: "ada".to_owned(),
        at: Timestamp::UNIX_EPOCH,
        exp: Timestamp::UNIX_EPOCH,
        key: None,
    };
    let token = again.issue(&claim).expect("a token");
    assert_eq!(keys.verify(&token, &about, claim.exp), Ok(claim));
}

#[test]
fn no_two_new_keys_are_the_same() {
    let new = || SigningKey::generate().expect("random bytes").public_key();
    assert_ne!(new(), new());
}

#[test]
fn what_is_no_private_key_is_refused_without_quoting_it() {
    let around = "no lines BEGIN PRIVATE KEY and END PRIVATE KEY around it";
    let told = [
        (String::new(), around),
        (PUBLIC.to_owned(), around),
        (PEM.replace("PRIVATE", "PUBLIC"), around),
        (PEM.replace("PRIVATE", "ENCRYPTED PRIVATE"), around),
        (format!("{PEM}hunter2"), around),
        (format!("{PEM}{PEM}"), "lines that are no base64"),
        (PEM.replace("MC4C", "MC4!"), "lines that are no base64"),
        (PEM.replace("MC4C", ""), "another kind of key"),
        (PEM.replace("HR4f", "HR4fAAAA"), "another kind of key"),
        // X25519, which differs in one letter.
        (PEM.replace("K2Vw", "K2Vu"), "another kind of key"),
        (PEM.replace('\n', &"\n".repeat(2000)), "more than 4096 characters"),
    ];
    for (text, found) in told {
        let refused = SigningKey::from_pem(&text).map(|key| key.public_key());
        assert_eq!(refused, Err(BadPrivateKey { found }), "{text}");
    }
}

proptest! {
    #[test]
    fn every_key_reads_back(seed in any::<[u8; 32]>()) {
        let key = SigningKey::from_seed(&seed);
        let again = SigningKey::from_pem(&key.to_pem()).map(|key| key.public_key());
        prop_assert_eq!(again, Ok(key.public_key()));
        prop_assert!(PublicKeys::parse(&key.public_key()).is_ok_and(|keys| !keys.is_empty()));
    }

    #[test]
    fn no_text_makes_it_panic(text in any::<String>(), lines in "[A-Za-z0-9+/=\\s]{0,100}") {
        let _ = SigningKey::from_pem(&text);
        let _ = SigningKey::from_pem(&format!("-----BEGIN PRIVATE KEY-----{lines}-----END PRIVATE KEY-----"));
    }
}
