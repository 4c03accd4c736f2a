// Command assemble builds an image of poolgate from its programs, as a directory in the OCI image layout, without an
// engine. The result depends only on the arguments, so the same arguments give the same digest.
//
//	assemble -out DIR -version V -revision COMMIT -created SECONDS amd64=FILE arm64=FILE
//	assemble -check DIR
package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// The path of the program in the image, as in the Containerfile.
const place = "usr/local/bin/poolgate"

var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// The metadata of an image.
type origin struct {
	version, revision string
	created           time.Time
}

func (o origin) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "poolgate",
		"org.opencontainers.image.description": "Admission webhook and policy server for Karpenter NodePools",
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.version":     o.version,
		"org.opencontainers.image.revision":    o.revision,
		"org.opencontainers.image.created":     o.created.Format(time.RFC3339),
	}
}

// The program of an architecture, if it can run in an otherwise empty image.
func program(architecture, path string) ([]byte, error) {
	machine, known := machines[architecture]
	if !known {
		return nil, fmt.Errorf("unknown architecture %s; known: amd64, arm64", architecture)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	file, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if file.Machine != machine {
		return nil, fmt.Errorf("%s is for %s and not for %s", path, file.Machine, architecture)
	}
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP {
			return nil, fmt.Errorf("%s is linked dynamically: an image that holds nothing else cannot start it", path)
		}
	}
	return content, nil
}

func archive(content []byte, created time.Time) ([]byte, error) {
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	for at, letter := range place {
		if letter != '/' {
			continue
		}
		directory := tar.Header{Typeflag: tar.TypeDir, Name: place[:at+1], Mode: 0o755, ModTime: created}
		if err := writer.WriteHeader(&directory); err != nil {
			return nil, err
		}
	}
	header := tar.Header{Typeflag: tar.TypeReg, Name: place, Mode: 0o755, ModTime: created, Size: int64(len(content))}
	if err := writer.WriteHeader(&header); err != nil {
		return nil, err
	}
	if _, err := writer.Write(content); err != nil {
		return nil, err
	}
	return buffer.Bytes(), writer.Close()
}

func image(architecture string, content []byte, from origin) (v1.Image, error) {
	archived, err := archive(content, from.created)
	if err != nil {
		return nil, err
	}
	opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archived)), nil }
	layer, err := tarball.LayerFromOpener(opener, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	created := v1.Time{Time: from.created}
	image, err := mutate.Append(base, mutate.Addendum{
		Layer:   layer,
		History: v1.History{Created: created, CreatedBy: "packaging/image"},
	})
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created = "linux", architecture, created
	file.Config = v1.Config{
		// A number, because kubelet cannot tell from a name that it is not root.
		User:         "65532:65532",
		Entrypoint:   []string{"/" + place},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}, "8443/tcp": {}},
		Labels:       from.labels(),
	}
	image, err = mutate.ConfigFile(image, file)
	if err != nil {
		return nil, err
	}
	return mutate.Annotations(image, from.labels()).(v1.Image), nil
}

// Writes the layout: one index with an image for each architecture.
func assemble(out string, from origin, programs []string) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, argument := range programs {
		architecture, path, found := strings.Cut(argument, "=")
		if !found {
			return fmt.Errorf("%s is not ARCHITECTURE=FILE", argument)
		}
		content, err := program(architecture, path)
		if err != nil {
			return err
		}
		image, err := image(architecture, content, from)
		if err != nil {
			return err
		}
		platform := v1.Platform{OS: "linux", Architecture: architecture}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{Platform: &platform},
		})
	}
	index = mutate.Annotations(index, from.labels()).(v1.ImageIndex)
	if err := os.Mkdir(out, 0o755); err != nil {
		return err
	}
	written, err := layout.Write(out, empty.Index)
	if err != nil {
		return err
	}
	tag := map[string]string{"org.opencontainers.image.ref.name": from.version}
	if err := written.AppendIndex(index, layout.WithAnnotations(tag)); err != nil {
		return err
	}
	return check(out)
}

func run() error {
	var from origin
	out := flag.String("out", "", "the directory to make")
	checked := flag.String("check", "", "check this layout and do nothing else")
	flag.StringVar(&from.version, "version", "", "the version of the programs")
	flag.StringVar(&from.revision, "revision", "", "the commit that they were built from")
	seconds := flag.Int64("created", 0, "when that was, in seconds since 1970")
	flag.Parse()
	if *checked != "" {
		return check(*checked)
	}
	if *out == "" || from.version == "" || from.revision == "" || flag.NArg() == 0 {
		return errors.New("-out, -version, -revision and ARCHITECTURE=FILE are needed")
	}
	from.created = time.Unix(*seconds, 0).UTC()
	return assemble(*out, from, flag.Args())
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "assemble:", err)
		os.Exit(1)
	}
}
