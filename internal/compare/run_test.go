package compare

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"dumptool/internal/batch"
	"dumptool/internal/compare/conclude"
	"dumptool/internal/compare/execute"
	"dumptool/internal/compare/limits"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/tensor"
)

// mixedPairs writes a network of pairs with these numbers of elements, of which the fifth fails, and one pair for
// each other outcome.
func mixedPairs(t testing.TB, sizes ...int64) (ref, npu string) {
	t.Helper()
	dir := t.TempDir()
	ref, npu = filepath.Join(dir, "ref"), filepath.Join(dir, "npu")
	rng := rand.New(rand.NewPCG(1, 2))
	for i, n := range sizes {
		a, b := make([]float64, n), make([]float64, n)
		for k := range a {
			a[k] = rng.NormFloat64()
			b[k] = a[k] * (1 + 1e-3*rng.NormFloat64())
			if i == 4 && k%100 == 0 {
				b[k] += 3
			}
		}
		write(t, filepath.Join(ref, fmt.Sprintf("op%d.npy", i)), array(tensor.Float32, tensor.Shape{n}, a...))
		write(t, filepath.Join(npu, fmt.Sprintf("op%d.npy", i)), array(tensor.Float16, tensor.Shape{n}, b...))
	}
	write(t, filepath.Join(ref, "op9.npy"), array(tensor.Int8, tensor.Shape{3}, 1, 2, 3))
	write(t, filepath.Join(npu, "op9.npy"), array(tensor.Int8, tensor.Shape{2}, 1, 2))
	write(t, filepath.Join(ref, "op10.npy"), []byte("broken"))
	write(t, filepath.Join(npu, "op10.npy"), array(tensor.Int8, tensor.Shape{2}, 1, 2))
	write(t, filepath.Join(ref, "op11.npy"), array(tensor.Int8, tensor.Shape{2}, 1, 2))
	return ref, npu
}

// mixedNet is mixedPairs with a pair of more than one segment.
func mixedNet(t testing.TB) (ref, npu string) {
	t.Helper()
	ref, npu = mixedPairs(t, 0, 1, 7, 1000, metrics.ReadElements, metrics.ReadElements+1, 3*metrics.ReadElements-5, 300)
	large := make([]byte, metrics.SegmentElements+777)
	for i := range large {
		large[i] = byte(i * i % 97)
	}
	shape := tensor.Shape{int64(len(large))}
	write(t, filepath.Join(ref, "op8.npy"), append(array(tensor.Int8, shape), large...))
	large[metrics.SegmentElements+3] += 20
	large[17] += 20
	write(t, filepath.Join(npu, "op8.npy"), append(array(tensor.Int8, shape), large...))
	return ref, npu
}

func hpaa(ref, npu string) conclude.Options {
	o := exactly(ref, npu)
	o.Judge.Limits.Profile = limits.ProfileHPAA
	return o
}

// sameFacts compares the facts of two pairs, without verdicts, numbers by their bits.
func sameFacts(a, b *record.Row) string {
	text := cmp.Transformer("text", func(e error) string { return fmt.Sprint(e) })
	bits := func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
	bits32 := func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }
	whole := func(a, b []float32) bool { return slices.EqualFunc(a, b, bits32) } // cmp.Diff is slow for long slices
	return cmp.Diff(a, b, cmpopts.IgnoreFields(record.Row{}, "Verdict"), cmp.Comparer(bits), cmp.Comparer(bits32), cmp.Comparer(whole), text)
}

// sameReports compares all content of two reports.
func sameReports(a, b *record.Report) string {
	text := cmp.Transformer("text", func(e error) string { return fmt.Sprint(e) })
	return cmp.Diff(a, b, cmpopts.EquateNaNs(), cmpopts.IgnoreUnexported(record.Report{}), text)
}

