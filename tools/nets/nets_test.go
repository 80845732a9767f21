package main

import (
	"encoding/json"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/dumptest"
)

// TestRound: values by IEEE 754 and the definition of bfloat16.
func TestRound(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		typ     Type
		x, want float64
	}{
		{F16, 1 + 1.0/2048, 1}, {F16, 1 + 3.0/2048, 1 + 4.0/2048}, {F16, 1 + 1.0/2048 + 1e-9, 1 + 2.0/2048},
		{F16, 65504, 65504}, {F16, 65519.9, 65504}, {F16, 65520, inf}, {F16, -1e9, -inf},
		{F16, math.Ldexp(1, -24), math.Ldexp(1, -24)}, {F16, math.Ldexp(1, -25), 0}, {F16, math.Ldexp(3, -25), math.Ldexp(2, -24)},
		{F16, math.Ldexp(1023.5, -24), math.Ldexp(1, -14)},
		{BF16, 1 + 1.0/256, 1}, {BF16, 1 + 3.0/256, 1 + 4.0/256}, {BF16, 3.0e38, math.Ldexp(226, 120)}, {BF16, 3.3962e38, inf},
		{BF16, math.Ldexp(1, -133), math.Ldexp(1, -133)}, {F32, 16777217, 16777216},
		{I8, 200, 127}, {I8, -2.5, -2}, {I8, 1.5, 2}, {I32, -1e12, math.MinInt32}, {I8, math.NaN(), 0}, {Bool, 3, 1},
	} {
		if got := c.typ.round(c.x); got != c.want {
			t.Errorf("%v of %g: got %g, want %g", c.typ, c.x, got, c.want)
		}
	}
	// An independent float16 conversion.
	for i := range 200000 {
		x := float32(math.Sin(float64(i)) * math.Ldexp(1, i%50-30))
		got := F16.round(float64(x))
		if dumptest.Half(float32(got)) != dumptest.Half(x) || float64(float32(got)) != got {
			t.Fatalf("float16 of %g: got %g", x, got)
		}
	}
}

// TestDot: products are rounded in the order of the machine.
func TestDot(t *testing.T) {
	a, b := []float64{1 << 24, 1, 1, -1 << 24}, []float64{1, 1, 1, 1}
	for _, c := range []struct {
		m    machine
		want float64
	}{{machine{exact: true}, 2}, {machine{block: 4}, 0}, {machine{block: 2}, 1}, {machine{block: 1, sums: 10}, 0}} {
		if got := c.m.dot(a, b); got != c.want {
			t.Errorf("%+v: got %g, want %g", c.m, got, c.want)
		}
	}
}

// TestFamilies: every family shows a strong fault. The same seed gives the same values before the fault, and all
// values fit their types and shapes.
func TestFamilies(t *testing.T) {
	for family := range families {
		n, err := newNet(family, 3)
		if err != nil {
			t.Fatal(err)
		}
		again, f, err := draw(family, 3, "strong")
		if err != nil {
			t.Fatal(err)
		}
		if f == nil {
			t.Errorf("%s: no strong fault shows", family)
			continue
		}
		if len(n.nodes) != len(again.nodes) {
			t.Fatalf("%s: %d operators, then %d", family, len(n.nodes), len(again.nodes))
		}
		before := true
		for i, nd := range n.nodes {
			before = before && again.nodes[i] != f.node
			for k, a := range nd.npu {
				if size(a.Shape) != len(a.V) || size(nd.ref[k].Shape) != len(a.V) {
					t.Fatalf("%s: %s has shape %v and %d elements", family, nd.name, a.Shape, len(a.V))
				}
				for j, x := range a.V {
					if a.Type.round(x) != x && !math.IsNaN(x) {
						t.Fatalf("%s: %s[%d] is %g, which is no %v", family, nd.name, j, x, a.Type)
					}
					if y := again.nodes[i].npu[k].V[j]; before && y != x {
						t.Fatalf("%s: %s, before the fault, differs from the healthy net", family, nd.name)
					}
				}
			}
		}
		if before {
			t.Errorf("%s: the fault is in none of its operators", family)
		}
	}
}

// TestWrite: a network is written in every form, the same bytes each time, and every dumped operator has files on
// both sides.
func TestWrite(t *testing.T) {
	for _, files := range []string{"cann", "cann-both", "msaccucmp", "mindspore", "msprobe-pt", "msprobe-npy", "plain"} {
		var trees [2]map[string]string
		for i := range trees {
			n, f, err := draw("moe", 4, "strong")
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			w, _, err := n.write(dir, form{Files: files, Graph: "fusion", Inputs: true})
			if err != nil {
				t.Fatal(err)
			}
			trees[i] = read(t, dir)
			for _, side := range sides {
				if !slices.ContainsFunc(slices.Collect(maps.Keys(trees[i])), func(path string) bool {
					return strings.HasPrefix(path, side) && strings.Contains(path, w.names[f.node]+".")
				}) {
					t.Errorf("%s: no file of %s on the side %s", files, w.names[f.node], side)
				}
			}
		}
		if !maps.Equal(trees[0], trees[1]) {
			t.Errorf("%s: the same seed gave two different trees", files)
		}
	}
}

// read returns the files below a folder.
func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		all[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestOutcome: the verdict of compare is compared with the truth.
func TestOutcome(t *testing.T) {
	o := &outcome{truth: truth{Mode: "strong", Op: "b"}, exit: 1, origins: []string{"b", "c"}}
	if !o.isNamed() || !o.isFirst() || !o.isWrong() || o.isRight() {
		t.Errorf("%+v: named %v, first %v, wrong %v, right %v", o, o.isNamed(), o.isFirst(), o.isWrong(), o.isRight())
	}
	if text, err := json.Marshal(o.truth); err != nil || !json.Valid(text) {
		t.Error(string(text), err)
	}
	if err := run([]string{"-families", "none", "-keep", t.TempDir()}, os.Stdout); err == nil {
		t.Error("a family that there is not: no error")
	}
}
