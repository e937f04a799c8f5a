//! Instances that the CRD takes and refuses.

/// An object without fault, of which each case changes one thing.
pub(super) const BASE: &str = "
apiVersion: apps.vworkspace.io/v1alpha1
kind: ApplicationInstance
metadata: {name: shop, namespace: NAMESPACE}
spec:
  appRef: {catalogId: shop}
  chart: {sourceType: oci, url: 'oci://registry.example.org/charts', name: shop, version: 1.2.3}
  release: {name: shop, namespace: NAMESPACE}
";

/// Changes to the object without fault that leave it so.
pub(super) const TAKEN: &[&str] = &[
    "{spec: {chart: {version: v1.2.3}}}",
    "{spec: {chart: {replace: shop}}}",
    "{spec: {chart: {version: 1.2.3-rc.1+build.5}}}",
    "{spec: {interval: 1h30m, timeout: 1m30s}}",
    "{spec: {integrations: {ingress: {enabled: true, host: '*.example.org'}}}}",
    "{spec: {maintenanceWindows: [{name: a, duration: 168h, schedule: '* * * * *', timeZone: Etc/GMT+2}]}}",
    "{spec: {maintenanceWindows: [{name: a, duration: 1m, schedule: '*/15 0-6,22 1,15 JAN-MAR MON-FRI/2'}]}}",
    "{spec: {maintenanceWindows: [{name: a, duration: 90m, schedule: '59 23 31 12 7', timeZone: America/Argentina/Buenos_Aires}]}}",
    "{spec: {readinessChecks: [{name: a, http: {service: web, port: 443, scheme: HTTPS, host: 'shop.example.org:8443', path: '/a?b=c', statuses: [200, 401]}}]}}",
    "{spec: {install: {retries: -1}, upgrade: {onFailure: Keep}, uninstall: {disableHooks: true, timeout: 10m}}}",
];

