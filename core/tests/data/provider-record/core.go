package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// karpenter is the module of Karpenter itself.
const karpenter = "sigs.k8s.io/karpenter"

// coreRecord is one line of the file: from which release on a provider contains which release of Karpenter.
type coreRecord struct {
	Module string      `json:"module"`
	Core   [][2]string `json:"core"`
}

// add notes what a release contains, if the one before it contains another.
func (r *coreRecord) add(release, core string) {
	if count := len(r.Core); count == 0 || r.Core[count-1][1] != core {
		r.Core = append(r.Core, [2]string{release, core})
	}
}

var (
	// required is Karpenter's release in go.mod, also by the name of its module until 0.32.
	required = regexp.MustCompile(`(?m)(?:sigs\.k8s\.io/karpenter|github\.com/aws/karpenter-core) (v\S+)`)
	// replaced is a commit of Karpenter that is used instead of a release.
	replaced = regexp.MustCompile(`(?m)=> github\.com/kubernetes-sigs/karpenter (v\S+)`)
	// commit is the version of a commit that is not known as a release.
	commit = regexp.MustCompile(`^v(\d+)\.(\d+)\.(\d+)-0\.\d{14}-([0-9a-f]{12})$`)
)

// readCore is the release of Karpenter that a release of the provider contains, by its go.mod.
func (m module) readCore(release string, text []byte) (string, error) {
	named := required.FindSubmatch(text)
	if other := replaced.FindSubmatch(text); other != nil {
		named = other
	}
	if named == nil {
		return "", fmt.Errorf("go.mod of %s %s requires no Karpenter", m.path, release)
	}
	core := string(named[1])
	if parts := commit.FindStringSubmatch(core); parts != nil {
		core = releaseOf(parts)
	}
	return strings.TrimPrefix(core, "v"), nil
}

// releaseOf is the release of a commit, if a clone of Karpenter says that it is one, else the one before it.
func releaseOf(parts []string) string {
	if clones != "" {
		tags, _ := run("git", "-C", filepath.Join(clones, "karpenter"), "tag", "--points-at", parts[4])
		for _, tag := range strings.Fields(string(tags)) {
			if version.MatchString(tag) {
				return tag
			}
		}
	}
	patch, _ := strconv.Atoi(parts[3])
	return fmt.Sprintf("v%s.%s.%d", parts[1], parts[2], patch-1)
}
