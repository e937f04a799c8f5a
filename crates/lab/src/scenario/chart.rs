//! Charts for scenarios: one that serves its settings over HTTP, with values that break it, and parts that can be added.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use jiff::Timestamp;

use super::Ground;
use crate::registry;

/// The chart's name, and the label `app.kubernetes.io/name` of its pods.
pub(super) const NAME: &str = "probe";

/// What a chart has besides its Deployment and its settings.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(super) enum Part {
    /// The settings over HTTP, at port 80.
    Service,
    /// At host probe.example.test.
    Ingress,
    /// At host secure.example.test, with a Certificate of an Issuer named `later`.
    Certificate,
    /// An ExternalSecret named `RELEASE-outside` for a Secret of the same name.
    ExternalSecret,
    PassingTest,
    FailingTest,
    /// A ConfigMap that stays until its finalizer is removed.
    Held,
    /// A pod before the deletion that takes some seconds.
    SlowGoodbye,
    /// The whole chart is out of date.
    Deprecated,
    /// The value `oldGreeting` is out of date.
    DeprecatedKey,
    /// The value `pin` has to be a number of four digits, as text.
    Pin,
}

/// Keeps a [`Part::Held`] until somebody removes it.
pub(super) const HOLD: &str = "lab.vworkspace.io/hold";

impl Part {
    /// The file in the chart and what it says.
    fn file(self) -> Option<(&'static str, &'static str)> {
        Some(match self {
            Part::Service => ("templates/service.yaml", SERVICE),
            Part::Ingress => ("templates/ingress.yaml", INGRESS),
            Part::Certificate => ("templates/certificate.yaml", CERTIFICATE),
            Part::ExternalSecret => ("templates/external-secret.yaml", EXTERNAL_SECRET),
            Part::PassingTest => ("templates/passing-test.yaml", PASSING_TEST),
            Part::FailingTest => ("templates/failing-test.yaml", FAILING_TEST),
            Part::Held => ("templates/held.yaml", HELD),
            Part::SlowGoodbye => ("templates/slow-goodbye.yaml", SLOW_GOODBYE),
            Part::DeprecatedKey => ("values.schema.json", SCHEMA),
            Part::Pin => ("values.schema.json", PIN_SCHEMA),
            Part::Deprecated => return None,
        })
    }
}

/// A chart of our own in a folder that lives as long as this value.
pub(super) struct Chart {
    pub(super) folder: PathBuf,
    /// Another one in each run, so that what an earlier run published is never taken for this.
    pub(super) version: String,
}

impl Chart {
    /// Writes a chart that has these parts.
    pub(super) fn write(ground: &Ground, parts: &[Part]) -> Result<Self> {
        let version = format!("1.0.{}", Timestamp::now().as_microsecond());
        let folder = std::env::temp_dir().join(format!("{}-{version}", ground.namespace));
        let chart = Self { folder, version };
        let deprecated = parts.contains(&Part::Deprecated);
        let about =
            format!("{{apiVersion: v2, name: {NAME}, version: {}, deprecated: {deprecated}}}", chart.version);
        let base = [
            ("Chart.yaml", about.as_str()),
            ("values.yaml", VALUES),
            ("templates/probe.yaml", TEMPLATE),
            // What is served over HTTP lies in the same folder, and is no part of the chart.
            (".helmignore", "site/"),
        ];
        fs::create_dir_all(chart.folder.join("templates"))
            .with_context(|| format!("failed to create {}", chart.folder.display()))?;
        for (file, text) in base.into_iter().chain(parts.iter().filter_map(|part| part.file())) {
            fs::write(chart.folder.join(file), text)?;
        }
        Ok(chart)
    }

    /// Writes a chart and pushes it to the lab's registry.
    pub(super) async fn published(ground: &Ground, parts: &[Part]) -> Result<Self> {
        let chart = Self::write(ground, parts)?;
        chart.publish(ground).await?;
        Ok(chart)
    }

    pub(super) async fn publish(&self, ground: &Ground) -> Result<()> {
        registry::push_chart(&ground.cluster, &self.folder).await
    }
}

impl Drop for Chart {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            eprintln!("lab: failed to remove {}: {error}", self.folder.display());
        }
    }
}

/// `fail` is the text of a template error, `replicas: 0` an application without pods, `ready: false` a pod that never gets
/// ready, `delay` the seconds until it does, `stumble` a pod whose first start fails, `storageClass` that of a volume at `/data`,
/// whose files Velero is to save.
const VALUES: &str = "
greeting: from the chart
fail: ''
replicas: 1
ready: true
delay: 0
stumble: false
storageClass: ''
";