/// A change to the object without fault, and why it is refused.
pub(super) const REFUSED: &[(&str, &str)] = &[
    (
        "{spec: {appRef: {catalogId: '  '}}}",
        "spec.appRef.catalogId is '  '; expected the id of a catalog entry, such as nextcloud",
    ),
    ("{spec: {chart: null}}", "spec.chart is missing; expected a chart, because spec.mode is managed"),
    (
        "{spec: {release: null}}",
        "spec.release is missing; expected name and namespace of the release, because spec.mode is managed",
    ),
    (
        "{spec: {mode: placeholder}}",
        "spec.chart is set; expected neither spec.chart nor spec.values, because spec.mode is placeholder",
    ),
    (
        "{spec: {mode: placeholder, chart: null, values: {source: inline, inline: {}}}}",
        "spec.values is set; expected neither spec.chart nor spec.values, because spec.mode is placeholder",
    ),
    (
        "{spec: {chart: {sourceRef: {kind: HelmRepository, name: charts}}}}",
        "spec.chart has both url and sourceRef; expected exactly one of url and sourceRef",
    ),
    (
        "{spec: {chart: {url: null, sourceType: null}}}",
        "spec.chart has neither url nor sourceRef; expected exactly one of url and sourceRef",
    ),
    (
        "{spec: {chart: {sourceType: null}}}",
        "spec.chart.sourceType is missing; expected oci or helm beside spec.chart.url",
    ),
    (
        "{spec: {chart: {url: null, sourceRef: {kind: OCIRepository, name: shop}}}}",
        "spec.chart.sourceType is 'oci'; expected sourceType only beside spec.chart.url",
    ),
    (
        "{spec: {chart: {url: 'https://charts.example.org'}}}",
        "spec.chart.url is 'https://charts.example.org'; expected oci://..., because spec.chart.sourceType is oci",
    ),
    (
        "{spec: {chart: {url: 'oci://me:secret@registry.example.org/charts'}}}",
        "spec.chart.url has a user or password in it; expected them in a Secret that spec.chart.secretRef names",
    ),
    (
        "{spec: {chart: {sourceType: helm}}}",
        "spec.chart.url is 'oci://registry.example.org/charts'; expected https://... or http://..., because \
         spec.chart.sourceType is helm",
    ),
    (
        "{spec: {chart: {url: null, sourceType: null, insecure: true, sourceRef: {kind: OCIRepository, name: shop}}}}",
        "spec.chart has secretRef, certSecretRef or insecure; expected these only beside spec.chart.url, because a \
         referenced source has its own",
    ),
    (
        "{spec: {chart: {url: null, sourceType: null, sourceRef: {kind: OCIRepository, name: Shop}}}}",
        "spec.chart.sourceRef.name is 'Shop'; expected the name of an object: lower case letters, digits, '-' and '.'",
    ),
    (
        "{spec: {chart: {secretRef: {name: 'a b'}}}}",
        "name of the Secret is 'a b'; expected the name of an object: lower case letters, digits, '-' and '.'",
    ),
    (
        "{spec: {chart: {name: 'my shop'}}}",
        "spec.chart.name is 'my shop'; expected the name of a chart, such as nextcloud",
    ),
    (
        "{spec: {chart: {replace: store}}}",
        "spec.chart.replace is 'store' and spec.chart.name is 'shop'; expected spec.chart.replace only with the same name",
    ),
    ("{spec: {chart: {version: latest}}}", VERSION_LATEST),
    ("{spec: {chart: {version: '^1.2.3'}}}", VERSION_CARET),
    ("{spec: {chart: {version: '1.2'}}}", VERSION_SHORT),
    ("{spec: {chart: {version: '>=1.0.0 <2.0.0'}}}", VERSION_RANGE),
    ("{spec: {chart: {version: 1.2.x}}}", VERSION_WILD),
    (
        "{spec: {values: {source: inline}}}",
        "spec.values.source is 'inline' and spec.values sets nothing; expected exactly the field that source names",
    ),
    (
        "{spec: {values: {source: secretRef, inline: {a: 1}, secretRef: {name: values, key: prod}}}}",
        "spec.values.source is 'secretRef' and spec.values sets inline secretRef; expected exactly the field that source names",
    ),
    (
        "{spec: {values: {source: secretRef, configMapRef: {name: values}}}}",
        "spec.values.source is 'secretRef' and spec.values sets configMapRef; expected exactly the field that source names",
    ),
    (
        "{spec: {values: {source: secretRef, secretRef: {name: '-'}}}}",
        "name of the Secret or ConfigMap is '-'; expected the name of an object: lower case letters, digits, '-' and '.'",
    ),
    (
        "{spec: {values: {source: configMapRef, configMapRef: {name: values, key: 'a/b'}}}}",
        "key of the Secret or ConfigMap is 'a/b'; expected letters, digits, '-', '_' and '.'",
    ),
    (
        "{spec: {release: {name: Shop}}}",
        "spec.release.name is 'Shop'; expected the name of an object: lower case letters, digits, '-' and '.'",
    ),
    (
        "{spec: {release: {name: a-name-that-is-just-a-little-longer-than-helm-ever-takes}}}",
        "spec.release.name is 'a-name-that-is-just-a-little-longer-than-helm-ever-takes'; expected at most 53 characters, because Helm takes no more",
    ),
    (
        "{spec: {integrations: {ingress: {enabled: true, host: 'https://shop'}}}}",
        "spec.integrations.ingress.host is 'https://shop'; expected a host name, such as cloud.example.org",
    ),
    (
        "{spec: {interval: 5 minutes}}",
        "spec.interval is '5 minutes'; expected a duration from 10s to 24h, such as 30s, 5m or 1h30m",
    ),
    (
        "{spec: {interval: 1s}}",
        "spec.interval is '1s'; expected a duration from 10s to 24h, such as 30s, 5m or 1h30m",
    ),
    (
        "{spec: {timeout: 999999h999999h}}",
        "spec.timeout is '999999h999999h'; expected a duration from 1s to 24h, such as 30s, 5m or 1h30m",
    ),
    (
        "{spec: {install: {timeout: '5'}}}",
        "spec.install.timeout is '5'; expected a duration from 1s to 24h, such as 30s, 5m or 1h30m",
    ),
    (
        "{spec: {upgrade: {timeout: 0s}}}",
        "spec.upgrade.timeout is '0s'; expected a duration from 1s to 24h, such as 30s, 5m or 1h30m",
    ),
    (
        "{spec: {upgrade: {rollbackTimeout: 25h}}}",
        "spec.upgrade.rollbackTimeout is '25h'; expected a duration from 1s to 24h, such as 30s, 5m or 1h30m",
    ),
    (
        "{spec: {uninstall: {timeout: -5m}}}",
        "spec.uninstall.timeout is '-5m'; expected a duration from 1s to 24h, such as 30s, 5m or 1h30m",
    ),
    (
        "{spec: {tests: {timeout: 1d}}}",
        "spec.tests.timeout is '1d'; expected a duration from 1s to 24h, such as 30s, 5m or 1h30m",
    ),
    (
        "{spec: {driftDetection: {ignore: [{paths: [/spec/replicas, spec.replicas]}]}}}",
        "spec.driftDetection.ignore[].paths has 'spec.replicas'; expected JSON pointers such as /spec/replicas",
    ),
    (
        "{spec: {readinessChecks: [{name: web}]}}",
        "spec.readinessChecks 'web' has neither http nor tcp; expected exactly one of http and tcp",
    ),
    (
        "{spec: {readinessChecks: [{name: web, http: {service: web, port: 80}, tcp: {service: web, port: 80}}]}}",
        "spec.readinessChecks 'web' has both http and tcp; expected exactly one of http and tcp",
    ),
    (
        "{spec: {readinessChecks: [{name: web, timeout: 2m, tcp: {service: web, port: 80}}]}}",
        "spec.readinessChecks[].timeout is '2m'; expected a duration from 100ms to 60s, such as 30s, 5m or 1h30m",
    ),
    (
        "{spec: {readinessChecks: [{name: web, interval: 1ms, tcp: {service: web, port: 80}}]}}",
        "spec.readinessChecks[].interval is '1ms'; expected a duration from 1s to 1h, such as 30s, 5m or 1h30m",
    ),
    (
        "{spec: {readinessChecks: [{name: web, tcp: {service: 'web:80', port: 80}}]}}",
        "spec.readinessChecks[].tcp.service is 'web:80'; expected the name of an object: lower case letters, digits, '-' and \
         '.'",
    ),
    (
        "{spec: {readinessChecks: [{name: web, http: {service: 'other/web', port: 80}}]}}",
        "spec.readinessChecks[].http.service is 'other/web'; expected the name of an object: lower case letters, digits, \
         '-' and '.'",
    ),
    (
        "{spec: {readinessChecks: [{name: web, http: {service: web, port: 80, path: healthz}}]}}",
        "spec.readinessChecks[].http.path is 'healthz'; expected a path that starts with '/', without spaces",
    ),
    (
        "{spec: {readinessChecks: [{name: web, http: {service: web, port: 80, host: 'a b'}}]}}",
        "spec.readinessChecks[].http.host is 'a b'; expected a host name, such as shop.example.org",
    ),
    (
        "{spec: {dependsOn: [{name: database}, {name: shop}]}}",
        "spec.dependsOn names 'shop', which is this instance; expected only other instances in spec.dependsOn",
    ),
    (
        "{spec: {dependsOn: [{name: other/database}]}}",
        "spec.dependsOn[].name is 'other/database'; expected the name of an object: lower case letters, digits, '-' and '.'",
    ),
    ("{spec: {maintenanceWindows: [{name: night, duration: 2h, schedule: '0 2 * *'}]}}", CRON_SHORT),
    ("{spec: {maintenanceWindows: [{name: night, duration: 2h, schedule: '0 24 * * *'}]}}", CRON_HOUR),
    ("{spec: {maintenanceWindows: [{name: night, duration: 2h, schedule: '@daily'}]}}", CRON_WORD),
    (
        "{spec: {maintenanceWindows: [{name: night, duration: 30s, schedule: '0 2 * * SAT'}]}}",
        "spec.maintenanceWindows[].duration is '30s'; expected a duration from 1m to 168h, such as 30s, 5m or 1h30m",
    ),
    (
        "{spec: {maintenanceWindows: [{name: night, duration: 2h, schedule: '0 2 * * SAT', timeZone: 'Central Europe'}]}}",
        "spec.maintenanceWindows[].timeZone is 'Central Europe'; expected the name of a time zone, such as UTC or Europe/Vienna",
    ),
    (
        "{spec: {serviceAccountName: system:admin}}",
        "spec.serviceAccountName is 'system:admin'; expected the name of an object: lower case letters, digits, '-' and '.'",
    ),
];

