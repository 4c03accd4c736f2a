package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"reflect"
	"slices"
)

// known is what the file says of one module: the facts by release, the newest rules and core, and the names of types.
type known struct {
	newest     string
	facts      map[string]facts
	definition *labelRules
	core       string
	types      typeRecord
}

// compare reads the newest release that the file has, which must still say the same, and the newest of all, whose
// differences are printed. It returns whether nothing contradicts the file.
func compare(name string) bool {
	text, err := os.ReadFile(name)
	check(err)
	modulesInFile := map[string]*known{}
	for _, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		var both struct {
			record
			Date          string      `json:"date"`
			InstanceTypes []string    `json:"instanceTypes"`
			Definition    *labelRules `json:"definition"`
			Core          [][2]string `json:"core"`
		}
		check(json.Unmarshal(line, &both))
		of := modulesInFile[both.Module]
		if of == nil {
			of = &known{facts: map[string]facts{}}
			modulesInFile[both.Module] = of
		}
		if both.InstanceTypes != nil {
			of.types = typeRecord{both.Module, both.Releases, both.Date, both.InstanceTypes}
			continue
		}
		if both.Core != nil {
			of.core = both.Core[len(both.Core)-1][1]
			continue
		}
		if both.Definition != nil {
			of.definition = both.Definition
			continue
		}
		for _, release := range both.Releases {
			of.facts["v"+release] = both.facts
			if of.newest == "" || older(of.newest, "v"+release) {
				of.newest = "v" + release
			}
		}
	}
	agrees := true
	for _, module := range modules {
		of := modulesInFile[module.path]
		if of == nil {
			log.Printf("%s is not in %s", module.path, name)
			agrees = false
			continue
		}
		agrees = module.confirm(of) && agrees
		module.printNews(of)
	}
	return agrees
}

// confirm reads the newest release of the file again.
func (m module) confirm(of *known) bool {
	read, err := m.read(of.newest)
	if err != nil {
		log.Printf("%s %s is not compared: %v", m.path, of.newest, err)
		return true
	}
	if reflect.DeepEqual(normal(read.facts), normal(of.facts[of.newest])) &&
		reflect.DeepEqual(read.definition, of.definition) && read.core == of.core {
		fmt.Printf("%s %s: as recorded\n", m.path, of.newest)
		return true
	}
	fmt.Printf("%s %s no longer says what is recorded:\n", m.path, of.newest)
	printDifferences(of, read)
	return false
}

// printNews prints what a release adds that is newer than the file.
func (m module) printNews(of *known) {
	releases, err := m.releases()
	if err != nil {
		log.Printf("whether %s has newer releases than %s is not known: %v", m.path, of.newest, err)
		return
	}
	newest := releases[len(releases)-1]
	if !older(of.newest, newest) {
		return
	}
	read, err := m.read(newest)
	if err != nil {
		log.Printf("%s %s is not compared: %v", m.path, newest, err)
		return
	}
	fmt.Printf("%s %s is newer than the recorded %s:\n", m.path, newest, of.newest)
	printDifferences(of, read)
	if !m.hasTypes {
		return
	}
	types, err := m.readTypes(releases)
	if err != nil {
		log.Printf("the types of %s are not compared: %v", m.path, err)
		return
	}
	printSets("type", of.types.InstanceTypes, types.InstanceTypes)
}

// normal is the same without the difference between an empty table and none.
func normal(of facts) facts {
	text, err := json.Marshal(of)
	check(err)
	var read facts
	check(json.Unmarshal(text, &read))
	return read
}

func printDifferences(of *known, read *record) {
	before, after := of.facts[of.newest], read.facts
	printSets("label", before.Labels, after.Labels)
	printSets("domain", before.Domains, after.Domains)
	printTables("normalised label", before.Normalized, after.Normalized)
	printTables("closed set", before.Closed, after.Closed)
	printTables("label on types", before.Carried, after.Carried)
	if old, new := of.definition, read.definition; old != nil && new != nil {
		printTables("labels of the definition", old.Domains, new.Domains)
		printSets("label that the definition forbids", old.Forbidden, new.Forbidden)
	}
	if of.core != read.core {
		fmt.Printf("  contains Karpenter %s, was %s\n", read.core, of.core)
	}
}

func printSets(what string, before, after []string) {
	for _, text := range after {
		if !slices.Contains(before, text) {
			fmt.Printf("  %s added: %s\n", what, text)
		}
	}
	for _, text := range before {
		if !slices.Contains(after, text) {
			fmt.Printf("  %s gone: %s\n", what, text)
		}
	}
}

func printTables[Value any](what string, before, after map[string]Value) {
	keys := map[string]bool{}
	for key := range before {
		keys[key] = true
	}
	for key := range after {
		keys[key] = true
	}
	for _, key := range sorted(keys) {
		old, had := before[key]
		new, has := after[key]
		switch {
		case !had:
			fmt.Printf("  %s added: %s: %v\n", what, key, new)
		case !has:
			fmt.Printf("  %s gone: %s: %v\n", what, key, old)
		case !reflect.DeepEqual(old, new):
			fmt.Printf("  %s changed: %s: %v, was %v\n", what, key, new, old)
		}
	}
}
