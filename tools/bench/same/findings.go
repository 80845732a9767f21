package main

import (
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
)

// finding is one output that differs.
type finding struct {
	output   string
	old, new string // the first lines that differ
}

// group is the findings of one command and one kind of output.
type group struct {
	count   int
	example finding
	input   string
}

// findings groups what differs by command and kind of output.
type findings struct{ groups map[string]*group }

func newFindings() *findings { return &findings{map[string]*group{}} }

func (f *findings) add(in string, c command, list []finding) {
	for _, one := range list {
		key := c.name + ": " + kind(one.output)
		g := f.groups[key]
		if g == nil {
			g = &group{}
			f.groups[key] = g
		}
		if g.count == 0 || in < g.input {
			g.example, g.input = one, in
		}
		g.count++
	}
}

// kind is the sort of an output: files of a kind are named by their extension.
func kind(output string) string {
	if ext := path.Ext(output); ext != "" {
		return "*" + ext
	}
	return path.Base(output)
}

// print prints the groups, each with an example. It returns errDiffer if there
// are any.
func (f *findings) print(w io.Writer, runs int) error {
	for _, key := range slices.Sorted(maps.Keys(f.groups)) {
		g := f.groups[key]
		fmt.Fprintf(w, "%s: %d differ, such as %s of %s\n  - %s\n  + %s\n", key, g.count, g.example.output, g.input, g.example.old, g.example.new)
	}
	fmt.Fprintf(w, "%d runs of both builds, %d kinds of differences\n", runs, len(f.groups))
	if len(f.groups) > 0 {
		return errDiffer
	}
	return nil
}

// names are those of all outputs of both runs, sorted.
func names(a, b outputs) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}
