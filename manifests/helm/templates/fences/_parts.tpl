{{- /* The account whose requests a fence checks. Takes its name. */ -}}
{{- define "poolgate.isAccount" -}}
# This also restricts an account of the same name in another namespace.
- name: is-the-account
  expression: |-
    request.userInfo.username.startsWith('system:serviceaccount:')
    && request.userInfo.username.endsWith(':{{ . }}')
{{- end }}

{{- /* The changes of an update to the metadata, as variables of a fence. */ -}}
{{- define "poolgate.changedMetadata" -}}
- name: labels
  expression: object.metadata.?labels.orValue({})
- name: oldLabels
  expression: oldObject.metadata.?labels.orValue({})
- name: annotations
  expression: object.metadata.?annotations.orValue({})
- name: oldAnnotations
  expression: oldObject.metadata.?annotations.orValue({})
# The names of added, removed and changed labels and annotations.
- name: changedLabels
  expression: |-
    (variables.labels.map(key, key) + variables.oldLabels.map(key, key))
    .filter(key, variables.labels[?key] != variables.oldLabels[?key])
- name: changedAnnotations
  expression: |-
    (variables.annotations.map(key, key) + variables.oldAnnotations.map(key, key))
    .filter(key, variables.annotations[?key] != variables.oldAnnotations[?key])
{{- end }}

{{- /* Shared by the fences of the reconciler and of poolgate-unhold. */ -}}
{{- define "poolgate.keepsOwners" -}}
- expression: |-
    request.operation != 'UPDATE'
    || object.metadata.?finalizers == oldObject.metadata.?finalizers
    && object.metadata.?ownerReferences == oldObject.metadata.?ownerReferences
  message: this account may not change finalizers or owners
{{- end }}

{{- define "poolgate.changesMarksOnly" -}}
- expression: |-
    request.operation != 'UPDATE' || variables.kind != 'nodes'
    || dyn(object).?spec == dyn(oldObject).?spec
    && variables.changedLabels.all(key, key == 'poolgate.dev/held')
    && variables.changedAnnotations.all(key,
      key in ['poolgate.dev/held-for', 'karpenter.sh/do-not-disrupt', 'karpenter.sh/do-not-repair'])
  message: this account may change only poolgate's marks on a node
{{- end }}

{{- define "poolgate.changesLimitOnly" -}}
- expression: |-
    request.operation != 'UPDATE' || variables.kind != 'nodepools'
    || variables.changedLabels == []
    && variables.changedAnnotations.all(key, key == 'poolgate.dev/node-limit')
    && dyn(object).spec.all(key, key == 'limits' || oldObject.spec[?key] == object.spec[?key])
    && dyn(oldObject).spec.all(key, key == 'limits' || oldObject.spec[?key] == object.spec[?key])
    && dyn(object).spec.?limits.orValue({}).all(key,
      key == 'nodes' || oldObject.spec.?limits[?key] == object.spec.?limits[?key])
    && dyn(oldObject).spec.?limits.orValue({}).all(key,
      key == 'nodes' || oldObject.spec.?limits[?key] == object.spec.?limits[?key])
  message: this account may change only limits.nodes and poolgate.dev/node-limit of a NodePool
# A schedule lets poolgate set the number. When the schedule is gone, the number goes, and limits.nodes keeps it.
- expression: |-
    request.operation != 'UPDATE' || variables.kind != 'nodepools' || variables.changedAnnotations == []
    || variables.hasSchedule == ('poolgate.dev/node-limit' in variables.annotations)
  message: this account may set poolgate.dev/node-limit only beside poolgate.dev/node-limit-schedule
{{- end }}

{{- /* The limit of a NodePool, as variables of both fences. */ -}}
{{- define "poolgate.limit" -}}
- name: hasSchedule
  expression: "'poolgate.dev/node-limit-schedule' in variables.oldAnnotations"
# The most that limits.nodes may be; missing, if it is not left to poolgate.
- name: limit
  expression: |-
    variables.hasSchedule
    ? variables.annotations[?'poolgate.dev/node-limit']
    : variables.oldAnnotations[?'poolgate.dev/node-limit']
{{- end }}

{{- /* The reasons to delete a NodeClaim, as variables of both fences. The account cannot write a status. */ -}}
{{- define "poolgate.deletionReasons" -}}
- name: trueConditions
  expression: dyn(oldObject).?status.?conditions.orValue([]).filter(condition, condition.status == 'True')
# Karpenter wants to replace its node to repair it. A reboot sets the same reason.
- name: isUnhealthy
  expression: |-
    variables.trueConditions.exists(condition,
      condition.type == 'DisruptionReason' && condition.?reason.orValue('') == 'Unhealthy')
    && !variables.trueConditions.exists(condition, condition.type == 'Rebooting')
- name: isDrifted
  expression: variables.trueConditions.exists(condition, condition.type == 'Drifted')
# True if the account has the separate right to delete NodeClaims above a limit.
- name: mayTerminate
  expression: authorizer.group('karpenter.sh').resource('nodeclaims').check('terminate').allowed()
{{- end }}
