package main

import (
	"go/scanner"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// minors is how many of the newest minor releases the tables of types are read from.
const minors = 4

// typeRecord are the names of all instance types in the tables of some releases: the tables do not agree.
type typeRecord struct {
	Module   string   `json:"module"`
	Releases []string `json:"releases"`
	// Date is that of the newest table.
	Date          string   `json:"date"`
	InstanceTypes []string `json:"instanceTypes"`
}

var (
	typeName = regexp.MustCompile(`^[a-z][a-z0-9-]*[0-9][a-z0-9-]*\.[a-z0-9-]+$`)
	made     = regexp.MustCompile(`generated at (\d{4}-\d{2}-\d{2})`)
)

// newestOfMinors returns the last release of each of the newest minor ones.
func newestOfMinors(releases []string) []string {
	var found []string
	for index, release := range releases {
		line := release[:strings.LastIndexByte(release, '.')+1]
		if index+1 == len(releases) || !strings.HasPrefix(releases[index+1], line) {
			found = append(found, release)
		}
	}
	return found[max(0, len(found)-minors):]
}

// readTypes reads the tables of the newest releases.
func (m module) readTypes(releases []string) (*typeRecord, error) {
	names, found := map[string]bool{}, &typeRecord{Module: m.path}
	for _, release := range newestOfMinors(releases) {
		texts, err := m.texts(release)
		if err != nil {
			return nil, err
		}
		for name, text := range texts {
			if !strings.HasPrefix(path.Base(name), "zz_generated.") {
				continue
			}
			for _, date := range made.FindAllSubmatch(text, -1) {
				found.Date = max(found.Date, string(date[1]))
			}
			literals(text, func(literal string) {
				if typeName.MatchString(literal) {
					names[literal] = true
				}
			})
		}
		found.Releases = append(found.Releases, strings.TrimPrefix(release, "v"))
	}
	found.InstanceTypes = sorted(names)
	return found, nil
}

// literals calls a function with each text in a Go file, without its quotes.
func literals(text []byte, each func(string)) {
	var tokens scanner.Scanner
	files := token.NewFileSet()
	tokens.Init(files.AddFile("", files.Base(), len(text)), text, nil, 0)
	for {
		_, kind, literal := tokens.Scan()
		if kind == token.EOF {
			return
		}
		if unquoted, err := strconv.Unquote(literal); err == nil && kind == token.STRING {
			each(unquoted)
		}
	}
}
