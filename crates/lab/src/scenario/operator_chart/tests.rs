//! What the chart renders, without a cluster. Helm is the lab's own, which the first `cargo lab up` builds.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::chart;
use crate::cluster;
use crate::components::Component;
use crate::paths::Paths;

/// Runs helm on the chart with values, if there is a helm.
fn helm(verb: &str, values: &str) -> Option<Result<String, String>> {
    let paths = Paths::of("test").expect("a home folder");
    let program = Component::load("base", &paths).expect("the base component").bin().join("helm");
    if !program.exists() {
        eprintln!("skipped: helm is not built yet; run: cargo lab up");
        return None;
    }
    let name = format!("operator-chart-{}-{:?}.yaml", std::process::id(), std::thread::current().id());
    let file = std::env::temp_dir().join(name);
    fs::write(&file, values).expect("values written");
    let mut command = Command::new(program);
    command.arg(verb).arg(chart()).args(["--namespace", "here", "--values"]).arg(&file);
    let output = command.output().expect("helm runs");
    fs::remove_file(&file).expect("values removed");
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    Some(if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) })
}

fn rendered(values: &str) -> Option<Vec<Value>> {
    let text = helm("template", &format!("image: {{repository: example.org/operator}}\n{values}"))?;
    let objects = cluster::parse(&text.expect("it renders")).expect("objects");
    Some(objects.iter().map(|object| serde_json::to_value(object).expect("JSON")).collect())
}

fn of_kind<'a>(objects: &'a [Value], kind: &str) -> Vec<&'a Value> {
    objects.iter().filter(|object| object["kind"] == kind).collect()
}

fn container(objects: &[Value]) -> &Value {
    &of_kind(objects, "Deployment")[0]["spec"]["template"]["spec"]["containers"][0]
}

#[test]
fn everything_carries_the_documented_label() {
    let Some(objects) = rendered("metrics: {serviceMonitor: {enabled: true}}\ncatalogPolicy: {create: true}")
    else {
        return;
    };
    assert!(objects.len() > 15, "only {} objects", objects.len());
    for object in &objects {
        let label = &object["metadata"]["labels"]["app.kubernetes.io/name"];
        assert_eq!(label, "vworkspace-app-operator", "{} {}", object["kind"], object["metadata"]["name"]);
    }
}

#[test]
fn flags_are_passed_only_when_their_value_is_set() {
    let Some(plain) = rendered("") else { return };
    let flags = ["--zap-log-level=info", "--zap-encoder=logfmt", "--workers=8", "--velero-namespace=velero"];
    assert_eq!(container(&plain)["args"], json!(flags));
    assert_eq!(container(&plain).get("volumeMounts"), None);
    let key = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let values = format!(
        "watchNamespaces: [a, b]\nclusterId: c1\nlogLevel: debug\napprovals: {{publicKeys: [{key}]}}\ntenancy: {{defaultServiceAccount: tenant}}\nextraArgs: [--x=1]"
    );
    let full = rendered(&values).expect("helm is there");
    let expected = [
        "--zap-log-level=debug",
        "--zap-encoder=logfmt",
        "--workers=8",
        "--watch-namespaces=a,b",
        "--cluster-id=c1",
        "--approval-keys-file=/etc/vworkspace/approval/keys",
        "--velero-namespace=velero",
        "--default-service-account=tenant",
        "--x=1",
    ];
    assert_eq!(container(&full)["args"], json!(expected));
    let keys = of_kind(&full, "ConfigMap")[0];
    assert_eq!(keys["metadata"]["name"], "vworkspace-approval-keys");
    assert_eq!(keys["data"]["keys"], format!("{key}\n"));
}

/// What a role says about resources of a kind.
fn rules_about<'a>(role: &'a Value, resource: &str) -> Vec<&'a Value> {
    let rules = role["rules"].as_array().expect("rules").iter();
    rules
        .filter(|rule| rule["resources"].as_array().is_some_and(|all| all.contains(&resource.into())))
        .collect()
}

