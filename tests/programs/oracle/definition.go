package main

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/karpenter/pkg/apis"
	"sigs.k8s.io/yaml"
)

// strategy is how the API server prepares and validates custom resources of one version: its own code, which
// it keeps private.
type strategy interface {
	PrepareForCreate(ctx context.Context, object runtime.Object)
	PrepareForUpdate(ctx context.Context, object, old runtime.Object)
	Validate(ctx context.Context, object runtime.Object) field.ErrorList
	ValidateUpdate(ctx context.Context, object, old runtime.Object) field.ErrorList
}

// definition is one version of a custom resource definition, as the API server has it in memory.
type definition struct {
	structural *schema.Structural
	strategy   strategy
	// shape is the part of the schema that every release has had.
	shape validation.SchemaValidator
}

type definitions map[apischema.GroupVersionKind]definition

// loadDefinitions reads the definition that is served in the place of a linked one, if there is such a file, then the
// linked Karpenter's definitions, and from the other files the versions that those lack.
func loadDefinitions(instead string, files []string) (definitions, error) {
	loaded := definitions{}
	if instead != "" {
		if err := loaded.addFile(instead); err != nil {
			return nil, err
		}
	}
	for _, written := range [][]byte{apis.NodePoolCRD, apis.NodeClaimCRD} {
		if err := loaded.add(written); err != nil {
			return nil, err
		}
	}
	for _, file := range files {
		if err := loaded.addFile(file); err != nil {
			return nil, err
		}
	}
	return loaded, nil
}

func (d definitions) addFile(file string) error {
	written, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := d.add(written); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// add serves the versions that no earlier definition has.

func (d definitions) add(written []byte) error {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(written, crd); err != nil {
		return err
	}
	for _, version := range crd.Spec.Versions {
		kind := apischema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}
		if _, known := d[kind]; known || !version.Served {
			continue
		}
		defined, err := define(kind, &version)
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		d[kind] = defined
	}
	return nil
}

// define does what the API server's handler of custom resources does when a definition is established.
func define(kind apischema.GroupVersionKind, version *apiextensionsv1.CustomResourceDefinitionVersion) (definition, error) {
	internal := &apiextensions.CustomResourceValidation{}
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(version.Schema, internal, nil); err != nil {
		return definition{}, err
	}
	structural, err := schema.NewStructural(internal.OpenAPIV3Schema)
	if err != nil {
		return definition{}, err
	}
	if err := defaulting.PruneDefaults(structural); err != nil {
		return definition{}, err
	}
	validator, _, err := validation.NewSchemaValidator(internal.OpenAPIV3Schema)
	if err != nil {
		return definition{}, err
	}
	subresources := &apiextensions.CustomResourceSubresources{}
	if version.Subresources != nil {
		if err := apiextensionsv1.Convert_v1_CustomResourceSubresources_To_apiextensions_CustomResourceSubresources(version.Subresources, subresources, nil); err != nil {
			return definition{}, err
		}
	}
	shape, _, err := validation.NewSchemaValidator(shapeAlone(internal.OpenAPIV3Schema))
	if err != nil {
		return definition{}, err
	}
	// The status has its own validator, which only its subresource uses.
	return definition{structural, customresource.NewStrategy(nil, false, kind, validator, nil, structural,
		subresources.Status, subresources.Scale, version.SelectableFields), shape}, nil
}