const VERSION_LATEST: &str = "spec.chart.version is 'latest'; expected an exact version such as 1.2.3; no range, no tag such as latest";
const VERSION_CARET: &str = "spec.chart.version is '^1.2.3'; expected an exact version such as 1.2.3; no range, no tag such as latest";
const VERSION_SHORT: &str =
    "spec.chart.version is '1.2'; expected an exact version such as 1.2.3; no range, no tag such as latest";
const VERSION_RANGE: &str = "spec.chart.version is '>=1.0.0 <2.0.0'; expected an exact version such as 1.2.3; no range, no tag such as latest";
const VERSION_WILD: &str =
    "spec.chart.version is '1.2.x'; expected an exact version such as 1.2.3; no range, no tag such as latest";
const CRON_SHORT: &str = "spec.maintenanceWindows[].schedule is '0 2 * *'; expected five cron fields (minute, hour, day of the \
                          month, month, day of the week), such as 0 2 * * SAT";
const CRON_HOUR: &str = "spec.maintenanceWindows[].schedule is '0 24 * * *'; expected five cron fields (minute, hour, day of \
                         the month, month, day of the week), such as 0 2 * * SAT";
const CRON_WORD: &str = "spec.maintenanceWindows[].schedule is '@daily'; expected five cron fields (minute, hour, day of the \
                         month, month, day of the week), such as 0 2 * * SAT";

