{{/* The name is documented and does not follow the release's: people type it. */}}
{{- define "operator.name" -}}
vworkspace-app-operator
{{- end }}

{{/* Cluster-wide things and those in other namespaces must not meet those of a release elsewhere. */}}
{{- define "operator.clusterName" -}}
vworkspace-app-operator-{{ .Release.Namespace }}
{{- end }}

{{- define "operator.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "operator.name" .) }}
{{- end }}

{{- define "operator.selector" -}}
app.kubernetes.io/name: {{ include "operator.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "operator.labels" -}}
{{ include "operator.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: vworkspace
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "operator.image" -}}
{{- $image := .Values.image -}}
{{- if not $image.repository }}
{{- fail "image.repository is empty; expected where the operator's image is, such as registry.example.org/vworkspace-operator" }}
{{- end }}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}
