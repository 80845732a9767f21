package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"dumptool/internal/dumpfmt"
	"dumptool/internal/dumptest"
	"dumptool/internal/format/npy"
	"dumptool/internal/guard"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
)

// panicking is object storage with a run of two dumps. Reading bad panics from the byte from on;
// with goroutine in a separate goroutine.
type panicking struct {
	store.Objects
	dump      []byte
	from      int64
	goroutine bool
}

const goodKey, badKey = "run/Add.good.1.1.1700000000000001", "run/Add.bad.2.1.1700000000000002"

func (p *panicking) object(key string) store.Object {
	return store.Object{Key: key, Size: int64(len(p.dump)), ModTime: time.Unix(1, 0), ETag: "x"}
}

func (p *panicking) List(_, prefix string, _ bool) (all []store.Object, prefixes []string, err error) {
	for _, key := range []string{badKey, goodKey} {
		if strings.HasPrefix(key, prefix) {
			all = append(all, p.object(key))
		}
	}
	return all, nil, nil
}

func (p *panicking) HasPrefix(_, prefix string) (bool, error) {
	return strings.HasPrefix(goodKey, prefix), nil
}

func (p *panicking) Head(_, key string) (store.Object, error) {
	if key != goodKey && key != badKey {
		return store.Object{}, fs.ErrNotExist
	}
	return p.object(key), nil
}

func (p *panicking) Open(_ string, o store.Object) (store.Source, error) {
	return &panickingSource{bytes.NewReader(p.dump), p, o.Key}, nil
}

type panickingSource struct {
	*bytes.Reader
	of  *panicking
	key string
}

func (s *panickingSource) Close() error { return nil }
func (s *panickingSource) ID() string   { return s.key }

func (s *panickingSource) ReadAt(b []byte, off int64) (n int, err error) {
	read := func() error {
		if s.key == badKey && off+int64(len(b)) > s.of.from {
			panic("bug of the test")
		}
		n, err = s.Reader.ReadAt(b, off)
		return err
	}
	if !s.of.goroutine {
		return n, read()
	}
	done := make(chan error)
	guard.Go(read, func(err error) { done <- err })
	err = <-done
	return n, err
}

// TestReaderPanics: a panic of a reader is the error of its file, at any place, and the other files
// are processed.
func TestReaderPanics(t *testing.T) {
	payload := make([]byte, 1<<16)
	local := t.TempDir()
	var b bytes.Buffer
	err := dumptest.Write(&b, &dumptest.Content{Container: dumpfmt.BinaryV2, OpName: "x", Outputs: []dumptest.TensorContent{{
		Payload: dumptest.Bytes(payload), StoredDType: int32(tensor.Float32), StoredFormat: tensor.FormatWord(tensor.ND), Shape: []uint64{1 << 14}}}})
	for _, key := range []string{goodKey, badKey} {
		if err == nil {
			err = os.WriteFile(filepath.Join(local, filepath.Base(key)), b.Bytes(), 0o600)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	commands := map[string][]string{
		"inspect": {"inspect", "--stats", "s3://b/run"},
		"scan":    {"overflow", "scan", "--all", "s3://b/run"},
		"convert": {"convert", "-d", "s3://b/run", "-out", filepath.Join(local, "out"), "--json"},
		"compare": {"compare", "--cpu", local, "--npu", "s3://b/run", "--json"},
	}
	for name, args := range commands {
		for _, from := range []int64{0, int64(b.Len()) - 8} { // in the header, in the elements
			for _, goroutine := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, from %d, goroutine %v", name, from, goroutine), func(t *testing.T) {
					objects := &panicking{dump: b.Bytes(), from: from, goroutine: goroutine}
					for _, verbose := range []bool{false, true} {
						a, get := testApp(t)
						a.commands = func(a *app) []*cobra.Command {
							all := allCommands(a)
							for _, c := range all {
								useObjects(c, objects)
							}
							return all
						}
						line := args
						if verbose {
							line = append([]string{"--verbose"}, args...)
						}
						r := get(a.run(t.Context(), line))
						if r.code != exitIncomplete {
							t.Errorf("exit status %d, want %d\n%s%s", r.code, exitIncomplete, r.out, r.err)
						}
						wantContains(t, r.out, "Add.good")
						wantContains(t, r.out+r.err, "dumptool has a bug here: bug of the test (--verbose shows where)")
						if traced := strings.Contains(r.err, "panic_test.go"); traced != verbose {
							t.Errorf("verbose %v: where it was is shown %v\n%s", verbose, traced, r.err)
						}
					}
				})
			}
		}
	}
}

// useObjects makes a command and its subcommands read from other object storage than their flags
// say.
func useObjects(c *cobra.Command, objects store.Objects) {
	if work := c.RunE; work != nil {
		c.RunE = func(cmd *cobra.Command, args []string) error {
			store.UseObjects(func() (store.Objects, error) { return objects, nil })
			return work(cmd, args)
		}
	}
	for _, sub := range c.Commands() {
		useObjects(sub, objects)
	}
}

// TestDamagedArchives reads archives with one changed byte, each byte in turn: they give errors of
// their own, and the undamaged archive beside them gives its result.
func TestDamagedArchives(t *testing.T) {
	t.Parallel()
	array, err := npy.AppendHeader(nil, tensor.HostUint8, tensor.Shape{3})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range []string{"first.npy", "second.npy"} {
		entry, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err == nil {
			_, err = entry.Write(append(array, 1, 2, 3))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	whole, damaged := t.TempDir(), t.TempDir()
	write := func(dir, name string, data []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(whole, "good.npz", b.Bytes())
	write(damaged, "good.npz", b.Bytes())
	for i := range b.Len() {
		data := bytes.Clone(b.Bytes())
		data[i] ^= 0xff
		write(damaged, fmt.Sprintf("byte%d.npz", i), data)
	}
	for name, args := range map[string][]string{
		"inspect": {"inspect", "--json", "--stats", damaged},
		"scan":    {"overflow", "scan", "--all", "--json", damaged},
		"compare": {"compare", "--json", "--cpu", whole, "--npu", damaged},
		"plan":    {"compare", "plan", "--cpu", whole, "--npu", damaged, "-out", filepath.Join(t.TempDir(), "plan.jsonl")},
	} {
		t.Run(name, func(t *testing.T) {
			r := runArgs(t, args...)
			if name != "plan" {
				wantContains(t, r.out, "good.npz")
				wantContains(t, r.out, "second")
				if r.code != exitIncomplete {
					t.Errorf("exit status %d, want %d", r.code, exitIncomplete)
				}
			}
			if strings.Contains(r.out+r.err, "has a bug") {
				t.Errorf("a reader panicked:\n%s", r.err)
			}
		})
	}
	// An undamaged tensor is read despite damage to the other tensor and to the magic number.
	r := runArgs(t, "inspect", "--json", "--stats", filepath.Join(damaged, "byte0.npz"))
	wantContains(t, r.out, `"second"`)
	wantContains(t, r.out, `"max":3`)
}
