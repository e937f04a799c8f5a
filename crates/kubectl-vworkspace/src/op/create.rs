//! `op create`: asks for an operation.

use std::io::Write;
use std::time::Duration as Length;

use clap::{Args, ValueEnum};
use jiff::Timestamp;
use kube::api::PostParams;
use kube::{Resource, ResourceExt};
use vworkspace_api::Duration;
use vworkspace_api::application_instance::ApplicationInstance;
use vworkspace_api::operation::{Approvals, Operation, OperationSpec, Policy, TargetRef, Template};

use super::access::{Access, Session};
use super::{OpError, name, parameters, templates, wait, write_json, write_yaml};
use crate::exit::Exit;
use crate::pipe::or_closed;

/// So many names are tried where nobody gave one.
const ATTEMPTS: usize = 9;

/// What to ask for.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubectl vworkspace op create backup.velero --target web -p retention=30d --wait
  kubectl vworkspace op create restore.velero --target web -p backupName=web-backup-20260102-030405
  kubectl vworkspace op create upgrade.helm --target web -p targetVersion=1.3.0 -p valuesPatch=@values.yaml
  kubectl vworkspace op create runCommand.job --target web -p image=busybox:1.37 -p command=sh,-c -p 'args=[\"echo a, b\"]'
  kubectl vworkspace op create backup.velero --target web --dry-run=client -o yaml

`kubectl vworkspace op templates TEMPLATE` shows the parameters.
Exit codes with --wait: 0 succeeded, 1 has not ended in time, 2 failed or cancelled, 3 bad usage or refused.")]
pub struct CreateArgs {
    /// What shall be done, and with which engine
    #[arg(value_name = "TEMPLATE", value_parser = templates::runnable(), ignore_case = true)]
    pub template: String,

    /// The ApplicationInstance
    #[arg(long, value_name = "NAME")]
    pub target: String,

    /// A parameter: lists as a,b or given several times; maps as k=v,k=v; objects and variables as JSON or @FILE
    #[arg(short, long = "param", value_name = "KEY=VALUE")]
    pub parameters: Vec<String>,

    /// Its name; <target>-<verb>-<time> if not given
    #[arg(long)]
    pub name: Option<String>,

    /// How long the engine may take: 30m, 4h
    #[arg(long, value_name = "DURATION")]
    pub timeout: Option<Duration>,

    /// How long the operation is kept once it has ended: 168h
    #[arg(long, value_name = "DURATION")]
    pub ttl: Option<Duration>,

    /// Never run it together with another operation on the same target
    #[arg(long)]
    pub exclusive: bool,

    /// Whether it waits until the target is ready; as the template says if not given
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub require_ready: Option<bool>,

    /// Keep the last lines of the log in status.outputs, for everybody who may read the operation
    #[arg(long)]
    pub capture_logs: bool,

    /// Start it only with an approval
    #[arg(long)]
    pub approval_required: bool,

    /// Only show what would be sent
    #[arg(long, value_name = "WHERE", value_enum, require_equals = true)]
    pub dry_run: Option<DryRun>,

    /// How to write the operation
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub output: Option<ObjectOutput>,

    /// Wait until it has ended
    #[arg(long, conflicts_with = "dry_run")]
    pub wait: bool,

    /// How long to wait at most; until it has ended if not given
    #[arg(long, value_name = "DURATION", requires = "wait")]
    pub wait_timeout: Option<Duration>,

    /// Where.
    #[command(flatten)]
    pub access: Access,
}

/// Who is asked what would happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DryRun {
    /// Nobody: nothing is sent.
    Client,
}

/// How an object is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ObjectOutput {
    /// The object.
    Yaml,
    /// The object.
    Json,
    /// Kind and name.
    Name,
}

impl CreateArgs {
    /// What would be asked for; checked, and not sent.
    fn spec(&self) -> Result<(OperationSpec, &'static Template), OpError> {
        let template = templates::named(&self.template)?;
        let spec = OperationSpec {
            target_ref: TargetRef {
                api_version: ApplicationInstance::api_version(&()).into_owned(),
                kind: ApplicationInstance::kind(&()).into_owned(),
                name: self.target.clone(),
            },
            type_: template.type_,
            engine: template.engine,
            parameters: parameters::read(template, &self.parameters)?,
            approvals: Approvals { required: self.approval_required, ..Approvals::default() },
            policy: Policy {
                require_ready: self.require_ready,
                exclusive: self.exclusive,
                capture_logs: self.capture_logs,
                ..Policy::default()
            },
            timeout: self.timeout,
            cancel: false,
            ttl_after_finished: self.ttl,
        };
        spec.request().map_err(|problems| OpError::Refused(problems.to_string()))?;
        Ok((spec, template))
    }
}

pub(super) async fn run(
    args: &CreateArgs,
    out: &mut impl Write,
    err: &mut impl Write,
) -> Result<Exit, OpError> {
    let (spec, template) = args.spec()?;
    let named = |attempt: usize| {
        let name = args.name.clone();
        let name =
            name.unwrap_or_else(|| name::default_name(&args.target, template, Timestamp::now(), attempt));
        let mut operation = Operation::new(&name, spec.clone());
        operation.metadata.namespace.clone_from(&args.access.namespace);
        operation
    };
    if args.dry_run.is_some() {
        write(&named(1), args.output, " (dry run)", out)?;
        return Ok(Exit::AllCurrent);
    }
    let session = args.access.connect().await?;
    let tries = if args.name.is_some() { 1 } else { ATTEMPTS };
    let created = create(&session, named, tries).await?;
    if !args.wait {
        write(&created, args.output, "", out)?;
        return Ok(Exit::AllCurrent);
    }
    if args.output.is_none() {
        write(&created, None, "", out)?;
        or_closed(out.flush())?;
    }
    let timeout = args.wait_timeout.map(Length::from);
    let (exit, last) = wait::until_ended(&session, &created.name_any(), timeout, err).await?;
    match (args.output, last) {
        (None, Some(operation)) => wait::write_end(&operation, out)?,
        (output, last) => write(last.as_ref().unwrap_or(&created), output, "", out)?,
    }
    Ok(exit)
}

/// Under the first of the names that is free.
async fn create(
    session: &Session,
    named: impl Fn(usize) -> Operation,
    tries: usize,
) -> Result<Operation, OpError> {
    let mut attempt = 1;
    loop {
        let wanted = named(attempt);
        match session.operations().create(&PostParams::default(), &wanted).await {
            Ok(created) => return Ok(created),
            Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" && attempt < tries => {
                attempt += 1;
            }
            Err(error) => return Err(session.failed("create", &wanted.name_any(), error)),
        }
    }
}

fn write(
    operation: &Operation,
    output: Option<ObjectOutput>,
    note: &str,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let name = format!("operation.{}/{}", Operation::group(&()), operation.name_any());
    match output {
        None => writeln!(out, "{name} created{note}"),
        Some(ObjectOutput::Name) => writeln!(out, "{name}"),
        Some(ObjectOutput::Json) => write_json(operation, out),
        Some(ObjectOutput::Yaml) => write_yaml(operation, out),
    }
}
