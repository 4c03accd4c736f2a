//go:build v1beta1

package main

import (
	"context"
	"encoding/json"
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	// It registers the labels of its instance types.
	_ "sigs.k8s.io/karpenter/kwok/apis/v1alpha1"
	karpenter "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/apis/v1beta1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	requirements "sigs.k8s.io/karpenter/pkg/scheduling"
)

// reasons are those that a budget of this Karpenter can have.
var reasons = []karpenter.DisruptionReason{
	karpenter.DisruptionReasonUnderutilized,
	karpenter.DisruptionReasonEmpty,
	karpenter.DisruptionReasonDrifted,
}

// nodeClasses tell Karpenter's conversion what a nodeClassRef without a kind means.
var nodeClasses = []schema.GroupVersionKind{{Group: "karpenter.kwok.sh", Version: "v1alpha1", Kind: "KWOKNodeClass"}}

// read decodes an object as Karpenter does when it lists them. Objects written as v1beta1 were converted to v1 by
// its conversion webhook before they were stored.
func read(stored []byte) (any, error) {
	object, kind, err := scheme.Codecs.UniversalDeserializer().Decode(stored, nil, nil)
	if err != nil || kind.Version != "v1beta1" {
		return object, err
	}
	old := &v1beta1.NodePool{}
	if err := json.Unmarshal(stored, old); err != nil {
		return nil, err
	}
	pool := &karpenter.NodePool{}
	if err := pool.ConvertFrom(injection.WithNodeClasses(context.Background(), nodeClasses), old); err != nil {
		return nil, err
	}
	pool.SetGroupVersionKind(kind.GroupKind().WithVersion("v1"))
	converted, err := json.Marshal(pool)
	if err != nil {
		return nil, err
	}
	object, _, err = scheme.Codecs.UniversalDeserializer().Decode(converted, nil, nil)
	return object, err
}

func validate(pool *karpenter.NodePool) error {
	// Not an error, but a pointer to one: nil would become an error that is not nil.
	if found := pool.RuntimeValidate(); found != nil {
		return found
	}
	return nil
}

func claimOf(template *scheduling.NodeClaimTemplate, pool *karpenter.NodePool) *karpenter.NodeClaim {
	return template.ToNodeClaim(pool)
}

func minValues(requirement *requirements.Requirement) *int {
	return requirement.MinValues
}

// offerings are none: a NodeClaim of this Karpenter does not contain them.
func offerings() cloudprovider.Offerings {
	return nil
}

// launchKinds are the questions about launching nodes. Only the newest Karpenter answers them.
func launchKinds(definitions, question) (any, error) {
	return nil, errors.New("this oracle launches nothing")
}

// allowed is how many nodes may be disrupted for a reason: what Karpenter acts on, and the error if it cannot
// compute it.
func allowed(pool *karpenter.NodePool, clock clock.Clock, nodes int, reason karpenter.DisruptionReason) (int, error) {
	_, err := pool.GetAllowedDisruptionsByReason(context.Background(), clock, nodes)
	return pool.MustGetAllowedDisruptions(context.Background(), clock, nodes)[reason], err
}
