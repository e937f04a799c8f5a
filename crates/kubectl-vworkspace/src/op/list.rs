//! `op list`: the operations that there are.

use std::io::{self, Write};

use clap::Args;
use jiff::Timestamp;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use serde::Serialize;
use vworkspace_api::operation::{Operation, OperationStatus, OperationType, Phase, TEMPLATES};

use super::access::Access;
use super::wait::{phase, style};
use super::{OpError, Output, age, write_json};
use crate::columns::{one_line, widths, write_cells};
use crate::exit::Exit;
use crate::style::{STRONG, styled};

/// How many to ask for at a time.
const PAGE: u32 = 500;

/// Which ones.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubectl vworkspace op list -n shop                      newest last
  kubectl vworkspace op list -A --running                 what has not ended, also what waits
  kubectl vworkspace op list --target web --type backup   the backups of one application")]
pub struct ListArgs {
    /// Of all namespaces
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    pub all_namespaces: bool,

    /// Only on this ApplicationInstance
    #[arg(long, value_name = "NAME")]
    pub target: Option<String>,

    /// Only of this type: Backup, Restore, Upgrade, ...
    #[arg(long = "type", value_name = "TYPE", value_parser = operation_type)]
    pub type_: Option<OperationType>,

    /// Only those that have not ended; also those that wait
    #[arg(long, conflicts_with = "finished")]
    pub running: bool,

    /// Only those that have ended
    #[arg(long)]
    pub finished: bool,

    /// How to write it
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: Output,

    /// Where.
    #[command(flatten)]
    pub access: Access,
}

fn operation_type(word: &str) -> Result<OperationType, String> {
    let mut types: Vec<OperationType> = TEMPLATES.iter().map(|template| template.type_).collect();
    types.sort_unstable();
    types.dedup();
    let found = types.iter().find(|type_| type_.as_str().eq_ignore_ascii_case(word)).copied();
    found.ok_or_else(|| {
        let names: Vec<&str> = types.iter().map(|type_| type_.as_str()).collect();
        format!("expected one of {}", names.join(", "))
    })
}

impl ListArgs {
    fn wants(&self, operation: &Operation) -> bool {
        let ended = phase(operation).is_final();
        self.target.as_ref().is_none_or(|target| operation.spec.target_ref.name == *target)
            && self.type_.is_none_or(|type_| operation.spec.type_ == type_)
            && (!self.running || !ended)
            && (!self.finished || ended)
    }
}

pub(super) async fn run(args: &ListArgs, out: &mut impl Write) -> Result<Exit, OpError> {
    let mut session = args.access.connect().await?;
    let api = if args.all_namespaces { Api::all(session.client.clone()) } else { session.operations() };
    if args.all_namespaces {
        session.namespace.clear();
    }
    let mut operations: Vec<Operation> = Vec::new();
    let mut params = ListParams::default().limit(PAGE);
    loop {
        let page = api.list(&params).await.map_err(|error| session.failed("read", "", error))?;
        operations.extend(page.items.into_iter().filter(|operation| args.wants(operation)));
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => break,
        }
    }
    operations.sort_by_cached_key(|operation| {
        let created = operation.metadata.creation_timestamp.as_ref().map(|time| time.0);
        (created, operation.namespace(), operation.name_any())
    });
    match args.output {
        Output::Json => write_json(&operations.iter().map(Row::of).collect::<Vec<_>>(), out)?,
        Output::Text => write_table(&operations, args.all_namespaces, Timestamp::now(), out)?,
    }
    Ok(Exit::AllCurrent)
}

/// One operation in few words. The fields are an interface.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    namespace: String,
    name: String,
    #[serde(rename = "type")]
    type_: OperationType,
    engine: vworkspace_api::operation::Engine,
    target: String,
    phase: Phase,
    reason: String,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration: Option<String>,
}

impl Row {
    /// What is told of an operation.
    pub fn of(operation: &Operation) -> Row {
        let status = operation.status.clone().unwrap_or_default();
        Row {
            namespace: operation.namespace().unwrap_or_default(),
            name: operation.name_any(),
            type_: operation.spec.type_,
            engine: operation.spec.engine,
            target: operation.spec.target_ref.name.clone(),
            phase: phase(operation),
            reason: status.reason.unwrap_or_default(),
            message: status.message.unwrap_or_default(),
            created_at: operation.metadata.creation_timestamp.as_ref().map(|time| time.0),
            started_at: status.started_at.map(|time| time.0),
            finished_at: status.finished_at.map(|time| time.0),
            duration: status.duration,
        }
    }
}

/// The table for people.
pub fn write_table(
    operations: &[Operation],
    with_namespace: bool,
    now: Timestamp,
    out: &mut impl Write,
) -> io::Result<()> {
    if operations.is_empty() {
        return writeln!(out, "No operations found.");
    }
    let mut headings = vec!["NAME", "TYPE", "ENGINE", "TARGET", "PHASE", "REASON", "DURATION", "AGE"];
    if with_namespace {
        headings.insert(0, "NAMESPACE");
    }
    let lines: Vec<Vec<String>> =
        operations.iter().map(|operation| cells(operation, with_namespace, now)).collect();
    let widths = widths(&headings, &lines);
    let phase_column = headings.iter().position(|heading| *heading == "PHASE");
    let headings: Vec<String> = headings.into_iter().map(str::to_owned).collect();
    write_cells(&headings, &widths, out, |_, cell| styled(STRONG, cell))?;
    for (operation, line) in operations.iter().zip(&lines) {
        write_cells(line, &widths, out, |column, cell| {
            if Some(column) == phase_column { styled(style(phase(operation)), cell) } else { cell }
        })?;
    }
    Ok(())
}

fn cells(operation: &Operation, with_namespace: bool, now: Timestamp) -> Vec<String> {
    let none = OperationStatus::default();
    let status = operation.status.as_ref().unwrap_or(&none);
    let or_dash = |text: Option<&str>| {
        text.map(one_line).filter(|text| !text.is_empty()).unwrap_or_else(|| "-".to_owned())
    };
    let since = |time: Option<Timestamp>| time.map(|time| age::between(time, now));
    let running =
        since(status.started_at.as_ref().map(|time| time.0)).filter(|_| status.finished_at.is_none());
    let created = since(operation.metadata.creation_timestamp.as_ref().map(|time| time.0));
    let mut cells = vec![
        operation.name_any(),
        operation.spec.type_.to_string(),
        operation.spec.engine.to_string(),
        one_line(&operation.spec.target_ref.name),
        phase(operation).to_string(),
        or_dash(status.reason.as_deref()),
        or_dash(status.duration.as_deref().or(running.as_deref())),
        or_dash(created.as_deref()),
    ];
    if with_namespace {
        cells.insert(0, or_dash(operation.metadata.namespace.as_deref()));
    }
    cells
}