const TEMPLATE: &str = "
{{- if .Values.fail }}{{ fail .Values.fail }}{{ end }}
apiVersion: v1
kind: ConfigMap
metadata: {name: '{{ .Release.Name }}-settings'}
data: {greeting: '{{ .Values.greeting }}', version: '{{ .Chart.Version }}'}
{{- with .Values.storageClass }}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: '{{ $.Release.Name }}-data'}
spec: {storageClassName: '{{ . }}', accessModes: [ReadWriteOnce], resources: {requests: {storage: 16Mi}}}
{{- end }}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: '{{ .Release.Name }}'}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: '{{ .Release.Name }}'}}
  template:
    metadata:
      labels: {app: '{{ .Release.Name }}', app.kubernetes.io/name: '{{ .Chart.Name }}'}
      {{- if .Values.storageClass }}
      annotations: {backup.velero.io/backup-volumes: data}
      {{- end }}
    spec:
      {{- if .Values.storageClass }}
      securityContext: {fsGroup: 65532}
      {{- end }}
      terminationGracePeriodSeconds: 0
      containers:
      - name: probe
        image: lab.local/busybox:1
        {{- if .Values.stumble }}
        command: [sh, -c, 'test -e /scratch/again || { touch /scratch/again; echo it stumbled; exit 1; };
          exec httpd -f -p 8080 -h /settings']
        {{- else }}
        command: [httpd, -f, -p, '8080', -h, /settings]
        {{- end }}
        readinessProbe:
          exec: {command: ['{{ .Values.ready }}']}
          initialDelaySeconds: {{ .Values.delay }}
          periodSeconds: 1
        volumeMounts:
        - {name: settings, mountPath: /settings}
        - {name: scratch, mountPath: /scratch}
        {{- if .Values.storageClass }}
        - {name: data, mountPath: /data}
        {{- end }}
      volumes:
      - {name: settings, configMap: {name: '{{ .Release.Name }}-settings'}}
      - {name: scratch, emptyDir: {}}
      {{- if .Values.storageClass }}
      - {name: data, persistentVolumeClaim: {claimName: '{{ .Release.Name }}-data'}}
      {{- end }}
";

const SERVICE: &str = "
apiVersion: v1
kind: Service
metadata: {name: '{{ .Release.Name }}'}
spec: {selector: {app: '{{ .Release.Name }}'}, ports: [{name: http, port: 80, targetPort: 8080}]}
";

const INGRESS: &str = "
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: '{{ .Release.Name }}'}
spec:
  rules:
  - host: probe.example.test
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: '{{ .Release.Name }}', port: {number: 80}}}}
";

const CERTIFICATE: &str = "
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: '{{ .Release.Name }}'}
spec:
  secretName: '{{ .Release.Name }}-tls'
  dnsNames: [secure.example.test]
  issuerRef: {kind: Issuer, name: later}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: '{{ .Release.Name }}-secure'}
spec:
  tls: [{hosts: [secure.example.test], secretName: '{{ .Release.Name }}-tls'}]
  rules:
  - host: secure.example.test
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {service: {name: '{{ .Release.Name }}', port: {number: 80}}}}
";

const EXTERNAL_SECRET: &str = "
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata: {name: '{{ .Release.Name }}-outside'}
spec:
  refreshInterval: 1h
  secretStoreRef: {kind: SecretStore, name: vault}
  target: {name: '{{ .Release.Name }}-outside'}
  data: [{secretKey: password, remoteRef: {key: probe}}]
";

const PASSING_TEST: &str = "
apiVersion: v1
kind: Pod
metadata:
  name: '{{ .Release.Name }}-passes'
  annotations: {helm.sh/hook: test, helm.sh/hook-delete-policy: before-hook-creation}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 0
  containers: [{name: test, image: 'lab.local/busybox:1', command: ['true']}]
";

const FAILING_TEST: &str = "
apiVersion: v1
kind: Pod
metadata:
  name: '{{ .Release.Name }}-fails'
  annotations: {helm.sh/hook: test, helm.sh/hook-delete-policy: before-hook-creation}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 0
  containers: [{name: test, image: 'lab.local/busybox:1', command: ['false']}]
";

const HELD: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: '{{ .Release.Name }}-held', finalizers: [lab.vworkspace.io/hold]}
";

const SLOW_GOODBYE: &str = "
apiVersion: v1
kind: Pod
metadata:
  name: '{{ .Release.Name }}-goodbye'
  annotations: {helm.sh/hook: pre-delete, helm.sh/hook-delete-policy: 'before-hook-creation,hook-succeeded'}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 0
  containers: [{name: goodbye, image: 'lab.local/busybox:1', command: [sleep, '4']}]
";

const PIN_SCHEMA: &str = r#"{"properties": {"pin": {"type": "string", "pattern": "^[0-9]{4}$"}}}"#;

const SCHEMA: &str = r#"{
  "$schema": "http://json-schema.org/draft-07/schema#",
  "type": "object",
  "properties": {
    "oldGreeting": {"type": "string", "deprecated": true, "description": "Use greeting."}
  }
}
"#;
