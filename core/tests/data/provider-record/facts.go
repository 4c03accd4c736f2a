package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"regexp"
	"sort"
	"strings"
)

// facts are what a release of a provider registers with Karpenter.
type facts struct {
	// Labels are the well-known ones.
	Labels []string `json:"labels"`
	// Domains are those in which other labels are rejected.
	Domains []string `json:"domains,omitempty"`
	// Normalized are other names of labels.
	Normalized map[string]string `json:"normalized,omitempty"`
	// Closed are the labels of which only these values are known.
	Closed map[string][]string `json:"closed,omitempty"`
	// Carried says which instance types have a label: "all"; "named" are those whose names have the usual number
	// of parts; "some".
	Carried map[string]string `json:"carried,omitempty"`
}

// collect reads the facts of one release.
func (p *program) collect(function string) (*facts, error) {
	labels, domains := map[string]bool{}, map[string]bool{}
	found := &facts{Normalized: map[string]string{}, Closed: map[string][]string{}, Carried: map[string]string{}}
	var failed error
	add := func(set map[string]bool, arguments []ast.Expr, directory string, file *ast.File) {
		texts, err := p.all(arguments, directory, file)
		if err != nil && !errors.Is(err, errVariable) {
			failed = err
		}
		for _, text := range texts {
			set[text] = true
		}
	}
	for directory, pack := range p.packs {
		for _, file := range pack.files {
			ast.Inspect(file, func(node ast.Node) bool {
				switch node := node.(type) {
				case *ast.AssignStmt:
					set, arguments := extended(node)
					switch set {
					case "WellKnownLabels":
						add(labels, arguments, directory, file)
					case "RestrictedLabelDomains":
						add(domains, arguments, directory, file)
					}
					if err := p.assigned(node, directory, file, found); err != nil {
						failed = err
					}
				case *ast.FuncDecl:
					if node.Name.Name == function {
						p.carried(node.Body, directory, file, found.Carried)
					}
				}
				return true
			})
		}
	}
	found.Labels, found.Domains = sorted(labels), sorted(domains)
	return found, failed
}

