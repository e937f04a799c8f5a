//! Where the lab keeps things: builds in the user's cache folder, shared by all labs and checkouts; one folder per
//! lab in the user's state folder.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::unmet::Unmet;

/// The folders of one lab, known before any of them exists.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    /// Built components, images and rendered manifests; keyed by content, never stale.
    pub(crate) cache: PathBuf,
    /// Everything of this lab: etcd's data, containers, logs, keys.
    pub(crate) state: PathBuf,
    /// Held by whoever starts or stops this lab.
    pub(crate) lock: PathBuf,
}

impl Paths {
    pub(crate) fn of(lab: &str) -> Result<Self> {
        let labs = user_folder("XDG_STATE_HOME", ".local/state")?;
        Ok(Self {
            cache: user_folder("XDG_CACHE_HOME", ".cache")?,
            state: labs.join(lab),
            lock: labs.join(format!("{lab}.lock")),
        })
    }

    /// The lab's name.
    pub(crate) fn lab(&self) -> String {
        self.state.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.state.join("kubeconfig")
    }

    pub(crate) fn pki(&self) -> PathBuf {
        self.state.join("pki")
    }

    /// Logs of the node's processes, and of pods below `pods/`: the node sees this folder as /var/log.
    pub(crate) fn log(&self) -> PathBuf {
        self.state.join("log")
    }

    pub(crate) fn log_of(&self, process: &str) -> PathBuf {
        self.log().join(format!("{process}.log"))
    }

    /// The API server's audit log, one JSON object a line.
    pub(crate) fn audit_log(&self) -> PathBuf {
        self.log_of("audit")
    }

    /// What the node sees as /var/lib.
    pub(crate) fn var_lib(&self) -> PathBuf {
        self.state.join("var-lib")
    }

    /// kubectl and helm, for the user's PATH.
    pub(crate) fn bin(&self) -> PathBuf {
        self.state.join("bin")
    }
}

/// A file of this crate's source: module files, add-ons, C sources.
pub(crate) fn source(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(relative)
}

/// The root of the checkout.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new(".")).to_path_buf()
}

/// A relative folder in these variables counts as none, as their specification says.
fn user_folder(variable: &str, below_home: &str) -> Result<PathBuf> {
    let absolute =
        |variable: &str| env::var_os(variable).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let base = absolute(variable).or_else(|| Some(absolute("HOME")?.join(below_home)));
    let Some(base) = base else {
        return Err(
            Unmet::new(format!("neither HOME nor {variable} is set to a folder; set one of them")).into()
        );
    };
    Ok(base.join("vworkspace-lab"))
}
