//! Objects of a cluster: shown once, followed, or waited for.
//!
//! `resource` finds out what the arguments mean in this cluster, `target` reads and watches it, `tracked` knows what
//! there is now, `follow` and `wait` say what to do with every change. Watches are real: the API server is asked
//! once and then tells.

mod connect;
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
use super::report::{self, Report};
use super::row::Row;
use crate::exit::Exit;
use crate::paint::Colour;
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
    colour: Colour,
) -> Result<Exit, StatusError> {
    let requests = Request::parse(&args.resources).map_err(LiveError::Arguments)?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(LiveError::Runtime)?;
    runtime.block_on(async {
        let targets = targets(args, &requests).await?;
        let report = Report { output: args.output, colour };
        match (args.wait, args.watch) {
            (Some(wanted), _) => wait::until(wanted.into(), args, targets, report, out, err).await,
            (None, true) => follow::changes(args, targets, report, out, err).await,
            (None, false) => {
                let rows = once(args, &targets).await?;
                report.write(&rows, out)?;
                Ok(report::exit(&rows))
            }
        }
    })
}

async fn targets(args: &StatusArgs, requests: &[Request]) -> Result<Vec<Target>, LiveError> {
    let connection = connect::cluster(args).await?;
    let catalogue = Catalogue::discover(&connection.client).await?;
    let mut targets = Vec::new();
    for request in requests {
        for kind in catalogue.find(&request.kind).map_err(LiveError::Arguments)? {
            targets.push(Target::new(&connection, kind, request.name.as_deref(), args)?);
        }
    }
    Ok(targets)
}

async fn once(args: &StatusArgs, targets: &[Target]) -> Result<Vec<Row>, LiveError> {
    let mut rows = Vec::new();
    for target in targets {
        let objects = target.read().await?;
        let options = Options { profile: args.profile.into(), now: Timestamp::now() };
        if let (true, Some(missing)) = (objects.is_empty(), target.missing()) {
            rows.push(missing);
        }
        rows.extend(objects.iter().map(|object| Row::of(object, &options)));
    }
    Ok(rows)
}
