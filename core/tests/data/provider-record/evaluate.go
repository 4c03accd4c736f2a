package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// external are the constants of other modules that providers' tables name, by the last part of their package's path.
var external = map[string]string{
	"k8s.io/api/core/v1.LabelArchStable":               "kubernetes.io/arch",
	"k8s.io/api/core/v1.LabelOSStable":                 "kubernetes.io/os",
	"k8s.io/api/core/v1.LabelInstanceTypeStable":       "node.kubernetes.io/instance-type",
	"k8s.io/api/core/v1.LabelTopologyZone":             "topology.kubernetes.io/zone",
	"k8s.io/api/core/v1.LabelTopologyRegion":           "topology.kubernetes.io/region",
	"k8s.io/api/core/v1.LabelWindowsBuild":             "node.kubernetes.io/windows-build",
	"karpenter/pkg/apis/v1.CapacityTypeLabelKey":       "karpenter.sh/capacity-type",
	"karpenter/pkg/apis/v1beta1.CapacityTypeLabelKey":  "karpenter.sh/capacity-type",
	"karpenter/pkg/apis/v1.CapacityTypeOnDemand":       "on-demand",
	"karpenter/pkg/apis/v1.CapacityTypeSpot":           "spot",
	"aws-sdk-go-v2/service/ec2/types.TenancyDedicated": "dedicated",
	"aws-sdk-go-v2/service/ec2/types.TenancyDefault":   "default",
}

// errVariable is what a program computes while it runs, such as the labels of the file of types that kwok is given.
var errVariable = errors.New("a variable")

// pack is a Go package: what its constants and variables are set to, and in which file.
type pack struct {
	values map[string]ast.Expr
	files  map[string]*ast.File
}

// program is the part of a module that was parsed.
type program struct {
	module string
	packs  map[string]*pack // by directory
	texts  map[string][]byte
}

// ownName is the module's name in its go.mod.
var ownName = regexp.MustCompile(`(?m)^module (\S+)`)

// parse reads Go files; their paths are relative to the module.
func parse(texts map[string][]byte) (*program, error) {
	named := ownName.FindSubmatch(texts["go.mod"])
	if named == nil {
		return nil, errors.New("go.mod names no module")
	}
	module := string(named[1])
	parsed := &program{module, map[string]*pack{}, texts}
	for name, text := range texts {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		of := parsed.packs[path.Dir(name)]
		if of == nil {
			of = &pack{map[string]ast.Expr{}, map[string]*ast.File{}}
			parsed.packs[path.Dir(name)] = of
		}
		of.files[name] = file
		for _, declaration := range file.Decls {
			general, ok := declaration.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range general.Specs {
				value, ok := spec.(*ast.ValueSpec)
				if !ok || len(value.Values) != len(value.Names) {
					continue
				}
				for index, named := range value.Names {
					of.values[named.Name] = scoped{value.Values[index], file}
				}
			}
		}
	}
	return parsed, nil
}

// scoped is an expression with the file whose imports it uses.
type scoped struct {
	ast.Expr
	file *ast.File
}

// evaluate computes the text of an expression, or the texts of a set or list.
func (p *program) evaluate(expression ast.Expr, directory string, file *ast.File) ([]string, error) {
	switch expression := expression.(type) {
	case scoped:
		return p.evaluate(expression.Expr, directory, expression.file)
	case *ast.BasicLit:
		text, err := strconv.Unquote(expression.Value)
		return []string{text}, err
	case *ast.ParenExpr:
		return p.evaluate(expression.X, directory, file)
	case *ast.BinaryExpr:
		left, err := p.evaluate(expression.X, directory, file)
		if err != nil {
			return nil, err
		}
		right, err := p.evaluate(expression.Y, directory, file)
		if err != nil {
			return nil, err
		}
		if len(left) != 1 || len(right) != 1 || expression.Op != token.ADD {
			return nil, fmt.Errorf("%s is no text", expression.Op)
		}
		return []string{left[0] + right[0]}, nil
	case *ast.Ident:
		if of := p.packs[directory]; of != nil && of.values[expression.Name] != nil {
			return p.evaluate(of.values[expression.Name], directory, file)
		}
		return nil, fmt.Errorf("%s is not known in %s", expression.Name, directory)
	case *ast.SelectorExpr:
		return p.selected(expression, file)
	case *ast.CompositeLit:
		return p.all(expression.Elts, directory, file)
	case *ast.CallExpr:
		return p.called(expression, directory, file)
	}
	return nil, fmt.Errorf("%T cannot be evaluated", expression)
}

func (p *program) all(expressions []ast.Expr, directory string, file *ast.File) ([]string, error) {
	var found []string
	for _, expression := range expressions {
		texts, err := p.evaluate(expression, directory, file)
		if err != nil {
			return nil, err
		}
		found = append(found, texts...)
	}
	return found, nil
}

// imported is the path of the package that a file calls by this name.
func imported(file *ast.File, name string) string {
	for _, spec := range file.Imports {
		target, _ := strconv.Unquote(spec.Path.Value)
		if spec.Name != nil && spec.Name.Name == name || spec.Name == nil && path.Base(target) == name {
			return target
		}
	}
	return ""
}

func (p *program) selected(expression *ast.SelectorExpr, file *ast.File) ([]string, error) {
	name, ok := expression.X.(*ast.Ident)
	if !ok {
		return nil, fmt.Errorf("%s of %T", expression.Sel.Name, expression.X)
	}
	target := imported(file, name.Name)
	if target == "" {
		return nil, errVariable
	}
	if inside, ok := strings.CutPrefix(target, p.module+"/"); ok {
		return p.evaluate(expression.Sel, inside, file)
	}
	for known, text := range external {
		if strings.HasSuffix(target+"."+expression.Sel.Name, known) {
			return []string{text}, nil
		}
	}
	return nil, fmt.Errorf("%s.%s is not known", target, expression.Sel.Name)
}

// called evaluates conversions to a text, and the making of sets.
func (p *program) called(call *ast.CallExpr, directory string, file *ast.File) ([]string, error) {
	function := call.Fun
	if index, ok := function.(*ast.IndexExpr); ok {
		function = index.X
	}
	switch function := function.(type) {
	case *ast.Ident:
		if function.Name == "string" {
			return p.all(call.Args, directory, file)
		}
	case *ast.SelectorExpr:
		switch function.Sel.Name {
		case "New", "NewString":
			return p.all(call.Args, directory, file)
		case "AllLabels":
			return p.diskTypes()
		}
	}
	return nil, fmt.Errorf("a call of %v cannot be evaluated", function)
}

func sorted(texts map[string]bool) []string {
	found := make([]string, 0, len(texts))
	for text := range texts {
		found = append(found, text)
	}
	sort.Strings(found)
	return found
}
