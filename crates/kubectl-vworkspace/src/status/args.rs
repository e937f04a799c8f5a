//! What one can ask `status` for.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};
use kstatus::Status;
use vworkspace_api::NotADuration;

const EXAMPLES: &str = "\
Examples:
  # Everything in a file, in a directory, or on standard input
  kubectl vworkspace status -f app.yaml
  kubectl get all -n shop -o json | kubectl vworkspace status -f -

  # Objects of the cluster
  kubectl vworkspace status deploy/web -n shop
  kubectl vworkspace status deployments,statefulsets,jobs -A -l app=web
  kubectl vworkspace status helmreleases.helm.toolkit.fluxcd.io -o wide

  # Wait until they are current, at most ten minutes
  kubectl vworkspace status deploy/web sts/db --wait --timeout 10m

  # Wait until they are gone
  kubectl vworkspace status pvc -l app=web --wait=NotFound

  # What the reference cannot see: failing phases, unobserved generations, lost volumes, ...
  kubectl vworkspace status -A helmreleases --profile strict -o json

Exit codes, the highest that applies:
  0 all current   1 something not yet current   2 something failed   3 bad usage or input";

/// Options of `status`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct StatusArgs {
    /// Live objects: TYPE/NAME, TYPE NAME..., TYPE, or TYPE,TYPE; TYPE also as short name or with its group
    #[arg(value_name = "TYPE[/NAME]", value_hint = ValueHint::Other, conflicts_with = "filename")]
    pub resources: Vec<String>,

    /// File or directory with YAML or JSON; - is standard input. May be given several times
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    pub filename: Vec<PathBuf>,

    /// Namespace of live objects; that of the context if not given
    #[arg(short, long, value_name = "NAME", conflicts_with = "filename")]
    pub namespace: Option<String>,

    /// Live objects of all namespaces
    #[arg(short = 'A', long, conflicts_with_all = ["filename", "namespace"])]
    pub all_namespaces: bool,

    /// Label selector of live objects: app=web,tier!=cache
    #[arg(short = 'l', long, value_name = "QUERY", conflicts_with = "filename")]
    pub selector: Option<String>,

    /// Context of the kubeconfig
    #[arg(long, value_name = "NAME", conflicts_with = "filename")]
    pub context: Option<String>,

    /// The kubeconfig file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "filename")]
    pub kubeconfig: Option<PathBuf>,

    /// Table if not given
    #[arg(short, long, value_enum, default_value_t, hide_default_value = true)]
    pub output: Output,

    /// Rules: as the reference has them, or with its blind spots closed
    #[arg(long, value_enum, default_value_t)]
    pub profile: ProfileName,

    /// Show the status, then every change of it, until interrupted
    #[arg(short, long, conflicts_with_all = ["filename", "wait"])]
    pub watch: bool,

    /// Wait until all objects have this status, or have failed
    #[arg(
        long, value_name = "STATUS", value_enum, ignore_case = true, num_args = 0..=1, require_equals = true,
        default_missing_value = "Current", conflicts_with = "filename"
    )]
    pub wait: Option<Wanted>,

    /// How long to wait: 90s, 10m, 1h30m
    #[arg(long, value_parser = duration, default_value = "5m", requires = "wait")]
    pub timeout: Duration,
}

impl StatusArgs {
    /// Whether objects of a cluster are meant.
    pub fn is_live(&self) -> bool {
        !self.resources.is_empty()
    }

    /// What clap cannot check.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        if self.resources.is_empty() && self.filename.is_empty() {
            return Err("nothing to look at: expected -f FILE, or live objects as TYPE/NAME or TYPE");
        }
        if self.filename.iter().filter(|file| *file == Path::new("-")).count() > 1 {
            return Err("standard input can be read only once: expected -f - at most once");
        }
        Ok(())
    }
}

/// How to show the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Output {
    /// One line for each object.
    #[default]
    Table,
    /// The table with reason and evidence.
    Wide,
    /// An array, one element for each object.
    Json,
    /// The same as YAML.
    Yaml,
}

impl Output {
    /// Whether a program reads it.
    pub fn is_for_programs(self) -> bool {
        matches!(self, Output::Json | Output::Yaml)
    }
}

/// The profile by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ProfileName {
    /// As the reference answers.
    #[default]
    Compatible,
    /// With the reference's blind spots closed.
    Strict,
}

impl From<ProfileName> for kstatus::Profile {
    fn from(name: ProfileName) -> Self {
        match name {
            ProfileName::Compatible => kstatus::Profile::Compatible,
            ProfileName::Strict => kstatus::Profile::Strict,
        }
    }
}

/// A status one can wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "PascalCase")]
pub enum Wanted {
    /// Done.
    Current,
    /// At work.
    InProgress,
    /// Failed.
    Failed,
    /// Being deleted.
    Terminating,
    /// Gone.
    NotFound,
}

impl From<Wanted> for Status {
    fn from(wanted: Wanted) -> Status {
        match wanted {
            Wanted::Current => Status::Current,
            Wanted::InProgress => Status::InProgress,
            Wanted::Failed => Status::Failed,
            Wanted::Terminating => Status::Terminating,
            Wanted::NotFound => Status::NotFound,
        }
    }
}

/// A duration, or `0` as kubectl writes it for "look once".
fn duration(text: &str) -> Result<Duration, NotADuration> {
    if text == "0" {
        Ok(Duration::ZERO)
    } else {
        text.parse::<vworkspace_api::Duration>().map(Duration::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_a_duration_or_0_for_a_look_at_once() {
        let read = |text: &str| duration(text).ok();
        assert_eq!(read("0"), Some(Duration::ZERO));
        assert_eq!(read("250ms"), Some(Duration::from_millis(250)));
        assert_eq!(read("1m30s"), Some(Duration::from_secs(90)));
        for refused in ["", "10", "-1s", "1d", "99999999999999999h"] {
            assert_eq!(read(refused), None, "{refused:?}");
        }
    }
}
