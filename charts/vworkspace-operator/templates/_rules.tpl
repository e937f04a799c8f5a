{{/*
What the operator may do to namespaced things: in all namespaces, or in each of watchNamespaces. This list is the only place.
Of Secrets the operator asks for metadata only, never for what they hold. Kubernetes cannot grant that apart: whoever may list Secrets
may read them.
*/}}
{{- define "operator.rules" -}}
# Its own kind: patch sets the finalizer.
- apiGroups: [apps.vworkspace.io]
  resources: [applicationinstances]
  verbs: [list, watch, patch]
- apiGroups: [apps.vworkspace.io]
  resources: [applicationinstances/status]
  verbs: [patch]
# What an instance becomes.
- apiGroups: [helm.toolkit.fluxcd.io]
  resources: [helmreleases]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [source.toolkit.fluxcd.io]
  resources: [ocirepositories, helmrepositories]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [source.toolkit.fluxcd.io]
  resources: [helmcharts]
  verbs: [list, watch]
# It reads Flux's Events: drift is told nowhere else.
- apiGroups: [""]
  resources: [events]
  verbs: [list, watch]
# It tells transitions as Events of its own; the same again is counted on the first one.
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
# What a release is made of: whether it is there, on its way, or still going.
- apiGroups: [""]
  resources: [services, persistentvolumeclaims, configmaps, secrets]
  verbs: [list, watch]
- apiGroups: [networking.k8s.io]
  resources: [ingresses]
  verbs: [list, watch]
- apiGroups: [apps]
  resources: [deployments, statefulsets, daemonsets]
  verbs: [list, watch]
- apiGroups: [batch]
  resources: [jobs, cronjobs]
  verbs: [list, watch]
- apiGroups: [cert-manager.io]
  resources: [certificates]
  verbs: [list, watch]
- apiGroups: [external-secrets.io]
  resources: [externalsecrets]
  verbs: [list, watch]
{{- end }}

{{/* In the operator's own namespace. */}}
{{- define "operator.ownRules" -}}
# Which of the replicas works. A name cannot be demanded of what is yet to be created.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ include "operator.name" . }}]
  verbs: [get, update]
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [vworkspace-catalog-policy]
  verbs: [list, watch]
{{- end }}

{{/* About the cluster: its uid is that of kube-system. */}}
{{- define "operator.clusterRules" -}}
- apiGroups: [""]
  resources: [namespaces]
  resourceNames: [kube-system]
  verbs: [get]
{{- end }}
