//! What to type next.

use anyhow::Result;

use super::story::{NAME, NAMESPACE};
use crate::cluster::Cluster;
use crate::node::{self, DEMO_PORT};

/// The application runs; the rest is up to the reader.
pub(super) fn fall(cluster: &Cluster, named: &str) -> Result<()> {
    println!("\nIt runs, for you to look at:\n");
    let mut next = Vec::new();
    if cluster.node.is_some() {
        let address = node::published(&cluster.paths, DEMO_PORT)?;
        next.push(("the application", format!("http://{address}    in a browser")));
    }
    let kubectl = format!("cargo lab{named} kubectl");
    next.extend([
        ("everything it says", format!("{kubectl} describe appinst {NAME} -n {NAMESPACE}")),
        ("is it there yet", format!("{kubectl} vworkspace status appinst -n {NAMESPACE}")),
        ("what a word means", format!("{kubectl} vworkspace explain appinst Degraded")),
        ("change it", format!("{kubectl} edit appinst {NAME} -n {NAMESPACE}")),
        ("kubectl and helm", format!("eval \"$(cargo lab{named} env)\"")),
        ("its operations", format!("{kubectl} vworkspace op list -n {NAMESPACE}")),
        ("all of this slowly", "docs/tour.md and docs/backup-restore.md".to_owned()),
    ]);
    next.push(match cluster.node {
        Some(_) => ("stop everything", format!("cargo lab{named} down")),
        None => ("remove it", format!("{kubectl} delete appinst {NAME} -n {NAMESPACE}")),
    });
    for (what, command) in next {
        println!("  {what:<20} {command}");
    }
    Ok(())
}
