package determinism

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dumptool/internal/compare/plan"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/format/npy"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"

	"github.com/google/go-cmp/cmp"
)

// twice returns a tensor of 10 elements, some of them doubled.
func twice(doubled ...int) []byte {
	v := ramp(10)
	for _, i := range doubled {
		v[i] *= 2
	}
	return array(tensor.Float32, tensor.Shape{10}, v...)
}

func TestDeterminism(t *testing.T) {
	text := func(s string) []byte {
		return dumpOf(t, tensor.String, 4, []byte(s))
	}
	const dump = "Op.x.1.2.1600000000000000"
	// raw is an array of one element with the given bytes.
	raw := func(d tensor.DType, data ...byte) []byte {
		head, err := npy.AppendHeader(nil, d.Host(), tensor.Shape{1})
		if err != nil {
			t.Fatal(err)
		}
		return append(head, data...)
	}
	bfloat := func(bits ...uint16) []byte {
		var data []byte
		for _, b := range bits {
			data = binary.LittleEndian.AppendUint16(data, b)
		}
		return dumpOf(t, tensor.BFloat16, len(bits), data)
	}
	flat := array(tensor.Float32, tensor.Shape{10}, ramp(10)...)
	tests := []struct {
		name     string
		file     string
		runs     [][]byte // nil if the run has no such tensor
		distinct int
		differ   []int64
		first    int64
		places   Places
		why      string
	}{
		{"the same", "x.npy", [][]byte{twice(), twice(), twice()}, 1, []int64{0, 0, 0}, -1, UnknownPlaces, ""},
		{"one element", "x.npy", [][]byte{twice(), twice(7)}, 2, []int64{0, 1}, 7, UnknownPlaces, ""},
		{"one of three runs", "x.npy", [][]byte{twice(), twice(7), twice()}, 2, []int64{0, 1, 0}, 7, UnknownPlaces, ""},
		{"same places", "x.npy", [][]byte{twice(3, 7), twice(), array(tensor.Float32, tensor.Shape{10}, 1, 2, 3, 9, 5, 6, 7, 9, 9, 10)}, 3, []int64{0, 2, 2}, 3, SamePlaces, ""},
		{"another in one of three runs", "x.npy", [][]byte{twice(7), twice(), twice()}, 2, []int64{0, 1, 1}, 7, UnknownPlaces, ""},
		{"scattered", "x.npy", [][]byte{twice(), twice(3), twice(4)}, 3, []int64{0, 1, 1}, 3, Scattered, ""},
		{"another shape of the same bytes", "x.npy", [][]byte{flat, array(tensor.Float32, tensor.Shape{2, 5}, ramp(10)...)}, 2, []int64{0, 0}, -1, UnknownPlaces, "(2, 5)"},
		{"another type", "x.npy", [][]byte{flat, array(tensor.Int32, tensor.Shape{10}, ramp(10)...)}, 2, []int64{0, 0}, -1, UnknownPlaces, "int32"},
		{"two other shapes", "x.npy", [][]byte{flat, array(tensor.Float32, tensor.Shape{2, 5}, ramp(10)...), array(tensor.Float32, tensor.Shape{5, 2}, ramp(10)...)}, 3, []int64{0, 0, 0}, -1, UnknownPlaces, "(2, 5)"},
		{"missing in a run", "x.npy", [][]byte{twice(), nil, twice(2)}, 2, []int64{0, 0, 1}, -1, UnknownPlaces, ""},
		{"no numbers, the same", dump, [][]byte{text("abcd"), text("abcd")}, 1, []int64{0, 0}, -1, UnknownPlaces, ""},
		{"no numbers", dump, [][]byte{text("abcd"), text("abce")}, 2, []int64{0, 0}, -1, UnknownPlaces, "string"},
		{"raw bytes", "x.bin", [][]byte{{1, 2, 3}, {1, 2, 4}}, 2, []int64{0, 1}, 2, UnknownPlaces, ""},
		{"empty", "x.npy", [][]byte{array(tensor.Float32, tensor.Shape{0}), array(tensor.Float32, tensor.Shape{0})}, 1, []int64{0, 0}, -1, UnknownPlaces, ""},
		{"minus zero", "x.npy", [][]byte{array(tensor.Float32, tensor.Shape{1}, 0), raw(tensor.Float32, 0, 0, 0, 0x80)}, 2, []int64{0, 0}, -1, UnknownPlaces, "equal in value, not in bits: 0 and -0 (1), first at 0"},
		{"payload of NaN", "x.npy", [][]byte{raw(tensor.Float16, 0, 0x7e), raw(tensor.Float16, 1, 0xfe)}, 2, []int64{0, 0}, -1, UnknownPlaces, "NaN of another payload (1), first at 0"},
		{"NaN and a number", "x.npy", [][]byte{raw(tensor.Float16, 0, 0x7e), raw(tensor.Float16, 0, 0)}, 2, []int64{0, 1}, 0, UnknownPlaces, ""},
		{"codes of true", "x.npy", [][]byte{raw(tensor.Bool, 1), raw(tensor.Bool, 2)}, 2, []int64{0, 0}, -1, UnknownPlaces, "another code of the same value (1)"},
		{"several kinds", dump, [][]byte{bfloat(0x3f80, 0x7fc0, 0, 0x8000), bfloat(0x3f80, 0xffc1, 0x8000, 0)}, 2, []int64{0, 0}, -1, UnknownPlaces, "0 and -0 (2), NaN of another payload (1), first at 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			var opt Options
			missing := 0
			for i, data := range tt.runs {
				run := filepath.Join(dir, string(rune('a'+i)))
				opt.Runs = append(opt.Runs, run)
				write(t, filepath.Join(run, "other.npy"), twice())
				if data == nil {
					missing++
					continue
				}
				write(t, filepath.Join(run, tt.file), data)
			}
			d, err := Check(context.Background(), opt)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(d.Rows, func(r Row) bool { return r.Op == "x" })
			if len(d.Rows) != 2 || i < 0 {
				t.Fatalf("%d rows, want x and another", len(d.Rows))
			}
			row := &d.Rows[i]
			if row.Distinct != tt.distinct || row.Places != tt.places || row.Err != nil || len(d.Missing) != missing {
				t.Errorf("%d contents, places %q, error %v, missing %v; want %d, %q and %d missing", row.Distinct, row.Places, row.Err, d.Missing, tt.distinct, tt.places, missing)
			}
			if d.Differing != min(tt.distinct-1, 1) || d.Unread != 0 || (d.FirstRow() == i) != (tt.distinct > 1) {
				t.Errorf("%d differ, %d unread, the first is %d", d.Differing, d.Unread, d.FirstRow())
			}
			var differ []int64
			for _, drift := range row.Drifts {
				differ = append(differ, drift.Differ)
			}
			if diff := cmp.Diff(tt.differ, differ); diff != "" {
				t.Errorf("differing elements (-want +got):\n%s", diff)
			}
			second := &row.Drifts[1]
			if got := int64(-1); second.First != nil || tt.first >= 0 {
				if second.First != nil {
					got = *second.First
				}
				if got != tt.first {
					t.Errorf("the first differing element is %d, want %d", got, tt.first)
				}
			}
			if second.Why.IsZero() != (tt.why == "") || !strings.Contains(second.Why.String(), tt.why) {
				t.Errorf("not compared because %q, want %q", second.Why, tt.why)
			}
		})
	}
}

