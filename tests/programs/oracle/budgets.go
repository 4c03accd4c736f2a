package main

import (
	"encoding/json"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
	karpenter "sigs.k8s.io/karpenter/pkg/apis/v1"
)

type budgetsAnswer struct {
	// Budgets are in the order of the NodePool.
	Budgets []budgetAnswer `json:"budgets"`
	// Allowed is by disruption reason; 2147483647 if nothing limits.
	Allowed map[karpenter.DisruptionReason]allowedAnswer `json:"allowed"`
}

type budgetAnswer struct {
	Active bool   `json:"active"`
	Error  string `json:"error,omitempty"`
}

type allowedAnswer struct {
	// Nodes is what Karpenter acts on: zero if a budget cannot be read.
	Nodes int    `json:"nodes"`
	Error string `json:"error,omitempty"`
}

// budgets computes a NodePool's budgets at a time, for a pool of this many nodes. Only spec.disruption is read.
func budgets(object json.RawMessage, at time.Time, nodes int) (any, error) {
	pool := &karpenter.NodePool{}
	if err := json.Unmarshal(object, pool); err != nil {
		return nil, err
	}
	clock := clocktesting.NewFakeClock(at)
	answer := budgetsAnswer{Budgets: []budgetAnswer{}, Allowed: map[karpenter.DisruptionReason]allowedAnswer{}}
	for _, budget := range pool.Spec.Disruption.Budgets {
		active, err := budget.IsActive(clock)
		answer.Budgets = append(answer.Budgets, budgetAnswer{Active: active, Error: text(err)})
	}
	for _, reason := range reasons {
		nodes, err := allowed(pool, clock, nodes, reason)
		answer.Allowed[reason] = allowedAnswer{Nodes: nodes, Error: text(err)}
	}
	return answer, nil
}

// text is the text of an error, or empty.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
