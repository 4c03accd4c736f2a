{{- /* The parts of a profile: "true" or nothing. */ -}}
{{- define "poolgate.enforces" -}}
{{- if ne .Values.profile "observe" }}true{{ end -}}
{{- end }}

{{- define "poolgate.holdsLimits" -}}
{{- if has .Values.profile (list "gate" "gate-strict") }}true{{ end -}}
{{- end }}

{{- define "poolgate.gate" -}}
{{- if kindIs "invalid" .Values.gate.enabled }}{{ include "poolgate.holdsLimits" . }}{{ else if .Values.gate.enabled }}true{{ end -}}
{{- end }}

{{- define "poolgate.gateObserves" -}}
{{- if kindIs "invalid" .Values.gate.observe }}{{ if not (include "poolgate.holdsLimits" .) }}true{{ end }}{{ else if .Values.gate.observe }}true{{ end -}}
{{- end }}

{{- define "poolgate.reconciler" -}}
{{- if kindIs "invalid" .Values.reconciler.enabled }}{{ include "poolgate.holdsLimits" . }}{{ else if .Values.reconciler.enabled }}true{{ end -}}
{{- end }}

{{- define "poolgate.reconcilerObserves" -}}
{{- if kindIs "invalid" .Values.reconciler.observe }}{{ if not (include "poolgate.holdsLimits" .) }}true{{ end }}{{ else if .Values.reconciler.observe }}true{{ end -}}
{{- end }}

{{- /* "true" if there is a NetworkPolicy, else nothing. Any pod that can call the gate can keep a pool from getting nodes. */ -}}
{{- define "poolgate.networkPolicy" -}}
{{- with .Values.networkPolicy }}
{{- if and (kindIs "invalid" .enabled) (include "poolgate.gate" $) (include "poolgate.holdsLimits" $) (not $.Values.clientCertificates.caConfigMap) }}
{{- fail (printf `

Profile %s: any pod that can call the gate can keep a pool from getting nodes. Decide which pods may call it.
Set one of these (docs/explanation/security.md, Source addresses of the API server, has an example for each kind of cluster):
  networkPolicy.enabled=true and networkPolicy.from, the source addresses of your API servers' calls:
    EKS          the CIDRs of the control plane's subnets, such as --set 'networkPolicy.from[0].ipBlock.cidr=10.0.0.0/28'
    AKS, GKE     the pods konnectivity-agent in kube-system, by namespaceSelector and podSelector
    kubeadm      the addresses of the control plane nodes
  networkPolicy.enabled=false
    Cilium       and a CiliumNetworkPolicy that admits the entity kube-apiserver. A NetworkPolicy cannot match it by CIDR
    otherwise    if every pod may call the gate
  clientCertificates.caConfigMap, if your API servers show webhooks a certificate` $.Values.profile) }}
{{- end }}
{{- if and .enabled (not .from) }}
{{- fail "\n\nnetworkPolicy.enabled=true admits only calls from networkPolicy.from, which is empty.\nSet it to the source addresses of your API servers' calls (docs/explanation/security.md, Source addresses of the API server), such as --set 'networkPolicy.from[0].ipBlock.cidr=10.0.0.0/28'" }}
{{- end }}
{{- if .enabled }}true{{ end -}}
{{- end }}
{{- end }}

{{- define "poolgate.strictPools" -}}
{{- if eq .Values.profile "gate-strict" }}
{{- if not .Values.gateStrict.pools }}
{{- fail "\n\nProfile gate-strict requires gateStrict.pools. These pools get no new nodes while the gate is down.\nSet gateStrict.pools to the pools whose limit matters more than their nodes, such as --set gateStrict.pools={licensed}" }}
{{- end }}
{{- if not (include "poolgate.gate" .) }}
{{- fail "\n\nProfile gate-strict requires the gate.\nUnset gate.enabled" }}
{{- end }}
{{- range .Values.gateStrict.pools }}
{{- if has . $.Values.exemptPools }}
{{- fail (printf "\n\nThe pool %s is in gateStrict.pools and in exemptPools.\nRemove it from one of them" .) }}
{{- end }}
{{- end }}
{{- join " " .Values.gateStrict.pools }}
{{- end -}}
{{- end }}