// TestDeterminismExecutions has operators that ran several times in one folder.
func TestDeterminismExecutions(t *testing.T) {
	const early, late = "Add.x.1.2.160000000000000", "Add.x.1.2.170000000000000"
	// run writes files of one element each, by name.
	type run map[string]float64
	tests := []struct {
		name    string
		runs    []run
		rows    []string
		missing []string
		leftOut []string
	}{
		{"as many", []run{{"x.0.100.npy": 1, "x.0.200.npy": 2}, {"x.0.101.npy": 1, "x.0.1000.npy": 2}},
			[]string{"x:output:0 execution 1 PASS", "x:output:0 execution 2 PASS"}, nil, nil},
		{"the first differs", []run{{early + "1": 1, early + "2": 2, "b.npy": 1}, {late + "3": 7, late + "4": 2, "b.npy": 1}, {late + "5": 1, late + "6": 2, "b.npy": 1}},
			[]string{"b:output:0 PASS", "x:output:0 execution 1 FAIL", "x:output:0 execution 2 PASS"}, nil, nil},
		{"one more in a run", []run{{early + "1": 1, early + "2": 2}, {late + "3": 7, late + "4": 1, late + "5": 2}},
			[]string{"x:output:0 PASS"}, []string{"x:output:0: executed 2 times in r0, 3 times in r1: only the last executions were compared"},
			[]string{"r0/" + early + "1: an earlier execution", "r1/" + late + "3: an earlier execution", "r1/" + late + "4: an earlier execution"}},
		{"once in a run", []run{{early + "1": 2}, {late + "3": 7, late + "4": 2}},
			[]string{"x:output:0 PASS"}, []string{"x:output:0: executed 1 time in r0, 2 times in r1: only the last executions were compared"},
			[]string{"r1/" + late + "3: an earlier execution"}},
		{"no certain order", []run{{early + "1": 1, "Add.x.3.4.1600000000000001": 1, early + "2": 2}, {late + "3": 1, late + "4": 1, late + "5": 2}},
			[]string{"x:output:0 PASS"}, []string{"x:output:0: executed 3 times in r0, 3 times in r1, in an uncertain order: only the last executions were compared"},
			[]string{"r0/" + early + "1: an earlier execution", "r0/Add.x.3.4.1600000000000001: an earlier execution", "r1/" + late + "3: an earlier execution", "r1/" + late + "4: an earlier execution"}},
		{"not in a run", []run{{early + "1": 1, early + "2": 2, "b.npy": 1}, {"b.npy": 1}},
			[]string{"b:output:0 PASS"}, []string{"x:output:0: not in r1"}, []string{"r0/" + early + "1: an earlier execution, and not in r1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			opt := Options{OrderBy: dumpdir.ByName}
			for i, files := range tt.runs {
				path := filepath.Join(dir, fmt.Sprint("r", i))
				opt.Runs = append(opt.Runs, path)
				for name, v := range files {
					data := array(tensor.Float32, tensor.Shape{1}, v)
					if n := filename.Parse(name); n.IsDump() {
						data = dumpOf(t, tensor.Float32, 1, stored(tensor.Float32, v))
					}
					write(t, filepath.Join(path, name), data)
				}
			}
			d, err := Check(context.Background(), opt)
			if err != nil {
				t.Fatal(err)
			}
			var rows []string
			for i := range d.Rows {
				rows = append(rows, d.Rows[i].Name()+" "+string(d.Rows[i].Status))
			}
			short := func(lines []lang.Sentence) []string {
				var all []string
				for _, l := range lines {
					all = append(all, strings.ReplaceAll(filepath.ToSlash(l.String()), filepath.ToSlash(dir)+"/", ""))
				}
				slices.Sort(all)
				return all
			}
			for what, lists := range map[string][2][]string{
				"rows": {tt.rows, rows}, "missing": {tt.missing, short(d.Missing)}, "left out": {tt.leftOut, short(d.LeftOut)},
			} {
				if diff := cmp.Diff(lists[0], lists[1]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
			if d.IsComplete() != (tt.missing == nil) {
				t.Errorf("whole: %v", d.IsComplete())
			}
		})
	}
}

// TestDeterminismLeavesOut has tensors that the user excludes.
func TestDeterminismLeavesOut(t *testing.T) {
	dir := t.TempDir()
	opt := Options{OrderBy: dumpdir.ByName, Pair: plan.PairOptions{SkipKeys: []string{"Span"}, Rounds: plan.Rounds{Last: true}}}
	for _, run := range []string{"1", "2", "3"} {
		opt.Runs = append(opt.Runs, tree(t, filepath.Join(dir, run), "0/a.npy", "1/a.npy", "0/aSpan.npy"))
	}
	d, err := Check(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Rows) != 1 || d.Rows[0].Status != record.Pass || len(d.Missing) > 0 || d.IsComplete() {
		t.Errorf("%d rows, missing %v, whole %v", len(d.Rows), d.Missing, d.IsComplete())
	}
	if diff := cmp.Diff([]lang.Sentence{lang.Plain("round 0: not chosen")}, d.LeftOut); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	opt.Pair = plan.PairOptions{Ops: names(t, "aSpan")}
	if d, err = Check(context.Background(), opt); err != nil || len(d.Rows) != 1 || len(d.LeftOut) > 0 || d.IsComplete() {
		t.Errorf("one of two operators: %+v, %v", d, err)
	}
}

// TestDeterminismSameRun compares a folder with itself.
func TestDeterminismSameRun(t *testing.T) {
	dir := t.TempDir()
	a, b := tree(t, filepath.Join(dir, "a"), "x.npy"), tree(t, filepath.Join(dir, "b"), "x.npy")
	for _, tt := range []struct {
		runs     []string
		warnings int
	}{{[]string{a, b}, 0}, {[]string{a, a}, 1}, {[]string{a, b, filepath.Join(dir, ".", "b") + string(filepath.Separator)}, 1}, {[]string{a, a, a}, 2}} {
		d, err := Check(context.Background(), Options{Runs: tt.runs})
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Warnings) != tt.warnings || tt.warnings > 0 && !strings.Contains(d.Warnings[0].String(), "are the same folder") {
			t.Errorf("%v: warnings %q, want %d", tt.runs, d.Warnings, tt.warnings)
		}
	}
}

// TestDeterminismOrder has tensors that some run lacks; the others stay in order.
func TestDeterminismOrder(t *testing.T) {
	dir := t.TempDir()
	opt := Options{OrderBy: dumpdir.ByName, Runs: []string{
		tree(t, filepath.Join(dir, "1"), "a.npy", "b.npy", "c.npy", "e.npy"), tree(t, filepath.Join(dir, "2"), "b.npy", "c.npy", "d.npy"), tree(t, filepath.Join(dir, "3"), "a.npy", "c.npy"),
	}}
	write(t, filepath.Join(dir, "2", "c.npy"), []byte("broken"))
	d, err := Check(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range d.Rows {
		got = append(got, d.Rows[i].Op+" "+string(d.Rows[i].Status))
	}
	if diff := cmp.Diff([]string{"a PASS", "b PASS", "c ERROR"}, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if d.Unread != 1 || d.First != nil || len(d.Missing) != 5 {
		t.Errorf("%d unread, first %d, missing %v; want 1, none, and 5 missing", d.Unread, d.First, d.Missing)
	}
	empty := t.TempDir()
	for _, runs := range [][]string{{opt.Runs[0], empty}, {opt.Runs[0], tree(t, filepath.Join(dir, "4"), "z.npy")}} {
		if d, err := Check(context.Background(), Options{Runs: runs}); !errors.Is(err, plan.ErrNothing) || d != nil {
			t.Errorf("%v: error %v, want nothing to compare", runs, err)
		}
	}
	unread := filepath.Join(dir, "5")
	write(t, filepath.Join(unread, "z.npz"), []byte("PK broken"))
	if d, err := Check(context.Background(), Options{Runs: []string{opt.Runs[0], unread}}); err == nil || errors.Is(err, plan.ErrNothing) || !strings.Contains(err.Error(), "z.npz") || d != nil {
		t.Errorf("a file without a partner that cannot be read: error %v, want one that names it", err)
	}
	if d, err := Check(canceled(), opt); !errors.Is(err, context.Canceled) || d != nil {
		t.Errorf("canceled: %v", err)
	}
}
