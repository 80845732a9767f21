package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// outputs are what a run left: exit status, stdout and stderr under their names,
// and every file that it wrote.
type outputs map[string][]byte

const (
	statusName = "exit status"
	stdoutName = "stdout"
	stderrName = "stderr"
)

// execute runs a command in a folder of its own, in which in stands for the
// folder of the input and out for that of the results, and returns what it left.
// Both builds see the same paths.
func execute(ctx context.Context, program []string, place string, in input, c command) (outputs, error) {
	if err := os.RemoveAll(place); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(place, 0o755); err != nil {
		return nil, err
	}
	if err := os.Symlink(in.dir, filepath.Join(place, "in")); err != nil {
		return nil, err
	}
	var stdout, stderr bytes.Buffer
	args := append(program[1:len(program):len(program)], c.args...)
	cmd := exec.CommandContext(ctx, program[0], args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = place, &stdout, &stderr
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+place, "LC_ALL=C", "NO_COLOR=1")
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	all := outputs{
		statusName: []byte(strconv.Itoa(cmd.ProcessState.ExitCode())),
		stdoutName: stdout.Bytes(), stderrName: stderr.Bytes(),
	}
	err = filepath.WalkDir(place, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(place, path)
		all[filepath.ToSlash(name)] = data
		return err
	})
	for name := range all {
		all[name] = withoutVersion(all[name])
	}
	return all, err
}

// version is what a build says of itself in its reports.
var version = regexp.MustCompile(`dumptool (devel|v?[0-9][\w.+-]*|[0-9a-f]{7,}(-dirty)?)\b`)

func withoutVersion(data []byte) []byte { return version.ReplaceAll(data, []byte("dumptool VERSION")) }

// difference lists what is not the same: the name of the output and the first
// lines that differ.
func difference(before, after outputs, filesOnly bool) []finding {
	var list []finding
	for _, name := range names(before, after) {
		a, inOld := before[name]
		b, inNew := after[name]
		switch {
		case filesOnly && (name == stdoutName || name == stderrName):
		case !inNew:
			list = append(list, finding{output: name, old: "the file", new: "no such file"})
		case !inOld:
			list = append(list, finding{output: name, old: "no such file", new: "the file"})
		case !bytes.Equal(a, b):
			old, now := firstDifference(string(a), string(b))
			list = append(list, finding{output: name, old: old, new: now})
		}
	}
	return list
}

// firstDifference returns the first line that differs, from both sides: all of
// it, or what surrounds the first byte that differs.
func firstDifference(a, b string) (lineOfA, lineOfB string) {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range max(len(x), len(y)) {
		lineOfA, lineOfB = lineAt(x, i), lineAt(y, i)
		if lineOfA != lineOfB {
			break
		}
	}
	const before, longest = 100, 300
	same := 0
	for same < min(len(lineOfA), len(lineOfB)) && lineOfA[same] == lineOfB[same] {
		same++
	}
	start := 0
	if max(len(lineOfA), len(lineOfB)) > longest {
		start = max(0, same-before)
	}
	return lineOfA[start:min(len(lineOfA), start+longest)], lineOfB[start:min(len(lineOfB), start+longest)]
}

func lineAt(lines []string, i int) string {
	if i >= len(lines) {
		return "(end)"
	}
	return lines[i]
}
