//! The cgroups that a lab's pods live in: one tree per lab, in every hierarchy of the machine (version 1, 2 or both).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::content;
use crate::paths::Paths;

const MOUNT: &str = "/sys/fs/cgroup";
const POLL: Duration = Duration::from_millis(20);

/// The root cgroup of a lab's pods, relative to each hierarchy. It is named after the lab and where its state is: cgroups are
/// the machine's, and labs of two users may have the same name.
pub(crate) fn name(paths: &Paths) -> String {
    let place = content::name_of([paths.state.as_os_str().as_encoded_bytes()]);
    format!("vworkspace-lab-{}-{}", paths.lab(), place.get(..6).unwrap_or(&place))
}

/// Makes the root cgroup everywhere: the kubelet wants to find it.
pub(crate) fn create(name: &str) -> Result<()> {
    for hierarchy in hierarchies() {
        let cgroup = hierarchy.join(name);
        if is_version_2(&hierarchy) {
            enable_controllers(&hierarchy)?;
        }
        fs::create_dir_all(&cgroup).with_context(|| format!("failed to make cgroup {}", cgroup.display()))?;
        // A version 1 cpuset starts empty, and an empty one takes no process.
        for file in ["cpuset.cpus", "cpuset.mems"] {
            let inherited = fs::read_to_string(hierarchy.join(file)).unwrap_or_default();
            if !inherited.trim().is_empty() && !is_version_2(&hierarchy) {
                fs::write(cgroup.join(file), inherited.trim())?;
            }
        }
    }
    Ok(())
}

/// The kubelet wants every controller that the machine has in the cgroup that it starts from.
fn enable_controllers(hierarchy: &Path) -> Result<()> {
    let available = fs::read_to_string(hierarchy.join("cgroup.controllers"))?;
    for controller in available.split_whitespace() {
        fs::write(hierarchy.join("cgroup.subtree_control"), format!("+{controller}"))
            .with_context(|| format!("failed to enable cgroup controller {controller}"))?;
    }
    Ok(())
}

/// Removes the tree everywhere. Processes in it were killed, but the kernel may need a moment.
pub(crate) fn remove(name: &str, deadline: Instant) -> Result<()> {
    for hierarchy in hierarchies() {
        let cgroup = hierarchy.join(name);
        while let Err(error) = remove_tree(&cgroup) {
            if Instant::now() > deadline {
                return Err(error).with_context(|| format!("failed to remove cgroup {}", cgroup.display()));
            }
            thread::sleep(POLL);
        }
    }
    Ok(())
}

/// The hierarchies that still have it.
pub(crate) fn left_of(name: &str) -> Vec<PathBuf> {
    hierarchies().into_iter().map(|hierarchy| hierarchy.join(name)).filter(|cgroup| cgroup.exists()).collect()
}

/// A cgroup's files cannot be removed, only its folders, innermost first.
fn remove_tree(cgroup: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(cgroup) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_tree(&entry.path())?;
        }
    }
    match fs::remove_dir(cgroup) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn is_version_2(hierarchy: &Path) -> bool {
    hierarchy.join("cgroup.controllers").exists()
}

/// Version 2 is mounted at the top; version 1 has a folder per controller, some of them links to one another.
fn hierarchies() -> Vec<PathBuf> {
    let top = PathBuf::from(MOUNT);
    if is_version_2(&top) {
        return vec![top];
    }
    let Ok(entries) = fs::read_dir(&top) else {
        return Vec::new();
    };
    let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    entries.flatten().filter(is_folder).map(|entry| entry.path()).collect()
}