{{- /* Names as a list of CEL, which may be empty. */ -}}
{{- define "poolgate.names" -}}
[{{ range $at, $name := . }}{{ if $at }}, {{ end }}'{{ $name }}'{{ end }}]
{{- end }}

{{- /* Metadata of an object in the namespace. Takes (root, name, component). */ -}}
{{- define "poolgate.namespaced" -}}
name: {{ .name }}
namespace: {{ .root.Release.Namespace }}
{{ include "poolgate.labels" . }}
{{- end }}

{{- /* The labels that select pods. They never change. Takes (root, component). */ -}}
{{- define "poolgate.selector" -}}
{{ include "poolgate.anyComponent" .root }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "poolgate.anyComponent" -}}
app.kubernetes.io/name: poolgate
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* The labels of an object. manifests/uninstall finds all of poolgate by part-of. Takes (root, component). */ -}}
{{- define "poolgate.labels" -}}
labels:
  {{- include "poolgate.selector" . | nindent 2 }}
  app.kubernetes.io/part-of: poolgate
  app.kubernetes.io/version: {{ .root.Chart.AppVersion }}
  app.kubernetes.io/managed-by: {{ .root.Release.Service }}
  helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . | indent 2 }}
{{- end }}
{{- end }}

{{- /* The metadata of pods. It lacks the chart's version, so that a new chart of the same program restarts no pod. Takes (root,
component). */ -}}
{{- define "poolgate.podMetadata" -}}
{{- $own := index .root.Values .component -}}
labels:
  {{- include "poolgate.selector" . | nindent 2 }}
  app.kubernetes.io/part-of: poolgate
  app.kubernetes.io/version: {{ .root.Chart.AppVersion }}
{{- with merge (deepCopy $own.podLabels) .root.Values.commonLabels }}
{{ toYaml . | indent 2 }}
{{- end }}
{{- with $own.podAnnotations }}
annotations:
{{ toYaml . | indent 2 }}
{{- end }}
{{- end }}

{{- /* The name of a component's ServiceAccount. Takes (root, component). */ -}}
{{- define "poolgate.account" -}}
{{- $own := index .root.Values .component -}}
{{- $own.serviceAccount.name | default (ternary "poolgate" (printf "poolgate-%s" .component) (eq .component "admission")) -}}
{{- end }}

{{- /* Takes (root, component). */ -}}
{{- define "poolgate.serviceAccount" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  {{- include "poolgate.namespaced" (set . "name" (include "poolgate.account" .)) | nindent 2 }}
{{- $own := index .root.Values .component }}
{{- with $own.serviceAccount.annotations }}
  annotations:
{{ toYaml . | indent 4 }}
{{- end }}
automountServiceAccountToken: false
{{- end }}

{{- /* A component's value, else the global value of the same name. Takes (root, component, value). */ -}}
{{- define "poolgate.either" -}}
{{- $own := index .root.Values .component .value }}
{{- if kindIs "invalid" $own }}{{ $own = index .root.Values .value }}{{ end }}
{{- with $own }}{{ toYaml . }}{{ end }}
{{- end }}

{{- /* What makes an object a hook, which Helm deletes afterwards. Takes its event. */ -}}
{{- define "poolgate.hook" -}}
annotations:
  helm.sh/hook: {{ . }}
  helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}

{{- /* A Role in a namespace, or a ClusterRole. Takes (root, name, component, namespace, rules, hook: its event). */ -}}
{{- define "poolgate.role" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ ternary "Role" "ClusterRole" (hasKey . "namespace") }}
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  {{- include "poolgate.labels" . | nindent 2 }}
  {{- with .hook }}
  {{- include "poolgate.hook" . | nindent 2 }}
  {{- end }}
rules:
  {{- .rules | trim | nindent 2 }}
{{- end }}

{{- /* The same, and its binding to a component's ServiceAccount, or to a named one. Takes (account), too. */ -}}
{{- define "poolgate.grant" -}}
{{ include "poolgate.role" . }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ ternary "RoleBinding" "ClusterRoleBinding" (hasKey . "namespace") }}
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  {{- include "poolgate.labels" . | nindent 2 }}
  {{- with .hook }}
  {{- include "poolgate.hook" . | nindent 2 }}
  {{- end }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ ternary "Role" "ClusterRole" (hasKey . "namespace") }}
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: {{ .account | default (include "poolgate.account" .) }}
    namespace: {{ .root.Release.Namespace }}
{{- end }}

