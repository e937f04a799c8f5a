//! `cargo lab demo`: the life of an application under the operator, on a real cluster: installed, upgraded, broken,
//! repaired, backed up, lost and restored, and what its status says meanwhile. Commands are shown as they are run.

mod curtain;
mod disaster;
mod story;
mod style;
mod watching;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::addons::Addon;
use crate::paths::Paths;
use crate::registry;
use crate::up::{self, Wanted};
use crate::verify::{cargo, quietly};

/// The chart's own version, which `instance.yaml` asks for.
const FIRST: &str = "6.9.2";
/// The same chart twice more: what upstream calls 6.9.3 is another one.
const SECOND: &str = "6.9.3-demo";
const THIRD: &str = "6.9.4-demo";

/// Starts what is needed and tells the story.
/// `named` is how the user names this lab on the command line.
pub(crate) async fn run(paths: &Paths, kubeconfig: Option<&Path>, named: &str) -> Result<()> {
    let mut addons = Addon::selected(&["operator", "velero"].map(str::to_owned), paths)?;
    addons.push(Addon::load("demo", paths)?);
    // Everything is built before anything is started.
    up::prepare(paths, kubeconfig, &addons)?;
    quietly(cargo(&["build", "--quiet", "--package", PLUGIN]))
        .context("failed to build kubectl-vworkspace")?;
    let cluster = up::up(paths, &Wanted { addons: &addons, port: None, kubeconfig }).await?;
    let demo = addons.last().context("the demo's add-on is among them")?;
    let instance = INSTANCE.replace("tag: TAG", &format!("tag: {}", demo.key));
    let mut story = story::Story::new(&cluster, named, demo.key.clone());
    // First of all: a chart that is pushed again has another digest, which Flux would install.
    story.clear_the_stage().await?;
    for version in [FIRST, SECOND, THIRD] {
        registry::push_chart_as(&cluster, &demo.asset("podinfo/chart")?, version).await?;
    }
    story.tell(&instance).await?;
    curtain::fall(&cluster, named)
}

const INSTANCE: &str = include_str!("../addons/demo/instance.yaml");
const PLUGIN: &str = "kubectl-vworkspace";

/// Where `cargo build` puts the plugin: beside this program.
pub(crate) fn plugin_folder() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    Ok(program.parent().context("this program is in no folder")?.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instance_asks_for_the_first_version_and_for_an_image_of_the_lab() {
        assert!(INSTANCE.contains(&format!("version: {FIRST}\n")));
        assert!(INSTANCE.contains("image: {repository: lab.local/podinfo, tag: TAG}"));
    }
}
