package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMixedPrecision compares networks without faults in which the products of matrices are
// bfloat16 and the norms float32, all of them kept as float32: each is judged by the numbers
// that it holds.
func TestMixedPrecision(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"mindspore", "msaccucmp", "msprobe"} {
		folder := filepath.Join("..", "..", "testdata", "golden", "verdict", "amp_bf16_"+tool)
		r := runArgs(t, "compare", "--cpu", filepath.Join(folder, "cpu"), "--npu", filepath.Join(folder, "npu"), "--format", "json")
		var doc struct {
			Summary struct {
				EffectiveType *string `json:"effective_type"`
				Origins       []struct{ Row string }
			}
			Rows []struct{ Op, Status, Type, Kind string }
		}
		if err := json.Unmarshal([]byte(r.out), &doc); err != nil {
			t.Fatalf("%s: exit %d, %v: %s", tool, r.code, err, r.err)
		}
		if r.code != exitOK || len(doc.Summary.Origins) > 0 || doc.Summary.EffectiveType != nil {
			t.Errorf("%s: exit %d, origins %v, effective type %v; want 0 and none", tool, r.code, doc.Summary.Origins, doc.Summary.EffectiveType)
		}
		products, norms := 0, 0
		for _, row := range doc.Rows {
			if row.Kind != "output" {
				continue
			}
			want := ""
			if name := strings.ToLower(row.Op); strings.Contains(name, "matmul") || strings.Contains(name, "linear") {
				want = "bfloat16"
				products++
			} else {
				norms++
			}
			if row.Type != want || row.Status == "FAIL" || row.Status == "WARN" {
				t.Errorf("%s: %s is %s of type %q, want %q", tool, row.Op, row.Status, row.Type, want)
			}
		}
		if products != 4 || norms != 4 {
			t.Errorf("%s: %d products and %d norms, want 4 of each", tool, products, norms)
		}
	}
}

// TestVerdicts compares small runs that earlier rules judged wrong; each folder is named
// after what it shows, and why.txt in it says what is wanted.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "testdata", "golden", "verdict")
	var expected map[string]struct {
		Exit    int
		Origins []string
	}
	raw, err := os.ReadFile(filepath.Join(root, "expect.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &expected); err != nil || len(expected) != 20 {
		t.Fatalf("%d cases, %v; want 20", len(expected), err)
	}
	notes := map[string]string{
		"garbage_rows": "rows that nothing reads", "hf32_conv": "HF32", "random_seed": "random numbers", "relugrad_ties": "not judged", "topk_ties": "indices of 1 tensors differ",
	}
	for name, want := range expected {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := filepath.Join(root, name)
			command, err := os.ReadFile(filepath.Join(folder, "cmd"))
			if err != nil {
				t.Fatal(err)
			}
			_, line, ok := strings.Cut(string(command), "dumptool compare ")
			if !ok {
				t.Fatalf("no command in %q", command)
			}
			args := []string{"compare"}
			for _, arg := range strings.Fields(line) {
				if !strings.HasPrefix(arg, "--") {
					arg = filepath.Join(folder, arg)
				}
				args = append(args, arg)
			}
			r := runArgs(t, append(args, "--format", "json")...)
			var doc struct {
				Summary struct {
					Origins []struct{ Row string }
					Notes   []string
				}
			}
			if err := json.Unmarshal([]byte(r.out), &doc); err != nil {
				t.Fatalf("exit %d, %v: %s", r.code, err, r.err)
			}
			var origins []string
			for _, o := range doc.Summary.Origins {
				op, _, _ := strings.Cut(o.Row, ":output:")
				origins = append(origins, op)
			}
			if r.code != want.Exit || !slices.Equal(origins, want.Origins) {
				t.Errorf("exit %d, origins %q; want %d, %q", r.code, origins, want.Exit, want.Origins)
			}
			if got := strings.Join(doc.Summary.Notes, "; "); !strings.Contains(got, notes[name]) || notes[name] == "" && got != "" {
				t.Errorf("notes %q, want %q", got, notes[name])
			}
		})
	}
}

// TestHF32: a product whose error is that of inputs of 11 bits is a fault where nobody
// computes so.
func TestHF32(t *testing.T) {
	t.Parallel()
	folder := filepath.Join("..", "..", "testdata", "golden", "verdict", "hf32_conv")
	args := []string{"compare", "--cpu", filepath.Join(folder, "cpu"), "--npu", filepath.Join(folder, "npu"), "--consumer-map", filepath.Join(folder, "consumer.map")}
	for flag, want := range map[string]int{"": exitOK, "--hf32": exitOK, "--hf32=on": exitOK, "--hf32=auto": exitOK, "--hf32=off": exitFound} {
		all := args
		if flag != "" {
			all = append(args[:len(args):len(args)], flag)
		}
		if r := runArgs(t, all...); r.code != want {
			t.Errorf("%q: exit %d, want %d: %s", flag, r.code, want, r.out)
		}
	}
}