{{- /* The rights of what removes marks and restores limits. */ -}}
{{- define "poolgate.unholds" -}}
- apiGroups: [""]
  resources: [nodes]
  verbs: [list, patch]
- apiGroups: [karpenter.sh]
  resources: [nodepools]
  verbs: [list, patch]
{{- end }}

{{- /* Takes (root, service, path). */ -}}
{{- define "poolgate.clientConfig" -}}
clientConfig:
  {{- with include "poolgate.caBundle" .root }}
  # The CA of your certificate (certificates.caBundle).
  caBundle: {{ . }}
  {{- else }}
  # caBundle is left out on purpose: the tool that issues the certificate fills it (docs/certificates.md), and GitOps
  # does not revert fields that are not set here.
  {{- end }}
  service:
    name: {{ .service }}
    namespace: {{ .root.Release.Namespace }}
    path: {{ .path }}
    port: 443
{{- end }}

{{- /* The CA in base64 if it is given, or nothing. Under Fail an empty caBundle denies every NodePool. */ -}}
{{- define "poolgate.caBundle" -}}
{{- with .Values.certificates }}
{{- if and (ne .from "secret") (or .caBundle .caBundleFrom) }}
{{- fail (printf "\n\ncertificates.caBundle and caBundleFrom require certificates.from=secret: %s writes caBundle itself.\nUnset them, or set certificates.from=secret" .from) }}
{{- end }}
{{- if and .caBundle .caBundleFrom }}
{{- fail "\n\ncertificates.caBundle and certificates.caBundleFrom=other exclude each other.\nUnset one of them" }}
{{- end }}
{{- if and .caBundle (not (contains "-----BEGIN CERTIFICATE-----" .caBundle)) }}
{{- fail "\n\ncertificates.caBundle is not a PEM certificate. It must contain -----BEGIN CERTIFICATE-----, without base64 around it.\nUse --set-file certificates.caBundle=ca.crt" }}
{{- end }}
{{- if and (eq .from "secret") (include "poolgate.enforces" $) (not .caBundle) (not .caBundleFrom) }}
{{- fail (printf "\n\nProfile %s denies every NodePool while caBundle is empty, and with certificates.from=secret poolgate does not fill it.\nChoose one:\n  --set-file certificates.caBundle=ca.crt    the CA that signed the certificate in the Secret poolgate-tls\n  --set certificates.caBundleFrom=other      something else writes caBundle, such as certs/apply. Run it under profile observe first\n  --set certificates.from=poolgate           poolgate issues its own certificate" $.Values.profile) }}
{{- end }}
{{- with .caBundle }}{{ b64enc . }}{{ end }}
{{- end }}
{{- end }}

{{- /* The failure policy of reviews. */ -}}
{{- define "poolgate.failurePolicy" -}}
{{ .Values.failurePolicy | default (ternary "Fail" "Ignore" (eq (include "poolgate.enforces" .) "true")) }}
{{- end }}

{{- /* With the failure policy that is installed, `poolgate status` finds one that somebody has changed. Takes (root,
failurePolicy: empty if the paths say it). */ -}}
{{- define "poolgate.webhookAnnotations" -}}
{{- $issuer := eq .root.Values.certificates.from "cert-manager" }}
{{- if or .failurePolicy $issuer }}
  annotations:
{{- with .failurePolicy }}
    poolgate.dev/failure-policy: {{ . }}
{{- end }}
{{- if $issuer }}
    cert-manager.io/inject-ca-from: {{ .root.Release.Namespace }}/poolgate
{{- end }}
{{- end }}
{{- end }}

{{- define "poolgate.image" -}}
{{- with .Values.image }}{{ with .registry }}{{ . }}/{{ end }}{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}{{ end -}}
{{- end }}

