//! Objects of a cluster: shown once, followed, or waited for.
//!
//! `resource` finds out what the arguments mean in this cluster, `target` reads and watches it, `tracked` knows what
//! there is now, `follow` and `wait` say what to do with every change. Watches are real: the API server is asked
//! once and then tells.

pub(crate) mod connect;
mod follow;
pub mod resource;
mod target;
pub mod tracked;
mod wait;

use std::io::Write;

use jiff::Timestamp;
use kstatus::Options;

use super::StatusError;
use super::args::StatusArgs;
use super::report::Report;
use super::row::Row;
use crate::exit::Exit;
use resource::{Catalogue, Request};
use target::Target;

/// Why the cluster gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// No runtime for network calls.
    #[error("failed to start: {0}")]
    Runtime(#[source] std::io::Error),
    /// No usable kubeconfig.
    #[error("failed to read the kubeconfig: {0}")]
    Kubeconfig(#[source] kube::config::KubeconfigError),
    /// Neither a kubeconfig nor a service account.
    #[error(
        "failed to find a cluster: expected --kubeconfig, KUBECONFIG, ~/.kube/config or a service account: {0}"
    )]
    Infer(#[source] kube::config::InferConfigError),
    /// The configuration makes no client.
    #[error("failed to use the kubeconfig: {0}")]
    Client(#[source] kube::Error),
    /// The arguments make no sense.
    #[error("{0}")]
    Arguments(String),
    /// A request was refused or got no answer.
    #[error("failed to {action}: {}", in_words(.cause))]
    Request {
        /// What was tried, with the objects named.
        action: String,
        /// What came back.
        cause: Box<kube::Error>,
    },
}

/// What the API server said, or why nothing came back, in one line.
fn in_words(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => format!("{} ({})", status.message, status.code),
        other => {
            let mut text = other.to_string();
            let mut source = std::error::Error::source(other);
            while let Some(inner) = source {
                let more = inner.to_string();
                if !text.contains(&more) {
                    text = format!("{text}: {more}");
                }
                source = inner.source();
            }
            text
        }
    }
}

/// Shows live objects once, follows them, or waits for them.
pub(super) fn run(
    args: &StatusArgs,
    out: &mut impl Write,
    err: &mut impl Write,
) -> Result<Exit, StatusError> {
    let requests = Request::parse(&args.resources).map_err(LiveError::Arguments)?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(LiveError::Runtime)?;
    runtime.block_on(async {
        let mut told = Told { err, refused: Exit::AllCurrent };
        let targets = targets(args, &requests, &mut told).await?;
        let report = Report { output: args.output };
        let exit = match (args.wait, args.watch) {
            _ if targets.is_empty() => report.write_found(&[], told.refused, out)?,
            (Some(wanted), _) => wait::until(wanted.into(), args, targets, report, out, &mut told).await?,
            (None, true) => follow::changes(args, targets, report, out, &mut told).await?,
            (None, false) => {
                let rows = once(args, &targets, &mut told).await?;
                report.write_found(&rows, told.refused, out)?
            }
        };
        Ok(exit.max(told.refused))
    })
}

/// Where people are told what goes on, and whether anything was refused: one type or object that cannot be read does
/// not take the others with it.
pub(super) struct Told<'e, W> {
    err: &'e mut W,
    refused: Exit,
}

impl<W: Write> Told<'_, W> {
    fn refuse(&mut self, error: &LiveError) -> std::io::Result<()> {
        self.refused = Exit::Refused;
        writeln!(self.err, "error: {error}")
    }
}

async fn targets(
    args: &StatusArgs,
    requests: &[Request],
    told: &mut Told<'_, impl Write>,
) -> Result<Vec<Target>, StatusError> {
    let connection = connect::cluster(args.kubeconfig.as_deref(), args.context.as_deref()).await?;
    let catalogue = Catalogue::discover(&connection.client).await?;
    let mut targets = Vec::new();
    for request in requests {
        match catalogue.find(&request.kind) {
            Ok(kinds) => {
                for kind in kinds {
                    targets.push(Target::new(&connection, kind, request.name.as_deref(), args)?);
                }
            }
            Err(unknown) => told.refuse(&LiveError::Arguments(unknown))?,
        }
    }
    Ok(targets)
}

async fn once(
    args: &StatusArgs,
    targets: &[Target],
    told: &mut Told<'_, impl Write>,
) -> Result<Vec<Row>, StatusError> {
    let mut rows = Vec::new();
    for target in targets {
        let objects = match target.read().await {
            Ok(objects) => objects,
            Err(error) => {
                told.refuse(&error)?;
                continue;
            }
        };
        let options = Options { profile: args.profile.into(), now: Timestamp::now() };
        if let (true, Some(missing)) = (objects.is_empty(), target.missing()) {
            rows.push(missing);
        }
        rows.extend(objects.iter().map(|object| Row::of(object, &options)));
    }
    Ok(rows)
}
