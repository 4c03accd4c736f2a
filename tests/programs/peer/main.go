// Command peer is an admission webhook for NodePools as one would write it in Go: controller-runtime's server, and
// Karpenter's own types and RuntimeValidate. The benchmark compares poolgate's server with it.
//
//	peer DIRECTORY
//
// The directory holds tls.crt and tls.key. The first line on standard output is the port, on 127.0.0.1. The schema of
// Karpenter's definition, with its CEL rules, is left to the API server, as it is in a cluster.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	karpenter "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// policy does what poolgate does to a NodePool, as far as Karpenter's own code does it.
type policy struct{}

// Default writes the defaults that poolgate writes, except nodeLimitMode, which Karpenter's types lack.
func (policy) Default(_ context.Context, pool *karpenter.NodePool) error {
	disruption := &pool.Spec.Disruption
	if disruption.Budgets == nil {
		disruption.Budgets = []karpenter.Budget{{Nodes: "10%"}}
	}
	if disruption.ConsolidationPolicy == "" {
		disruption.ConsolidationPolicy = karpenter.ConsolidationPolicyWhenEmptyOrUnderutilized
	}
	if disruption.ConsolidateAfter.Duration == nil {
		zero := time.Duration(0)
		disruption.ConsolidateAfter.Duration = &zero
	}
	return nil
}

// ValidateCreate returns what Karpenter itself would report later.
func (policy) ValidateCreate(ctx context.Context, pool *karpenter.NodePool) (admission.Warnings, error) {
	return nil, pool.RuntimeValidate(ctx)
}

// ValidateUpdate does the same for the new object.
func (policy) ValidateUpdate(ctx context.Context, _, pool *karpenter.NodePool) (admission.Warnings, error) {
	return nil, pool.RuntimeValidate(ctx)
}

// ValidateDelete accepts everything.
func (policy) ValidateDelete(context.Context, *karpenter.NodePool) (admission.Warnings, error) {
	return nil, nil
}

func run(directory string) error {
	log.SetLogger(logr.Discard())
	scheme := runtime.NewScheme()
	group := schema.GroupVersion{Group: "karpenter.sh", Version: "v1"}
	scheme.AddKnownTypes(group, &karpenter.NodePool{}, &karpenter.NodePoolList{})

	// The server accepts no listener, so a free port is searched first.
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	port := free.Addr().(*net.TCPAddr).Port
	if err := free.Close(); err != nil {
		return err
	}
	server := webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: port, CertDir: directory})
	server.Register("/mutate", admission.WithDefaulter(scheme, policy{}))
	server.Register("/validate", admission.WithValidator(scheme, policy{}))
	fmt.Println(port)
	return server.Start(context.Background())
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: peer DIRECTORY")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}
