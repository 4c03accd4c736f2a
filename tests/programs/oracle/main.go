// Command oracle answers how Karpenter and the API server treat a NodePool, by their own packages, so that poolgate
// can be compared with them.
//
//	oracle [-instead DEFINITION.yaml] DEFINITION.yaml…
//
// The arguments are custom resource definitions of older Karpenters; from each, the versions are served that the
// linked Karpenter's own definitions lack. The definition after -instead is served in the place of the linked one.
//
// # Protocol, version 5
//
// One JSON object per line: questions on standard input, answers on standard output, in the same order.
// The first line of output names the protocol and what is linked in:
//
//	{"protocol":5,"karpenter":"v1.15.0","apiserver":"v0.37.2"}
//
// Every question names its "kind"; every kind is a function in a file of its own name:
//
//	admit     {object, old?}         what the webhooks receive: pruned and defaulted
//	                                 → {incoming, stored?} | {undecodable} | {unstorable}
//	judge     {object, old?}         what happens to the object after the mutating webhooks
//	                                 → {metadata[], schema[], followed, decode[], runtime[], launch?, claim[]}
//	suffer    {object}               how Karpenter treats a stored object, whatever the definition says
//	                                 → {followed, decode[], runtime[], launch?, claim[]}
//	drift     {object, labels}       what Karpenter compares to find the drift of a NodeClaim with these labels
//	                                 → {hash, matches} | {undecodable}
//	budgets   {object, at, nodes}    which budgets are active, and how many nodes each reason may disrupt
//	                                 → {budgets[{active, error?}], allowed{reason: {nodes, error?}}}
//	provision {object, count, intolerant?, bestEffort?}
//	                                 which nodes Karpenter launches for this many pods that each need one
//	                                 → {managed, launched[{labels, annotations, instanceTypes, claim[]}], rejected?, panic?}
//	eviction  {object, managed?}     the cost of evicting a pod, also if Karpenter manages deletion costs
//	                                 → {cost}
//	static    {object}               how many nodes a static pool may have, and how many more
//	                                 → {granted, spare}
//	limits    {object, usage}        whether a pool with this usage may have another node
//	                                 → {exceeded?}
//	pod       {object, pod, solve?, daemons?}
//	                                 whether Karpenter launches a node of the pool for the pod, from kwok's machines if solve
//	                                 → {ignored?, compatible, ignoring, scheduled, rejected?}
//	machines  {}                     kwok's instance types
//	                                 → {machines[{name, architecture, operatingSystems, resources, allocatable, requirements[], offerings[]}]}
//	cron      {text, at, count}      fire times of a schedule as a budget reads it
//	                                 → {error} | {next[]}; fewer than count if it never fires again
//	duration  {text}                 → {error} | {nanos}
//	quantity  {text}                 → {error} | {nanos}; as decimal text, because it may be long
//
// "old" is the stored object of an update, as admit returned it in "stored". Times are RFC 3339. A finding in a
// list is {type, field, detail}, as in the API server's ErrorList; Karpenter names no fields, so the oracle finds
// those that it rejects alone, too, and names them. "followed" is false for versions that the linked Karpenter has
// no types for.
//
// A question that cannot be read ends the program with status 4: the caller is wrong, not the object. A question on
// which Karpenter would spend more than a second of processor time is answered {"harmed": REASON}, and the program
// ends with status 3, because a hanging goroutine cannot be stopped. At the end of input the status is 0.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const protocol = 5

const (
	exitHarmed     = 3
	exitUnreadable = 4
)

// question has the fields of all kinds.
type question struct {
	Kind   string          `json:"kind"`
	Object json.RawMessage `json:"object"`
	Old    json.RawMessage `json:"old"`
	Text   string          `json:"text"`
	At     instant         `json:"at"`
	Count  int             `json:"count"`
	Nodes  int             `json:"nodes"`
	// Labels are those of a NodeClaim.
	Labels map[string]string `json:"labels"`
	// Intolerant applies to pods.
	Intolerant bool `json:"intolerant"`
	// BestEffort applies to minValues.
	BestEffort bool `json:"bestEffort"`
	// Managed is whether Karpenter manages deletion costs.
	Managed bool `json:"managed"`
	// Pod, Solve and Daemons are for the kind pod.
	Pod     json.RawMessage `json:"pod"`
	Solve   bool            `json:"solve"`
	Daemons []corev1.Pod    `json:"daemons"`
	// Usage is by resource.
	Usage corev1.ResourceList `json:"usage"`
}

// greeting is the first line of output.
type greeting struct {
	Protocol  int    `json:"protocol"`
	Karpenter string `json:"karpenter"`
	APIServer string `json:"apiserver"`
}

func main() {
	// Answers are small and memory is not scarce: collecting garbage at every doubling costs a third of the time.
	debug.SetGCPercent(800)
	// Karpenter's log is dropped; without this line, controller-runtime complains about that with a stack trace.
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	instead := flag.String("instead", "", "a definition that is served in the place of the linked one")
	flag.Parse()
	definitions, err := loadDefinitions(*instead, flag.Args())
	if err != nil {
		fail(1, err)
	}
	answers := &answers{out: os.Stdout}
	if err := answers.write(greet()); err != nil {
		fail(1, err)
	}
	watch := startWatch(answers)
	questions := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := questions.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return
		}
		if err != nil && !errors.Is(err, io.EOF) {
			fail(1, err)
		}
		answer, err := watch.over(func() (any, error) { return reply(definitions, line) })
		if err != nil {
			fail(exitUnreadable, fmt.Errorf("%w in %s", err, line))
		}
		if err := answers.write(answer); err != nil {
			fail(1, err)
		}
	}
}

func greet() greeting {
	said := greeting{Protocol: protocol}
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		switch module.Path {
		case "sigs.k8s.io/karpenter":
			said.Karpenter = module.Version
		case "k8s.io/apiextensions-apiserver":
			said.APIServer = module.Version
		}
	}
	return said
}

func reply(definitions definitions, line []byte) (any, error) {
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, err
	}
	switch asked.Kind {
	case "admit":
		return admit(definitions, asked.Object, asked.Old)
	case "judge":
		return judge(definitions, asked.Object, asked.Old)
	case "suffer":
		return suffer(definitions, asked.Object)
	case "drift":
		return drift(asked.Object, asked.Labels)
	case "budgets":
		return budgets(asked.Object, asked.At.Time, asked.Nodes)
	case "provision", "static", "limits", "eviction", "pod", "machines":
		return launchKinds(definitions, asked)
	case "cron":
		return fireTimes(asked.Text, asked.At.Time, asked.Count), nil
	case "duration":
		return duration(asked.Text), nil
	case "quantity":
		return quantity(asked.Text), nil
	}
	return nil, fmt.Errorf("unknown kind %q", asked.Kind)
}

func fail(status int, err error) {
	fmt.Fprintln(os.Stderr, "oracle:", err)
	os.Exit(status)
}