{{- /* The part of a pod's spec that all pods share. Takes (root, component, account: if it is not the component's, leaving: true if
the pod runs after the release is deleted). */ -}}
{{- define "poolgate.pod" -}}
{{- with .root.Values -}}
serviceAccountName: {{ if $.account }}{{ $.account }}{{ else }}{{ include "poolgate.account" $ }}{{ end }}
# For the rights in rights.yaml.
automountServiceAccountToken: true
# Service links would set POOLGATE_PORT and the like, and POOLGATE_… variables are poolgate's flags.
enableServiceLinks: false
{{- with .imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if not $.leaving }}
{{- with include "poolgate.either" (dict "root" $.root "component" $.component "value" "priorityClassName") }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}
{{- if .hostNetwork.enabled }}
hostNetwork: true
{{- end }}
# The image runs as UID 65532. runAsUser is unset, so that OpenShift can assign a UID of the namespace's range.
securityContext:
  runAsNonRoot: true
  seccompProfile:
    type: RuntimeDefault
{{- with include "poolgate.either" (dict "root" $.root "component" $.component "value" "affinity") }}
# By default, pods avoid nodes that Karpenter created. Otherwise, if no pool could get nodes, the fix of a pool would wait
# for poolgate, and poolgate for a node. The reconciler might also hold or delete its own node.
affinity:
  {{- . | nindent 2 }}
{{- end }}
{{- with include "poolgate.either" (dict "root" $.root "component" $.component "value" "nodeSelector") }}
nodeSelector:
  {{- . | nindent 2 }}
{{- end }}
{{- with include "poolgate.either" (dict "root" $.root "component" $.component "value" "tolerations") }}
# The nodes that Karpenter does not create are the few system nodes, which are often tainted.
tolerations:
  {{- . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{- /* How the pods of a component are spread. Takes (root, component). */ -}}
{{- define "poolgate.spread" -}}
{{- with include "poolgate.either" (dict "root" .root "component" .component "value" "topologySpreadConstraints") -}}
# On a single node all replicas start: one domain has no skew.
topologySpreadConstraints:
  {{- range fromYamlArray . }}
  - {{ toYaml (merge . (dict "labelSelector" (dict "matchLabels" (include "poolgate.selector" $ | fromYaml)))) | nindent 4 | trim }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "poolgate.container" -}}
