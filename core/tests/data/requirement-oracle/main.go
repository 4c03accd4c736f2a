// Command requirement-oracle records what Karpenter says about lists of requirements, so that poolgate can be
// compared with it without running Go. The lists come from a fixed seed: two runs write the same file.
//
//	go run . ../requirement-oracle.jsonl
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"log"
	"math/rand"
	"os"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	_ "sigs.k8s.io/karpenter/kwok/apis/v1alpha1"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/scheduling"
)

const lists = 4000

type requirement struct {
	Key       string   `json:"key"`
	Operator  string   `json:"operator"`
	Values    []string `json:"values"`
	MinValues *int     `json:"minValues,omitempty"`
}

type verdict struct {
	Requirements []requirement     `json:"requirements"`
	Labels       map[string]string `json:"labels"`
	// Rejected says whether RuntimeValidate rejects the list.
	Rejected bool `json:"rejected"`
	// Allowed lists for each label which of the values above pass together; absent if the list is rejected.
	Allowed map[string][]string `json:"allowed,omitempty"`
	// Absent names the labels that nodes must not have.
	Absent []string `json:"absent,omitempty"`
}

var keys = []string{
	"example.com/n", "example.com/team", "team",
	"kubernetes.io/arch", "beta.kubernetes.io/arch", "topology.kubernetes.io/zone",
	"karpenter.sh/capacity-type", "karpenter.kwok.sh/instance-cpu",
}

var oddKeys = []string{
	"karpenter.sh/nodepool", "karpenter.sh/registered", "a.karpenter.sh/x", "kubernetes.io/hostname",
	"kubernetes.io/team", "node-role.kubernetes.io/worker", "karpenter.kwok.sh/instance-famly",
	"karpenter.kwok.sh/chipset", "a.karpenter.kwok.sh/x", "example.com/" + strings.Repeat("n", 64),
	strings.Repeat("d", 253) + "/n", strings.Repeat("d", 254) + "/n", "Example.com/n", "a b", "a/b/c", "/n", "n/", "",
}

var operators = []string{"In", "In", "In", "NotIn", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"}

var values = []string{
	"0", "1", "2", "3", "4", "007", "amd64", "arm64", "spot", "on-demand", "reserved", "blue", "",
	"9223372036854775806", "9223372036854775807",
}

var oddValues = []string{
	"us east", "-a", "a-", "a/b", "+5", "-0", "-1", "1.5", " 1", "9223372036854775808", "Spot",
	strings.Repeat("v", 63), strings.Repeat("v", 64),
}

func pick(random *rand.Rand, usual, odd []string, oneIn int) string {
	if random.Intn(oneIn) == 0 {
		return odd[random.Intn(len(odd))]
	}
	return usual[random.Intn(len(usual))]
}

func draw(random *rand.Rand) requirement {
	drawn := requirement{
		Key:      pick(random, keys, oddKeys, 25),
		Operator: pick(random, operators, []string{"in", "Equals", ""}, 60),
		Values:   []string{},
	}
	count := random.Intn(4)
	if op := drawn.Operator; (op == "Gt" || op == "Lt" || op == "Gte" || op == "Lte") && random.Intn(20) != 0 {
		count = 1
	}
	for range count {
		value := pick(random, values, oddValues, 40)
		if drawn.Key == v1.CapacityTypeLabelKey && random.Intn(3) != 0 {
			value = []string{"spot", "on-demand", "reserved", "Spot"}[random.Intn(4)]
		} else if strings.HasPrefix(drawn.Operator, "G") || strings.HasPrefix(drawn.Operator, "L") {
			value = pick(random, values[:6], append(values[13:], oddValues...), 12)
		}
		drawn.Values = append(drawn.Values, value)
	}
	if random.Intn(15) == 0 {
		least := 1 + random.Intn(3)
		drawn.MinValues = &least
	}
	return drawn
}

func judge(drawn []requirement, labels map[string]string) verdict {
	pool := &v1.NodePool{}
	for _, one := range drawn {
		pool.Spec.Template.Spec.Requirements = append(pool.Spec.Template.Spec.Requirements,
			v1.NodeSelectorRequirementWithMinValues{
				Key: one.Key, Operator: corev1.NodeSelectorOperator(one.Operator),
				Values: append([]string{}, one.Values...), MinValues: one.MinValues,
			})
	}
	result := verdict{Requirements: drawn, Labels: labels}
	result.Rejected = pool.RuntimeValidate(context.Background()) != nil
	if result.Rejected {
		return result
	}
	together := scheduling.NewNodeSelectorRequirementsWithMinValues(pool.Spec.Template.Spec.Requirements...)
	together.Add(scheduling.NewLabelRequirements(labels).Values()...)
	result.Allowed = map[string][]string{}
	for key, one := range together {
		result.Allowed[key] = []string{}
		for _, value := range values {
			if one.Has(value) {
				result.Allowed[key] = append(result.Allowed[key], value)
			}
		}
		if one.Operator() == corev1.NodeSelectorOpDoesNotExist {
			result.Absent = append(result.Absent, key)
		}
	}
	sort.Strings(result.Absent)
	return result
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: requirement-oracle FILE")
	}
	file, err := os.Create(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	out := bufio.NewWriter(file)
	random := rand.New(rand.NewSource(4))
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for range lists {
		var drawn []requirement
		for range 1 + random.Intn(5) {
			one := draw(random)
			// Mostly several entries of one label, because combining those is what is tested.
			if len(drawn) > 0 && random.Intn(3) != 0 {
				one.Key = drawn[len(drawn)-1].Key
			}
			drawn = append(drawn, one)
		}
		labels := map[string]string{}
		if random.Intn(3) == 0 {
			labels[drawn[0].Key] = values[random.Intn(len(values))]
		}
		if err := encoder.Encode(judge(drawn, labels)); err != nil {
			log.Fatal(err)
		}
	}
	if err := out.Flush(); err != nil {
		log.Fatal(err)
	}
}
