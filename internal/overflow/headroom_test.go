package overflow

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"dumptool/internal/batch"
)

// TestIsMask: what stands for minus infinity is a power of ten or the smallest number of a type, in the rounding of
// bfloat16 too, and far from the other numbers.
func TestIsMask(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		low, high float64
		want      bool
	}{
		{-1e9, 5, true}, {-999292928, 0, true}, {-1e4, 0, true}, {-65504, 12, true}, {-math.MaxFloat32, 0, true}, {-0x1.fep127, 0, true},
		{-1e9, 1e9, false}, {-1e4, 1000, false}, {-70000, 3, false}, {-1000, 0, false}, {-5, 70000, false}, {0, 0, false},
	} {
		if isMask(c.low, c.high) != c.want {
			t.Errorf("%v to %v: %v, want %v", c.low, c.high, !c.want, c.want)
		}
	}
}

// TestHeadroomOrder: the first row that overflows is not the module around the call that does, rows are sorted by
// their margins, and an unknown order has no first.
func TestHeadroomOrder(t *testing.T) {
	t.Parallel()
	row := func(name string, bits float64, modules ...string) Headroom {
		status := Fits
		if bits < 0 {
			status = Overflows
		}
		return Headroom{OpName: name, Status: status, Modules: modules, Margins: []Margin{{Where: inOutput, Bits: bits}}, row: &ScanRow{}}
	}
	report := func() *HeadroomReport {
		r := &HeadroomReport{Clean: true, Counts: map[HeadroomStatus]int{}, Rows: []Headroom{row("a", 3), row("Module.b.Block.forward.0", -4), row("Functional.mm.0.forward", -1, "Module.b.Block.forward.0"), row("c", -5)}}
		for i := range r.Rows {
			r.Rows[i].Order = i
		}
		return r
	}
	r := report()
	r.conclude()
	var order []int
	for i := range r.Rows {
		order = append(order, r.Rows[i].Order)
	}
	if r.First == nil || r.Rows[*r.First].OpName != "Functional.mm.0.forward" || order[0] != 3 || order[3] != 0 || r.Counts[Overflows] != 3 {
		t.Errorf("first %v, order %v, %v", r.First, order, r.Counts)
	}
	if got := r.Rows[*r.First].Label(); got != "Functional.mm.0.forward (b)" {
		t.Errorf("the call is %s", got)
	}
	r = report()
	r.Rows[2].row.Unordered = true
	if r.conclude(); r.First != nil {
		t.Errorf("an order that is not known has the first row %d", *r.First)
	}
}

// TestHeadroomInterrupted: the report of an interrupted search says so and has what was read until then.
func TestHeadroomInterrupted(t *testing.T) {
	tr := newTree(t)
	for i := range 20 {
		tr.op(fmt.Sprintf("20260101000000/0/net/11/0/Add.a%d.%d.1.17000000000000%02d", i, i, i), fmt.Sprintf("net/a%d", i), one, one)
	}
	run := tr.run()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := 0
	r, err := FindHeadroom(ctx, run, Options{Headroom: "float16", Workers: 1, Observe: func(batch.Event) {
		if done++; done == 10 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || r == nil || !strings.HasPrefix(r.Headline.String(), "INTERRUPTED, so far: HEADROOM float16: ") || len(r.Rows) == 0 || len(r.Rows) == 20 {
		t.Fatalf("%v, %+v", err, r)
	}
}
