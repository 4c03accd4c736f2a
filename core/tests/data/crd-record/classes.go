package main

import (
	"log"
	"os"
	"path/filepath"
	"reflect"

	"sigs.k8s.io/yaml"
)

// class is a kind of node class, and the module that publishes its definition. Both modules are under the Apache licence 2.0.
type class struct{ module, release, file string }

var classes = []class{
	{"github.com/aws/karpenter-provider-aws", "1.15.2", "karpenter.k8s.aws_ec2nodeclasses.yaml"},
	{"github.com/Azure/karpenter-provider-azure", "1.14.2", "karpenter.azure.com_aksnodeclasses.yaml"},
}

// classRecord is one line of the second file.
type classRecord struct {
	Module  string `json:"module"`
	Release string `json:"release"`
	Sum     string `json:"sum"`
	Group   string `json:"group"`
	Kind    string `json:"kind"`
	// Versions are all that are served, the stored one first.
	Versions []string `json:"versions"`
	// Schema is that of all versions, with its descriptions, without status and without the rules in CEL.
	Schema map[string]any `json:"schema"`
}

// recordedClasses returns the definitions of node classes. Unlike a release of Karpenter, none is kept from before: the
// descriptions belong to the release.
func recordedClasses() []classRecord {
	var records []classRecord
	for _, class := range classes {
		directory, sum, err := download(class.module, class.release)
		check(err)
		text, err := os.ReadFile(filepath.Join(directory, "pkg/apis/crds", class.file))
		check(err)
		var crd struct {
			Spec struct {
				Group    string
				Names    struct{ Kind string }
				Versions []struct {
					Name            string
					Served, Storage bool
					Schema          struct{ OpenAPIV3Schema map[string]any }
				}
			}
		}
		check(yaml.Unmarshal(text, &crd))
		record := classRecord{
			Module: class.module, Release: class.release, Sum: sum, Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind,
		}
		for _, version := range crd.Spec.Versions {
			if !version.Served {
				continue
			}
			schema := version.Schema.OpenAPIV3Schema
			delete(schema["properties"].(map[string]any), "status")
			checkable(schema)
			if record.Schema != nil && !reflect.DeepEqual(record.Schema, schema) {
				log.Fatalf("versions of %s differ: record each", record.Kind)
			}
			record.Schema = schema
			if version.Storage {
				record.Versions = append([]string{version.Name}, record.Versions...)
			} else {
				record.Versions = append(record.Versions, version.Name)
			}
		}
		records = append(records, record)
	}
	return records
}

// checkable removes the rules in CEL from a schema.
func checkable(value any) {
	switch value := value.(type) {
	case map[string]any:
		delete(value, "x-kubernetes-validations")
		for key := range value {
			checkable(value[key])
		}
	case []any:
		for index := range value {
			checkable(value[index])
		}
	}
}
