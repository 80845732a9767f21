package compare

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"dumptool/internal/compare/engine"
	"dumptool/internal/compare/pairing"
	"dumptool/internal/tensor"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// runWith is Run with another size from which pairs are cut up.
func runWith(ctx context.Context, opt Options, large int64) (*Report, error) {
	if opt.Workers == 0 {
		opt.Workers = 2
	}
	r := newRun(&opt)
	r.large = large
	return r.run(ctx)
}

// mixedNet is a network of pairs of all sizes and outcomes; one pair has more
// than a segment.
func mixedNet(t testing.TB) (ref, npu string) {
	t.Helper()
	dir := t.TempDir()
	ref, npu = filepath.Join(dir, "ref"), filepath.Join(dir, "npu")
	rng := rand.New(rand.NewPCG(1, 2))
	for i, n := range []int64{0, 1, 7, 1000, engine.BlockElements, engine.BlockElements + 1, 3*engine.BlockElements - 5, 300} {
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
	large := make([]byte, engine.SegmentElements+777)
	for i := range large {
		large[i] = byte(i * i % 97)
	}
	shape := tensor.Shape{int64(len(large))}
	write(t, filepath.Join(ref, "op8.npy"), append(array(tensor.Int8, shape), large...))
	large[engine.SegmentElements+3] += 20
	large[17] += 20
	write(t, filepath.Join(npu, "op8.npy"), append(array(tensor.Int8, shape), large...))
	write(t, filepath.Join(ref, "op9.npy"), array(tensor.Int8, tensor.Shape{3}, 1, 2, 3))
	write(t, filepath.Join(npu, "op9.npy"), array(tensor.Int8, tensor.Shape{2}, 1, 2))
	write(t, filepath.Join(ref, "op10.npy"), []byte("broken"))
	write(t, filepath.Join(npu, "op10.npy"), array(tensor.Int8, tensor.Shape{2}, 1, 2))
	write(t, filepath.Join(ref, "op11.npy"), array(tensor.Int8, tensor.Shape{2}, 1, 2))
	return ref, npu
}

func hpaa(ref, npu string) Options {
	o := exactly(ref, npu)
	o.Judge.Limits.Profile = ProfileHPAA
	return o
}

// sameReports compares everything that is told about a run.
func sameReports(a, b *Report) string {
	text := cmp.Transformer("text", func(e error) string { return fmt.Sprint(e) })
	return cmp.Diff(a, b, cmpopts.IgnoreUnexported(Report{}), cmpopts.EquateNaNs(), text)
}

// TestSameResult runs with several numbers of workers, with and without cutting
// pairs up: the report is the same.
func TestSameResult(t *testing.T) {
	ref, npu := mixedNet(t)
	opt := hpaa(ref, npu)
	opt.KLD = true
	var first *Report
	for _, workers := range []int{1, 2, 7} {
		for _, large := range []int64{1, largePair} {
			opt.Workers = workers
			rep, err := runWith(context.Background(), opt, large)
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = rep
				want := map[Status]int{Pass: 7, Fail: 2, ShapeMismatch: 1, Error: 1, UnmatchedRef: 1}
				if diff := cmp.Diff(want, rep.Counts); diff != "" {
					t.Fatalf("outcomes (-want +got):\n%s\n%v", diff, lines(rep))
				}
				row := &rep.Rows[8]
				if row.Errors != 2 || row.First.Offset != 17 || row.Result.Beyond.Last.Offset != engine.SegmentElements+3 {
					t.Errorf("%s has %d errors from %+v", row.Name(), row.Errors, row.First)
				}
				continue
			}
			if diff := sameReports(first, rep); diff != "" {
				t.Errorf("%d workers, large from %d:\n%s", workers, large, diff)
			}
		}
	}
}

