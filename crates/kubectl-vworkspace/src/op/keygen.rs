//! `op keygen`: a key to approve with.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use agent_protocol::SigningKey;
use clap::{Args, ValueHint};

use super::OpError;
use crate::exit::Exit;

/// Where to put it.
#[derive(Debug, Args)]
#[command(after_help = "\
The public key goes to standard output, everything else to standard error:
  PUBLIC=$(kubectl vworkspace op keygen --out approver.pem)")]
pub struct KeygenArgs {
    /// The file for the private key; it must not exist
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, default_value = "approver.pem")]
    pub out: PathBuf,
}

pub(super) fn run(args: &KeygenArgs, out: &mut impl Write, err: &mut impl Write) -> Result<Exit, OpError> {
    let path = args.out.display();
    let key = SigningKey::generate().map_err(|error| OpError::Refused(error.to_string()))?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&args.out).and_then(|mut file| {
        file.write_all(key.to_pem().as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => OpError::Refused(format!(
            "{path} exists; expected the name of a new file, because a key is never overwritten"
        )),
        _ => OpError::Refused(format!("failed to write {path}: {error}")),
    })?;
    let public = key.public_key();
    writeln!(out, "{public}")?;
    writeln!(
        err,
        "The private key is in {path}: whoever has it can approve everything. Keep it away from the cluster.\n\
         The public key is what the chart's value approvals.publicKeys lists. This sets it, and replaces keys that are \
         there already:\n\
         \x20 helm upgrade vworkspace-operator charts/vworkspace-operator --namespace vworkspace-system \
         --reset-then-reuse-values --set-json 'approvals.publicKeys=[\"{public}\"]'"
    )?;
    Ok(Exit::AllCurrent)
}
