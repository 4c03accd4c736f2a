//go:build !v1beta1

package main

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	karpenter "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	requirements "sigs.k8s.io/karpenter/pkg/scheduling"
)

type podAnswer struct {
	// Ignored says why Karpenter launches no node for the pod, whatever the pools.
	Ignored string `json:"ignored,omitempty"`
	// Compatible is whether labels and taints of a new node let the pod on it, before or after relaxations.
	Compatible bool `json:"compatible"`
	// Ignoring is the same with --preference-policy=Ignore.
	Ignoring bool `json:"ignoring"`
	// Scheduled is whether the scheduler launches a node for it, from kwok's instance types.
	Scheduled bool `json:"scheduled"`
	// Rejected says why not.
	Rejected string `json:"rejected,omitempty"`
}

// pod asks Karpenter's scheduler about a pod and a pool without nodes.
func pod(asked question) (any, error) {
	pool, pod := &karpenter.NodePool{}, &corev1.Pod{}
	if err := json.Unmarshal(asked.Object, pool); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(asked.Pod, pod); err != nil {
		return nil, err
	}
	pod.Namespace, pod.Name, pod.UID = "default", "pod", "pod"
	ctx := options.ToContext(context.Background(), &options.Options{IgnoreDRARequests: true})
	answer := podAnswer{
		Ignored:    text((&provisioning.Provisioner{}).Validate(ctx, pod)),
		Compatible: compatible(ctx, pool, pod.DeepCopy(), requirements.NewPodRequirements),
		Ignoring:   compatible(ctx, pool, pod.DeepCopy(), requirements.NewStrictPodRequirements),
	}
	if asked.Solve && answer.Ignored == "" {
		err := solve(ctx, pool, pod, asked.Daemons)
		answer.Scheduled, answer.Rejected = err == nil, text(err)
	}
	return answer, nil
}

// compatible repeats what the scheduler does before it looks at instance types.
func compatible(
	ctx context.Context, pool *karpenter.NodePool, pod *corev1.Pod, read func(*corev1.Pod) requirements.Requirements,
) bool {
	template := scheduling.NewNodeClaimTemplate(pool)
	node := requirements.NewRequirements(template.Requirements.Values()...)
	node.Add(requirements.NewRequirement(corev1.LabelHostname, corev1.NodeSelectorOpIn, "hostname-placeholder-0001"))
	preferences := &scheduling.Preferences{}
	for _, taint := range pool.Spec.Template.Spec.Taints {
		preferences.ToleratePreferNoSchedule = preferences.ToleratePreferNoSchedule ||
			taint.Effect == corev1.TaintEffectPreferNoSchedule
	}
	for {
		if requirements.Taints(template.Spec.Taints).ToleratesPod(pod) == nil &&
			node.IsCompatible(read(pod), requirements.AllowUndefinedWellKnownLabels) {
			return true
		}
		if !preferences.Relax(ctx, pod) {
			return false
		}
	}
}

// solve runs the scheduler for the pod; it says why no node is launched for it.
func solve(ctx context.Context, pool *karpenter.NodePool, pod *corev1.Pod, daemons []corev1.Pod) error {
	provider, err := provider()
	if err != nil {
		return err
	}
	instanceTypes, err := provider.GetInstanceTypes(ctx, pool)
	if err != nil {
		return err
	}
	pools := []*karpenter.NodePool{pool}
	typesByPool := map[string][]*cloudprovider.InstanceType{pool.Name: instanceTypes}
	pods := []*corev1.Pod{pod}
	cluster := state.NewCluster(clock.RealClock{}, nil, provider)
	topology, err := scheduling.NewTopology(ctx, nil, cluster, nil, pools, typesByPool, pods)
	if err != nil {
		return err
	}
	var own []*corev1.Pod
	for index := range daemons {
		daemons[index].UID = types.UID(daemons[index].Name)
		own = append(own, &daemons[index])
	}
	scheduler := scheduling.NewScheduler(ctx, nil, pools, cluster, nil, topology, typesByPool, own, silence{},
		clock.RealClock{}, nil, nil)
	results, err := scheduler.Solve(ctx, pods)
	if err != nil {
		return err
	}
	for _, why := range results.PodErrors {
		return why
	}
	return nil
}

// machine is an instance type as `poolgate why pod --instance-types` reads it.
type machine struct {
	Name             string                           `json:"name"`
	Architecture     string                           `json:"architecture"`
	OperatingSystems []string                         `json:"operatingSystems"`
	Resources        corev1.ResourceList              `json:"resources"`
	Allocatable      corev1.ResourceList              `json:"allocatable"`
	Requirements     []corev1.NodeSelectorRequirement `json:"requirements"`
	Offerings        []machineOffering                `json:"offerings"`
}

type machineOffering struct {
	Available    bool                             `json:"Available"`
	Requirements []corev1.NodeSelectorRequirement `json:"Requirements"`
}

// machines are kwok's instance types.
func machines() (any, error) {
	provider, err := provider()
	if err != nil {
		return nil, err
	}
	instanceTypes, err := provider.GetInstanceTypes(context.Background(), &karpenter.NodePool{})
	if err != nil {
		return nil, err
	}
	all := []machine{}
	for _, one := range instanceTypes {
		written := machine{
			Name:             one.Name,
			Architecture:     one.Requirements.Get(corev1.LabelArchStable).Any(),
			OperatingSystems: one.Requirements.Get(corev1.LabelOSStable).Values(),
			Resources:        one.Capacity,
			Allocatable:      one.Allocatable(),
			Requirements:     listed(one.Requirements),
			Offerings:        []machineOffering{},
		}
		for _, offering := range one.Offerings {
			own := machineOffering{offering.Available, listed(offering.Requirements)}
			written.Offerings = append(written.Offerings, own)
		}
		all = append(all, written)
	}
	return map[string][]machine{"machines": all}, nil
}

func listed(all requirements.Requirements) []corev1.NodeSelectorRequirement {
	list := []corev1.NodeSelectorRequirement{}
	for _, one := range all.NodeSelectorRequirements() {
		list = append(list, corev1.NodeSelectorRequirement{Key: one.Key, Operator: one.Operator, Values: one.Values})
	}
	return list
}
