//! Approval claims: a control plane's word, signed, that one change of one object may happen.
//!
//! A claim is `vws2.<body>.<signature>`. The body is base64url without padding of the claim in canonical JSON, the
//! signature is Ed25519 over the bytes `vws2.<body>`, in the same encoding. That a claim is used only once is for the
//! one who uses it to remember, by its `id`. The older form, which binds less, is in [`vws1`].

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::Signature;
use jiff::Timestamp;
use jiff::fmt::serde::timestamp::second;
use serde::{Deserialize, Serialize};

use crate::canonical;
use crate::keys::{PublicKeys, SigningKey};

pub mod vws1;

/// What a claim is called at its start.
const VERSION: &str = "vws2";
/// More characters than any claim has; also what the CRDs accept.
const MAX_LENGTH: usize = 8192;

/// What was approved, by whom, and for how long that holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The form of the claim: 2.
    pub v: u8,
    /// The claim's own name, by which its use is remembered.
    pub id: String,
    /// The cluster for which it was issued.
    pub cluster: String,
    /// The object's namespace.
    pub namespace: String,
    /// The object's kind.
    pub kind: String,
    /// The object's UID: a new object of the same name needs a new claim.
    pub uid: String,
    /// [`canonical::digest_of`] what was approved.
    pub digest: String,
    /// Who approved.
    pub by: String,
    /// When, in seconds since 1970.
    #[serde(with = "second::required")]
    pub at: Timestamp,
    /// The last second in which it holds, in seconds since 1970.
    #[serde(with = "second::required")]
    pub exp: Timestamp,
    /// Which key it was signed with, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// What a claim must be about to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected<'a> {
    /// This cluster.
    pub cluster: &'a str,
    /// The object's namespace.
    pub namespace: &'a str,
    /// The object's kind.
    pub kind: &'a str,
    /// The object's UID.
    pub uid: &'a str,
    /// [`canonical::digest_of`] what would be done.
    pub digest: &'a str,
}

/// Why a claim does not count. No message quotes the claim; what they tell of its content was signed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// There is none.
    #[error("there is no approval claim; expected one that starts with vws2.")]
    Missing,
    /// The cluster trusts nobody.
    #[error("the operator has no public key to verify approval claims with; expected at least one")]
    NoKeys,
    /// It is no claim.
    #[error(
        "the approval claim is malformed: {0}; expected vws2.<body>.<signature>, as docs/approvals.md describes it"
    )]
    Malformed(&'static str),
    /// The form that binds too little.
    #[error(
        "the approval claim is a vws1 claim, which is bound to neither cluster nor content; expected a vws2 claim"
    )]
    Vws1,
    /// A form of the future.
    #[error("the approval claim is of version vws{0}; expected vws2")]
    UnknownVersion(u16),
    /// Somebody else signed it, or it was changed.
    #[error(
        "the approval claim is signed by none of the operator's public keys, or was changed after signing"
    )]
    BadSignature,
    /// It came too late.
    #[error("the approval claim expired at {since}; expected one that holds now")]
    Expired {
        /// The last second in which it held.
        since: Timestamp,
    },
    /// It was issued for another cluster.
    #[error("the approval claim is for cluster '{found}'; expected '{expected}'")]
    OtherCluster {
        /// The claim's.
        found: String,
        /// Ours.
        expected: String,
    },
    /// It was issued for another namespace.
    #[error("the approval claim is for namespace '{found}'; expected '{expected}'")]
    OtherNamespace {
        /// The claim's.
        found: String,
        /// The object's.
        expected: String,
    },
    /// It was issued for another kind.
    #[error("the approval claim is for kind '{found}'; expected '{expected}'")]
    OtherKind {
        /// The claim's.
        found: String,
        /// The object's.
        expected: String,
    },
    /// It was issued for another object.
    #[error("the approval claim is for the object with UID '{found}'; expected '{expected}'")]
    OtherObject {
        /// The claim's.
        found: String,
        /// The object's.
        expected: String,
    },
    /// It was issued for another change of this object.
    #[error("the approval claim is for the change with digest '{found}'; expected '{expected}'")]
    OtherChange {
        /// The claim's.
        found: String,
        /// Of what would be done.
        expected: String,
    },
    /// Nobody can have issued a vws1 claim.
    #[error("there is no secret to verify vws1 approval claims with; expected one that is not empty")]
    NoSecret,
    /// There is none, where a vws1 claim is expected.
    #[error("there is no approval claim; expected one that starts with vws1.")]
    MissingVws1,
    /// It is no vws1 claim.
    #[error("the approval claim is malformed: {0}; expected vws1.<body>.<digest>")]
    MalformedVws1(&'static str),
    /// Another form, where a vws1 claim is expected.
    #[error("the approval claim is of version vws{0}; expected vws1")]
    NotVws1(u16),
    /// Who made the digest had another secret, or the claim was changed.
    #[error(
        "the approval claim has a digest that was made with another secret, or was changed after that; expected \
         HMAC-SHA-256 over its body with the operator's secret"
    )]
    BadDigest,
    /// A vws1 claim whose content says another version.
    #[error("the approval claim has a body of version {0}; expected 1")]
    OtherBodyVersion(u8),
    /// It was issued for another operation.
    #[error("the approval claim is for operation '{found}'; expected '{expected}'")]
    OtherOperation {
        /// The claim's.
        found: String,
        /// The operation's name.
        expected: String,
    },
}

