//! Least privilege, proven: what the operator is granted by its chart is what it used while the scenarios ran.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use jiff::Timestamp;
use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use kube::Api;
use kube::api::ListParams;

use crate::audit::{self, Request};
use crate::cluster::Cluster;

const NAMESPACE: &str = "vworkspace-system";
const ACCOUNT: &str = "vworkspace-app-operator";

/// Compares the two.
pub(crate) async fn check(cluster: &Cluster) -> Result<()> {
    let granted = granted(cluster).await?;
    let account = audit::service_account(NAMESPACE, ACCOUNT);
    let requests = audit::requests(&cluster.paths.audit_log(), &account, Timestamp::MIN)?;
    let used = used(&requests);
    let idle: Vec<&String> = granted.difference(&used).collect();
    ensure!(
        idle.is_empty(),
        "the operator is granted what it never used: {idle:?}; take it out of the chart's _rules.tpl, or show its use in a scenario"
    );
    // A scenario takes the operator's rights away for a while: what is granted again was not missing.
    let is_missing = |request: &&Request| request.lacks_rights() && !granted.contains(&request.permission());
    let refused: BTreeSet<String> = requests.iter().filter(is_missing).map(Request::describe).collect();
    ensure!(refused.is_empty(), "the operator was not allowed to: {refused:?}");
    Ok(())
}

/// What the requests needed. An apply that makes an object needs the right to create it, without asking for it by name.
fn used(requests: &[Request]) -> BTreeSet<String> {
    let creating = requests.iter().filter(|request| request.verb == "patch" && request.code() == 201);
    let implied = creating.map(|request| request.permission().replacen("patch", "create", 1));
    audit::permissions(requests).into_iter().chain(implied).collect()
}

/// Every verb on every resource that a role gives to the operator's account.
async fn granted(cluster: &Cluster) -> Result<BTreeSet<String>> {
    let client = &cluster.client;
    let mut rules: Vec<PolicyRule> = Vec::new();
    let cluster_roles: Api<ClusterRole> = Api::all(client.clone());
    for binding in Api::<ClusterRoleBinding>::all(client.clone()).list(&ListParams::default()).await? {
        if is_for_us(binding.subjects.as_deref()) {
            rules.extend(cluster_roles.get(&binding.role_ref.name).await?.rules.unwrap_or_default());
        }
    }
    for binding in
        Api::<RoleBinding>::namespaced(client.clone(), NAMESPACE).list(&ListParams::default()).await?
    {
        if is_for_us(binding.subjects.as_deref()) {
            rules.extend(of_role(cluster, &binding.role_ref).await?);
        }
    }
    Ok(rules.iter().flat_map(expanded).collect())
}

async fn of_role(cluster: &Cluster, role: &RoleRef) -> Result<Vec<PolicyRule>> {
    let roles: Api<Role> = Api::namespaced(cluster.client.clone(), NAMESPACE);
    Ok(roles.get(&role.name).await?.rules.unwrap_or_default())
}

fn is_for_us(subjects: Option<&[Subject]>) -> bool {
    subjects.unwrap_or_default().iter().any(|subject| {
        (subject.kind.as_str(), subject.name.as_str(), subject.namespace.as_deref())
            == ("ServiceAccount", ACCOUNT, Some(NAMESPACE))
    })
}

/// `verb group/resource`, for each combination of a rule.
fn expanded(rule: &PolicyRule) -> Vec<String> {
    let groups = rule.api_groups.as_deref().unwrap_or_default();
    let resources = rule.resources.as_deref().unwrap_or_default();
    let mut permissions = Vec::new();
    for verb in &rule.verbs {
        for group in groups {
            let group = if group.is_empty() { String::new() } else { format!("{group}/") };
            permissions.extend(resources.iter().map(|resource| format!("{verb} {group}{resource}")));
        }
    }
    permissions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_grants_each_verb_on_each_resource() {
        let rule = PolicyRule {
            api_groups: Some(vec![String::new(), "apps".to_owned()]),
            resources: Some(vec!["x".to_owned(), "x/status".to_owned()]),
            verbs: vec!["get".to_owned()],
            ..PolicyRule::default()
        };
        assert_eq!(expanded(&rule), ["get x", "get x/status", "get apps/x", "get apps/x/status"]);
    }
}
