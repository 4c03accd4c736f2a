//go:build !v1beta1

package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	karpenter "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	requirements "sigs.k8s.io/karpenter/pkg/scheduling"
)

// reasons are those that a budget of this Karpenter can have.
var reasons = []karpenter.DisruptionReason{
	karpenter.DisruptionReasonUnderutilized,
	karpenter.DisruptionReasonEmpty,
	karpenter.DisruptionReasonDrifted,
	karpenter.DisruptionReasonUnhealthy,
}

// read decodes an object as Karpenter does when it lists them.
func read(stored []byte) (any, error) {
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(stored, nil, nil)
	return object, err
}

func validate(pool *karpenter.NodePool) error {
	return pool.RuntimeValidate(context.Background())
}

func claimOf(template *scheduling.NodeClaimTemplate, _ *karpenter.NodePool) *karpenter.NodeClaim {
	return template.ToNodeClaim()
}

func minValues(requirement *requirements.Requirement) *int {
	return requirement.MinValues()
}

// offerings are of every capacity type.
func offerings() cloudprovider.Offerings {
	var offerings cloudprovider.Offerings
	for capacityType := range karpenter.WellKnownValuesForRequirements[karpenter.CapacityTypeLabelKey] {
		offerings = append(offerings, &cloudprovider.Offering{
			Available: true,
			Requirements: requirements.NewRequirements(requirements.NewRequirement(
				karpenter.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, capacityType)),
		})
	}
	return offerings
}

// allowed is how many nodes may be disrupted for a reason: what Karpenter acts on, and the error if it cannot
// compute it.
func allowed(pool *karpenter.NodePool, clock clock.Clock, nodes int, reason karpenter.DisruptionReason) (int, error) {
	_, err := pool.GetAllowedDisruptionsByReason(clock, nodes, reason)
	return pool.MustGetAllowedDisruptions(clock, nodes, reason), err
}