impl SigningKey {
    /// The claim as a token.
    ///
    /// # Errors
    ///
    /// The claim would not be read back: another version, or longer than a token may be.
    pub fn issue(&self, claim: &Claim) -> Result<String, Refused> {
        let body = serde_json::to_value(claim).map_err(|_| Refused::Malformed("it is no JSON"))?;
        let signed = format!("{VERSION}.{}", URL_SAFE_NO_PAD.encode(canonical::to_text(&body)));
        let signature = URL_SAFE_NO_PAD.encode(self.sign(signed.as_bytes()).to_bytes());
        let token = format!("{signed}.{signature}");
        match (claim.v, token.len()) {
            (2, ..=MAX_LENGTH) => Ok(token),
            (2, _) => Err(Refused::Malformed(TOO_LONG)),
            (v, _) => Err(Refused::UnknownVersion(v.into())),
        }
    }
}

impl PublicKeys {
    /// The claim that a token holds, if it holds now and is about exactly this.
    ///
    /// # Errors
    ///
    /// Everything else; the first reason in the order of [`Refused`], of which those from
    /// [`Refused::NoSecret`] on are only for vws1.
    pub fn verify(&self, token: &str, expected: &Expected<'_>, now: Timestamp) -> Result<Claim, Refused> {
        let (signed, body, signature) = parts(token.trim())?;
        if self.is_empty() {
            return Err(Refused::NoKeys);
        }
        if !self.signed(signed.as_bytes(), &signature) {
            return Err(Refused::BadSignature);
        }
        let claim = content(body)?;
        if now > claim.exp {
            return Err(Refused::Expired { since: claim.exp });
        }
        compare(&claim, expected)?;
        Ok(claim)
    }
}

const TOO_LONG: &str = "it has more than 8192 characters";

/// What is signed, the body in it, and the signature.
fn parts(token: &str) -> Result<(&str, &str, Signature), Refused> {
    if token.is_empty() {
        return Err(Refused::Missing);
    }
    if token.len() > MAX_LENGTH {
        return Err(Refused::Malformed(TOO_LONG));
    }
    let (version, _) = token.split_once('.').ok_or(Refused::Malformed("it has no parts"))?;
    is_current(version)?;
    let (signed, signature) = token.rsplit_once('.').ok_or(Refused::Malformed("it has no parts"))?;
    let (_, body) = signed.split_once('.').ok_or(Refused::Malformed("it has two parts instead of three"))?;
    if body.contains('.') {
        return Err(Refused::Malformed("it has more than three parts"));
    }
    let signature =
        URL_SAFE_NO_PAD.decode(signature).map_err(|_| Refused::Malformed("its signature is no base64url"))?;
    let signature = Signature::from_slice(&signature)
        .map_err(|_| Refused::Malformed("its signature has not the length of one"))?;
    Ok((signed, body, signature))
}

fn is_current(version: &str) -> Result<(), Refused> {
    match (version, number_of(version)) {
        (VERSION, _) => Ok(()),
        ("vws1", _) => Err(Refused::Vws1),
        (_, Some(number)) => Err(Refused::UnknownVersion(number)),
        (_, None) => Err(Refused::Malformed("it does not start with a version")),
    }
}

/// The number in `vws<number>`.
fn number_of(version: &str) -> Option<u16> {
    let digits = version.strip_prefix("vws")?;
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// The claim in a body whose signature is good.
fn content(body: &str) -> Result<Claim, Refused> {
    let bytes = URL_SAFE_NO_PAD.decode(body).map_err(|_| Refused::Malformed("its body is no base64url"))?;
    let text = str::from_utf8(&bytes).map_err(|_| Refused::Malformed("its body is no UTF-8"))?;
    let value =
        canonical::from_text(text).map_err(|_| Refused::Malformed("its body is no canonical JSON"))?;
    let claim: Claim = serde_json::from_value(value)
        .map_err(|_| Refused::Malformed("its body lacks a field, or has one of another type or name"))?;
    if claim.v == 2 { Ok(claim) } else { Err(Refused::Malformed("its body is of another version")) }
}

fn compare(claim: &Claim, about: &Expected<'_>) -> Result<(), Refused> {
    let differ =
        |found: &str, expected: &str| (found != expected).then(|| (found.to_owned(), expected.to_owned()));
    if let Some((found, expected)) = differ(&claim.cluster, about.cluster) {
        return Err(Refused::OtherCluster { found, expected });
    }
    if let Some((found, expected)) = differ(&claim.namespace, about.namespace) {
        return Err(Refused::OtherNamespace { found, expected });
    }
    if let Some((found, expected)) = differ(&claim.kind, about.kind) {
        return Err(Refused::OtherKind { found, expected });
    }
    if let Some((found, expected)) = differ(&claim.uid, about.uid) {
        return Err(Refused::OtherObject { found, expected });
    }
    if let Some((found, expected)) = differ(&claim.digest, about.digest) {
        return Err(Refused::OtherChange { found, expected });
    }
    Ok(())
}
