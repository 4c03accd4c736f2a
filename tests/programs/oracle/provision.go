//go:build !v1beta1

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	kwok "sigs.k8s.io/karpenter/kwok/cloudprovider"
	kwokoptions "sigs.k8s.io/karpenter/kwok/options"
	karpenter "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	"sigs.k8s.io/karpenter/pkg/utils/disruption"
	"sigs.k8s.io/karpenter/pkg/utils/nodepool"
)

// launchKinds are the questions about launching nodes, and about the pods on them.
func launchKinds(definitions definitions, asked question) (any, error) {
	switch asked.Kind {
	case "provision":
		return provision(definitions, asked)
	case "eviction":
		return eviction(asked.Object, asked.Managed)
	case "static":
		return static(asked.Object)
	case "pod":
		return pod(asked)
	case "machines":
		return machines()
	default:
		return limits(asked.Object, asked.Usage)
	}
}

type provisionAnswer struct {
	// Managed is whether the provider has the pool's node class; Karpenter ignores all other pools.
	Managed bool `json:"managed"`
	// Launched are the nodes that Karpenter would launch.
	Launched []launchedNode `json:"launched"`
	// Rejected says why it would launch none for some pod.
	Rejected string `json:"rejected,omitempty"`
	// Panic is the panic that crashes Karpenter when it launches them.
	Panic string `json:"panic,omitempty"`
}

type launchedNode struct {
	// Labels and Annotations are those that Karpenter itself puts on the NodeClaim.
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	// InstanceTypes is how many of them match.
	InstanceTypes int `json:"instanceTypes"`
	// Claim is why the API server rejects the NodeClaim.
	Claim []finding `json:"claim,omitempty"`
}

// provider is Karpenter's own kwok provider, which knows its labels and has instance types, but no machines.
var provider = sync.OnceValues(func() (*kwok.CloudProvider, error) {
	ctx := kwokoptions.ToContext(context.Background(), &kwokoptions.Options{})
	instanceTypes, err := kwok.ConstructInstanceTypes(ctx)
	if err != nil {
		return nil, err
	}
	return kwok.NewCloudProvider(ctx, nil, instanceTypes), nil
})

// provision runs Karpenter's scheduler for pods that each need a separate node, with no other pool and no node yet.
// They tolerate every taint, or none.
func provision(definitions definitions, asked question) (answered any, failed error) {
	defer func() {
		if cause := recover(); cause != nil {
			answered, failed = provisionAnswer{Managed: true, Launched: []launchedNode{}, Panic: fmt.Sprint(cause)}, nil
		}
	}()
	pool := &karpenter.NodePool{}
	if err := json.Unmarshal(asked.Object, pool); err != nil {
		return nil, err
	}
	provider, err := provider()
	if err != nil {
		return nil, err
	}
	if !nodepool.IsManaged(pool, provider) {
		return provisionAnswer{Launched: []launchedNode{}}, nil
	}
	ctx := options.ToContext(context.Background(), &options.Options{})
	instanceTypes, err := provider.GetInstanceTypes(ctx, pool)
	if err != nil {
		return nil, err
	}
	pools := []*karpenter.NodePool{pool}
	typesByPool := map[string][]*cloudprovider.InstanceType{pool.Name: instanceTypes}
	waiting := waitingPods(asked.Count, asked.Intolerant)
	cluster := state.NewCluster(clock.RealClock{}, nil, provider)
	topology, err := scheduling.NewTopology(ctx, nil, cluster, nil, pools, typesByPool, waiting)
	if err != nil {
		return nil, err
	}
	policy := options.MinValuesPolicyStrict
	if asked.BestEffort {
		policy = options.MinValuesPolicyBestEffort
	}
	scheduler := scheduling.NewScheduler(ctx, nil, pools, cluster, nil, topology, typesByPool, nil, silence{},
		clock.RealClock{}, nil, nil, scheduling.MinValuesPolicy(policy))
	results, err := scheduler.Solve(ctx, waiting)
	if err != nil {
		return nil, err
	}
	answer := provisionAnswer{Managed: true, Launched: []launchedNode{}}
	for _, claim := range results.NewNodeClaims {
		made := claim.ToNodeClaim()
		node := launchedNode{
			Labels: made.Labels, Annotations: made.Annotations, InstanceTypes: len(claim.InstanceTypeOptions),
		}
		if node.Claim, err = judgeClaim(definitions, made); err != nil {
			return nil, err
		}
		answer.Launched = append(answer.Launched, node)
	}
	for _, why := range results.PodErrors {
		answer.Rejected = why.Error()
	}
	return answer, nil
}

// waitingPods use the same port of their node, so that no two of them share one.
func waitingPods(count int, intolerant bool) []*corev1.Pod {
	tolerations := []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	if intolerant {
		tolerations = nil
	}
	var pods []*corev1.Pod
	for number := range count {
		name := "pod-" + strconv.Itoa(number)
		pods = append(pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
			Spec: corev1.PodSpec{
				Tolerations: tolerations,
				Containers: []corev1.Container{{
					Name:  "main",
					Ports: []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80, Protocol: corev1.ProtocolTCP}},
					Resources: corev1.ResourceRequirements{
						Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
					},
				}},
			},
			Status: corev1.PodStatus{Phase: corev1.PodPending},
		})
	}
	return pods
}

// silence is a recorder that drops events.
type silence struct{}

// Publish drops the events.
func (silence) Publish(...events.Event) {}

type evictionAnswer struct {
	Cost float64 `json:"cost"`
}

// eviction computes the cost by which Karpenter orders nodes, for one pod.
func eviction(object json.RawMessage, managed bool) (any, error) {
	pod := &corev1.Pod{}
	if err := json.Unmarshal(object, pod); err != nil {
		return nil, err
	}
	gates := options.FeatureGates{PodDeletionCostManagement: managed}
	ctx := options.ToContext(context.Background(), &options.Options{FeatureGates: gates})
	return evictionAnswer{disruption.EvictionCost(ctx, pod)}, nil
}

type staticAnswer struct {
	// Granted is how many of the nodes that it wants the pool may have, if it has none.
	Granted int64 `json:"granted"`
	// Spare is whether it may then have one more, to replace one that has drifted.
	Spare int64 `json:"spare"`
}

// static computes a static pool's nodes as Karpenter's controllers of static pools do.
func static(object json.RawMessage) (any, error) {
	pool := &karpenter.NodePool{}
	if err := json.Unmarshal(object, pool); err != nil {
		return nil, err
	}
	if pool.Spec.Replicas == nil {
		return nil, fmt.Errorf("the pool is not static")
	}
	limit := int64(math.MaxInt64)
	if written, ok := pool.Spec.Limits["nodes"]; ok {
		limit = written.Value()
	}
	count := state.NewNodePoolState()
	return staticAnswer{
		Granted: count.ReserveNodeCount(pool.Name, limit, *pool.Spec.Replicas),
		Spare:   count.ReserveNodeCount(pool.Name, limit, 1),
	}, nil
}

type limitsAnswer struct {
	// Exceeded says which limit keeps the pool from its next node.
	Exceeded string `json:"exceeded,omitempty"`
}

// limits checks what Karpenter checks before it makes a NodeClaim: whether the pool's usage exceeds its limits.
func limits(object json.RawMessage, usage corev1.ResourceList) (any, error) {
	pool := &karpenter.NodePool{}
	if err := json.Unmarshal(object, pool); err != nil {
		return nil, err
	}
	return limitsAnswer{text(pool.Spec.Limits.ExceededBy(usage))}, nil
}