#[test]
fn with_a_list_of_namespaces_only_what_must_outlive_them_is_cluster_wide() {
    let Some(everywhere) = rendered("rbac: {userRoles: false}") else { return };
    let cluster_role = of_kind(&everywhere, "ClusterRole")[0];
    assert_eq!(cluster_role["metadata"]["name"], "vworkspace-app-operator-here");
    let all = cluster_role["rules"].as_array().expect("rules");
    let [of_all, of_the_cluster] = rules_about(cluster_role, "namespaces")[..] else {
        panic!("{cluster_role}")
    };
    assert_eq!((of_all.get("resourceNames"), &of_all["verbs"]), (None, &json!(["list", "watch"])));
    assert_eq!(of_the_cluster["resourceNames"], json!(["kube-system"]));

    let some = rendered("rbac: {userRoles: false}\nwatchNamespaces: [a, b]").expect("helm is there");
    let cluster_wide = of_kind(&some, "ClusterRole")[0];
    let instances = json!({"apiGroups": ["apps.vworkspace.io"], "resources": ["applicationinstances"],
        "verbs": ["list", "watch", "patch"]});
    let namespaces = json!({"apiGroups": [""], "resources": ["namespaces"], "resourceNames": ["a", "b"],
        "verbs": ["list", "watch"]});
    let wide = cluster_wide["rules"].as_array().expect("rules");
    assert_eq!(wide.first(), Some(&instances));
    assert_eq!(wide.last(), Some(of_the_cluster));
    assert_eq!(rules_about(cluster_wide, "namespaces"), [&namespaces, of_the_cluster]);
    let mut groups: Vec<&Value> = wide.iter().map(|rule| &rule["apiGroups"][0]).collect();
    groups.dedup();
    assert_eq!(groups, ["apps.vworkspace.io", "ops.vworkspace.io", "", "velero.io", ""]);
    for namespace in ["a", "b"] {
        let role = of_kind(&some, "Role").into_iter().find(|role| role["metadata"]["namespace"] == namespace);
        let role = role.expect("a Role")["rules"].as_array().expect("rules");
        assert_eq!(
            role[..],
            all[wide.len() - 1..all.len() - 1],
            "the rest of what is granted without a list"
        );
    }

    let named =
        rendered("rbac: {userRoles: false}\nwatchNamespaces: [a]\nclusterId: c1").expect("helm is there");
    let role = of_kind(&named, "ClusterRole")[0];
    let [only] = rules_about(role, "namespaces")[..] else { panic!("{role}") };
    assert_eq!(only["resourceNames"], json!(["a"]), "the cluster's uid is not asked for");
}

#[test]
fn accounts_are_made_for_commands_only_if_that_is_allowed() {
    for (values, verbs) in [
        ("rbac: {userRoles: true}", json!(["list", "watch", "create"])),
        ("operations: {createServiceAccount: false}", json!(["list", "watch"])),
    ] {
        let Some(objects) = rendered(values) else { return };
        let role = of_kind(&objects, "ClusterRole")
            .into_iter()
            .find(|role| role["metadata"]["name"] == "vworkspace-app-operator-here");
        let role = role.expect("the operator's ClusterRole");
        let [rule] = rules_about(role, "serviceaccounts")[..] else { panic!("{role}") };
        assert_eq!(rule["verbs"], verbs, "{values}");
    }
}

#[test]
fn who_edits_a_namespace_may_write_instances_only_if_that_is_asked_for() {
    let aggregated = |values: &str| -> Option<[Vec<String>; 2]> {
        let objects = rendered(values)?;
        Some(["view", "edit"].map(|which| {
            let name = format!("vworkspace-applicationinstances-{which}");
            let role = objects.iter().find(|object| object["metadata"]["name"] == name.as_str());
            let labels = role.expect(&name)["metadata"]["labels"].as_object().expect("labels");
            let parts = labels.keys().filter_map(|label| label.rsplit_once("aggregate-to-"));
            parts.map(|(_, role)| role.to_owned()).collect()
        }))
    };
    let Some([view, edit]) = aggregated("") else { return };
    assert_eq!((view.join(" "), edit.join(" ")), ("admin edit view".to_owned(), String::new()));
    let [_, edit] = aggregated("rbac: {aggregateToEdit: true}").expect("helm is there");
    assert_eq!(edit, ["admin", "edit"]);
}

#[test]
fn an_instance_without_an_account_is_warned_of_refused_or_given_the_default() {
    let table = [
        ("", Some(json!(["Warn", "Audit"]))),
        ("tenancy: {enforce: true}", Some(json!(["Deny"]))),
        ("tenancy: {enforce: true, defaultServiceAccount: tenant}", None),
        ("tenancy: {defaultServiceAccount: tenant}", None),
        ("admissionPolicies: {install: false}", None),
    ];
    for (values, expected) in table {
        let Some(objects) = rendered(values) else { return };
        let name = "vworkspace-applicationinstances-service-account";
        let of = |kind: &str| {
            of_kind(&objects, kind).into_iter().find(|object| object["metadata"]["name"] == name)
        };
        let actions =
            of("ValidatingAdmissionPolicyBinding").map(|binding| &binding["spec"]["validationActions"]);
        assert_eq!(actions, expected.as_ref(), "{values}");
        assert_eq!(of("ValidatingAdmissionPolicy").is_some(), expected.is_some(), "{values}");
    }
}

