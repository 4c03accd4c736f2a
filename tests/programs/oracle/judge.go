package main

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

type judgeAnswer struct {
	// Metadata is what the API server says about metadata, for every kind.
	Metadata []finding `json:"metadata"`
	// Schema is what the definition says: types, patterns, CEL rules.
	Schema []finding `json:"schema"`
	// The rest is only determined if the definition rejects nothing.
	aftermath
}

type finding struct {
	Type   field.ErrorType `json:"type"`
	Field  string          `json:"field"`
	Detail string          `json:"detail"`
}

// unchecked is the beginning of the API server's message if findings keep it from evaluating CEL rules. After a
// finding on metadata alone it reports nothing about the definition.
const unchecked = "some validation rules were not checked"

// judge does what the API server does after the mutating webhooks, and then what Karpenter does.
func judge(definitions definitions, object, old json.RawMessage) (any, error) {
	decoded, defined, err := decode(definitions, object)
	if err != nil {
		return nil, err
	}
	var findings field.ErrorList
	if old == nil {
		findings = create(defined, decoded)
	} else {
		stored, _, err := decode(definitions, old)
		if err != nil {
			return nil, err
		}
		findings = update(defined, decoded, stored)
	}
	answer := judgeAnswer{Metadata: []finding{}, Schema: []finding{}, aftermath: aftermath{Followed: isFollowed(decoded)}}
	for _, found := range findings {
		written := finding{found.Type, found.Field, found.ErrorBody()}
		if found.Field == "metadata" || strings.HasPrefix(found.Field, "metadata.") {
			answer.Metadata = append(answer.Metadata, written)
		} else {
			answer.Schema = append(answer.Schema, written)
		}
	}
	if len(answer.Metadata) > 0 && len(answer.Schema) == 1 && strings.Contains(answer.Schema[0].Detail, unchecked) {
		answer.Schema = []finding{}
	}
	if len(answer.Schema) == 0 && len(answer.Metadata) == 0 {
		answer.aftermath, err = follow(definitions, decoded)
	}
	return answer, err
}

// create does what rest.BeforeCreate and the registry do.
func create(defined definition, object *unstructured.Unstructured) field.ErrorList {
	object.SetUID("6f3a0d5e-5f0c-4b8e-9f39-0c5f1b6e1a01")
	object.SetCreationTimestamp(metav1.NewTime(time.Unix(1_750_000_000, 0)))
	defined.strategy.PrepareForCreate(context.Background(), object)
	return defined.strategy.Validate(context.Background(), object)
}

// update does what rest.BeforeUpdate does with a stored object.
func update(defined definition, object, stored *unstructured.Unstructured) field.ErrorList {
	stored.SetUID("6f3a0d5e-5f0c-4b8e-9f39-0c5f1b6e1a01")
	stored.SetCreationTimestamp(metav1.NewTime(time.Unix(1_750_000_000, 0)))
	stored.SetGeneration(1)
	stored.SetResourceVersion("1")
	object.SetUID(stored.GetUID())
	object.SetCreationTimestamp(stored.GetCreationTimestamp())
	object.SetGeneration(stored.GetGeneration())
	object.SetResourceVersion(stored.GetResourceVersion())
	defined.strategy.PrepareForUpdate(context.Background(), object, stored)
	return defined.strategy.ValidateUpdate(context.Background(), object, stored)
}