const CHART_NAME: &str = "spec.chart.name was 'shop' and would become 'store'; expected no change, because Flux would uninstall \
                          the running release and its volumes would be lost: if that is meant, set spec.chart.replace to \
                          the new name in the same change";

/// A change to the stored object that is taken.
pub(super) const TAKEN_LATER: &[&str] = &[
    "{spec: {chart: {version: 1.2.4}}}",
    "{spec: {chart: {name: store, replace: store}}}",
    "{spec: {chart: {replace: shop}}}",
];

/// A change to the stored object, and why it is refused.
pub(super) const REFUSED_LATER: &[(&str, &str)] = &[
    (
        "{spec: {release: {name: store}}}",
        "spec.release.name was 'shop' and would become 'store'; expected no change, because it says which release belongs to \
         this instance: delete the instance and create another",
    ),
    (
        "{spec: {release: {namespace: elsewhere}}}",
        "spec.release.namespace was 'NAMESPACE' and would become 'elsewhere'; expected \
         no change, because it says which release belongs to this instance: delete the instance and create another",
    ),
    (
        "{spec: {release: null}}",
        "spec.release was set and would be removed; expected no change, because it says which release belongs to this \
         instance: delete the instance and create another",
    ),
    ("{spec: {chart: {name: store}}}", CHART_NAME),
    // Only the new name, and only together with it.
    (
        "{spec: {chart: {name: store, replace: shop}}}",
        "spec.chart.replace is 'shop' and spec.chart.name is 'store'; expected spec.chart.replace only with the same name",
    ),
    (
        "{spec: {chart: {replace: store}}}",
        "spec.chart.replace is 'store' and spec.chart.name is 'shop'; expected spec.chart.replace only with the same name",
    ),
    (
        "{spec: {appRef: {catalogId: seaweedfs}, chart: null}}",
        "spec.chart was set and would be removed; expected no change, because what it installed would be left without a \
         chart: delete the instance and create another",
    ),
    (
        "{spec: {mode: placeholder, chart: null}}",
        "spec.mode was managed and would become placeholder; expected no change, because the installed application would be \
         left behind: delete the instance and create another",
    ),
];

