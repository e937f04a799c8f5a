//! The network: pods, services and names.

use anyhow::{Result, ensure};

use super::{Ground, Scenario};
use crate::readiness::has_condition;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "a_deployment_behind_a_service_is_reached_by_name_from_another_pod",
    needs: &["dns"],
    needs_node: false,
    alone: false,
    run: |ground| Box::pin(run(ground)),
};

async fn run(ground: &Ground) -> Result<()> {
    ground.apply(SERVER).await?;
    ground.until("apps/v1", "Deployment", "web", |data| has_condition(data, "Available", "True")).await?;
    ground.apply(CLIENT).await?;
    let said = ground.output_of("client").await?;
    ensure!(said.contains("hello from web"), "the client said: {said}");
    Ok(())
}

const SERVER: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: page, namespace: NAMESPACE}
data: {index.html: hello from web}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NAMESPACE}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
      - name: web
        image: lab.local/busybox:1
        command: [httpd, -f, -p, '8080', -h, /page]
        readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1}
        volumeMounts: [{name: page, mountPath: /page}]
      volumes: [{name: page, configMap: {name: page}}]
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: NAMESPACE}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
";

/// Debian's static wget cannot look names up, so nslookup does; the address it finds is what wget asks.
const CLIENT: &str = "
apiVersion: v1
kind: Pod
metadata: {name: client, namespace: NAMESPACE}
spec:
  restartPolicy: Never
  containers:
  - name: client
    image: lab.local/busybox:1
    command:
    - sh
    - -c
    - |
      set -e
      answer=$(nslookup web.NAMESPACE.svc.cluster.local)
      address=${answer##*Address: }
      wget -q -O - http://$address/index.html
";
