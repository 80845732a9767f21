package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// input is a folder that commands run on. It has some of: dumps, cpu,
// consumers.json, compare.json, configs.
type input struct {
	name string
	dir  string
}

// makeInputs makes the inputs below dir: links to the data that is there, and
// the made trees.
func makeInputs(dir string, opt *options) ([]input, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	m := &maker{dir: dir}
	m.link("sample", map[string]string{"dumps": "testdata/sample"})
	m.link("network", map[string]string{"dumps": "testdata/network/npu", "cpu": "testdata/network/cpu"})
	m.link("golden-convert", map[string]string{"dumps": "testdata/golden/convert/dumps"})
	m.link("golden-compare", map[string]string{"dumps": "testdata/golden/compare/npu", "cpu": "testdata/golden/compare/cpu"})
	for i, data := range opt.data {
		m.link("data"+strconv.Itoa(i), map[string]string{"dumps": data})
	}
	for seed := range opt.trees {
		name := "tree" + strconv.Itoa(seed)
		if m.err == nil {
			m.err = errors.Join(writeTree(m.add(name), uint64(seed)), writeConfigs(m.add(name), uint64(seed)))
		}
		m.inputs = append(m.inputs, input{name, m.add(name)})
	}
	for _, in := range m.inputs {
		if m.err == nil && in.has("cpu") {
			m.err = writeDocument(opt.old, in)
		}
	}
	return m.inputs, m.err
}

// maker makes inputs until one fails.
type maker struct {
	dir    string
	inputs []input
	err    error
}

func (m *maker) add(name string) string { return filepath.Join(m.dir, name) }

// link makes an input of folders that are there.
func (m *maker) link(name string, folders map[string]string) {
	dir := m.add(name)
	m.err = errors.Join(m.err, os.MkdirAll(dir, 0o755))
	for as, path := range folders {
		target, err := filepath.Abs(path)
		if err == nil {
			err = os.Symlink(target, filepath.Join(dir, as))
		}
		if errors.Is(err, fs.ErrExist) {
			err = nil // of a folder that was kept
		}
		m.err = errors.Join(m.err, err)
	}
	m.inputs = append(m.inputs, input{name, dir})
}

// writeDocument writes the compare.json that is judged again.
func writeDocument(program []string, in input) error {
	args := append(program[1:len(program):len(program)], "compare", "-q", "--cpu", "cpu", "--npu", "dumps", "--format", "json")
	cmd := exec.Command(program[0], args...)
	cmd.Dir = in.dir
	data, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	return os.WriteFile(filepath.Join(in.dir, "compare.json"), data, 0o666)
}
