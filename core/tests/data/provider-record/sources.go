package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// clones is a directory with clones of the repositories, named as the last part of their modules. A tag that a clone has
// is read there; what it lacks is downloaded as a module.
var clones string

// version is a release, not a candidate of one.
var version = regexp.MustCompile(`^v(\d+)\.(\d+)\.(\d+)$`)

// releases are the module's, oldest first.
func (m module) releases() ([]string, error) {
	known := map[string]bool{}
	tagged, noTags := m.git("tag")
	published, notPublished := run("go", "list", "-m", "-versions", m.path)
	if noTags != nil && notPublished != nil {
		return nil, notPublished
	}
	for _, word := range strings.Fields(string(tagged) + " " + string(published)) {
		if version.MatchString(word) && !older(word, "v"+m.since) {
			known[word] = true
		}
	}
	found := sorted(known)
	sort.Slice(found, func(left, right int) bool { return older(found[left], found[right]) })
	return found, nil
}

func older(left, right string) bool {
	ours, theirs := version.FindStringSubmatch(left), version.FindStringSubmatch(right)
	for index := 1; index <= 3; index++ {
		one, _ := strconv.Atoi(ours[index])
		other, _ := strconv.Atoi(theirs[index])
		if one != other {
			return one < other
		}
	}
	return false
}

// git asks the clone of the module's repository.
func (m module) git(arguments ...string) ([]byte, error) {
	if clones == "" {
		return nil, errors.New("no clones are named")
	}
	return run("git", append([]string{"-C", filepath.Join(clones, path.Base(m.path))}, arguments...)...)
}

// texts are the files of a release that hold the tables, by their path in the module.
func (m module) texts(release string) (map[string][]byte, error) {
	if listed, err := m.git("ls-tree", "-r", "--name-only", release); err == nil {
		return m.archived(release, strings.Fields(string(listed)))
	}
	output, err := run("go", "mod", "download", "-json", m.path+"@"+release)
	var downloaded struct{ Dir, Error string }
	if json.Unmarshal(output, &downloaded) == nil && downloaded.Error != "" {
		return nil, errors.New(downloaded.Error)
	}
	if err != nil {
		return nil, err
	}
	texts := map[string][]byte{}
	walk := func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		inside, err := filepath.Rel(downloaded.Dir, name)
		if err != nil || !m.wants(filepath.ToSlash(inside)) {
			return err
		}
		texts[filepath.ToSlash(inside)], err = os.ReadFile(name)
		return err
	}
	return texts, filepath.WalkDir(downloaded.Dir, walk)
}

// archived reads files of a tag.
func (m module) archived(tag string, listed []string) (map[string][]byte, error) {
	arguments := []string{"archive", "--format=tar", tag, "--"}
	for _, name := range listed {
		if m.wants(name) {
			arguments = append(arguments, name)
		}
	}
	archive, err := m.git(arguments...)
	if err != nil {
		return nil, err
	}
	texts := map[string][]byte{}
	reader := tar.NewReader(bytes.NewReader(archive))
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return texts, nil
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag == tar.TypeReg {
			if texts[header.Name], err = io.ReadAll(reader); err != nil {
				return nil, err
			}
		}
	}
}

func run(name string, arguments ...string) ([]byte, error) {
	command := exec.Command(name, arguments...)
	// Not in this module's directory, where go.mod would take effect.
	command.Dir = os.TempDir()
	var said bytes.Buffer
	command.Stderr = &said
	output, err := command.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w: %s", name, strings.Join(arguments[:min(3, len(arguments))], " "), err, said.Bytes())
	}
	return output, err
}