#[test]
fn the_crds_are_the_files_and_stay_when_the_release_goes() {
    let Some(objects) = rendered("") else { return };
    let crds = of_kind(&objects, "CustomResourceDefinition");
    let files: Vec<_> = fs::read_dir(chart().join("files/crds")).expect("CRDs").collect();
    assert_eq!(crds.len(), files.len());
    for file in files {
        let text = fs::read_to_string(file.expect("a file").path()).expect("text");
        let file = serde_json::to_value(&cluster::parse(&text).expect("a CRD")[0]).expect("JSON");
        let found = crds.iter().find(|crd| crd["metadata"]["name"] == file["metadata"]["name"]);
        let found = found.expect("the file's CRD");
        assert_eq!(found["spec"], file["spec"]);
        assert_eq!(found["metadata"]["annotations"]["helm.sh/resource-policy"], "keep");
    }
    let none = rendered("crds: {install: false}").expect("helm is there");
    assert!(of_kind(&none, "CustomResourceDefinition").is_empty());
}

#[test]
fn more_than_one_replica_is_spread_and_guarded() {
    let Some(two) = rendered("replicaCount: 2") else { return };
    let one = rendered("replicaCount: 1").expect("helm is there");
    assert_eq!(of_kind(&two, "PodDisruptionBudget").len(), 1);
    assert!(of_kind(&one, "PodDisruptionBudget").is_empty());
    let spread = |objects: &[Value]| {
        of_kind(objects, "Deployment")[0]["spec"]["template"]["spec"].get("affinity").is_some()
    };
    assert!(spread(&two) && !spread(&one));
}

#[test]
fn extra_authorities_stand_beside_those_of_the_image() {
    let Some(objects) = rendered(
        "operator: {extraCaBundles: [{configMap: proxy, key: ca.crt}, {secret: other, key: tls.crt}]}",
    ) else {
        return;
    };
    let env = container(&objects)["env"].as_array().expect("env");
    let folders = env.iter().find(|one| one["name"] == "SSL_CERT_DIR").expect("the variable");
    assert_eq!(folders["value"], "/etc/ssl/certs:/etc/vworkspace/ca");
    let volume = &of_kind(&objects, "Deployment")[0]["spec"]["template"]["spec"]["volumes"][0];
    let sources = &volume["projected"]["sources"];
    assert_eq!(sources[0]["configMap"]["name"], "proxy");
    assert_eq!(sources[1]["secret"]["items"][0]["path"], "1.crt");
}

#[test]
fn what_is_wrong_is_refused_with_its_name() {
    let image = "image: {repository: x}";
    let table = [
        ("", "image.repository is empty"),
        ("image: {repository: x, tags: y}", "at '/image': additional properties 'tags' not allowed"),
        (&format!("{image}\nlogLevel: loud"), "at '/logLevel'"),
        (&format!("{image}\nworkers: 0"), "at '/workers'"),
        (&format!("{image}\napprovals: {{publicKeys: [abc]}}"), "at '/approvals/publicKeys/0'"),
        (&format!("{image}\noperator: {{extraCaBundles: [{{key: x}}]}}"), "at '/operator/extraCaBundles/0'"),
        (&format!("{image}\ncatalogPolicy: {{allowedChartSources: [x]}}"), "catalogPolicy.create is false"),
        (
            &format!("{image}\ntenancy: {{defaultServiceAccount: 'system:admin'}}"),
            "at '/tenancy/defaultServiceAccount'",
        ),
        (
            &format!("{image}\ntenancy: {{enforce: true}}\nadmissionPolicies: {{install: false}}"),
            "tenancy.enforce is true, and admissionPolicies.install is false",
        ),
    ];
    for (values, expected) in table {
        let Some(result) = helm("template", values) else { return };
        let text = result.expect_err(values);
        assert!(text.contains(expected), "{values}: {text}");
    }
    let lint = helm("lint", image).expect("helm is there");
    assert!(lint.is_ok(), "{lint:?}");
}

#[test]
fn every_value_is_explained_in_the_chart_and_known_to_its_schema() {
    let read = |file: &str| fs::read_to_string(chart().join(file)).expect(file);
    let values: Value = serde_saphyr::from_str(&read("values.yaml")).expect("values");
    let schema: Value = serde_json::from_str(&read("values.schema.json")).expect("a schema");
    let readme = read("README.md");
    let mut leaves = Vec::new();
    collect(&values, &schema, "", &mut leaves);
    assert!(leaves.len() > 30);
    let missing: Vec<_> = leaves.iter().filter(|leaf| !readme.contains(&format!("| `{leaf}` |"))).collect();
    assert!(missing.is_empty(), "the README does not tell of {missing:?}");
}

/// The values' names, as far down as the schema knows names.
fn collect(values: &Value, schema: &Value, path: &str, leaves: &mut Vec<String>) {
    match (values.as_object(), schema.get("properties")) {
        (Some(fields), Some(known)) => {
            assert_eq!(schema["additionalProperties"], false, "'{path}' takes unknown keys");
            for (name, value) in fields {
                let below = known.get(name).unwrap_or_else(|| panic!("the schema lacks {path}.{name}"));
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect(value, below, &path, leaves);
            }
        }
        _ => leaves.push(path.to_owned()),
    }
}
