package trace_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"dumptool/internal/dumptest/ranktest"
	"dumptool/internal/tensor"
	"dumptool/internal/trace"
)

// stored returns a tensor with elements, recorded a tensor with a digest only.
func stored(digest string, values ...float64) *trace.Tensor {
	t := ranktest.Of(tensor.Float32, values...)
	t.Digest = digest
	return t
}

func recorded(digest string) *trace.Tensor {
	return &trace.Tensor{Name: digest, Digest: digest, Shape: tensor.Shape{2}}
}

// TestEqualSets: digests of one kind decide without elements; otherwise the elements decide, and items without
// elements are left out.
func TestEqualSets(t *testing.T) {
	for _, c := range []struct {
		name  string
		items [][]*trace.Tensor
		want  string // indexes of the items of each set
	}{
		{"nothing", nil, "[]"},
		{"elements", [][]*trace.Tensor{{stored("", 1, 2)}, {stored("", 1, 3)}, {stored("", 1, 2)}}, "[[0 2] [1]]"},
		{"the largest set first", [][]*trace.Tensor{{stored("", 4, 2)}, {stored("", 1, 3)}, {stored("", 1, 3)}}, "[[1 2] [0]]"},
		{"the order of sets of one size", [][]*trace.Tensor{{stored("", 4, 2)}, {stored("", 1, 3)}}, "[[0] [1]]"},
		{"several tensors", [][]*trace.Tensor{{stored("", 1), stored("", 2)}, {stored("", 2), stored("", 1)}, {stored("", 1), stored("", 2)}}, "[[0 2] [1]]"},
		{"another shape", [][]*trace.Tensor{{ranktest.FloatTensor(tensor.Float32, tensor.Shape{2, 1}, []float64{1, 2})}, {stored("", 1, 2)}}, "[[0] [1]]"},
		{"another sign of zero", [][]*trace.Tensor{{stored("", 0, 2)}, {stored("", math.Copysign(0, -1), 2)}}, "[[0] [1]]"},
		{"digests", [][]*trace.Tensor{{recorded("aa")}, {recorded("bb")}, {recorded("aa")}}, "[[0 2] [1]]"},
		{"digests decide before elements", [][]*trace.Tensor{{stored("aa", 1, 2)}, {stored("bb", 1, 2)}}, "[[0] [1]]"},
		{"digests of two kinds", [][]*trace.Tensor{{stored("aa", 1, 2)}, {stored("aaaa", 1, 2)}}, "[[0 1]]"},
		{"a digest beside elements", [][]*trace.Tensor{{recorded("aa")}, {stored("", 1, 2)}, {stored("", 1, 2)}}, "[[1 2]]"},
		{"no tensors", [][]*trace.Tensor{{}, {}}, "[[0 1]]"},
		{"neither digest nor elements", [][]*trace.Tensor{{{Name: "x", Shape: tensor.Shape{2}}}, {stored("", 1, 2)}}, "[[1]]"},
	} {
		d := &trace.Digests{Files: new(trace.Files)}
		numbers := make([]int, len(c.items))
		for i := range numbers {
			numbers[i] = i
		}
		sets := trace.EqualSets(d, numbers, func(i int) []*trace.Tensor { return c.items[i] })
		if got := fmt.Sprint(sets); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestMarkOf: the mark of several tensors equals the mark of their concatenation, wherever it is cut.
func TestMarkOf(t *testing.T) {
	values := ranktest.Normals(tensor.Float32, 3, 40)
	d := &trace.Digests{Files: new(trace.Files)}
	want := d.Mark(stored("", values...))
	for _, cuts := range [][]int{{40}, {20, 40}, {1, 40}, {39, 40}, {10, 20, 30, 40}, {0, 40}} {
		var parts []*trace.Tensor
		from := 0
		for _, end := range cuts {
			parts, from = append(parts, stored("", values[from:end]...)), end
		}
		if got := d.MarkOf(parts); got != want {
			t.Errorf("cut at %v: %s, want %s", cuts, got, want)
		}
		slices.Reverse(parts)
		if got := d.MarkOf(parts); len(parts) > 1 && cuts[0] > 0 && got == want {
			t.Errorf("cut at %v in the other order: %s too", cuts, got)
		}
	}
	whole, part := stored("12345678", values...), stored("87654321", values[:7]...)
	if got := d.ElementMark(whole); got != want {
		t.Errorf("beside a digest of the dump: %s, want %s", got, want)
	}
	if got := d.MarkOf([]*trace.Tensor{part, stored("", values[7:]...)}); got != want {
		t.Errorf("parts beside a digest of the dump: %s, want %s", got, want)
	}
	if got := d.MarkOf([]*trace.Tensor{stored("", 1), recorded("aa")}); got != "" {
		t.Errorf("a part without elements: %s", got)
	}
}

// TestEqual: two tensors, and whether they are known to be equal.
func TestEqual(t *testing.T) {
	for _, c := range []struct {
		name         string
		a, b         *trace.Tensor
		equal, known bool
	}{
		{"elements", stored("", 1, 2), stored("", 1, 2), true, true},
		{"other elements", stored("", 1, 2), stored("", 2, 1), false, true},
		{"another shape", stored("", 1, 2), stored("", 1, 2, 3), false, true},
		{"digests", recorded("aa"), recorded("aa"), true, true},
		{"other digests", recorded("aa"), recorded("ab"), false, true},
		{"digests of two kinds", recorded("aa"), recorded("aaaa"), false, false},
		{"a digest and elements", recorded("aa"), stored("", 1, 2), false, false},
	} {
		d := &trace.Digests{Files: new(trace.Files)}
		if equal, known := d.Equal(c.a, c.b); equal != c.equal || known != c.known {
			t.Errorf("%s: %v, known %v", c.name, equal, known)
		}
	}
}

// TestReadAll: an unreadable tensor is reported once, however often it is read.
func TestReadAll(t *testing.T) {
	broken := stored("", 1, 2)
	broken.Shape = tensor.Shape{3} // more than the file has
	all := []*trace.Tensor{broken}
	for i := range 100 {
		all = append(all, stored("", float64(i), 7))
	}
	d := &trace.Digests{Files: new(trace.Files)}
	if err := d.ReadAll(t.Context(), 2, slices.Clone(all)); err != nil {
		t.Fatal(err)
	}
	if len(d.Errs) != 1 || d.Mark(broken) != "" || len(d.Errs) != 1 {
		t.Errorf("%d errors: %v", len(d.Errs), d.Errs)
	}
	marks := make(map[string]bool)
	for _, x := range all[1:] {
		if d.Cached(x) != d.Mark(x) {
			t.Error("the digest of a tensor that was read is not known")
		}
		marks[d.Mark(x)] = true
	}
	if len(marks) != 100 || marks[""] {
		t.Errorf("%d digests of 100 tensors", len(marks))
	}
	if got := d.Cached(stored("", 1, 2)); got != "" {
		t.Errorf("the digest %s is known of a tensor that nobody read", got)
	}
}

// TestNumbers: whether a tensor has NaN or infinities, and whether all elements are the same.
func TestNumbers(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(-1)
	for _, c := range []struct {
		name            string
		x               *trace.Tensor
		uniform, finite bool
	}{
		{"numbers", stored("", 1, 2, 3), false, true},
		{"one number", stored("", 5, 5, 5), true, true},
		{"zeros of both signs", stored("", 0, math.Copysign(0, -1)), true, true},
		{"NaN among numbers", stored("", 1, nan, 2), false, false},
		{"NaN beside one number", stored("", nan, 4, 4), true, false},
		{"NaN alone", stored("", nan, nan), true, false},
		{"an infinity", stored("", inf, 4, 5), false, false},
		{"integers", ranktest.IntTensor(tensor.Shape{3}, []int32{4, 4, 4}), true, true},
	} {
		d := &trace.Digests{Files: new(trace.Files)}
		if got := d.IsUniform(c.x); got != c.uniform {
			t.Errorf("%s: uniform %v", c.name, got)
		}
		if got := d.IsNotFinite(c.x); got == c.finite {
			t.Errorf("%s: not finite %v", c.name, got)
		}
		if got := d.AreFinite([]*trace.Tensor{c.x}, true); got != c.finite {
			t.Errorf("%s: finite %v", c.name, got)
		}
	}
	d := &trace.Digests{Files: new(trace.Files)}
	if d.AreFinite(nil, true) || d.AreFinite([]*trace.Tensor{recorded("aa")}, true) {
		t.Error("nothing is known of no tensors, and of a digest")
	}
	if !d.AreFinite([]*trace.Tensor{stored("", nan)}, false) {
		t.Error("elements were read that do not matter")
	}
}