/// Where accounts are enforced: an instance that exists (without an account, with one, a placeholder), a change to it, and whether
/// it is taken.
pub(super) const ACCOUNT_CHANGES: &[(&str, &str, bool)] = &[
    ("shop", "{metadata: {annotations: {seen: 'yes'}}, spec: {suspend: true, deletionPolicy: Orphan}}", true),
    ("shop", "{spec: {chart: {version: 1.2.4}}}", false),
    ("shop", "{spec: {values: {source: inline, inline: {replicas: 2}}}}", false),
    ("shop", "{spec: {chart: {version: 1.2.4}, serviceAccountName: tenant}}", true),
    ("apart", "{spec: {chart: {version: 1.2.4}}}", true),
    ("apart", "{spec: {serviceAccountName: null}}", false),
    ("promise", "{spec: {suspend: true}}", true),
    (
        "promise",
        "{spec: {mode: managed, release: {name: promise, namespace: NAMESPACE}, chart: {sourceType: oci, \
         url: 'oci://registry.example.org/charts', name: shop, version: 1.2.3}}}",
        false,
    ),
];

/// Objects with every field that instances had before this CRD, in the shapes that were in use.
pub(super) const EXISTING: &str = "
apiVersion: apps.vworkspace.io/v1alpha1
kind: ApplicationInstance
metadata:
  name: existing-helm
  namespace: NAMESPACE
  labels: {app.vworkspace.io/managed-by: control-plane, app.vworkspace.io/cluster-id: '7'}
  annotations: {ops.vworkspace.io/backup: velero, ops.vworkspace.io/upgrade: helm}
spec:
  appRef: {catalogId: nextcloud}
  chart: {sourceType: helm, url: 'https://charts.example.org', name: nextcloud, version: 6.6.4}
  release: {name: nextcloud, namespace: NAMESPACE}
  values: {source: inline, inline: {replicas: 2, list: [1, two, {three: 3}]}}
  integrations:
    externalSecrets: {enabled: true}
    certManager: {enabled: true}
    ingress: {enabled: true, host: cloud.example.org}
---
apiVersion: apps.vworkspace.io/v1alpha1
kind: ApplicationInstance
metadata: {name: existing-oci, namespace: NAMESPACE}
spec:
  appRef: {catalogId: mattermost}
  mode: managed
  chart: {sourceType: oci, url: registry.example.org/charts, name: mattermost, version: v6.6.80+build.1}
  release: {name: mattermost, namespace: NAMESPACE}
  values: {source: secretRef, secretRef: {name: values, key: values}}
  integrations: {ingress: {enabled: false, host: ''}}
---
apiVersion: apps.vworkspace.io/v1alpha1
kind: ApplicationInstance
metadata: {name: existing-config-map, namespace: NAMESPACE}
spec:
  appRef: {catalogId: wiki}
  chart: {sourceType: oci, url: 'oci://registry.example.org/charts', name: wiki, version: 0.1.0-alpha.1}
  release: {name: wiki, namespace: NAMESPACE}
  values: {source: configMapRef, configMapRef: {name: values, key: prod.yaml}}
---
apiVersion: apps.vworkspace.io/v1alpha1
kind: ApplicationInstance
metadata: {name: existing-storage, namespace: NAMESPACE}
spec:
  appRef: {catalogId: seaweedfs}
  release: {name: storage, namespace: NAMESPACE}
  values: {source: inline, inline: {master: {replicas: 1}}}
---
apiVersion: apps.vworkspace.io/v1alpha1
kind: ApplicationInstance
metadata: {name: existing-placeholder, namespace: NAMESPACE}
spec:
  appRef: {catalogId: cluster-ops}
  mode: placeholder
  release: {name: cluster-ops, namespace: NAMESPACE}
";
