package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// goldenCase is one case of testdata/golden/convert/cases.json.
type goldenCase struct {
	ID   string   `json:"id"`
	Dump string   `json:"dump"`
	Args []string `json:"args"`
	Exit int      `json:"exit"`
}

// TestConvertGolden converts every golden dump and compares the files byte for
// byte with those that numpy wrote.
func TestConvertGolden(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "testdata", "golden", "convert")
	text, err := os.ReadFile(filepath.Join(root, "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []goldenCase
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 100 {
		t.Fatalf("%d golden cases, want more than 100", len(cases))
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "out")
			args := append([]string{"convert", "-d", filepath.Join(root, "dumps", c.Dump), "-out", out}, c.Args...)
			r := runArgs(t, args...)
			if c.Exit != 0 {
				if r.code != exitIncomplete || r.err == "" {
					t.Errorf("exit %d, message %q", r.code, r.err)
				}
				if files := readDir(t, out); len(files) > 0 {
					t.Errorf("wrote %d files", len(files))
				}
				return
			}
			if r.code != exitOK {
				t.Fatalf("exit %d: %s", r.code, r.err)
			}
			got, want := readDir(t, out), readDir(t, filepath.Join(root, "expect", c.ID))
			for name, data := range want {
				if !sameFile(name, got[name], data) {
					t.Errorf("%s differs", name)
				}
				delete(got, name)
			}
			for name := range got {
				t.Errorf("%s is not expected", name)
			}
		})
	}
}

func readDir(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if files[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// sameFile compares two files byte for byte; a float32 NaN equals any other.
func sameFile(name string, got, want []byte) bool {
	if bytes.Equal(got, want) {
		return true
	}
	const header = 128 // of every golden array
	if !strings.HasSuffix(name, ".npy") || len(got) != len(want) || len(got) < header ||
		!bytes.Equal(got[:header], want[:header]) || !bytes.Contains(want[:header], []byte("'<f4'")) {
		return false
	}
	for i := header; i < len(want); i += 4 {
		a, b := binary.LittleEndian.Uint32(got[i:]), binary.LittleEndian.Uint32(want[i:])
		if a != b && !(math.IsNaN(float64(math.Float32frombits(a))) && math.IsNaN(float64(math.Float32frombits(b)))) {
			return false
		}
	}
	return true
}