func TestFailFast(t *testing.T) {
	ref, npu := mixedNet(t)
	opt := hpaa(ref, npu)
	opt.FailFast = true
	for _, tt := range []struct {
		failOn []Status
		want   string // the last row that was compared
	}{
		{[]Status{Fail}, "op4:output:0 FAIL stem"},
		{[]Status{ShapeMismatch}, "op9:output:0 SHAPE_MISMATCH stem"},
		{[]Status{UnmatchedRef}, "op11:output:0 UNMATCHED_REF"},
	} {
		for _, large := range []int64{1, largePair} {
			opt.FailOn = tt.failOn
			rep, err := runWith(context.Background(), opt, large)
			if err != nil || !rep.FailedFast || rep.Interrupted {
				t.Fatalf("%v: error %v, failed fast %v, interrupted %v", tt.failOn, err, rep.FailedFast, rep.Interrupted)
			}
			last := ""
			for _, line := range lines(rep) {
				if !strings.HasSuffix(line, "UNMATCHED_REF") || tt.failOn[0] == UnmatchedRef {
					last = line
				}
			}
			if last != tt.want || rep.Coverage.Reference != 12 {
				t.Errorf("%v, large from %d: the last row is %q of %d, want %q of 12", tt.failOn, large, last, rep.Coverage.Reference, tt.want)
			}
		}
	}
	// One that cannot be written in the baseline's rows is not missing.
	opt.FailOn, opt.Baseline = []Status{Fail}, &Baseline{Rows: []BaselineEntry{{Op: "op7", Status: Pass}}}
	rep := runAll(t, opt)
	if len(rep.Baseline.Missing) != 0 || len(rep.Baseline.New) != 1 {
		t.Errorf("baseline %+v, want one new failure and nothing missing", rep.Baseline)
	}
}

func TestInterrupted(t *testing.T) {
	ref, npu := mixedNet(t)
	full := map[string]Status{}
	complete := runAll(t, hpaa(ref, npu))
	for i := range complete.Rows {
		full[complete.Rows[i].Name()] = complete.Rows[i].Status
	}
	if rep, err := Run(canceled(), hpaa(ref, npu)); !errors.Is(err, context.Canceled) || rep != nil {
		t.Errorf("canceled before: %v, want no report", err)
	}
	for _, cause := range []func(context.Context) (context.Context, context.CancelFunc){context.WithCancel, expiring} {
		for _, large := range []int64{1, largePair} {
			for after := range 8 {
				ctx, cancel := cause(context.Background())
				opt := hpaa(ref, npu)
				r := newRun(&opt)
				opt.Workers, r.large = 2, large
				if err := r.prepare(ctx); err != nil {
					t.Fatal(err)
				}
				opt.Observe = observer(after, cancel)
				err := r.compare(ctx)
				rep := r.report()
				if !ended(err) || !rep.Interrupted {
					t.Fatalf("after %d: error %v, interrupted %v", after, err, rep.Interrupted)
				}
				for i := range rep.Rows {
					row := &rep.Rows[i]
					if row.Status != full[row.Name()] {
						t.Errorf("after %d: %s is %s, want %s", after, row.Name(), row.Status, full[row.Name()])
					}
				}
				if len(rep.Rows) >= len(full) || rep.Coverage.Reference != 12 {
					t.Errorf("after %d: %d rows of %d, reference %d", after, len(rep.Rows), len(full), rep.Coverage.Reference)
				}
				cancel()
			}
		}
	}
}

// TestManyPairs has 2000 tiny pairs, and looks for what is left of them.
func TestManyPairs(t *testing.T) {
	dir := t.TempDir()
	ref, npu := filepath.Join(dir, "ref"), filepath.Join(dir, "npu")
	data := array(tensor.Float32, tensor.Shape{4}, ramp(4)...)
	for i := range 2000 {
		write(t, filepath.Join(ref, fmt.Sprintf("op%d.npy", i)), data)
		write(t, filepath.Join(npu, fmt.Sprintf("op%d.npy", i)), data)
	}
	before := runtime.NumGoroutine()
	opt := exactly(ref, npu)
	opt.Order.By = pairing.ByName
	rep := runAll(t, opt)
	if len(rep.Rows) != 2000 || rep.Counts[Pass] != 2000 {
		t.Errorf("counts %v, want 2000 PASS", rep.Counts)
	}
	if rep.Rows[1999].Op != "op1999" || rep.Rows[1999].Result.Worst != nil {
		t.Errorf("the last row is %s with worst elements %v, want op1999 without", rep.Rows[1999].Op, rep.Rows[1999].Result.Worst)
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines after the run, %d before", n, before)
	}
	if open := openBelow(t, dir); len(open) > 0 {
		t.Errorf("files are left open: %v", open)
	}
}

// openBelow lists the files below a folder that this process has open.
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
