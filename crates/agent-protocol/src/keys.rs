//! The keys that claims are signed and verified with. A cluster holds only public ones.

use std::fmt;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use ed25519_dalek::{Signature, Signer, VerifyingKey};

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

/// The private key of a control plane. Where its 32 random bytes come from and are kept is the server's business.
pub struct SigningKey(ed25519_dalek::SigningKey);

impl SigningKey {
    /// The key that these 32 random bytes make.
    #[must_use]
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(ed25519_dalek::SigningKey::from_bytes(seed))
    }

    /// The public key, in the form that [`PublicKeys::parse`] reads.
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