// TestFactsOfPairs: verdicts of a round leave the facts of its pairs unchanged.
func TestFactsOfPairs(t *testing.T) {
	ref, npu := mixedNet(t)
	for name, opt := range map[string]conclude.Options{"mixed": hpaa(ref, npu), "damaged": transformer(6, 3).options(t, false)} {
		for _, mode := range limits.VerdictModes() {
			opt.Judge.Verdict.Mode = mode
			plan, err := New(t.Context(), opt)
			if err != nil {
				t.Fatal(err)
			}
			parts, err := plan.Execute(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			_, rep := planned(t, opt)
			failed := 0
			for i, part := range parts {
				if part.Row.Status != "" {
					t.Fatalf("%s by %s: %s has the verdict %s before it is judged", name, mode, part.Row.Op, part.Row.Status)
				}
				if len(part.Row.Patterns) > 0 || part.Row.Uneven != nil {
					failed++
				}
				if diff := sameFacts(part.Row, &rep.Rows[i]); diff != "" {
					t.Errorf("%s by %s: facts of %s (-before +after the judgement):\n%s", name, mode, part.Row.Op, diff)
				}
			}
			if failed == 0 && mode != limits.ByStatistics {
				t.Errorf("%s by %s: no pair shows how it is bad", name, mode)
			}
		}
	}
}

// TestSameResult: reports are equal for every number of workers; the large pair is split among workers.
func TestSameResult(t *testing.T) {
	deep := transformer(6, 3).options(t, true)
	deep.Workers = 1
	one := runAll(t, deep)
	for _, workers := range []int{2, 5} {
		deep.Workers = workers
		if diff := sameReports(one, runAll(t, deep)); diff != "" {
			t.Errorf("by evidence, %d workers:\n%s", workers, diff)
		}
	}
	ref, npu := mixedNet(t)
	opt := hpaa(ref, npu)
	opt.KLD = true
	var first *record.Report
	for _, workers := range []int{1, 2, 7} {
		opt.Workers = workers
		rep := runAll(t, opt)
		if first != nil {
			if diff := sameReports(first, rep); diff != "" {
				t.Errorf("%d workers:\n%s", workers, diff)
			}
			continue
		}
		first = rep
		want := map[record.Status]int{record.Pass: 7, record.Fail: 2, record.ShapeMismatch: 1, record.Error: 1, record.UnmatchedRef: 1}
		if diff := cmp.Diff(want, rep.Counts); diff != "" {
			t.Fatalf("outcomes (-want +got):\n%s\n%v", diff, lines(rep))
		}
		row := &rep.Rows[8]
		if row.Errors != 2 || row.First.Offset != 17 || row.Result.Beyond.Last.Offset != metrics.SegmentElements+3 {
			t.Errorf("%s has %d errors from %+v", row.Name(), row.Errors, row.First)
		}
	}
}

// TestAnySplit executes the pairs of a plan in any split and any order, each share by its own plan: the facts of a
// row are equal to the bit, and so is the report of all rows, whichever way a row fails.
func TestAnySplit(t *testing.T) {
	ref, npu := mixedPairs(t, 0, 1, 7, 1000, metrics.ReadElements+1, 300)
	mixed := hpaa(ref, npu)
	mixed.Baseline = &conclude.Baseline{Rows: []conclude.BaselineEntry{{RowKey: record.RowKey{Op: "op4"}, Status: record.Pass}, {RowKey: record.RowKey{Op: "gone"}, Status: record.Pass}}}
	byEvidence := mixed
	byEvidence.Judge.Verdict.Mode = limits.ByEvidence
	options := []conclude.Options{mixed, byEvidence, transformer(2, 1).options(t, true)}
	for i := range options {
		options[i].Workers, options[i].Points = 2, 4
	}
	facts, reports := make([][]execute.Part, len(options)), make([]*record.Report, len(options))
	for i := range options {
		plan, err := New(t.Context(), options[i])
		if err != nil {
			t.Fatal(err)
		}
		if facts[i], err = plan.Execute(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		reports[i] = runAll(t, options[i])
	}
	rapid.Check(t, func(t *rapid.T) {
		which := rapid.IntRange(0, len(options)-1).Draw(t, "options")
		plan := func() *Run {
			p, err := New(context.Background(), options[which])
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		shares := make([]*Run, rapid.IntRange(1, 4).Draw(t, "shares"))
		for i := range shares {
			shares[i] = plan()
		}
		want := facts[which]
		parts := make([]execute.Part, len(want))
		order := make([]int, len(want))
		for i := range order {
			order[i] = i
		}
		for _, i := range rapid.Permutation(order).Draw(t, "order") {
			share := shares[rapid.IntRange(0, len(shares)-1).Draw(t, "share")]
			parts[i] = comparedAlone(t, share, i)
			if diff := sameFacts(want[i].Row, parts[i].Row); diff != "" {
				t.Errorf("facts of %s (-one run +share):\n%s", want[i].Row.Name(), diff)
			}
		}
		if diff := sameReports(reports[which], plan().Conclude(parts)); diff != "" {
			t.Error(diff)
		}
	})
}

// comparedAlone compares one pair of a run.
func comparedAlone(t *rapid.T, run *Run, pair int) execute.Part {
	one := *run.Plan
	one.Pairs = one.Pairs[pair : pair+1]
	parts, err := execute.Run(context.Background(), &one, &run.opt.Options, nil)
	if err != nil || len(parts) != 1 {
		t.Fatalf("pair %d alone: %d parts, %v", pair, len(parts), err)
	}
	parts[0].Pair = pair
	return parts[0]
}

func TestFailFast(t *testing.T) {
	ref, npu := mixedNet(t)
	opt := hpaa(ref, npu)
	opt.FailFast = true
	for _, tt := range []struct {
		failOn []record.Status
		want   string // the last compared row
	}{
		{[]record.Status{record.Fail}, "op4:output:0 FAIL stem"},
		{[]record.Status{record.ShapeMismatch}, "op9:output:0 SHAPE_MISMATCH stem"},
		{[]record.Status{record.UnmatchedRef}, "op11:output:0 UNMATCHED_REF"},
	} {
		for _, workers := range []int{1, 3} {
			opt.FailOn, opt.Workers = tt.failOn, workers
			rep := runAll(t, opt)
			if !rep.FailedFast || rep.Interrupted {
				t.Fatalf("%v: failed fast %v, interrupted %v", tt.failOn, rep.FailedFast, rep.Interrupted)
			}
			last := ""
			for _, line := range lines(rep) {
				if !strings.HasSuffix(line, "UNMATCHED_REF") || tt.failOn[0] == record.UnmatchedRef {
					last = line
				}
			}
			if last != tt.want || rep.Coverage.Reference != 12 {
				t.Errorf("%v, %d workers: the last row is %q of %d, want %q of 12", tt.failOn, workers, last, rep.Coverage.Reference, tt.want)
			}
		}
	}
	// A failure that the baseline's rows cannot express is not missing.
	opt.FailOn, opt.Baseline = []record.Status{record.Fail}, &conclude.Baseline{Rows: []conclude.BaselineEntry{{RowKey: record.RowKey{Op: "op7"}, Status: record.Pass}}}
	rep := runAll(t, opt)
	if len(rep.Baseline.Missing) != 0 || len(rep.Baseline.New) != 1 {
		t.Errorf("baseline %+v, want one new failure and nothing missing", rep.Baseline)
	}
}

// TestProgress compares one pair of three segments: progress starts before the pair is done, and never decreases.
func TestProgress(t *testing.T) {
	dir := t.TempDir()
	ref, npu := filepath.Join(dir, "ref.npy"), filepath.Join(dir, "npu.npy")
	large := make([]byte, 2*metrics.SegmentElements+777)
	data := append(array(tensor.Int8, tensor.Shape{int64(len(large))}), large...)
	write(t, ref, data)
	write(t, npu, data)
	plan, err := New(context.Background(), hpaa(ref, npu))
	if err != nil {
		t.Fatal(err)
	}
	var costs []int64
	var last batch.Event
	if _, err := plan.Execute(context.Background(), func(e batch.Event) {
		if e.DoneCost < last.DoneCost || e.DoneCost > e.TotalCost {
			t.Errorf("%d of %d bytes after %d", e.DoneCost, e.TotalCost, last.DoneCost)
		}
		if last = e; e.Done == 0 {
			costs = append(costs, e.DoneCost)
		}
	}); err != nil {
		t.Fatal(err)
	}
	costs = slices.Compact(costs)
	if len(costs) != 4 || costs[1] != 2*metrics.SegmentElements || last.Done != 1 || last.DoneCost != int64(2*len(data)) {
		t.Errorf("bytes before the pair is done are %v, the last event is %+v", costs, last)
	}
}

func TestInterrupted(t *testing.T) {
	ref, npu := mixedNet(t)
	full := map[string]record.Status{}
	complete := runAll(t, hpaa(ref, npu))
	for i := range complete.Rows {
		full[complete.Rows[i].Name()] = complete.Rows[i].Status
	}
	if rep, err := compareAll(canceled(), hpaa(ref, npu)); !errors.Is(err, context.Canceled) || rep != nil {
		t.Errorf("canceled before: %v, want no report", err)
	}
	for _, cause := range []func(context.Context) (context.Context, context.CancelFunc){context.WithCancel, expiring} {
		for _, workers := range []int{1, 3} {
			for after := range 8 {
				ctx, cancel := cause(context.Background())
				opt := hpaa(ref, npu)
				opt.Workers = workers
				plan, err := New(ctx, opt)
				if err != nil {
					t.Fatal(err)
				}
				parts, err := plan.Execute(ctx, observer(after, cancel))
				rep := plan.Conclude(parts)
				isComplete := len(rep.Rows) == len(full) // the workers were ahead of the observer
				if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) || rep.Interrupted == isComplete {
					t.Fatalf("after %d: error %v, interrupted %v with %d of %d rows", after, err, rep.Interrupted, len(rep.Rows), len(full))
				}
				for i := range rep.Rows {
					row := &rep.Rows[i]
					if row.Status != full[row.Name()] {
						t.Errorf("after %d: %s is %s, want %s", after, row.Name(), row.Status, full[row.Name()])
					}
				}
				if len(rep.Rows) > len(full) || rep.Coverage.Reference != 12 {
					t.Errorf("after %d: %d rows of %d, reference %d", after, len(rep.Rows), len(full), rep.Coverage.Reference)
				}
				cancel()
			}
		}
	}
}

// TestManyPairs has 2000 tiny pairs, a tenth of them failing. Afterwards memory must not grow with the tensors, and
// no file may be open.
func TestManyPairs(t *testing.T) {
	const pairs, limit = 2000, 8 << 10
	dir := t.TempDir()
	ref, npu := filepath.Join(dir, "ref"), filepath.Join(dir, "npu")
	good, bad := ramp(64), ramp(64)
	bad[5] += 100
	data := array(tensor.Float32, tensor.Shape{4, 16}, good...)
	for i := range pairs {
		write(t, filepath.Join(ref, fmt.Sprintf("op%d.npy", i)), data)
		values := good
		if i%10 == 0 {
			values = bad
		}
		write(t, filepath.Join(npu, fmt.Sprintf("op%d.npy", i)), array(tensor.Float16, tensor.Shape{4, 16}, values...))
	}
	before, used := runtime.NumGoroutine(), usedMemory()
	check := func(when string) {
		t.Helper()
		if each := (usedMemory() - used) / pairs; each > limit {
			t.Errorf("%s a pair takes %d bytes, want at most %d", when, each, limit)
		}
	}
	opt := hpaa(ref, npu)
	opt.OrderBy = dumpdir.ByName
	plan, err := New(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := plan.Execute(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	check("before the conclusion")
	rep := plan.Conclude(parts)
	check("after the conclusion")
	if rep.Counts[record.Pass] != pairs*9/10 || rep.Counts[record.Fail] != pairs/10 {
		t.Errorf("counts %v, want a tenth FAIL and all others PASS", rep.Counts)
	}
	if worst := rep.Rows[pairs-1].Result.Worst; rep.Rows[pairs-1].Op != "op1999" || worst != nil {
		t.Errorf("the last row is %s with worst elements %v, want op1999 without", rep.Rows[pairs-1].Op, worst)
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines after the run, %d before", n, before)
	}
	if open := openBelow(t, dir); len(open) > 0 {
		t.Errorf("files are left open: %v", open)
	}
	runtime.KeepAlive(plan)
}

// usedMemory returns the memory in use.
func usedMemory() int64 {
	runtime.GC()
	runtime.GC() // frees the memory in pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// openBelow lists the open files of this process below a folder.
func openBelow(t *testing.T, dir string) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	var open []string
	for _, link := range links {
		if path, err := os.Readlink(link); err == nil && strings.HasPrefix(path, dir) {
			open = append(open, path)
		}
	}
	return open
}
