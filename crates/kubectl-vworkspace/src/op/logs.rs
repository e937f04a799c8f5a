//! `op logs`: what the engine wrote.

use std::io::Write;

use clap::Args;
use futures::AsyncBufReadExt;
use futures::io::AsyncBufRead;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, LogParams};
use kube::{Api, ResourceExt};
use serde_json::Value;
use vworkspace_api::operation::{Engine, LogsRef, Operation, OperationType};

use super::OpError;
use super::access::{Access, Session, failed};
use crate::exit::Exit;
use crate::pipe::is_closed;

/// What the pods of an operation carry; its value is the operation's uid.
const LABEL: &str = "ops.vworkspace.io/operation";
/// Which container kubectl takes.
const DEFAULT_CONTAINER: &str = "kubectl.kubernetes.io/default-container";

/// Which log.
#[derive(Debug, Args)]
pub struct LogsArgs {
    /// The operation
    pub name: String,

    /// Go on with what is written from now on
    #[arg(short, long)]
    pub follow: bool,

    /// Only the last lines
    #[arg(long, value_name = "LINES", value_parser = clap::value_parser!(i64).range(0..))]
    pub tail: Option<i64>,

    /// Where.
    #[command(flatten)]
    pub access: Access,
}

pub(super) async fn run(
    args: &LogsArgs,
    out: &mut impl Write,
    err: &mut impl Write,
) -> Result<Exit, OpError> {
    let session = args.access.connect().await?;
    let operation = session.operation(&args.name).await?;
    let pods = pods(&session, &operation).await?;
    let many = pods.len() > 1;
    // Only the last one still writes.
    let last = pods.len().saturating_sub(1);
    for (place, pod) in pods.iter().enumerate() {
        if many {
            writeln!(out, "==> pod {} <==", pod.name_any())?;
        }
        let params = LogParams {
            container: container(pod),
            follow: args.follow && place == last,
            tail_lines: args.tail,
            ..LogParams::default()
        };
        let (namespace, name) = (pod.namespace().unwrap_or_default(), pod.name_any());
        let api: Api<Pod> = Api::namespaced(session.client.clone(), &namespace);
        let lines = api.log_stream(&name, &params).await;
        let lines = lines
            .map_err(|error| failed("the log of pods", "read", &format!("/{name}"), &namespace, error))?;
        copy(lines, out).await?;
    }
    if pods.is_empty() {
        tell_none(&operation, out, err)?;
        return Ok(Exit::NotYetCurrent);
    }
    Ok(Exit::AllCurrent)
}

/// The pods that have the log, oldest first.
async fn pods(session: &Session, operation: &Operation) -> Result<Vec<Pod>, OpError> {
    if let Some(reference) = logs_ref(operation).filter(|reference| reference.kind == "Pod") {
        let own = operation.namespace().unwrap_or_default();
        let namespace = if reference.namespace.is_empty() { own.as_str() } else { &reference.namespace };
        let api: Api<Pod> = Api::namespaced(session.client.clone(), namespace);
        let found = api.get_opt(&reference.name).await;
        let found = found
            .map_err(|error| failed("pods", "read", &format!("/{}", reference.name), namespace, error))?;
        return Ok(found.into_iter().collect());
    }
    let api: Api<Pod> = Api::namespaced(session.client.clone(), &session.namespace);
    let labelled = ListParams::default().labels(&format!("{LABEL}={}", operation.uid().unwrap_or_default()));
    let found =
        api.list(&labelled).await.map_err(|error| failed("pods", "read", "", &session.namespace, error))?;
    let mut pods = found.items;
    pods.sort_by_cached_key(|pod| {
        (pod.metadata.creation_timestamp.as_ref().map(|time| time.0), pod.name_any())
    });
    Ok(pods)
}

fn logs_ref(operation: &Operation) -> Option<&LogsRef> {
    operation.status.as_ref()?.logs_ref.as_ref()
}

fn container(pod: &Pod) -> Option<String> {
    let annotated = pod.annotations().get(DEFAULT_CONTAINER).cloned();
    annotated.or_else(|| Some(pod.spec.as_ref()?.containers.first()?.name.clone()))
}

/// As it comes; whoever reads it may leave.
async fn copy(lines: impl AsyncBufRead, out: &mut impl Write) -> Result<(), OpError> {
    let mut lines = std::pin::pin!(lines);
    loop {
        let lost = |error| OpError::Refused(format!("failed to read the log to its end: {error}"));
        let bytes = lines.fill_buf().await.map_err(lost)?;
        let read = bytes.len();
        if read == 0 {
            return Ok(());
        }
        out.write_all(bytes)?;
        lines.consume_unpin(read);
        match out.flush() {
            Err(error) if is_closed(&error) => return Ok(()),
            flushed => flushed?,
        }
    }
}

/// Why there is none, and where to look instead.
fn tell_none(operation: &Operation, out: &mut impl Write, err: &mut impl Write) -> Result<(), OpError> {
    let name = operation.name_any();
    match logs_ref(operation) {
        Some(LogsRef { kind, name: had, url, .. }) => {
            let url = url.as_ref().map(|url| format!(" Its log may be at {url}.")).unwrap_or_default();
            writeln!(err, "{name} has no log any more: {kind} {had}, which had it, is gone.{url}")?;
        }
        None => writeln!(
            err,
            "{name} has no log: no pod carries {LABEL}={}.",
            operation.uid().unwrap_or_default()
        )?,
    }
    let status = operation.status.as_ref();
    if operation.spec.engine == Engine::Velero {
        let what = if operation.spec.type_ == OperationType::Restore { "restore" } else { "backup" };
        let reference = status.and_then(|status| status.engine_ref.as_ref());
        let namespace = reference.map(|reference| format!(" -n {}", reference.namespace)).unwrap_or_default();
        let object = reference.map_or(name.as_str(), |reference| reference.name.as_str());
        writeln!(err, "Velero keeps it: velero {what} logs {object}{namespace}")?;
    }
    let lines = status.and_then(|status| status.outputs.get("lastLines")).and_then(Value::as_array);
    if let Some(lines) = lines {
        writeln!(err, "Its last lines were kept (spec.policy.captureLogs):")?;
        for line in lines.iter().filter_map(Value::as_str) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}
