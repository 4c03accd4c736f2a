// Command provider-record records what each release of the providers registers with Karpenter, so that poolgate's
// data (core/providers) can be compared with it without a network. A release that registers the same as the one before
// it shares its line.
//
//	GOTOOLCHAIN=auto go run . record >../providers.jsonl
//	GOTOOLCHAIN=auto go run . check ../providers.jsonl
package main

import (
	"encoding/json"
	"flag"
	"log"
	"os"
	"reflect"
	"slices"
	"strings"
)

// module is a provider's Go module, and where in it the tables are.
type module struct {
	path string
	// since is the oldest release that is read.
	since string
	// directories hold the tables, function makes the requirements of an instance type.
	directories []string
	function    string
	// hasTypes says that generated files list all types by name.
	hasTypes bool
	// definition is its definition of NodePools, if that has rules of its own about labels.
	definition string
}

// published is where providers have the definition.
const published = "pkg/apis/crds/karpenter.sh_nodepools.yaml"

var modules = []module{
	{"github.com/aws/karpenter-provider-aws", "0.32.0", []string{"pkg/apis/", "pkg/operator/", "pkg/providers/instancetype/", "pkg/providers/pricing/", "pkg/fake/"}, "computeRequirements", true, published},
	{"github.com/Azure/karpenter-provider-azure", "0.2.0", []string{"pkg/apis/", "pkg/operator/", "pkg/utils/zones/", "pkg/providers/instancetype/", "pkg/cloudprovider/"}, "computeRequirements", false, published},
	{"github.com/cloudpilot-ai/karpenter-provider-gcp", "0.1.0", []string{"pkg/apis/", "pkg/operator/", "pkg/providers/instancetype/", "pkg/providers/disktype/"}, "computeRequirements", false, ""},
	{"github.com/cloudpilot-ai/karpenter-provider-alibabacloud", "0.1.0", []string{"pkg/apis/", "pkg/operator/", "pkg/providers/instancetype/"}, "computeRequirements", false, ""},
	{"github.com/paperclipinc/karpenter-provider-hetzner", "0.1.0", []string{"pkg/apis/", "pkg/providers/instancetype/"}, "toInstanceType", false, ""},
	{karpenter, "1.0.8", []string{"kwok/apis/", "kwok/cloudprovider/"}, "newInstanceType", false, ""},
}

func (m module) wants(name string) bool {
	if name == "go.mod" || name == m.definition {
		return true
	}
	if strings.HasSuffix(name, "_test.go") || !strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "-configmap.yaml") {
		return false
	}
	for _, directory := range m.directories {
		if strings.HasPrefix(name, directory) {
			return true
		}
	}
	return false
}

// record is one line of the file.
type record struct {
	Module   string   `json:"module"`
	Releases []string `json:"releases"`
	facts
	definition *labelRules
	core       string
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("provider-record: ")
	flag.StringVar(&clones, "clones", "", "a directory with clones of the repositories, to read their tags and no modules")
	flag.Parse()
	switch {
	case flag.Arg(0) == "record" && flag.NArg() == 1:
		write()
	case flag.Arg(0) == "check" && flag.NArg() == 2:
		if !compare(flag.Arg(1)) {
			os.Exit(1)
		}
	default:
		log.Fatal("usage: provider-record [-clones DIRECTORY] record | check FILE")
	}
}

// write prints the records of all modules.
func write() {
	lines := json.NewEncoder(os.Stdout)
	lines.SetEscapeHTML(false)
	for _, module := range modules {
		releases, err := module.releases()
		check(err)
		var last *record
		var definitions []*definitionRecord
		core := coreRecord{Module: module.path}
		for _, release := range releases {
			read, err := module.read(release)
			if err != nil {
				log.Printf("%s %s is left out: %v", module.path, release, err)
				continue
			}
			if read.core != "" {
				core.add(read.Releases[0], read.core)
			}
			if read.definition != nil {
				count := len(definitions)
				if count > 0 && reflect.DeepEqual(definitions[count-1].Definition, read.definition) {
					definitions[count-1].Releases = append(definitions[count-1].Releases, read.Releases...)
				} else {
					definitions = append(definitions, &definitionRecord{module.path, slices.Clone(read.Releases), read.definition})
				}
			}
			if last != nil && reflect.DeepEqual(last.facts, read.facts) {
				last.Releases = append(last.Releases, read.Releases...)
				continue
			}
			if last != nil {
				check(lines.Encode(last))
			}
			last = read
		}
		if last != nil {
			check(lines.Encode(last))
		}
		for _, defined := range definitions {
			check(lines.Encode(defined))
		}
		if core.Core != nil {
			check(lines.Encode(core))
		}
		if module.hasTypes {
			types, err := module.readTypes(releases)
			check(err)
			check(lines.Encode(types))
		}
	}
}

// read collects what one release registers.
func (m module) read(release string) (*record, error) {
	texts, err := m.texts(release)
	if err != nil {
		return nil, err
	}
	parsed, err := parse(texts)
	if err != nil {
		return nil, err
	}
	found, err := parsed.collect(m.function)
	if err != nil {
		return nil, err
	}
	record := &record{Module: m.path, Releases: []string{strings.TrimPrefix(release, "v")}, facts: *found}
	if m.path != karpenter {
		if record.core, err = m.readCore(release, texts["go.mod"]); err != nil {
			return nil, err
		}
	}
	if m.definition != "" {
		record.definition, err = m.readDefinition(release, texts[m.definition])
	}
	return record, err
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
