package main

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/karpenter/pkg/apis"
	karpenter "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
)

// aftermath is what happens to a NodePool that the API server has stored. Each step is only taken if the one before
// it succeeded.
type aftermath struct {
	// Followed says that the rest is meaningful: the linked Karpenter has types for the object.
	Followed bool `json:"followed"`
	// Decode is why Karpenter cannot read the object. It reads all NodePools as one list, so then it reads none.
	Decode []finding `json:"decode,omitempty"`
	// Runtime is why Karpenter ignores the pool.
	Runtime []finding `json:"runtime,omitempty"`
	// Launch is the panic that crashes Karpenter when it makes a NodeClaim of the pool.
	Launch string `json:"launch,omitempty"`
	// Claim is why the API server rejects that NodeClaim.
	Claim []finding `json:"claim,omitempty"`
}

// suffer asks for the aftermath of an object that is stored already, even if the definition would reject it today.
func suffer(definitions definitions, object json.RawMessage) (any, error) {
	decoded, _, err := decode(definitions, object)
	if err != nil {
		return nil, err
	}
	return follow(definitions, decoded)
}

// isFollowed is whether the linked Karpenter has types for an object.
func isFollowed(object *unstructured.Unstructured) bool {
	return scheme.Scheme.Recognizes(object.GroupVersionKind())
}

// follow knows the versions that the linked Karpenter has types for; it returns nothing for others.
func follow(definitions definitions, object *unstructured.Unstructured) (aftermath, error) {
	if !isFollowed(object) {
		return aftermath{}, nil
	}
	decoded, err := asKarpenter(object)
	if err != nil {
		return aftermath{Followed: true, Decode: unreadable(object, err)}, nil
	}
	pool, ok := decoded.(*karpenter.NodePool)
	if !ok {
		return aftermath{Followed: true}, nil
	}
	if err := validate(pool); err != nil {
		return aftermath{Followed: true, Runtime: setAside(pool, err)}, nil
	}
	claim, panicked := launch(pool)
	if panicked != "" {
		return aftermath{Followed: true, Launch: panicked}, nil
	}
	found, err := judgeClaim(definitions, claim)
	return aftermath{Followed: true, Claim: found}, err
}

// launch makes the NodeClaim that Karpenter would make for a pod that fits the pool.
func launch(pool *karpenter.NodePool) (claim *karpenter.NodeClaim, panicked string) {
	defer func() {
		if cause := recover(); cause != nil {
			panicked = fmt.Sprint(cause)
		}
	}()
	template := scheduling.NewNodeClaimTemplate(pool)
	template.InstanceTypeOptions = instanceTypes(template)
	return claimOf(template, pool), ""
}

// instanceTypes are those that the pool names, or else any, of every capacity type: as many as minValues requires.
func instanceTypes(template *scheduling.NodeClaimTemplate) cloudprovider.InstanceTypes {
	wanted := template.Requirements.Get(corev1.LabelInstanceTypeStable)
	names := []string{"any"}
	if wanted.Operator() == corev1.NodeSelectorOpIn {
		names = wanted.Values()
	}
	for number := range ptr.Deref(minValues(wanted), 0) - len(names) {
		names = append(names, fmt.Sprintf("any-%d", number))
	}
	var types cloudprovider.InstanceTypes
	for _, name := range names {
		types = append(types, &cloudprovider.InstanceType{Name: name, Offerings: offerings()})
	}
	return types
}

func judgeClaim(definitions definitions, claim *karpenter.NodeClaim) ([]finding, error) {
	claim.SetGroupVersionKind(schema.GroupVersionKind{Group: apis.Group, Version: "v1", Kind: "NodeClaim"})
	claim.Name = claim.GenerateName + rand.String(5)
	for index := range claim.OwnerReferences {
		claim.OwnerReferences[index].UID = types.UID("6f3a0d5e-5f0c-4b8e-9f39-0c5f1b6e1a01")
	}
	written, err := runtime.Encode(unstructured.UnstructuredJSONScheme, claim)
	if err != nil {
		return nil, err
	}
	object, defined, err := decode(definitions, written)
	if err != nil {
		return []finding{{Detail: err.Error()}}, nil
	}
	var found []finding
	for _, rejected := range create(defined, object) {
		found = append(found, finding{rejected.Type, rejected.Field, rejected.ErrorBody()})
	}
	return found, nil
}
