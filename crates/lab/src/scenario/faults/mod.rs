//! The operator through every crash point and a choice of other faults: whatever goes wrong between it and the API server,
//! an instance ends as if nothing had, nothing is left over or there twice, and no condition ever lied.
//!
//! Each workload runs once undisturbed, which tells how many writes it takes and where it ends; then once for each fault.

mod campaign;
pub(super) mod end_state;
pub(super) mod history;
pub(super) mod installed;
mod program;
mod trial;
pub(super) mod truth;
pub(super) mod workload;

use anyhow::{Result, bail};

use super::chart::Chart;
use super::chart_release::serve_over_http;
use super::{Ground, Scenario};
pub(crate) use campaign::Choice;
use workload::Charts;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "faults_between_the_operator_and_the_api_server_change_nothing_about_how_an_instance_ends",
    needs: &["flux", "operator", "registry"],
    // For the network in which the operator runs.
    needs_node: true,
    // The operator that the lab has installed would look after the same instances.
    alone: true,
    run: |ground| Box::pin(run(ground)),
};

async fn run(ground: &Ground) -> Result<()> {
    let (old, new) = (Chart::published(ground, &[]).await?, Chart::published(ground, &[]).await?);
    serve_over_http(ground, &[&old, &new]).await?;
    let site = format!("http://site.{}.svc.cluster.local", ground.namespace);
    let charts = Charts { old: old.version.clone(), new: new.version.clone(), site };
    // A run that was stopped may have left none.
    installed::scale(ground, 1).await?;
    let program = installed::copy_program(ground)?;
    installed::scale(ground, 0).await?;
    let told = campaign::run(ground, &program, &charts).await;
    // Whatever the outcome: others need it.
    let restored = installed::scale(ground, 1).await;
    let report = told?;
    print!("{}", report.table());
    report.store()?;
    let failures = report.failures();
    if failures.is_empty() {
        restored?;
    }
    if failures.is_empty() { Ok(()) } else { bail!("{}", failures.join("\n\n")) }
}
