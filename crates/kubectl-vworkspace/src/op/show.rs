//! `op show`: what was asked for, what happened, and what to type next.

use std::io::{self, Write};

use clap::Args;
use conditions::{Condition, Entry, Kind};
use jiff::Timestamp;
use kube::ResourceExt;
use serde::Serialize;
use serde_json::{Map, Value};
use vworkspace_api::operation::{Blocked, Engine, EngineRef, LogsRef, Operation, OperationSpec, Phase};

use super::access::Access;
use super::list::Row;
use super::wait::{phase, style};
use super::{OpError, Output, write_json};
use crate::columns::one_line;
use crate::exit::Exit;
use crate::style::{DIM, GOOD, STRONG, styled};

/// What follows from other conditions is told after them.
const DERIVED: [&str; 2] = ["Reconciling", "Stalled"];

/// Which one.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The operation
    pub name: String,

    /// How to write it
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Output,

    /// Where.
    #[command(flatten)]
    pub access: Access,
}

pub(super) async fn run(args: &ShowArgs, out: &mut impl Write) -> Result<Exit, OpError> {
    let session = args.access.connect().await?;
    let operation = session.operation(&args.name).await?;
    let shown = Shown::of(&operation);
    match args.output {
        Output::Json => write_json(&shown, out)?,
        Output::Text => write(&shown, &operation, out)?,
    }
    Ok(Exit::AllCurrent)
}

/// Everything about one operation. The fields are an interface.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Shown {
    #[serde(flatten)]
    row: Row,
    uid: String,
    /// As it was asked for, without the claim.
    spec: OperationSpec,
    timeline: Vec<Told>,
    outputs: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    engine_ref: Option<EngineRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logs_ref: Option<LogsRef>,
    next: Next,
}

/// Something that was said of the operation.
#[derive(Debug, Serialize)]
struct Told {
    time: Timestamp,
    #[serde(rename = "type")]
    type_: String,
    status: &'static str,
    reason: String,
    message: String,
}

/// What the present reason means, and what to do about it.
#[derive(Debug, Serialize)]
struct Next {
    meaning: String,
    investigate: Vec<String>,
    resolve: String,
}

impl Shown {
    /// What is told of an operation.
    pub fn of(operation: &Operation) -> Shown {
        let status = operation.status.clone().unwrap_or_default();
        let mut spec = operation.spec.clone();
        spec.approvals.claim = None;
        Shown {
            row: Row::of(operation),
            uid: operation.uid().unwrap_or_default(),
            spec,
            timeline: timeline(operation),
            outputs: status.outputs,
            engine_ref: status.engine_ref,
            logs_ref: status.logs_ref,
            next: next(operation),
        }
    }
}

/// The conditions in the order in which they came to be so.
fn timeline(operation: &Operation) -> Vec<Told> {
    let mut told: Vec<Told> = conditions(operation)
        .map(|condition| Told {
            time: condition.last_transition_time,
            type_: condition.type_.clone(),
            status: condition.status.as_str(),
            reason: condition.reason.clone(),
            message: condition.message.clone(),
        })
        .collect();
    told.sort_by_key(|told| told.time);
    told
}

fn conditions(operation: &Operation) -> impl Iterator<Item = &Condition> {
    operation.status.iter().flat_map(|status| status.conditions.iter())
}

/// The entry of the vocabulary for the reason that decides the phase.
fn present(operation: &Operation) -> Entry {
    let vocabulary = Operation::VOCABULARY;
    let reason = operation.status.as_ref().and_then(|status| status.reason.as_deref());
    let entry =
        |condition: &Condition| vocabulary.find(&condition.type_, condition.status, &condition.reason);
    let own = conditions(operation).filter(|condition| !DERIVED.contains(&condition.type_.as_str()));
    let found = own.filter(|condition| Some(condition.reason.as_str()) == reason).find_map(entry);
    found.unwrap_or(*vocabulary.unobserved)
}

