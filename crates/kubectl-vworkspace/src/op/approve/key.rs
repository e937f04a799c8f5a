//! The private key, from its file to a signature and nowhere else.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use agent_protocol::SigningKey;
use zeroize::Zeroizing;

use crate::op::OpError;

/// More bytes than a file with a private key has.
const MOST: u64 = 8192;

/// The key of a PEM file. A file that others can read is used, with a warning.
pub(super) fn read(path: &Path, err: &mut impl Write) -> Result<SigningKey, OpError> {
    let place = path.display();
    let failed =
        |error: std::io::Error| OpError::Refused(format!("failed to read the key in {place}: {error}"));
    let file = File::open(path).map_err(failed)?;
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::MetadataExt::mode(&file.metadata().map_err(failed)?) & 0o777;
        if mode & 0o077 != 0 {
            writeln!(
                err,
                "warning: {place} is open to others (mode {mode:o}); expected 600, as `chmod 600` sets it"
            )?;
        }
    }
    let mut text = Zeroizing::new(String::new());
    file.take(MOST).read_to_string(&mut text).map_err(failed)?;
    SigningKey::from_pem(&text).map_err(|bad| OpError::Refused(format!("{place}: {bad}")))
}
