//! `op logs`: what the engine wrote.

use std::io::Write;

use clap::Args;
use futures::io::AsyncBufRead;
use futures::{AsyncBufReadExt, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, LogParams};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, ResourceExt};
use serde_json::Value;
use vworkspace_api::operation::{Engine, LogsRef, Operation, OperationType, Phase};

use super::OpError;
use super::access::{Access, Session, failed};
use super::wait::{self, phase};
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

    /// Go on with what is written from now on; before the start, wait for it
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
    let mut operation = session.operation(&args.name).await?;
    let mut pods = pods(&session, &operation).await?;
    if args.follow && pods.is_empty() && will_have_pods(&operation) {
        operation = until_it_writes(&session, operation, err).await?;
        pods = self::pods(&session, &operation).await?;
    }
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

/// Whether pods do the work, and it is not over.
fn will_have_pods(operation: &Operation) -> bool {
    let engine = operation.spec.engine;
    let by_pods = matches!(engine, Engine::Job | Engine::HelmHookJob | Engine::Workflow);
    by_pods && !phase(operation).is_final()
}

/// Waits until the engine has begun or the operation has ended, and says what it waits for.
async fn until_it_writes(
    session: &Session,
    operation: Operation,
    err: &mut impl Write,
) -> Result<Operation, OpError> {
    let name = operation.name_any();
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let mut changes = watcher(session.operations(), config).default_backoff().boxed();
    let (mut last, mut told) = (operation, String::new());
    while let Some(event) = changes.next().await {
        match event {
            Ok(Event::InitApply(now) | Event::Apply(now)) => last = now,
            Ok(Event::Delete(_)) => {
                return Err(OpError::Refused(format!("{name} was deleted before it began")));
            }
            Ok(Event::Init | Event::InitDone) => continue,
            Err(error) => return Err(session.failed("watch", &name, wait::cause(error))),
        }
        if phase(&last) != Phase::Pending {
            break;
        }
        let state = wait::state(&last);
        if told != state {
            writeln!(err, "{name} has no log yet: {state}")?;
            told = state;
        }
    }
    Ok(last)
}

/// The pods that have a log, oldest first.
async fn pods(session: &Session, operation: &Operation) -> Result<Vec<Pod>, OpError> {
    if let Some(reference) = logs_ref(operation).filter(|reference| reference.kind == "Pod") {
        let own = operation.namespace().unwrap_or_default();
        let namespace = if reference.namespace.is_empty() { own.as_str() } else { &reference.namespace };
        let api: Api<Pod> = Api::namespaced(session.client.clone(), namespace);
        let found = api.get_opt(&reference.name).await;
        let found = found
            .map_err(|error| failed("pods", "read", &format!("/{}", reference.name), namespace, error))?;
        return Ok(found.into_iter().filter(has_begun).collect());
    }
    let api: Api<Pod> = Api::namespaced(session.client.clone(), &session.namespace);
    let labelled = ListParams::default().labels(&format!("{LABEL}={}", operation.uid().unwrap_or_default()));
    let found =
        api.list(&labelled).await.map_err(|error| failed("pods", "read", "", &session.namespace, error))?;
    let mut pods: Vec<Pod> = found.items.into_iter().filter(has_begun).collect();
    pods.sort_by_cached_key(|pod| {
        (pod.metadata.creation_timestamp.as_ref().map(|time| time.0), pod.name_any())
    });
    Ok(pods)
}

/// One that waits for its image, its volumes or a node has written nothing.
fn has_begun(pod: &Pod) -> bool {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()) != Some("Pending")
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
    let (name, state) = (operation.name_any(), wait::state(operation));
    let status = operation.status.as_ref();
    match (operation.spec.engine, logs_ref(operation)) {
        (_, Some(LogsRef { kind, name: had, url, .. })) => {
            let url = url.as_ref().map(|url| format!(" Its log may be at {url}.")).unwrap_or_default();
            writeln!(err, "{name} has no log any more: {kind} {had}, which had it, is gone.{url}")?;
        }
        (Engine::Velero, None) => {
            let what = if operation.spec.type_ == OperationType::Restore { "restore" } else { "backup" };
            let reference = status.and_then(|status| status.engine_ref.as_ref());
            let namespace = reference.map_or("velero", |reference| reference.namespace.as_str());
            let object = reference.map_or(name.as_str(), |reference| reference.name.as_str());
            writeln!(
                err,
                "{name} has no log of its own: {state}\nVelero keeps it: velero {what} logs {object} -n {namespace}\n\
                 What Velero does for all: kubectl logs -n {namespace} deploy/velero --tail=200"
            )?;
        }
        _ if will_have_pods(operation) => writeln!(err, "{name} has no log yet: {state}")?,
        _ => writeln!(
            err,
            "{name} has no log: {state}\nNo pod carries {LABEL}={} (any more).",
            operation.uid().unwrap_or_default()
        )?,
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