fn next(operation: &Operation) -> Next {
    let entry = present(operation);
    let (namespace, name) = (operation.namespace().unwrap_or_default(), operation.name_any());
    let filled = |text: &str| text.replace("{namespace}", &namespace).replace("{name}", &name);
    let mut investigate: Vec<String> = entry.investigate.iter().map(|command| filled(command)).collect();
    let blocked = operation.status.as_ref().and_then(|status| status.conditions.read());
    if has_log(operation) {
        investigate.insert(0, format!("kubectl vworkspace op logs {name} -n {namespace}"));
    }
    if blocked == Some(Blocked::AwaitingApproval) {
        investigate.push(format!("kubectl vworkspace op approve {name} -n {namespace} --key approver.pem"));
    }
    Next { meaning: entry.meaning.to_owned(), investigate, resolve: filled(entry.resolve) }
}

/// Whether a pod writes one, or has written it.
fn has_log(operation: &Operation) -> bool {
    let reference = operation.status.as_ref().and_then(|status| status.logs_ref.as_ref());
    let writes = operation.spec.engine == Engine::Job && phase(operation) == Phase::Running;
    writes || reference.is_some_and(|reference| reference.kind == "Pod")
}

fn write(shown: &Shown, operation: &Operation, out: &mut impl Write) -> io::Result<()> {
    let Shown { spec, .. } = shown;
    let place = format!("{}/{}", operation.namespace().unwrap_or_default(), operation.name_any());
    let template =
        spec.template().map_or_else(|| format!("{} with {}", spec.type_, spec.engine), |t| t.name.to_owned());
    writeln!(out, "{} {}", styled(STRONG, place), styled(DIM, format!("(uid {})", shown.uid)))?;

    heading("Asked for", out)?;
    field("template", &template, out)?;
    field("target", &spec.target_ref.name, out)?;
    for (name, value) in &spec.parameters {
        field(name, &in_short(value), out)?;
    }
    let asked = serde_json::to_value(spec).unwrap_or_default();
    for name in ["timeout", "ttlAfterFinished", "policy", "approvals", "cancel"] {
        if let Some(value) = asked.get(name) {
            field(name, &in_short(value), out)?;
        }
    }

    heading("State", out)?;
    let row = serde_json::to_value(&shown.row).unwrap_or_default();
    let phase = phase(operation);
    field("phase", &styled(style(phase), phase), out)?;
    for (name, key) in [
        ("reason", "reason"),
        ("message", "message"),
        ("created", "createdAt"),
        ("started", "startedAt"),
        ("finished", "finishedAt"),
        ("duration", "duration"),
    ] {
        match row.get(key).and_then(Value::as_str) {
            Some(text) if !text.is_empty() => field(name, &one_line(text), out)?,
            _ => {}
        }
    }
    if let Some(EngineRef { kind, name, namespace, .. }) = &shown.engine_ref {
        field("engine", &one_line(&format!("{kind} {namespace}/{name}")), out)?;
    }
    if let Some(LogsRef { kind, name, namespace, url }) = &shown.logs_ref {
        let url = url.as_ref().map(|url| format!(", {url}")).unwrap_or_default();
        field("log", &one_line(&format!("{kind} {namespace}/{name}{url}")), out)?;
    }

    if !shown.timeline.is_empty() {
        heading("Timeline", out)?;
        let said = |told: &Told| format!("{}={}/{}", told.type_, told.status, told.reason);
        let width = shown.timeline.iter().map(|told| said(told).len()).max().unwrap_or_default();
        for told in &shown.timeline {
            let Told { time, type_, status, message, .. } = told;
            // Its words are those of the condition that it follows from.
            let message = if DERIVED.contains(&type_.as_str()) { "" } else { message };
            let line = one_line(&format!("{:width$}  {message}", said(told)));
            writeln!(out, "    {time}  {}", if *status == "True" { line } else { styled(DIM, line) })?;
        }
    }
    if !shown.outputs.is_empty() {
        heading("Outputs", out)?;
        for (name, value) in &shown.outputs {
            field(name, &in_short(value), out)?;
        }
    }
    heading("Next", out)?;
    writeln!(out, "    {}", shown.next.meaning)?;
    for command in &shown.next.investigate {
        writeln!(out, "      {}", styled(GOOD, command))?;
    }
    writeln!(out, "    {}", shown.next.resolve)
}

fn heading(text: &str, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\n  {}", styled(STRONG, text))
}

fn field(name: &str, value: &str, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "    {:<18}  {value}", one_line(name))
}

/// On one line.
fn in_short(value: &Value) -> String {
    match value {
        Value::String(text) => one_line(text),
        other => one_line(&other.to_string()),
    }
}
