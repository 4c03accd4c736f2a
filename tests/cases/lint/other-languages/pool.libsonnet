local k = import 'k.libsonnet';
{ apiVersion: 'karpenter.sh/v1', kind: 'NodePool' }
