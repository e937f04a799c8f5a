//! `op cancel`: asks for an end.

use std::io::Write;
use std::time::Duration as Length;

use clap::Args;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use vworkspace_api::Duration;
use vworkspace_api::operation::{Engine, Operation, OperationType};

use super::OpError;
use super::access::Access;
use super::wait::{self, phase};
use crate::exit::Exit;
use crate::pipe::or_closed;

/// Which one.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes: 0 cancelled, 1 it has ended already, or not yet within --wait-timeout, \
    2 with --wait it ended in another way, 3 bad usage or refused.")]
pub struct CancelArgs {
    /// The operation
    pub name: String,

    /// Wait until it has ended
    #[arg(long)]
    pub wait: bool,

    /// How long to wait at most; until it has ended if not given
    #[arg(long, value_name = "DURATION", requires = "wait")]
    pub wait_timeout: Option<Duration>,

    /// Where.
    #[command(flatten)]
    pub access: Access,
}

pub(super) async fn run(
    args: &CancelArgs,
    out: &mut impl Write,
    err: &mut impl Write,
) -> Result<Exit, OpError> {
    let session = args.access.connect().await?;
    let operation = session.operation(&args.name).await?;
    if phase(&operation).is_final() {
        write!(out, "There is nothing to cancel, it has ended: ")?;
        wait::write_end(&operation, out)?;
        return Ok(Exit::NotYetCurrent);
    }
    let asked = Patch::Merge(json!({"spec": {"cancel": true}}));
    session
        .operations()
        .patch(&args.name, &PatchParams::default(), &asked)
        .await
        .map_err(|error| session.failed("cancel", &args.name, error))?;
    let again = if operation.spec.cancel { " It had been asked for before." } else { "" };
    writeln!(out, "Cancelling {}: {}{again}", operation.name_any(), consequence(&operation))?;
    if !args.wait {
        return Ok(Exit::AllCurrent);
    }
    or_closed(out.flush())?;
    let (exit, last) =
        wait::until_ended(&session, &args.name, args.wait_timeout.map(Length::from), err).await?;
    let Some(last) = last else { return Ok(exit) };
    wait::write_end(&last, out)?;
    Ok(match phase(&last) {
        vworkspace_api::operation::Phase::Cancelled => Exit::AllCurrent,
        ended if ended.is_final() => Exit::Failed,
        _ => exit,
    })
}

/// What it means for the engine.
fn consequence(operation: &Operation) -> &'static str {
    let has_work = operation.status.as_ref().is_some_and(|status| status.engine_ref.is_some());
    match (operation.spec.engine, operation.spec.type_) {
        _ if !has_work => "the engine has not got its work, and will not get it.",
        (Engine::Velero, OperationType::Restore) => {
            "a restore that has started cannot be stopped; it goes on to its end."
        }
        (Engine::Velero, _) => {
            "Velero cannot stop a backup that runs; it goes on to its end and is removed then."
        }
        (Engine::Job | Engine::HelmHookJob | Engine::Workflow, _) => {
            "the engine is stopped, and its pods end."
        }
        (Engine::Helm, _) => "an upgrade that has started cannot be stopped; it goes on to its end.",
        (Engine::Volsync | Engine::Snapshot, _) => {
            "the engine is stopped where it can be; what it has done already is not undone."
        }
    }
}
