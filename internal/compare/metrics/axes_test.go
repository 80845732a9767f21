package metrics

import (
	"io"
	"math/rand/v2"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"dumptool/internal/tensor"
)

// TestLateAxes: axes that wait for an error give the same profiles as others, with errors at
// any place, in no, some or all segments, and NaN on both sides.
func TestLateAxes(t *testing.T) {
	random := rand.New(rand.NewPCG(35, 1))
	const segment = 5 * blockElements
	for round := range 40 {
		shape := []tensor.Shape{{4, 8, 16, 40}, {3, 700, 3, 3}, {20000}, {9, 2300}, {1, 1}, {}}[round%6]
		count := int(shape.Elements())
		refs, npus := make([]float64, count), make([]float64, count)
		for i := range refs {
			refs[i] = random.NormFloat64()
			npus[i] = refs[i] * (1 + 1e-4*random.Float64())
		}
		for range round % 4 {
			npus[random.IntN(count)] = 77
		}
		if round%3 == 0 {
			i := random.IntN(count)
			refs[i], npus[i] = nan, nan
		}
		ref, npu := store(tensor.Float32, refs...), store(tensor.Float32, npus...)
		req := Request{Shape: shape, RefDType: tensor.Float32, NPUDType: tensor.Float32, Limits: hpaaLimits}
		pool := NewPool()
		run := func(late bool) *Result {
			req.LateAxes = late
			e, err := pool.New(req)
			if err != nil {
				t.Fatal(err)
			}
			e.segmentElements, e.readElements = segment, 2*blockElements
			res, err := e.Compare(t.Context(), ref, npu)
			if err != nil {
				t.Fatal(err)
			}
			return res
		}
		want, got := run(false), run(true)
		if len(want.WithoutAxes) > 0 {
			t.Fatalf("%v: axes are without %v", shape, want.WithoutAxes)
		}
		without := map[int64]bool{} // blocks
		for _, r := range got.WithoutAxes {
			for first := r.First; first < r.End; first += blockElements {
				without[first/blockElements] = true
			}
		}
		errs := map[int64]bool{} // by segment, from its first error on
		for block := range int64(count+blockElements-1) / blockElements {
			for _, offset := range want.ErrorOffsets {
				if offset/blockElements == block {
					errs[block*blockElements/segment] = true
				}
			}
			if without[block] == errs[block*blockElements/segment] {
				t.Errorf("%v: block %d is among %v, errors are at %v", shape, block, got.WithoutAxes, want.ErrorOffsets)
			}
		}
		if err := pool.AddAxes(t.Context(), req, got, ref, npu); err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(want.Axes, got.Axes, cmpopts.EquateApprox(1e-12, 0)); diff != "" || got.WithoutAxes != nil {
			t.Errorf("%v: axes are without %v; -want +got:\n%s", shape, got.WithoutAxes, diff)
		}
	}
}

// TestAxisErrors counts the errors of tensors with more rows than 8 bits can count: of a column
// that is wrong in each row, and of all elements.
func TestAxisErrors(t *testing.T) {
	for _, columns := range []int64{7, 1000, 1024, 3136} {
		const rows = 600
		for step, want := range map[int64]int64{columns: rows, 1: rows * columns} {
			refs, npus := make([]float64, rows*columns), make([]float64, rows*columns)
			for i := step - 1; i < int64(len(npus)); i += step {
				npus[i] = 1
			}
			req := Request{Shape: tensor.Shape{rows, columns}, RefDType: tensor.Float32, NPUDType: tensor.Float32, Limits: hpaaLimits}
			res, err := Compare(t.Context(), req, store(tensor.Float32, refs...), store(tensor.Float32, npus...))
			if err != nil {
				t.Fatal(err)
			}
			for _, axis := range res.Axes {
				all := int64(0)
				for _, bin := range axis.Bins {
					all += bin.Errors
				}
				last, each := axis.Bins[len(axis.Bins)-1].Errors, want/int64(len(axis.Bins))
				if axis.Axis == 1 {
					each = rows * (1 + (axis.Size-1)%axis.Fold) // the last bin may be short
					if step > 1 {
						each = rows
					}
				} else if step == 1 {
					each = columns
				}
				if all != want || last != each {
					t.Errorf("%d columns, every %d: %d errors along axis %d, %d in the last bin; want %d and %d", columns, step, all, axis.Axis, last, want, each)
				}
			}
		}
	}
}

// failing is a reader that fails.
type failing struct{ memory }

func (failing) ReadElements([]byte, int64) error { return io.ErrUnexpectedEOF }

// TestLateAxesUnreadable: an error while reading again is returned.
func TestLateAxesUnreadable(t *testing.T) {
	ref := store(tensor.Float32, make([]float64, 100)...)
	req := Request{Shape: tensor.Shape{10, 10}, RefDType: tensor.Float32, NPUDType: tensor.Float32, LateAxes: true}
	res, err := Compare(t.Context(), req, ref, ref)
	if err != nil {
		t.Fatal(err)
	}
	if err := NewPool().AddAxes(t.Context(), req, res, ref, failing{ref}); err == nil || len(res.WithoutAxes) == 0 {
		t.Errorf("an unreadable NPU tensor: %v, axes are without %v", err, res.WithoutAxes)
	}
}
