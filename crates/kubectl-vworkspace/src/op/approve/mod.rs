//! `op approve`: signs what waits for an approval, after somebody has looked at it.

mod key;
mod subject;

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;

use agent_protocol::Claim;
use clap::{Args, ValueEnum, ValueHint};
use jiff::{SignedDuration, Timestamp};
use kube::Api;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use serde_json::json;
use vworkspace_api::Duration;
use vworkspace_api::application_instance::ApplicationInstance;
use vworkspace_api::operation::Operation;

use self::subject::Subject;
use super::OpError;
use super::access::{Access, failed};
use crate::exit::Exit;
use crate::status::live::LiveError;

/// What to approve, and with which key.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubectl vworkspace op approve web-restore-20260102-030405 -n shop --key approver.pem
  kubectl vworkspace op approve web -n shop --kind ApplicationInstance --key approver.pem --by ada
  kubectl vworkspace op approve web-restore-20260102-030405 --key approver.pem --yes --print > claim.txt

The claim is about exactly what is shown: a change after that needs another one.")]
pub struct ApproveArgs {
    /// The object
    pub name: String,

    /// The private key, an Ed25519 key in PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub key: PathBuf,

    /// Who approves; your user name if not given
    #[arg(long, value_name = "WHO")]
    pub by: Option<String>,

    /// How long the claim may be used: 30m, 1h, 7d
    #[arg(long = "for", value_name = "DURATION", default_value = "1h", value_parser = Duration::with_days)]
    pub holds: Duration,

    /// The object's kind
    #[arg(long, value_enum, default_value_t, ignore_case = true)]
    pub kind: ApprovedKind,

    /// Only print the claim
    #[arg(long)]
    pub print: bool,

    /// Do not ask
    #[arg(short, long)]
    pub yes: bool,

    /// Where.
    #[command(flatten)]
    pub access: Access,
}

/// What can wait for an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
#[value(rename_all = "PascalCase")]
pub enum ApprovedKind {
    /// An operation, before it starts.
    #[default]
    Operation,
    /// An application, before a change of it goes out.
    ApplicationInstance,
}

impl ApprovedKind {
    fn resource(self) -> ApiResource {
        match self {
            ApprovedKind::Operation => ApiResource::erase::<Operation>(&()),
            ApprovedKind::ApplicationInstance => ApiResource::erase::<ApplicationInstance>(&()),
        }
    }
}

pub(super) async fn run(
    args: &ApproveArgs,
    out: &mut impl Write,
    err: &mut impl Write,
) -> Result<Exit, OpError> {
    if !args.yes && !io::stdin().is_terminal() {
        return Err(OpError::Refused(
            "found no terminal to ask at; expected --yes where nobody can be asked".to_owned(),
        ));
    }
    let by = who(args)?;
    let key = key::read(&args.key, err)?;
    let session = args.access.connect().await?;
    let resource = args.kind.resource();
    let api: Api<DynamicObject> = Api::namespaced_with(session.client.clone(), &session.namespace, &resource);
    let object = session.get(&api, &resource, &args.name).await?;
    let subject = Subject::of(&object, args.kind)?;
    subject.show(&object, err)?;
    let claim = claim(args, &subject, by, key.public_key())?;
    writeln!(err, "The claim holds until {}, by {:?}.", claim.exp, claim.by)?;
    if !args.yes && !confirmed(err)? {
        writeln!(err, "Nothing was approved.")?;
        return Ok(Exit::NotYetCurrent);
    }
    let token = key.issue(&claim).map_err(|error| OpError::Refused(error.to_string()))?;
    if args.print {
        writeln!(out, "{token}")?;
        return Ok(Exit::AllCurrent);
    }
    let patch = json!({
        "metadata": {"resourceVersion": object.metadata.resource_version},
        "spec": {"approvals": {"claim": token}},
    });
    match api.patch(&args.name, &PatchParams::default(), &Patch::Merge(patch)).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.code == 409 => {
            return Err(OpError::Refused(format!(
                "{} {} was changed while you looked at it; nothing was approved. Look again: run the same command once more",
                resource.kind, args.name
            )));
        }
        Err(error) => {
            let plural = format!("{}.{}", resource.plural, resource.group);
            return Err(failed(&plural, "approve", &format!("/{}", args.name), &session.namespace, error));
        }
    }
    writeln!(out, "{} {} approved (claim {})", resource.kind, args.name, claim.id)?;
    Ok(Exit::AllCurrent)
}

fn who(args: &ApproveArgs) -> Result<String, OpError> {
    let user = || ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| std::env::var(name).ok());
    let by = args.by.clone().or_else(user).filter(|by| !by.trim().is_empty());
    by.ok_or_else(|| OpError::Refused("found no user name; expected --by WHO".to_owned()))
}

fn claim(args: &ApproveArgs, subject: &Subject, by: String, key: String) -> Result<Claim, OpError> {
    // The claim counts whole seconds, and must be later than the last one that was used.
    let now = Timestamp::now().as_second();
    let second = subject.last.map_or(now, |last| now.max(last.as_second().saturating_add(1)));
    let too_long = |_| {
        OpError::Refused(format!("--for {}: found a time that no calendar has; expected less", args.holds))
    };
    let at = Timestamp::from_second(second).map_err(too_long)?;
    let holds = SignedDuration::try_from(std::time::Duration::from(args.holds)).map_err(too_long)?;
    if holds.as_secs() == 0 {
        return Err(OpError::Refused(format!(
            "--for {}: found less than a second; expected one such as 1h",
            args.holds
        )));
    }
    let exp = at.checked_add(holds).map_err(too_long)?;
    Ok(Claim {
        v: 2,
        id: format!("{}-{second}", args.name),
        cluster: subject.cluster.clone(),
        namespace: subject.namespace.clone(),
        kind: subject.kind.clone(),
        uid: subject.uid.clone(),
        digest: subject.digest.clone(),
        by,
        at,
        exp,
        key: Some(key),
    })
}

/// Only a clear yes counts.
fn confirmed(err: &mut impl Write) -> Result<bool, OpError> {
    write!(err, "Approve this? [y/N] ")?;
    err.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(LiveError::Runtime)?;
    Ok(is_yes(&answer))
}

fn is_yes(answer: &str) -> bool {
    ["y", "yes"].iter().any(|yes| answer.trim().eq_ignore_ascii_case(yes))
}

#[cfg(test)]
mod tests {
    use super::is_yes;

    #[test]
    fn only_a_clear_yes_counts() {
        assert!(["y", "Y\n", " yes\r\n"].iter().all(|answer| is_yes(answer)));
        assert!(!["", "\n", "n", "no", "yep", "j", "y y"].iter().any(|answer| is_yes(answer)));
    }
}
