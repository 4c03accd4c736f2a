package main

import (
	"fmt"
	"reflect"
	"regexp"
	"sort"
	"strings"

	"sigs.k8s.io/yaml"
)

// definedVersion is the version of NodePools whose rules are recorded.
const definedVersion = "v1"

// labelRules are what a definition of NodePools says of template labels and of the keys of requirements, beyond what Karpenter's
// own says.
type labelRules struct {
	// Domains are those of which only the listed labels are accepted.
	Domains map[string][]string `json:"domains,omitempty"`
	// Forbidden are labels that are never accepted.
	Forbidden []string `json:"forbidden,omitempty"`
}

// definitionRecord is one line of the file.
type definitionRecord struct {
	Module     string      `json:"module"`
	Releases   []string    `json:"releases"`
	Definition *labelRules `json:"definition"`
}

var (
	closedDomain = regexp.MustCompile(`^x in \[([^\]]*)\] \|\| !x\.find\("\^\(\[\^/\]\+\)"\)\.endsWith\("([^"]+)"\)$`)
	// ofCore are rules of Karpenter's own definitions, some of other forms.
	ofCore    = regexp.MustCompile(`"(karpenter\.sh|kubernetes\.io|k8s\.io)["/]`)
	forbidden = regexp.MustCompile(`^x != ["']([^"']+)["']$`)
	quoted    = regexp.MustCompile(`["']([^"']+)["']`)
	ofAll     = regexp.MustCompile(`^self\.all\(x, (.*)\)$`)
	itself    = regexp.MustCompile(`\bself\b`)
	blanks    = regexp.MustCompile(`\s+`)
)

// readRules reads the rules of the two forms that providers add; those of Karpenter itself are left out.
func readRules(schema map[string]any) labelRules {
	found := labelRules{Domains: map[string][]string{}}
	rules, _ := schema["x-kubernetes-validations"].([]any)
	for _, element := range rules {
		rule, _ := element.(map[string]any)["rule"].(string)
		rule = strings.TrimSpace(blanks.ReplaceAllString(rule, " "))
		if all := ofAll.FindStringSubmatch(rule); all != nil {
			rule = strings.TrimSpace(all[1])
		} else {
			rule = itself.ReplaceAllString(rule, "x")
		}
		if ofCore.MatchString(rule) {
			continue
		}
		if domain := closedDomain.FindStringSubmatch(rule); domain != nil {
			listed := map[string]bool{}
			for _, label := range quoted.FindAllStringSubmatch(domain[1], -1) {
				listed[label[1]] = true
			}
			found.Domains[domain[2]] = sorted(listed)
		} else if label := forbidden.FindStringSubmatch(rule); label != nil {
			found.Forbidden = append(found.Forbidden, label[1])
		} else {
			check(fmt.Errorf("a rule of another form: %s", rule))
		}
	}
	sort.Strings(found.Forbidden)
	return found
}

// field is the schema of a field below another one; empty if it has none.
func field(schema map[string]any, path ...string) map[string]any {
	for _, step := range path {
		schema, _ = schema[step].(map[string]any)
	}
	return schema
}

// readDefinition reads the rules of one release, which must be the same for template labels as for the keys of requirements; nil if
// its definition does not have the version.
func (m module) readDefinition(release string, text []byte) (*labelRules, error) {
	var definition map[string]any
	if err := yaml.Unmarshal(text, &definition); err != nil {
		return nil, err
	}
	versions, _ := field(definition, "spec")["versions"].([]any)
	for _, version := range versions {
		version, _ := version.(map[string]any)
		if version["name"] != definedVersion {
			continue
		}
		template := field(version, "schema", "openAPIV3Schema", "properties", "spec", "properties", "template", "properties")
		labels := readRules(field(template, "metadata", "properties", "labels"))
		keys := readRules(field(template, "spec", "properties", "requirements", "items", "properties", "key"))
		if !reflect.DeepEqual(labels, keys) {
			return nil, fmt.Errorf("%s %s has other rules for labels than for requirements", m.path, release)
		}
		return &keys, nil
	}
	return nil, nil
}