// extended is the set that a statement extends, as in Set = Set.Insert(…), and with what.
func extended(node *ast.AssignStmt) (string, []ast.Expr) {
	call, ok := node.Rhs[0].(*ast.CallExpr)
	if !ok {
		return "", nil
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || method.Sel.Name != "Insert" && method.Sel.Name != "Union" || nameOf(method.X) != nameOf(node.Lhs[0]) {
		return "", nil
	}
	return nameOf(method.X), call.Args
}

func nameOf(expression ast.Expr) string {
	switch expression := expression.(type) {
	case *ast.Ident:
		return expression.Name
	case *ast.SelectorExpr:
		return expression.Sel.Name
	}
	return ""
}

// assigned reads an assignment to the closed sets or to the other names of labels.
func (p *program) assigned(node *ast.AssignStmt, directory string, file *ast.File, found *facts) error {
	if len(node.Lhs) != 1 || len(node.Rhs) != 1 {
		return nil
	}
	if index, ok := node.Lhs[0].(*ast.IndexExpr); ok {
		table := nameOf(index.X)
		if table != "NormalizedLabels" && table != "WellKnownValuesForRequirements" {
			return nil
		}
		key, err := p.evaluate(index.Index, directory, file)
		if err != nil {
			return err
		}
		values, err := p.evaluate(node.Rhs[0], directory, file)
		if err != nil {
			return err
		}
		if table == "NormalizedLabels" {
			found.Normalized[key[0]] = values[0]
		} else {
			sort.Strings(values)
			found.Closed[key[0]] = values
		}
		return nil
	}
	if nameOf(node.Lhs[0]) != "NormalizedLabels" {
		return nil
	}
	var failed error
	ast.Inspect(node.Rhs[0], func(part ast.Node) bool {
		pair, ok := part.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		both, err := p.all([]ast.Expr{pair.Key, pair.Value}, directory, file)
		if err != nil {
			failed = err
			return false
		}
		found.Normalized[both[0]] = both[1]
		return false
	})
	return failed
}

// byName is a condition on the number of parts of a type's name.
var byName = regexp.MustCompile(`^len\(\w+\) [=>]+ \d$`)

// carried reads the function that makes an instance type's requirements: which labels get a value, and under which
// conditions.
func (p *program) carried(body ast.Node, directory string, file *ast.File, found map[string]string) {
	conditions := map[string][]string{}
	var walk func(node ast.Node, under []string)
	walk = func(node ast.Node, under []string) {
		ast.Inspect(node, func(part ast.Node) bool {
			switch part := part.(type) {
			case *ast.IfStmt:
				text := source(part.Cond)
				if part.Init != nil {
					walk(part.Init, under)
				}
				walk(part.Body, append(under[:len(under):len(under)], text))
				if part.Else != nil {
					walk(part.Else, append(under[:len(under):len(under)], "!"+text))
				}
				return false
			case *ast.RangeStmt, *ast.SwitchStmt, *ast.FuncLit:
				if part != node {
					walk(part, append(under[:len(under):len(under)], "?"))
					return false
				}
			case *ast.CallExpr:
				if label := p.given(part, directory, file); label != "" {
					conditions[label] = append(conditions[label], strings.Join(under, " && "))
				}
			}
			return true
		})
	}
	walk(body, nil)
	for label, under := range conditions {
		found[label] = "some"
		for _, condition := range under {
			switch {
			case condition == "" || has(under, "!"+condition):
				found[label] = "all"
			case byName.MatchString(condition) && found[label] == "some":
				found[label] = "named"
			}
		}
	}
}

func has(texts []string, wanted string) bool {
	for _, text := range texts {
		if text == wanted {
			return true
		}
	}
	return false
}

// given is the label that a call gives a value: NewRequirement(label, In, values), requirements[label].Insert(value)
// or requirements.Get(label).Insert(value).
func (p *program) given(call *ast.CallExpr, directory string, file *ast.File) string {
	var label ast.Expr
	if method, ok := call.Fun.(*ast.SelectorExpr); ok {
		switch method.Sel.Name {
		case "NewRequirement":
			if len(call.Args) > 2 && nameOf(call.Args[1]) == "NodeSelectorOpIn" {
				label = call.Args[0]
			}
		case "Insert":
			switch of := method.X.(type) {
			case *ast.IndexExpr:
				label = of.Index
			case *ast.CallExpr:
				if len(of.Args) == 1 {
					label = of.Args[0]
				}
			}
		}
	}
	if label == nil {
		return ""
	}
	// A label that is in no table is one that no NodePool can require.
	texts, err := p.evaluate(label, directory, file)
	if err != nil || len(texts) != 1 {
		return ""
	}
	return texts[0]
}

func source(expression ast.Expr) string {
	var text strings.Builder
	if err := printer.Fprint(&text, token.NewFileSet(), expression); err != nil {
		return "?"
	}
	return text.String()
}

// diskTypes are the labels of disks of Google's provider, which it reads from a table in JSON within YAML.
func (p *program) diskTypes() ([]string, error) {
	const table = "pkg/providers/disktype/pdcsi/node-labeler-configmap.yaml"
	text := string(p.texts[table])
	begin, end := strings.Index(text, "{\n"), strings.LastIndex(text, "}")
	if begin < 0 || end < begin {
		return nil, fmt.Errorf("%s holds no JSON", table)
	}
	var families map[string]map[string]bool
	if err := json.Unmarshal([]byte(text[begin:end+1]), &families); err != nil {
		return nil, fmt.Errorf("%s: %w", table, err)
	}
	found := map[string]bool{}
	for _, types := range families {
		for name, supported := range types {
			if supported {
				found["disk-type.gke.io/"+name] = true
			}
		}
	}
	return sorted(found), nil
}
