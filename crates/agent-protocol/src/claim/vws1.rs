//! Claims of the older form: the word of whoever has a shared secret that an operation of some name may run.
//!
//! A claim is `vws1.<body>.<digest>`. The body is base64url without padding of the claim in JSON, the digest is
//! HMAC-SHA-256 over the text of the body, in lower-case hex. It is bound to a name only: not to the cluster, the
//! namespace, the object or what it would do. And whoever can verify one can issue one.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use jiff::fmt::serde::timestamp::second;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::Sha256;

use super::{MAX_LENGTH, Refused, TOO_LONG, number_of};
use crate::canonical;

/// What a claim of this form is called at its start.
const VERSION: &str = "vws1";
const NO_OBJECT: &str = "its body is no JSON object";

/// Which operation was approved, by whom, and for how long that holds. Other fields than these are ignored, as they
/// always were.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vws1Claim {
    /// When it was approved, for people: any text.
    pub at: String,
    /// Who approved.
    pub by: String,
    /// The last second in which it holds, in seconds since 1970.
    #[serde(with = "second::required")]
    pub exp: Timestamp,
    /// The operation's name.
    pub op: String,
    /// The number of the request that was approved.
    pub rid: i64,
    /// The form of the claim: 1.
    pub v: u8,
}

impl Vws1Claim {
    /// A name by which the claim's use is remembered: the number of its request, and [`canonical::digest_of`] all that
    /// it says. The spelling of the token plays no part in it.
    #[must_use]
    pub fn id(&self) -> String {
        let Self { at, by, exp, op, rid, v } = self;
        let said = json!({ "at": at, "by": by, "exp": exp.as_second(), "op": op, "rid": rid, "v": v });
        format!("{VERSION}-{rid}-{}", canonical::digest_of(&said))
    }
}

/// The secret that both sides share. It is kept as the state of a hash, not as text, and wiped when dropped.
#[derive(Clone)]
pub struct SharedSecret(Hmac<Sha256>);

impl SharedSecret {
    /// The secret that this text is, without the newline at the end of a file.
    ///
    /// # Errors
    ///
    /// [`Refused::NoSecret`]: it is empty.
    pub fn from_text(text: &str) -> Result<Self, Refused> {
        let secret = text.strip_suffix('\n').map_or(text, |line| line.strip_suffix('\r').unwrap_or(line));
        if secret.is_empty() {
            return Err(Refused::NoSecret);
        }
        // HMAC takes keys of any length.
        Hmac::new_from_slice(secret.as_bytes()).map(Self).map_err(|_| Refused::NoSecret)
    }

    /// The claim as a token, its body in canonical JSON.
    ///
    /// # Errors
    ///
    /// The claim would not be read back: another version, or longer than a token may be.
    pub fn issue(&self, claim: &Vws1Claim) -> Result<String, Refused> {
        if claim.v != 1 {
            return Err(Refused::OtherBodyVersion(claim.v));
        }
        let body = serde_json::to_value(claim).map_err(|_| Refused::MalformedVws1("it is no JSON"))?;
        let body = URL_SAFE_NO_PAD.encode(canonical::to_text(&body));
        let digest = canonical::hex(&self.over(&body).finalize().into_bytes());
        let token = format!("{VERSION}.{body}.{digest}");
        if token.len() > MAX_LENGTH { Err(Refused::MalformedVws1(TOO_LONG)) } else { Ok(token) }
    }

    /// The claim that a token holds, if it holds now and is about the operation of this name.
    ///
    /// # Errors
    ///
    /// Everything else: no three parts, another version, another digest, no claim in it, another version in it, another
    /// operation, expired; the first of these.
    pub fn verify(&self, token: &str, operation: &str, now: Timestamp) -> Result<Vws1Claim, Refused> {
        let (body, digest) = parts(token.trim())?;
        // Compares in constant time.
        self.over(body).verify(&digest.into()).map_err(|_| Refused::BadDigest)?;
        let claim = content(body)?;
        if claim.v != 1 {
            return Err(Refused::OtherBodyVersion(claim.v));
        }
        if claim.op != operation {
            return Err(Refused::OtherOperation { found: claim.op, expected: operation.to_owned() });
        }
        if now > claim.exp {
            return Err(Refused::Expired { since: claim.exp });
        }
        Ok(claim)
    }

    fn over(&self, body: &str) -> Hmac<Sha256> {
        self.0.clone().chain_update(body)
    }
}

impl fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedSecret(not shown)")
    }
}

/// The body, and the digest in bytes.
fn parts(token: &str) -> Result<(&str, [u8; 32]), Refused> {
    if token.is_empty() {
        return Err(Refused::MissingVws1);
    }
    if token.len() > MAX_LENGTH {
        return Err(Refused::MalformedVws1(TOO_LONG));
    }
    let mut parts = token.split('.');
    let (Some(version), Some(body), Some(digest), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(Refused::MalformedVws1("it has not three parts"));
    };
    if version != VERSION {
        return Err(number_of(version)
            .map_or(Refused::MalformedVws1("it does not start with a version"), Refused::NotVws1));
    }
    let digest = from_hex(digest)
        .ok_or(Refused::MalformedVws1("its digest has not the form of 64 hex digits in lower case"))?;
    Ok((body, digest))
}

/// The bytes of 64 hex digits in lower case.
fn from_hex(text: &str) -> Option<[u8; 32]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let bytes: Option<Vec<u8>> =
        pairs.iter().map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect();
    bytes?.try_into().ok()
}

/// The claim in a body whose digest is good. Its JSON need not be in canonical form: a server may escape what is not
/// ASCII.
fn content(body: &str) -> Result<Vws1Claim, Refused> {
    let bytes =
        URL_SAFE_NO_PAD.decode(body).map_err(|_| Refused::MalformedVws1("its body is no base64url"))?;
    // An array of the fields in their order would be read as well.
    if !bytes.trim_ascii_start().starts_with(b"{") {
        return Err(Refused::MalformedVws1(NO_OBJECT));
    }
    serde_json::from_slice(&bytes).map_err(|error| {
        let why = "its body lacks a field, or has one twice or of another type";
        Refused::MalformedVws1(if error.is_data() { why } else { NO_OBJECT })
    })
}
