{{/*
Its own kinds; patch sets the finalizer and takes it off, and writes into an instance what an upgrade asks for. Always cluster-wide: a
namespace that is deleted loses its Roles before its instances, and an operator that may not take the finalizer off would hold both for ever.
Operations that have ended are deleted in time.
*/}}
{{- define "operator.instanceRules" -}}
- apiGroups: [apps.vworkspace.io]
  resources: [applicationinstances]
  verbs: [list, watch, patch]
- apiGroups: [ops.vworkspace.io]
  resources: [operations]
  verbs: [list, watch, patch, delete]
# An operation says how it ended before it lets go.
- apiGroups: [ops.vworkspace.io]
  resources: [operations/status]
  verbs: [patch]
{{- end }}

{{/*
What Velero does for operations, in its own namespace. Granted everywhere, because that namespace may not exist yet: elsewhere these objects do
nothing. A Backup is never changed: it has no status of its own that a change could not destroy.
*/}}
{{- define "operator.veleroRules" -}}
- apiGroups: [velero.io]
  resources: [backups, restores]
  verbs: [get, list, watch, create, delete]
- apiGroups: [velero.io]
  resources: [deletebackuprequests]
  verbs: [list, watch, create]
# What was copied of volumes is watched once, at the end of a backup.
- apiGroups: [velero.io]
  resources: [backupstoragelocations, podvolumebackups]
  verbs: [list, watch]
{{- end }}

{{/*
What a namespace allows (annotation ops.vworkspace.io/allowed-types), and whether one of watchNamespaces is being deleted, which must be seen
when its Role is gone already.
*/}}
{{- define "operator.namespaceRules" -}}
- apiGroups: [""]
  resources: [namespaces]
  {{- with .Values.watchNamespaces }}
  resourceNames: {{ toJson . }}
  {{- end }}
  verbs: [list, watch]
{{- end }}

{{/*
What the operator may do to other namespaced things: in all namespaces, or in each of watchNamespaces. This list is the only place.
Of Secrets the operator asks for metadata only, never for what they hold. Kubernetes cannot grant that apart: whoever may list Secrets
may read them.
*/}}
{{- define "operator.rules" -}}
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
  resources: [cronjobs]
  verbs: [list, watch]
# What runs the command of an operation, and in whose name.
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, watch, create, delete]
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch]
# spec.policy.captureLogs of an operation.
- apiGroups: [""]
  resources: [pods/log]
  verbs: [get]
- apiGroups: [""]
  resources: [serviceaccounts]
  {{- if .Values.operations.createServiceAccount }}
  verbs: [list, watch, create]
  {{- else }}
  verbs: [list, watch]
  {{- end }}
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
