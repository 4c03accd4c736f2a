// Command crd-record records what the definition of NodePools of each Karpenter release requires, so that
// poolgate's tables can be compared with them without a network. Descriptions and status are left out; a release whose
// definition is the same as the one before it shares its line.
//
// A release whose module cannot be downloaded keeps the line that it has. The second file has the newest definition of the
// node classes, whole: see classes.go.
//
//	GOTOOLCHAIN=auto go run . ../karpenter-crds.jsonl ../../../providers/node-classes.jsonl
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// modulePath is where Karpenter publishes its definitions, checked against the public sum database.
const modulePath = "sigs.k8s.io/karpenter"

// releases are those at which the definition changed or might have, as far as they are published as modules.
var releases = []string{
	"0.37.1", "1.0.0", "1.0.1", "1.0.2", "1.0.8", "1.1.0", "1.2.0", "1.3.3", "1.4.0", "1.5.0", "1.6.0", "1.7.0", "1.8.0", "1.8.2",
	"1.9.0", "1.10.0", "1.11.0", "1.12.0", "1.12.1", "1.13.0", "1.14.0", "1.14.1", "1.14.3", "1.15.0", "1.15.1",
}

// record is one line of the file.
type record struct {
	Releases []string       `json:"releases"`
	Sums     []string       `json:"sums"`
	CRD      map[string]any `json:"crd"`
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: crd-record NODEPOOLS NODECLASSES")
	}
	before, err := os.ReadFile(os.Args[1])
	check(err)
	write(os.Args[1], recorded(kept(before)))
	write(os.Args[2], recordedClasses())
}

// write writes a line of JSON for each record.
func write[R any](path string, records []R) {
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	lines.SetEscapeHTML(false)
	for _, record := range records {
		check(lines.Encode(record))
	}
	check(os.WriteFile(path, text.Bytes(), 0o644))
}

// kept returns what is recorded of each release.
func kept(file []byte) map[string]record {
	known := map[string]record{}
	for _, line := range bytes.Split(bytes.TrimSpace(file), []byte("\n")) {
		var all record
		check(json.Unmarshal(line, &all))
		for index, release := range all.Releases {
			known[release] = record{[]string{release}, []string{all.Sums[index]}, all.CRD}
		}
	}
	return known
}

// recorded returns the definitions, oldest first.
func recorded(known map[string]record) []record {
	var records []record
	var before []byte
	for _, release := range releases {
		directory, sum, err := download(modulePath, release)
		crd := known[release].CRD
		if err == nil {
			crd = read(filepath.Join(directory, "pkg/apis/crds/karpenter.sh_nodepools.yaml"))
		} else if crd == nil {
			log.Fatal(err)
		} else {
			log.Printf("kept as it is: %v", err)
			sum = known[release].Sums[0]
		}
		text, err := json.Marshal(crd)
		check(err)
		if bytes.Equal(text, before) {
			last := &records[len(records)-1]
			last.Releases, last.Sums = append(last.Releases, release), append(last.Sums, sum)
			continue
		}
		before = text
		records = append(records, record{[]string{release}, []string{sum}, crd})
	}
	return records
}

// download returns the directory of a module's release, and its recorded sum.
func download(path, release string) (string, string, error) {
	command := exec.Command("go", "mod", "download", "-json", path+"@v"+release)
	// Not in this module's directory, where go.mod would take effect.
	command.Dir, command.Stderr = os.TempDir(), os.Stderr
	answer, err := command.Output()
	if err != nil {
		return "", "", fmt.Errorf("%s %s: %w\n%s", path, release, err, answer)
	}
	var module struct{ Dir, Sum string }
	check(json.Unmarshal(answer, &module))
	return module.Dir, module.Sum, nil
}

// read returns what a definition requires.
func read(path string) map[string]any {
	text, err := os.ReadFile(path)
	check(err)
	var crd map[string]any
	check(yaml.Unmarshal(text, &crd))
	delete(crd, "status")
	metadata := crd["metadata"].(map[string]any)
	// The generator's version may change alone.
	crd["metadata"] = map[string]any{"name": metadata["name"]}
	spec := crd["spec"].(map[string]any)
	for _, element := range spec["versions"].([]any) {
		version := element.(map[string]any)
		delete(version, "additionalPrinterColumns")
		properties := version["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)["properties"]
		delete(properties.(map[string]any), "status")
	}
	return undescribed(crd).(map[string]any)
}

// undescribed is the same without the descriptions. A field of that name would be an object and stays.
func undescribed(value any) any {
	switch value := value.(type) {
	case map[string]any:
		if _, text := value["description"].(string); text {
			delete(value, "description")
		}
		for key := range value {
			value[key] = undescribed(value[key])
		}
	case []any:
		for index := range value {
			value[index] = undescribed(value[index])
		}
	}
	return value
}

func check(err error) {
	if err != nil {
		log.Fatal(fmt.Errorf("crd-record: %w", err))
	}
}
