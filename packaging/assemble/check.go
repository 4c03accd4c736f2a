package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/opencontainers/image-spec/schema"
)

// Checks that the files of a layout follow the OCI image specification, and that each digest in them names an existing
// file. Prints the digest of the image.
func check(directory string) error {
	files := map[string]schema.Validator{
		"index.json": schema.ValidatorMediaTypeImageIndex,
		"oci-layout": schema.ValidatorMediaTypeLayoutHeader,
	}
	for name, validator := range files {
		content, err := os.ReadFile(filepath.Join(directory, name))
		if err != nil {
			return err
		}
		if err := validator.Validate(bytes.NewReader(content)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := checkBlobs(filepath.Join(directory, "blobs", "sha256")); err != nil {
		return err
	}
	top, err := layout.ImageIndexFromPath(directory)
	if err != nil {
		return err
	}
	listed, err := top.IndexManifest()
	if err != nil {
		return err
	}
	if len(listed.Manifests) != 1 {
		return fmt.Errorf("index.json lists %d images and not one", len(listed.Manifests))
	}
	digest := listed.Manifests[0].Digest
	index, err := top.ImageIndex(digest)
	if err != nil {
		return err
	}
	if err := validate.Index(index); err != nil {
		return err
	}
	if err := checkIndex(index); err != nil {
		return err
	}
	fmt.Println(digest)
	return nil
}

// validate does not compare a layout's images with their digests: it computes the digests from what it reads.
func checkBlobs(directory string) error {
	blobs, err := os.ReadDir(directory)
	if err != nil {
		return err
	}
	for _, blob := range blobs {
		content, err := os.ReadFile(filepath.Join(directory, blob.Name()))
		if err != nil {
			return err
		}
		digest, _, err := v1.SHA256(bytes.NewReader(content))
		if err != nil {
			return err
		}
		if digest.Hex != blob.Name() {
			return fmt.Errorf("blob %s is %s", blob.Name(), digest)
		}
	}
	return nil
}

func checkIndex(index v1.ImageIndex) error {
	raw, err := index.RawManifest()
	if err != nil {
		return err
	}
	if err := schema.ValidatorMediaTypeImageIndex.Validate(bytes.NewReader(raw)); err != nil {
		return err
	}
	listed, err := index.IndexManifest()
	if err != nil {
		return err
	}
	for _, descriptor := range listed.Manifests {
		image, err := index.Image(descriptor.Digest)
		if err != nil {
			return err
		}
		manifest, err := image.RawManifest()
		if err != nil {
			return err
		}
		if err := schema.ValidatorMediaTypeManifest.Validate(bytes.NewReader(manifest)); err != nil {
			return err
		}
		config, err := image.RawConfigFile()
		if err != nil {
			return err
		}
		if err := schema.ValidatorMediaTypeImageConfig.Validate(bytes.NewReader(config)); err != nil {
			return err
		}
	}
	return nil
}
