// Command oracle answers what Karpenter and the API server make of a NodePool, out of their own packages, so
// that poolgate can be held to them.
//
//	oracle DEFINITION.yaml…
//
// The arguments are custom resource definitions of older Karpenters; of each, the versions are served that
// the linked Karpenter's own definitions lack.
//
// # Protocol, version 3
//
// One JSON object a line, on standard input the questions, on standard output the answers, in the same order.
// The first line of output names the protocol and what is linked in:
//
//	{"protocol":3,"karpenter":"v1.15.0","apiserver":"v0.36.1"}
//
// Every question names its "kind"; every kind is a function in a file of its own name:
//
//	admit     {object, old?}         what the webhooks are shown: pruned and defaulted
//	                                 → {incoming, stored?} | {undecodable} | {unstorable}
//	judge     {object, old?}         what becomes of the object behind the mutating webhooks
//	                                 → {metadata[], schema[], followed, decode[], runtime[], launch?, claim[]}
//	suffer    {object}               what Karpenter makes of an object that is stored, whatever the definition says
//	                                 → {followed, decode[], runtime[], launch?, claim[]}
//	budgets   {object, at, nodes}    which budgets are active, and how many nodes each reason may disrupt
//	                                 → {budgets[{active, error?}], allowed{reason: {nodes, error?}}}
//	provision {object, count, intolerant?}
//	                                 which nodes Karpenter launches for so many pods that each need one
//	                                 → {managed, launched[{labels, annotations, instanceTypes}], rejected?, panic?}
//	static    {object}               how many nodes a static pool may have, and beside all of them
//	                                 → {granted, spare}
//	limits    {object, usage}        whether a pool that has so much may have another node
//	                                 → {exceeded?}
//	cron      {text, at, count}      fire times of a schedule as a budget reads it
//	                                 → {error} | {next[]}; fewer than count where it never fires again
//	duration  {text}                 → {error} | {nanos}
//	quantity  {text}                 → {error} | {nanos}; as decimal text, for it may be long
//
// "old" is the stored object of an update, as admit answered it in "stored". Times are RFC 3339. A finding in
// a list is {type, field, detail}, as the API server has it in its ErrorList; Karpenter names no fields, so the oracle
// looks for those that it rejects alone, too, and names those. Of a version of which the linked Karpenter has no types
// nothing is followed.
//
// A question that cannot be read ends the program with status 4: the asker is wrong, not the object. A question
// on which Karpenter would spend more than a second of processor time is answered {"harmed": REASON}, and the
// program ends with status 3, for nothing stops a goroutine that does not come back. Status 0 follows the
// end of input.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const protocol = 3

const (
	exitHarmed     = 3
	exitUnreadable = 4
)

// question holds the fields of all kinds.
type question struct {
	Kind   string          `json:"kind"`
	Object json.RawMessage `json:"object"`
	Old    json.RawMessage `json:"old"`
	Text   string          `json:"text"`
	At     instant         `json:"at"`
	Count  int             `json:"count"`
	Nodes  int             `json:"nodes"`
	// Intolerant is of pods.
	Intolerant bool `json:"intolerant"`
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
	// What Karpenter would log goes nowhere; without a word, controller-runtime complains of that with a stack trace.
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	definitions, err := loadDefinitions(os.Args[1:])
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
	case "budgets":
		return budgets(asked.Object, asked.At.Time, asked.Nodes)
	case "provision", "static", "limits":
		return launchKinds(asked)
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
