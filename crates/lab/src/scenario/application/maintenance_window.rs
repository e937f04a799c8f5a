//! A maintenance window: inside it nothing is changed.

use anyhow::Result;
use serde_json::Value;

use super::super::chart::Chart;
use super::super::{Ground, Scenario, text_at};
use super::instance::{HELM, instance};
use super::scenario;

pub(in super::super) const SCENARIO: Scenario = scenario(
    "application_maintenance_window_a_change_waits_inside_it_and_goes_out_when_there_is_none_any_more",
    |ground| Box::pin(run(ground)),
);

async fn run(ground: &Ground) -> Result<()> {
    let chart = Chart::published(ground, &[]).await?;
    let mut shop = instance(ground).chart(&chart).applied().await?;
    shop.says("Ready", "True/HelmReleaseReady").await?;

    // It opens every minute and stays open for an hour: it is always open.
    shop.change(
        "{maintenanceWindows: [{name: stocktaking, schedule: '* * * * *', duration: 1h}],
          values: {source: inline, inline: {greeting: after the stocktaking}}}",
    )
    .await?;
    shop.says("Suspended", "True/MaintenanceWindow").await?.naming("stocktaking")?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Reconciling", "True/ChangePending")]).await?;
    shop.kubectl_wait("Suspended").await?;
    shop.plugin_status("InProgress").await?;
    let is_suspended = |data: &Value| data.pointer("/spec/suspend") == Some(&Value::Bool(true));
    ground.until(HELM, "HelmRelease", "web", is_suspended).await?;

    shop.change("maintenanceWindows: null").await?;
    shop.says("Suspended", "False/Active").await?;
    let is_changed = |data: &Value| text_at(data, "/data/greeting") == "after the stocktaking";
    ground.until("v1", "ConfigMap", "web-settings", is_changed).await?;
    shop.says_all(&[("Ready", "True/HelmReleaseReady"), ("Reconciling", "False/Stable")]).await?;
    shop.plugin_status("Current").await
}
