package main

import (
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// lateComers are required by some releases only: Karpenter 1.15 no longer requires them.
var lateComers = []string{"consolidateAfter"}

// shapeAlone is a schema without what releases add, widen and narrow: types and required fields remain. No object
// can be stored without them, whichever release's definition applied at the time.
func shapeAlone(full *apiextensions.JSONSchemaProps) *apiextensions.JSONSchemaProps {
	if full == nil {
		return nil
	}
	shape := &apiextensions.JSONSchemaProps{
		Type:                   full.Type,
		Nullable:               full.Nullable,
		XIntOrString:           full.XIntOrString,
		XPreserveUnknownFields: full.XPreserveUnknownFields,
		Properties:             map[string]apiextensions.JSONSchemaProps{},
	}
	for _, field := range full.Required {
		if !slices.Contains(lateComers, field) {
			shape.Required = append(shape.Required, field)
		}
	}
	for name, field := range full.Properties {
		shape.Properties[name] = *shapeAlone(&field)
	}
	if full.Items != nil {
		shape.Items = &apiextensions.JSONSchemaPropsOrArray{Schema: shapeAlone(full.Items.Schema)}
	}
	if full.AdditionalProperties != nil {
		shape.AdditionalProperties = &apiextensions.JSONSchemaPropsOrBool{
			Allows: full.AdditionalProperties.Allows,
			Schema: shapeAlone(full.AdditionalProperties.Schema),
		}
	}
	return shape
}

// unstorable says why no API server can have stored the object; empty if one can.
func (d definition) unstorable(object *unstructured.Unstructured) string {
	findings := validation.ValidateCustomResource(nil, object.UnstructuredContent(), d.shape)
	if len(findings) == 0 {
		return ""
	}
	return findings[0].Error()
}