name: poolgate
image: {{ include "poolgate.image" . }}
{{- with .Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
{{- end }}

{{- define "poolgate.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{- define "poolgate.probes" -}}
livenessProbe:
  httpGet:
    path: /livez
    port: probe
  periodSeconds: 10
  timeoutSeconds: 2
readinessProbe:
  httpGet:
    path: /readyz
    port: probe
  periodSeconds: 5
  timeoutSeconds: 2
  failureThreshold: 2
{{- end }}

{{- /* Takes (required). */ -}}
{{- define "poolgate.policyArgs" -}}
{{- if .required -}}
# From the ConfigMap poolgate-policy. If it is missing or has mistakes, no pod starts.
- --policy=/etc/poolgate/policy/policy.yaml
- --policy-required
{{- else -}}
# From the ConfigMap poolgate-policy. If it is missing, the built-in policy is in force.
- --policy=/etc/poolgate/policy/policy.yaml
- --policy-optional
{{- end }}
{{- end }}

{{- define "poolgate.logArgs" -}}
- --log-format={{ .Values.logFormat }}
- {{ printf "--log-level=%s" .Values.logLevel | toYaml }}
{{- end }}

{{- define "poolgate.policyMount" -}}
# The whole directory: a subPath mount would never see a changed policy.
- name: policy
  mountPath: /etc/poolgate/policy
  readOnly: true
{{- end }}

{{- define "poolgate.policyVolume" -}}
- name: policy
  configMap:
    name: poolgate-policy
    optional: true
{{- end }}

{{- /* A webhook server. Takes (root, name, component, command, args, policy, https, probe). */ -}}
{{- define "poolgate.server" -}}
{{- $clients := .root.Values.clientCertificates }}
{{- if and $clients.names (not $clients.caConfigMap) }}
{{- fail "\n\nclientCertificates.names requires clientCertificates.caConfigMap.\nSet clientCertificates.caConfigMap to the ConfigMap with the CA, or unset the names" }}
{{- end -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "poolgate.namespaced" . | nindent 2 }}
spec:
  {{- $own := index .root.Values .component }}
  replicas: {{ $own.replicas }}
  revisionHistoryLimit: {{ .root.Values.revisionHistoryLimit }}
  selector:
    matchLabels:
      {{- include "poolgate.selector" . | nindent 6 }}
  strategy:
    type: RollingUpdate
    rollingUpdate:
      {{- if .root.Values.hostNetwork.enabled }}
      # A node can run only one pod with these ports: the old one must stop first.
      maxUnavailable: 1
      maxSurge: 0
      {{- else }}
      # The old pod stops only when the new one is ready, so a rollout never has fewer replicas.
      maxUnavailable: 0
      maxSurge: 1
      {{- end }}
  template:
    metadata:
      {{- include "poolgate.podMetadata" . | nindent 6 }}
    spec:
      {{- include "poolgate.pod" (dict "root" .root "component" .component) | nindent 6 }}
      # 10 s of serving while endpoints and keep-alive connections move to other pods, 20 s to drain, 10 s of
      # reserve.
      terminationGracePeriodSeconds: 40
      {{- with include "poolgate.spread" . }}
      {{- . | nindent 6 }}
      {{- end }}
      containers:
        - {{ include "poolgate.container" .root | indent 10 | trim }}
          args:
            - {{ .command }}
            {{- with .args }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
            - --tls-cert=/etc/poolgate/tls/tls.crt
            - --tls-key=/etc/poolgate/tls/tls.key
            {{- with .policy }}
            {{- include "poolgate.policyArgs" . | nindent 12 }}
            {{- end }}
            {{- include "poolgate.logArgs" .root | nindent 12 }}
            {{- if .root.Values.hostNetwork.enabled }}
            - --listen={{ .https }}
            - --probe-listen={{ .probe }}
            {{- end }}
            {{- with .lastArgs }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
            {{- if $clients.caConfigMap }}
            - --client-ca=/etc/poolgate/client-ca/ca.crt
            {{- range $clients.names }}
            - --client-name={{ . }}
            {{- end }}
            {{- end }}
            {{- with $own.extraArgs }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          {{- with $own.extraEnv }}
          env:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          ports:
            - name: https
              containerPort: {{ .https }}
            - name: probe
              containerPort: {{ .probe }}
          {{- include "poolgate.probes" . | nindent 10 }}
          # No CPU limit: a throttled server stalls for up to 100 ms at a time, and kubectl and Karpenter
          # wait for it. The memory limit bounds what a flood of large requests can take from the node.
          resources:
            {{- toYaml $own.resources | nindent 12 }}
          {{- include "poolgate.containerSecurity" . | nindent 10 }}
          volumeMounts:
            # The whole directory: a subPath mount would never see a renewed certificate.
            - name: tls
              mountPath: /etc/poolgate/tls
              readOnly: true
            {{- if .policy }}
            {{- include "poolgate.policyMount" . | nindent 12 }}
            {{- end }}
            {{- if $clients.caConfigMap }}
            - name: client-ca
              mountPath: /etc/poolgate/client-ca
              readOnly: true
            {{- end }}
      volumes:
        - name: tls
          secret:
            secretName: poolgate-tls
            # The files belong to root, and the pod may run as any UID. No other pod has this volume.
            defaultMode: 0444
            # The Secret may exist before its content. The pod waits for both files.
            items:
              - key: tls.crt
                path: tls.crt
              - key: tls.key
                path: tls.key
        {{- if .policy }}
        {{- include "poolgate.policyVolume" . | nindent 8 }}
        {{- end }}
        {{- if $clients.caConfigMap }}
        - name: client-ca
          configMap:
            name: {{ $clients.caConfigMap }}
        {{- end }}
{{- end }}

{{- /* Takes (root, name). */ -}}
{{- define "poolgate.service" -}}
apiVersion: v1
kind: Service
metadata:
  {{- include "poolgate.namespaced" . | nindent 2 }}
spec:
  selector:
    {{- include "poolgate.selector" . | nindent 4 }}
  ports:
    - name: https
      port: 443
      targetPort: https
{{- end }}

{{- /* Takes (root, name). */ -}}
{{- define "poolgate.disruptionBudget" -}}
# Not `minAvailable: 1`: with one replica, it would block the drain of the node forever.
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "poolgate.namespaced" . | nindent 2 }}
spec:
  maxUnavailable: 1
  # A pod that is not ready answers no request: it must not block a drain.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "poolgate.selector" . | nindent 6 }}
{{- end }}

{{- /* The match conditions of both configurations. They skip requests in which no rule can find a mistake, so that Karpenter's own
writes (hash annotations, finalizers) succeed while poolgate is down. */ -}}
{{- define "poolgate.reviewConditions" -}}
# This checks the stored object, not the new one: only the API server sets the timestamp.
- name: not-being-deleted
  expression: >-
    request.operation == 'CREATE' || !has(oldObject.metadata.deletionTimestamp)
# A review reads the spec and poolgate's annotations. A misspelt annotation is reviewed, too.
- name: changes-what-is-checked
  expression: >-
    request.operation == 'CREATE'
    || object.?spec != oldObject.?spec
    || [object, oldObject].exists(one, one.metadata.?annotations.orValue({}).exists(key,
    key.startsWith('poolgate.dev/')
    && object.metadata.?annotations[?key] != oldObject.metadata.?annotations[?key]))
{{- with .Values.exemptPools }}
# Pools on whose nodes poolgate runs must be changeable while it is down. If the API server generates the name of a new
# object, the object has none when /mutate is called.
- name: not-an-exempt-pool
  expression: >-
    !(object.metadata.?name.orValue('') in {{ include "poolgate.names" . }})
{{- end }}
{{- end }}

{{- /* A webhook of the gate, for strict pools or for all others. Takes (root, name, path, failurePolicy, strict). */ -}}
{{- define "poolgate.gateWebhook" -}}
- name: {{ .name }}
  {{- include "poolgate.clientConfig" (dict "root" .root "service" "poolgate-gate" "path" .path) | nindent 2 }}
  admissionReviewVersions: [v1]
  rules:
    - apiGroups: [karpenter.sh]
      apiVersions: [v1]
      resources: [nodeclaims]
      operations: [CREATE]
      scope: Cluster
  matchPolicy: Equivalent
  failurePolicy: {{ .failurePolicy }}
  # The gate writes reservations into a ledger, but not for a dry run.
  sideEffects: NoneOnDryRun
  # The gate answers within four fifths of it, with or without a decision.
  timeoutSeconds: {{ .root.Values.gate.timeoutSeconds }}
  matchConditions:
    - name: in-a-pool
      expression: >-
        object.metadata.?labels[?'karpenter.sh/nodepool'].hasValue()
    {{- with .root.Values.exemptPools }}
    # Nodes on which poolgate runs must be created while it is down.
    - name: not-in-an-exempt-pool
      expression: >-
        !(object.metadata.?labels[?'karpenter.sh/nodepool'].orValue('') in {{ include "poolgate.names" . }})
    {{- end }}
    - name: {{ ternary "in-a-strict-pool" "not-in-a-strict-pool" .strict }}
      expression: >-
        {{ if not .strict }}!({{ end }}object.metadata.?labels[?'karpenter.sh/nodepool'].orValue('') in {{ include "poolgate.names" (splitList " " (include "poolgate.strictPools" .root) | compact) }}{{ if not .strict }}){{ end }}
{{- end }}

{{- /* The namespace of the ledgers. */ -}}
{{- define "poolgate.ledgersArg" -}}
--ledger-namespace={{ .Values.ledgers.namespace }}
{{- end }}

{{- /* A pod that removes the marks from nodes, and ends. Takes (root, account, backoffLimit, deadline, args, leaving). */ -}}
{{- define "poolgate.unhold" -}}
backoffLimit: {{ .backoffLimit }}
activeDeadlineSeconds: {{ .deadline }}
template:
  metadata:
    {{- include "poolgate.podMetadata" (dict "root" .root "component" "unhold") | nindent 4 }}
  spec:
    {{- include "poolgate.pod" (dict "root" .root "component" "unhold" "account" .account "leaving" .leaving) | nindent 4 }}
    restartPolicy: Never
    containers:
      - {{ include "poolgate.container" .root | indent 8 | trim }}
        args:
          - reconcile
          - --unhold-all
          - --namespace={{ .root.Release.Namespace }}
          - {{ include "poolgate.ledgersArg" .root }}
          {{- with .args }}
          {{- toYaml . | nindent 10 }}
          {{- end }}
          {{- include "poolgate.logArgs" .root | nindent 10 }}
          {{- with .root.Values.unhold.extraArgs }}
          {{- toYaml . | nindent 10 }}
          {{- end }}
        {{- with .root.Values.unhold.extraEnv }}
        env:
          {{- toYaml . | nindent 10 }}
        {{- end }}
        resources:
          {{- toYaml .root.Values.unhold.resources | nindent 10 }}
        {{- include "poolgate.containerSecurity" . | nindent 8 }}
{{- end }}
