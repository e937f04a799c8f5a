//! The keys that claims are signed and verified with. A cluster holds only public ones.

use std::fmt;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use ed25519_dalek::{Signature, Signer, VerifyingKey};
use zeroize::Zeroizing;

/// Standard base64, as `openssl` and `base64` write it, with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The public keys that a cluster trusts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PublicKeys {
    keys: Vec<VerifyingKey>,
}

/// A line that holds no public key. The line itself is not quoted: it could be a private key by mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "line {line} holds {found}; expected 32 bytes of an Ed25519 public key in base64, then a name if you like"
)]
pub struct BadKeys {
    /// Counted from 1.
    pub line: usize,
    /// What is there instead.
    pub found: &'static str,
}

impl PublicKeys {
    /// One key a line in base64, with a name for people after it if wanted; `#` starts a comment.
    ///
    /// # Errors
    ///
    /// A line holds something else.
    pub fn parse(text: &str) -> Result<Self, BadKeys> {
        let mut keys = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let content = line.split('#').next().unwrap_or_default();
            if let Some(word) = content.split_whitespace().next() {
                keys.push(public_key(word).map_err(|found| BadKeys { line: index + 1, found })?);
            }
        }
        Ok(Self { keys })
    }

    /// Whether there is no key at all, so that nothing can be approved.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Whether one of the keys signed exactly this.
    pub(crate) fn signed(&self, message: &[u8], signature: &Signature) -> bool {
        self.keys.iter().any(|key| key.verify_strict(message, signature).is_ok())
    }
}

fn public_key(word: &str) -> Result<VerifyingKey, &'static str> {
    let bytes = BASE64.decode(word).map_err(|_| "a word that is no base64")?;
    let bytes = <[u8; 32]>::try_from(bytes).map_err(|_| "base64 of another length")?;
    let key = VerifyingKey::from_bytes(&bytes).map_err(|_| "32 bytes that are no public key")?;
    if key.is_weak() { Err("a weak key, with which anybody can sign") } else { Ok(key) }
}

/// The lines around a private key.
const PEM_BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const PEM_END: &str = "-----END PRIVATE KEY-----";
/// What comes before the 32 bytes of an Ed25519 private key in PKCS #8 (RFC 8410, section 7).
const PKCS8_START: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
/// More characters than a file with a private key has.
const MAX_PEM: usize = 4096;

/// A text that holds no private key. It is not quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the private key's text holds {found}; expected one Ed25519 private key in PEM, as openssl genpkey writes it"
)]
pub struct BadPrivateKey {
    /// What is there instead.
    pub found: &'static str,
}

/// The operating system gave no random bytes, so there is no new key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gave no random bytes: {0}; expected 32 for a new private key")]
pub struct NoRandomBytes(getrandom::Error);

/// The private key of a control plane, wiped when dropped. Where it is kept is the server's business.
pub struct SigningKey(ed25519_dalek::SigningKey);

impl SigningKey {
    /// A new key, of random bytes of the operating system.
    ///
    /// # Errors
    ///
    /// The operating system has none.
    pub fn generate() -> Result<Self, NoRandomBytes> {
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(seed.as_mut_slice()).map_err(NoRandomBytes)?;
        Ok(Self::from_seed(&seed))
    }

    /// The key in a PEM file of PKCS #8, as `openssl genpkey -algorithm ed25519` writes it.
    ///
    /// # Errors
    ///
    /// The text holds something else, or something besides.
    pub fn from_pem(text: &str) -> Result<Self, BadPrivateKey> {
        let bad = |found| BadPrivateKey { found };
        if text.len() > MAX_PEM {
            return Err(bad("more than 4096 characters"));
        }
        let lines = text.trim().strip_prefix(PEM_BEGIN).and_then(|rest| rest.strip_suffix(PEM_END));
        let lines = lines.ok_or(bad("no lines BEGIN PRIVATE KEY and END PRIVATE KEY around it"))?;
        let mut word = Zeroizing::new(String::with_capacity(lines.len()));
        word.extend(lines.split_ascii_whitespace());
        let der =
            Zeroizing::new(BASE64.decode(word.as_bytes()).map_err(|_| bad("lines that are no base64"))?);
        let seed = der.strip_prefix(&PKCS8_START).and_then(|seed| <&[u8; 32]>::try_from(seed).ok());
        seed.map(Self::from_seed).ok_or(bad("another kind of key"))
    }

    /// The key as a PEM file that [`Self::from_pem`] and `openssl` read. Whoever has it can approve everything.
    #[must_use]
    pub fn to_pem(&self) -> Zeroizing<String> {
        let mut der = Zeroizing::new([0; 48]);
        let (start, seed) = der.split_at_mut(PKCS8_START.len());
        start.copy_from_slice(&PKCS8_START);
        seed.copy_from_slice(self.0.as_bytes());
        let word = Zeroizing::new(BASE64.encode(der.as_slice()));
        Zeroizing::new(format!("{PEM_BEGIN}\n{}\n{PEM_END}\n", word.as_str()))
    }

    /// The key that these 32 random bytes make.
    #[must_use]
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(ed25519_dalek::SigningKey::from_bytes(seed))
    }

    /// The public key as a line of the operator's file of approval keys, which [`PublicKeys::parse`] reads.
    #[must_use]
    pub fn public_key(&self) -> String {
        BASE64.encode(self.0.verifying_key().as_bytes())
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Signature {
        self.0.sign(message)
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey(of {})", self.public_key())
    }
}
