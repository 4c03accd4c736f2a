package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	karpenter "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// asKarpenter is the object in Karpenter's types, as its client reads what the API server has stored.
func asKarpenter(object *unstructured.Unstructured) (any, error) {
	stored, err := object.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return read(stored)
}

// unreadable names the fields because of which an object cannot be decoded; the decoder does not name them. They
// are the fields that cannot be decoded alone either.
func unreadable(object *unstructured.Unstructured, whole error) []finding {
	var found []finding
	walk(object.Object["spec"], "spec", func(leaf any) any { return leaf }, func(field string, alone any) {
		part := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": object.GetAPIVersion(), "kind": object.GetKind(), "spec": alone,
		}}
		// Conversion panics if other fields are missing; that is not a finding.
		defer func() { _ = recover() }()
		if _, err := asKarpenter(part); err != nil {
			found = append(found, finding{Field: field, Detail: err.Error()})
		}
	})
	if len(found) == 0 {
		found = append(found, finding{Detail: whole.Error()})
	}
	return found
}

// walk visits every leaf value, with its field and a spec that contains nothing else. within puts a value into its
// surroundings.
func walk(value any, field string, within func(any) any, visit func(field string, alone any)) {
	switch value := value.(type) {
	case map[string]any:
		for key, below := range value {
			walk(below, field+"."+key, func(leaf any) any { return within(map[string]any{key: leaf}) }, visit)
		}
	case []any:
		for index, below := range value {
			walk(below, fmt.Sprintf("%s[%d]", field, index), func(leaf any) any { return within([]any{leaf}) }, visit)
		}
	default:
		visit(field, within(value))
	}
}

// setAside names the fields because of which Karpenter's validation rejects a pool; its errors do not name them.
// They are the fields that it rejects alone, too, and of repeated taints the later one.
func setAside(pool *karpenter.NodePool, whole error) []finding {
	var found []finding
	check := func(field string, spec karpenter.NodeClaimTemplateSpec, labels map[string]string) {
		alone := &karpenter.NodePool{}
		alone.Spec.Template.Labels = labels
		alone.Spec.Template.Spec = spec
		if err := validate(alone); err != nil {
			found = append(found, finding{Field: field, Detail: err.Error()})
		}
	}
	template := pool.Spec.Template
	for key, value := range template.Labels {
		check("spec.template.metadata.labels."+key, karpenter.NodeClaimTemplateSpec{}, map[string]string{key: value})
	}
	for index, requirement := range template.Spec.Requirements {
		check(fmt.Sprintf("spec.template.spec.requirements[%d]", index), karpenter.NodeClaimTemplateSpec{
			Requirements: []karpenter.NodeSelectorRequirementWithMinValues{requirement},
		}, nil)
	}
	var earlier []corev1.Taint
	for _, list := range []struct {
		name   string
		taints []corev1.Taint
	}{{"taints", template.Spec.Taints}, {"startupTaints", template.Spec.StartupTaints}} {
		for index, taint := range list.taints {
			field := fmt.Sprintf("spec.template.spec.%s[%d]", list.name, index)
			known := len(found)
			check(field, karpenter.NodeClaimTemplateSpec{Taints: []corev1.Taint{taint}}, nil)
			for _, other := range earlier {
				if len(found) > known {
					break
				}
				if other.Key == taint.Key && other.Effect == taint.Effect {
					check(field, karpenter.NodeClaimTemplateSpec{Taints: []corev1.Taint{other, taint}}, nil)
				}
			}
			earlier = append(earlier, taint)
		}
	}
	if len(found) == 0 {
		found = append(found, finding{Detail: whole.Error()})
	}
	return found
}
