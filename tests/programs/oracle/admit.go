package main

import (
	"encoding/json"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type admitAnswer struct {
	// Incoming is the object as the mutating webhooks receive it.
	Incoming *unstructured.Unstructured `json:"incoming,omitempty"`
	// Stored is the old object as the webhooks receive it.
	Stored *unstructured.Unstructured `json:"stored,omitempty"`
	// Undecodable says why no webhook is called.
	Undecodable string `json:"undecodable,omitempty"`
	// Unstorable says why the old object cannot have been stored.
	Unstorable string `json:"unstorable,omitempty"`
}

func admit(definitions definitions, object, old json.RawMessage) (any, error) {
	incoming, _, err := decode(definitions, object)
	if err != nil {
		return admitAnswer{Undecodable: err.Error()}, nil
	}
	answer := admitAnswer{Incoming: incoming}
	if old != nil {
		stored, defined, err := decode(definitions, old)
		if err != nil {
			return admitAnswer{Undecodable: err.Error()}, nil
		}
		if wrong := validation.NameIsDNSSubdomain(stored.GetName(), false); len(wrong) > 0 {
			return admitAnswer{Unstorable: wrong[0]}, nil
		}
		if why := defined.unstorable(stored); why != "" {
			return admitAnswer{Unstorable: why}, nil
		}
		answer.Stored = stored
	}
	return answer, nil
}

// decode reads an object as the API server's handler of custom resources does: prune, then default.
func decode(definitions definitions, object json.RawMessage) (*unstructured.Unstructured, definition, error) {
	decoded := &unstructured.Unstructured{}
	if _, _, err := unstructured.UnstructuredJSONScheme.Decode(object, nil, decoded); err != nil {
		return nil, definition{}, err
	}
	kind := decoded.GroupVersionKind()
	defined, known := definitions[kind]
	if !known {
		return nil, definition{}, fmt.Errorf("no definition of %s", kind)
	}
	if err := coerce(decoded, defined); err != nil {
		return nil, definition{}, err
	}
	defaulting.Default(decoded.UnstructuredContent(), defined.structural)
	return decoded, defined, nil
}

// coerce does what unstructuredSchemaCoercer.apply of apiextensions-apiserver does, which is private.
func coerce(object *unstructured.Unstructured, defined definition) error {
	kind, apiVersion := object.GetKind(), object.GetAPIVersion()
	metadata, found, err := objectmeta.GetObjectMeta(object.Object, false)
	if err != nil {
		return err
	}
	pruning.Prune(object.Object, defined.structural, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(object.Object, defined.structural)
	if err := objectmeta.Coerce(nil, object.Object, defined.structural, false, false); err != nil {
		return err
	}
	object.SetKind(kind)
	object.SetAPIVersion(apiVersion)
	if found {
		return objectmeta.SetObjectMeta(object.Object, metadata)
	}
	return nil
}
