package main

import (
	"encoding/json"

	karpenter "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/scheduling"
)

type driftAnswer struct {
	// Hash is that of the template, as the annotation has it.
	Hash string `json:"hash,omitempty"`
	// Matches says whether the labels match the requirements.
	Matches bool `json:"matches"`
	// Undecodable says why Karpenter cannot read the object.
	Undecodable string `json:"undecodable,omitempty"`
}

// drift computes what Karpenter compares to find the drift of a NodeClaim with these labels. The function that compares
// requirements and labels is private: this is its one expression.
func drift(object json.RawMessage, labels map[string]string) (any, error) {
	pool := &karpenter.NodePool{}
	if err := json.Unmarshal(object, pool); err != nil {
		return driftAnswer{Undecodable: err.Error()}, nil
	}
	wanted := scheduling.NewNodeSelectorRequirementsWithMinValues(pool.Spec.Template.Spec.Requirements...)
	carried := scheduling.NewLabelRequirements(labels)
	return driftAnswer{Hash: pool.Hash(), Matches: carried.Compatible(wanted) == nil}, nil
}
