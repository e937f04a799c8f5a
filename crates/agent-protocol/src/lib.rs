//! What operator and control plane say to each other. What belongs here: the wire types of `/api/agent`, canonical JSON
//! and digests over it, and signed approval claims; both sides use this crate, so neither can drift. What does not: sending
//! and receiving (no I/O but for the random bytes of a new key, no clock), Kubernetes types, and what an approval means for an object.

pub mod canonical;
pub mod claim;
pub mod keys;

pub use canonical::digest_of;
pub use claim::vws1::{SharedSecret, Vws1Claim};
pub use claim::{Claim, Expected, Refused};
pub use keys::{BadKeys, BadPrivateKey, NoRandomBytes, PublicKeys, SigningKey};
